//! Results as tables: of all runs, of hosts by duty, of lines, and of the paths between sites.

use crate::exercise::{Duty, Joined, Level, Outcome, Way};
use base::stats::{Histogram, mean};
use serde_json::Value;

use super::comparison;
use super::file::{Point, Scenario};
use experiment::sheet::{Sheet, maybe, number};

/// A point and the outcomes of its replications.
pub(super) struct Done {
    pub(super) point: Point,
    /// The outcomes, at least one.
    pub(super) outcomes: Vec<Outcome>,
}

/// All points with at least one run.
pub(super) struct Ran(pub(super) Vec<Done>);

impl Ran {
    /// Groups outcomes by their points. They are in the order of the points, with `replications`
    /// for each. The last points may have fewer.
    pub(super) fn of(points: Vec<Point>, outcomes: Vec<Outcome>, replications: usize) -> Self {
        let mut outcomes = outcomes.into_iter();
        let of = |point| Done { point, outcomes: outcomes.by_ref().take(replications).collect() };
        Self(points.into_iter().map(of).filter(|done| !done.outcomes.is_empty()).collect())
    }

    /// The topologies, in order.
    pub(super) fn topologies(&self) -> Vec<Joined> {
        let mut all = Vec::new();
        for done in &self.0 {
            if !all.contains(&done.joined()) {
                all.push(done.joined());
            }
        }
        all
    }

    /// The sizes as numbers of nodes and entities, in order.
    fn sizes(&self) -> Vec<(usize, usize)> {
        let mut all: Vec<_> = self.0.iter().map(Done::size).collect();
        all.dedup();
        all
    }

    /// The points of a topology, in order of size.
    pub(super) fn of_topology(&self, joined: Joined) -> impl Iterator<Item = &Done> {
        self.0.iter().filter(move |done| done.joined() == joined)
    }
}

impl Done {
    pub(super) fn joined(&self) -> Joined {
        self.point.exercise.joined
    }

    /// The numbers of nodes and entities.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.point.nodes, self.entities())
    }

    pub(super) fn entities(&self) -> usize {
        self.point.exercise.population.entities
    }

    /// Whether every replication has counted for some time.
    pub(super) fn is_counted(&self) -> bool {
        self.outcomes.iter().all(|outcome| !outcome.counted.is_zero())
    }

    /// The mean of a figure over the replications.
    pub(super) fn mean(&self, of: impl Fn(&Outcome) -> f64) -> f64 {
        mean(self.outcomes.iter().map(of))
    }

    /// The busiest part of any replication.
    pub(super) fn busiest(&self) -> &Way {
        let all = self.outcomes.iter().map(Outcome::busiest);
        all.max_by(|a, b| a.load().total_cmp(&b.load())).expect("there is a replication")
    }

    /// Whether some part was overloaded in any replication.
    pub(super) fn is_overloaded(&self) -> bool {
        self.outcomes.iter().any(Outcome::is_overloaded)
    }

    /// The reason why a replication ended early.
    pub(super) fn broken(&self) -> Option<&str> {
        self.outcomes.iter().find_map(|outcome| outcome.broken.as_deref())
    }

    /// Updates per second, in and out, of the router with the most traffic.
    pub(super) fn router_messages_per_s(&self) -> f64 {
        self.mean(|outcome| routers(outcome).map(|level| level.messages_per_s.max).fold(0.0, f64::max))
    }

    /// The latencies of all updates, or only those from one site to another if `ways` names these.
    fn latency(&self, ways: Option<(usize, usize)>) -> Histogram {
        let mut all = Histogram::default();
        for outcome in &self.outcomes {
            match ways {
                None => all.merge(&outcome.all_latency()),
                Some((from, to)) => all.merge(&outcome.latency[from][to]),
            }
        }
        all
    }

    /// A quantile of the latencies in milliseconds. `None` for an overloaded network, where it
    /// depends on the length of the run.
    pub(super) fn latency_ms(&self, ways: Option<(usize, usize)>, share: f64) -> Option<f64> {
        let latency = self.latency(ways);
        (latency.count() > 0 && !self.is_overloaded()).then(|| latency.quantile(share) / 1e3)
    }

    /// Latencies in milliseconds, each with the cumulative share up to it.
    pub(super) fn latency_steps(&self) -> Vec<(f64, f64)> {
        let latency = self.latency(None);
        let mut sum = 0;
        let step = |(us, _, count)| {
            sum += count;
            (us as f64 / 1e3, sum as f64 / latency.count() as f64)
        };
        latency.bins().map(step).collect()
    }
}

/// The hosts of routers, by duty.
pub(super) fn routers(outcome: &Outcome) -> impl Iterator<Item = &Level> {
    outcome.levels.iter().filter(|level| level.duty != Duty::Simulator)
}

/// All tables.
pub(super) fn sheets(scenario: &Scenario, ran: &Ran) -> Vec<Sheet> {
    let mut sheets = vec![runs(scenario, ran), hosts(ran)];
    if scenario.has_sites() {
        sheets.push(lines(scenario, ran));
        sheets.push(sites(scenario, ran));
        sheets.push(ways(scenario, ran));
    }
    if ran.topologies().contains(&Joined::OnDemand) {
        sheets.extend(comparison::sheets(scenario, ran));
    }
    sheets
}

fn runs(scenario: &Scenario, ran: &Ran) -> Sheet {
    let columns = [
        ("topology", "topology"),
        ("nodes", "nodes"),
        ("simulators", "simulators"),
        ("routers", "routers"),
        ("entities", "entities"),
        ("updates_per_s", "updates/s"),
        ("client_sent_per_s", "client sends/s"),
        ("client_received_per_s", "receives/s"),
        ("client_received_max_per_s", "most"),
        ("router_messages_max_per_s", "router, most/s"),
        ("busiest", "busiest part"),
        ("utilisation_percent", "at work, %"),
        ("queue_growth_s_per_s", "queue grows, s/s"),
        ("p50_ms", "p50 ms"),
        ("p99_ms", "p99 ms"),
        ("state", "state"),
    ];
    let mut sheet = Sheet::new("exercise", scenario.title.clone(), &columns);
    for done in &ran.0 {
        let is_counted = done.is_counted();
        let mean = |of: fn(&Outcome) -> f64| if is_counted { number(done.mean(of)) } else { Value::Null };
        let first = &done.outcomes[0];
        let routers: usize = routers(first).map(|level| level.hosts).sum();
        let busiest = done.busiest();
        sheet.row(vec![
            done.joined().name().into(),
            done.point.nodes.into(),
            done.point.exercise.simulators().into(),
            routers.into(),
            done.entities().into(),
            mean(|outcome| outcome.updates_per_s),
            mean(|outcome| outcome.client.sent.mean),
            mean(|outcome| outcome.client.received.mean),
            mean(|outcome| outcome.client.received.max),
            maybe(is_counted.then(|| done.router_messages_per_s())),
            if is_counted { busiest.name.clone() } else { String::new() }.into(),
            maybe(is_counted.then_some(busiest.utilisation * 100.0)),
            maybe(is_counted.then_some(busiest.growth)),
            maybe(done.latency_ms(None, 0.5)),
            maybe(done.latency_ms(None, 0.99)),
            state(done).into(),
        ]);
    }
    sheet
}

fn state(done: &Done) -> &'static str {
    match done.broken() {
        Some(_) => "broken",
        None if !done.is_counted() => "not counted",
        None if done.is_overloaded() => "OVERLOADED",
        None => "holds",
    }
}

fn hosts(ran: &Ran) -> Sheet {
    let columns = [
        ("topology", "topology"),
        ("entities", "entities"),
        ("hosts", "hosts"),
        ("count", "count"),
        ("messages_per_s", "messages/s"),
        ("messages_max_per_s", "most"),
        ("mbit_per_s", "Mbit/s"),
        ("mbit_max_per_s", "most"),
        ("interest_per_s", "interest/s"),
        ("processor_percent", "processor, %"),
        ("processor_max_percent", "most"),
        ("port_max_percent", "port, most %"),
    ];
    let mut sheet = Sheet::new("hosts", "Hosts, by what they are there for", &columns);
    for done in ran.0.iter().filter(|done| done.is_counted()) {
        for (at, level) in done.outcomes[0].levels.iter().enumerate() {
            let mean = |of: fn(&Level) -> f64| number(done.mean(|outcome| of(&outcome.levels[at])));
            sheet.row(vec![
                done.joined().name().into(),
                done.entities().into(),
                level.duty.name().into(),
                level.hosts.into(),
                mean(|level| level.messages_per_s.mean),
                mean(|level| level.messages_per_s.max),
                mean(|level| level.mbit_per_s.mean),
                mean(|level| level.mbit_per_s.max),
                mean(|level| level.interest_per_s.mean),
                mean(|level| level.processor.mean * 100.0),
                mean(|level| level.processor.max * 100.0),
                mean(|level| level.port.max * 100.0),
            ]);
        }
    }
    sheet
}

/// The topologies, in the order of the columns that compare them.
const BESIDE: [Joined; 4] = [Joined::Tree, Joined::MeshOfSites, Joined::Mesh, Joined::OnDemand];

/// A figure of each topology at one size, if it is known.
fn beside(ran: &Ran, size: (usize, usize), of: impl Fn(&Done) -> Option<f64>) -> Vec<Value> {
    let done = |joined: Joined| ran.of_topology(joined).find(|done| done.size() == size);
    BESIDE.iter().map(|joined| maybe(done(*joined).filter(|done| done.is_counted()).and_then(&of))).collect()
}

/// Lines between sites.
fn lines(scenario: &Scenario, ran: &Ran) -> Sheet {
    let columns = [
        ("entities", "entities"),
        ("from", "from"),
        ("to", "to"),
        ("tree_mbit_per_s", "tree, Mbit/s"),
        ("mesh_of_sites_mbit_per_s", "mesh of sites"),
        ("mesh_mbit_per_s", "mesh"),
        ("on_demand_mbit_per_s", "on demand"),
        ("tree_utilisation_percent", "tree, busy %"),
        ("mesh_of_sites_utilisation_percent", "mesh of sites"),
        ("mesh_utilisation_percent", "mesh"),
        ("on_demand_utilisation_percent", "on demand"),
    ];
    let mut sheet = Sheet::new("lines", "Lines between sites", &columns);
    let names = scenario.sites();
    for size in ran.sizes() {
        let some = ran.0.iter().find(|done| done.size() == size);
        for (at, line) in some.iter().flat_map(|done| done.outcomes[0].lines.iter().enumerate()) {
            let mut cells = vec![size.1.into(), names[line.from].into(), names[line.to].into()];
            cells.extend(beside(ran, size, |done| Some(done.mean(|outcome| outcome.lines[at].mbit_per_s))));
            cells.extend(beside(ran, size, |done| {
                Some(done.mean(|outcome| outcome.lines[at].way.utilisation * 100.0))
            }));
            sheet.row(cells);
        }
    }
    sheet
}

/// The rate over all lines that end at a site, in and out, in Mbit/s.
pub(super) fn at_site(done: &Done, site: usize) -> f64 {
    done.mean(|outcome| {
        let lines = outcome.lines.iter().filter(|line| line.from == site || line.to == site);
        lines.map(|line| line.mbit_per_s).sum()
    })
}

fn sites(scenario: &Scenario, ran: &Ran) -> Sheet {
    let columns = [
        ("entities", "entities"),
        ("site", "site"),
        ("tree_mbit_per_s", "tree, Mbit/s"),
        ("mesh_of_sites_mbit_per_s", "mesh of sites"),
        ("mesh_mbit_per_s", "mesh"),
        ("on_demand_mbit_per_s", "on demand"),
    ];
    let mut sheet = Sheet::new("sites", "What sites carry over their lines, in and out", &columns);
    for size in ran.sizes() {
        for (site, name) in scenario.sites().into_iter().enumerate() {
            let mut cells = vec![size.1.into(), name.into()];
            cells.extend(beside(ran, size, |done| Some(at_site(done, site))));
            sheet.row(cells);
        }
    }
    sheet
}

fn ways(scenario: &Scenario, ran: &Ran) -> Sheet {
    let columns = [
        ("entities", "entities"),
        ("from", "from"),
        ("to", "to"),
        ("tree_p50_ms", "tree, p50 ms"),
        ("mesh_of_sites_p50_ms", "mesh of sites"),
        ("mesh_p50_ms", "mesh"),
        ("on_demand_p50_ms", "on demand"),
        ("tree_p99_ms", "tree, p99 ms"),
        ("mesh_of_sites_p99_ms", "mesh of sites"),
        ("mesh_p99_ms", "mesh"),
        ("on_demand_p99_ms", "on demand"),
    ];
    let mut sheet = Sheet::new("latency", "From an update to those who see it, by site", &columns);
    let names = scenario.sites();
    for size in ran.sizes() {
        for (from, from_name) in names.iter().enumerate() {
            for (to, to_name) in names.iter().enumerate() {
                let mut cells = vec![size.1.into(), (*from_name).into(), (*to_name).into()];
                for share in [0.5, 0.99] {
                    cells.extend(beside(ran, size, |done| done.latency_ms(Some((from, to)), share)));
                }
                sheet.row(cells);
            }
        }
    }
    sheet
}
