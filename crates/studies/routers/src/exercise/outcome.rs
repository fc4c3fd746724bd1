//! The outcome of an exercise: the load of clients, routers and lines between two moments.

use super::layout::{Duty, Layout};
use super::on_demand::{self, CrossLinkFigures};
use super::simulator::{Counts, Simulator};
use super::{Exercise, Joined, Station};
use crate::routers::cross_links::CrossLinkCounts;
use base::Moment;
use base::stats::Histogram;
use netsim::cluster::{Cluster, PortStats, SiteId};
use netsim::{Digest, HostId};
use router::ClientKind;
use std::collections::BTreeMap;
use std::time::Duration;

/// Mean and maximum over parts of one kind.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Spread {
    /// Mean over all parts.
    pub mean: f64,
    /// The largest value of a part.
    pub max: f64,
}

/// Updates per second that a simulator sends and receives.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Client {
    /// Updates of its own entities.
    pub sent: Spread,
    /// Updates of other simulators' entities.
    pub received: Spread,
}

/// The kind of a resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The processor of a host.
    Processor,
    /// The port of a host, towards the switch.
    Sending,
    /// The port of the switch, towards a host.
    Receiving,
    /// A line between sites.
    Line,
}

/// The load of one resource.
#[derive(Clone, PartialEq, Debug)]
pub struct Way {
    /// Name of its host or line, for display.
    pub name: String,
    /// The kind of the resource.
    pub part: Part,
    /// Share of time that it was busy, from 0 to 1.
    pub utilisation: f64,
    /// Growth of its queue, in seconds of work per second; at least 0. For a processor it excludes
    /// the work of forwarding the waiting messages and is a lower bound.
    pub growth: f64,
}

impl Way {
    /// Whether the demand exceeds its capacity: it is always busy, and its queue grows.
    pub fn is_overloaded(&self) -> bool {
        self.utilisation > 0.98 && self.growth > 0.005
    }
}

/// Hosts with the same duty.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// Their function.
    pub duty: Duty,
    /// Number of hosts.
    pub hosts: usize,
    /// Messages per second over links, in and out.
    pub messages_per_s: Spread,
    /// Load of the wire in and out, in Mbit/s.
    pub mbit_per_s: Spread,
    /// Interest records per second sent over links.
    pub interest_per_s: Spread,
    /// Share of time that processors were busy.
    pub processor: Spread,
    /// Share of time that the busier of both ports was busy.
    pub port: Spread,
    /// The most heavily loaded resource among them.
    pub busiest: Way,
}

/// The load of one direction of a line between two sites.
#[derive(Clone, PartialEq, Debug)]
pub struct LineLoad {
    /// Index of the sending site.
    pub from: usize,
    /// Index of the receiving site.
    pub to: usize,
    /// Load of the wire, in Mbit/s.
    pub mbit_per_s: f64,
    /// Messages per second.
    pub messages_per_s: f64,
    /// Its utilisation and the growth of its queue.
    pub way: Way,
}

/// The outcome of an exercise.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Length of the measurement: the whole window, unless the run was stopped or broke.
    pub counted: Duration,
    /// Number of links between hosts, without those that overlays make.
    pub links: usize,
    /// Updates per second that all simulators sent.
    pub updates_per_s: f64,
    /// Deliveries of updates per second, counted at each receiving simulator.
    pub deliveries_per_s: f64,
    /// Share of deliveries for cells that the simulator does not see, or no longer sees.
    pub stray: f64,
    /// Mean number of links that a delivered update crossed.
    pub links_crossed: f64,
    /// Changes per second of simulators' interest, counted by block of cells.
    pub interest_changes_per_s: f64,
    /// Rates of clients.
    pub client: Client,
    /// Hosts by duty, top routers first, simulators last.
    pub levels: Vec<Level>,
    /// Lines between sites, by direction.
    pub lines: Vec<LineLoad>,
    /// Latency from an update to each delivery, in microseconds, by the sites of sender and
    /// receiver. Covers updates that were sent and delivered during the measurement; under overload
    /// these are only the fast ones.
    pub latency: Vec<Vec<Histogram>>,
    /// The cross links that overlays made; `None` where all links are wired.
    pub cross_links: Option<CrossLinkFigures>,
    /// The reason why the run broke before its end; `None` if it did not.
    pub broken: Option<String>,
    /// Events of the simulation.
    pub events: u64,
    /// A fingerprint of all received messages.
    pub digest: Digest,
}

impl Outcome {
    /// The resource with the highest load.
    pub fn busiest(&self) -> &Way {
        let levels = self.levels.iter().map(|level| &level.busiest);
        let all = levels.chain(self.lines.iter().map(|line| &line.way));
        all.max_by(|a, b| a.load().total_cmp(&b.load())).expect("there are hosts")
    }

    /// Whether some resource is overloaded, or the network broke down.
    pub fn is_overloaded(&self) -> bool {
        self.broken.is_some() || self.busiest().is_overloaded()
    }

    /// Latencies of all pairs of sites.
    pub fn all_latency(&self) -> Histogram {
        let mut all = Histogram::default();
        self.latency.iter().flatten().for_each(|latency| all.merge(latency));
        all
    }
}

impl Way {
    /// Known demand, in seconds of work per second.
    pub fn load(&self) -> f64 {
        self.utilisation + self.growth
    }
}

/// Counters of a host at a moment.
#[derive(Clone, Copy, Default)]
struct Host {
    /// Busy time of the processor, of the port towards the switch, and of the switch's port.
    busy: [Duration; 3],
    backlog: [Duration; 3],
    messages: u64,
    wire_bytes: u64,
    interests: u64,
    counts: Counts,
}

/// Counters of everything at a moment.
pub(super) struct Seen {
    at: Moment,
    hosts: Vec<Host>,
    lines: BTreeMap<(usize, usize), (PortStats, Duration)>,
    cross_links: CrossLinkCounts,
}

fn on_wire(bytes: u64, rate: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 * 8.0 / rate.max(1) as f64)
}

impl Seen {
    pub(super) fn of(cluster: &Cluster<Station<Simulator>>, exercise: &Exercise) -> Self {
        let rate = exercise.hardware.ethernet.rate;
        let host = |id: HostId| {
            let (out, into) = cluster.ports(id);
            let station = cluster.process(id);
            let mut host = Host {
                busy: [cluster.cpu(id).busy, on_wire(out.wire_bytes, rate), on_wire(into.wire_bytes, rate)],
                backlog: cluster.backlog(id),
                wire_bytes: out.wire_bytes + into.wire_bytes,
                counts: station.application.as_ref().map(|simulator| simulator.counts).unwrap_or_default(),
                ..Host::default()
            };
            for router in &station.routers {
                let links = router.clients().filter(|client| router.kind(*client) == Some(ClientKind::Link));
                for stats in links.filter_map(|client| router.pipe_stats(client)) {
                    host.messages += stats.sent_messages + stats.received_messages;
                    host.interests += stats.sent_interests;
                }
            }
            host
        };
        let site = |at: usize| SiteId(u16::try_from(at).expect("fewer than 64 sites"));
        let pairs = exercise.lines.iter().flat_map(|lines| {
            let (a, b) = lines.between;
            [(a, b), (b, a)]
        });
        let lines = pairs.filter_map(|(a, b)| Some(((a, b), cluster.line(site(a), site(b))?)));
        Self {
            at: cluster.now(),
            hosts: cluster.hosts().map(host).collect(),
            lines: lines.collect(),
            cross_links: on_demand::counts(cluster),
        }
    }
}

/// Accumulates a mean and a maximum.
#[derive(Default)]
struct Tally {
    sum: f64,
    max: f64,
    count: usize,
}

impl Tally {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.max = self.max.max(value);
        self.count += 1;
    }

    fn spread(&self) -> Spread {
        Spread { mean: self.sum / self.count.max(1) as f64, max: self.max }
    }
}

/// The outcome between two moments.
pub(super) fn between(
    exercise: &Exercise,
    layout: &Layout,
    cluster: &Cluster<Station<Simulator>>,
    before: &Seen,
    after: &Seen,
    broken: Option<String>,
) -> Outcome {
    let counted = after.at.since(before.at);
    // Without a measurement all rates are zero.
    let per_s = |value: f64| if counted.is_zero() { 0.0 } else { value / counted.as_secs_f64() };
    let mut sums = Counts::default();
    let (mut sent, mut received) = (Tally::default(), Tally::default());
    let mut latency = vec![vec![Histogram::default(); exercise.sites.len()]; exercise.sites.len()];
    for ((id, part), (from, to)) in
        cluster.hosts().zip(&layout.parts).zip(before.hosts.iter().zip(&after.hosts))
    {
        let Some(simulator) = &cluster.process(id).application else { continue };
        sent.add(per_s((to.counts.sent - from.counts.sent) as f64));
        received.add(per_s((to.counts.received - from.counts.received) as f64));
        sums.sent += to.counts.sent - from.counts.sent;
        sums.received += to.counts.received - from.counts.received;
        sums.stray += to.counts.stray - from.counts.stray;
        sums.links += to.counts.links - from.counts.links;
        sums.interests += to.counts.interests - from.counts.interests;
        for (origin, times) in simulator.latency.iter().enumerate() {
            latency[origin][part.site].merge(times);
        }
    }
    let share = |part: u64| part as f64 / sums.received.max(1) as f64;
    Outcome {
        counted,
        links: layout.links(),
        updates_per_s: per_s(sums.sent as f64),
        deliveries_per_s: per_s(sums.received as f64),
        stray: share(sums.stray),
        links_crossed: share(sums.links),
        interest_changes_per_s: per_s(sums.interests as f64),
        client: Client { sent: sent.spread(), received: received.spread() },
        levels: levels(exercise, layout, before, after),
        lines: lines(exercise, before, after),
        latency,
        cross_links: (exercise.joined == Joined::OnDemand)
            .then(|| on_demand::figures(exercise, before.cross_links, after.cross_links)),
        broken,
        events: cluster.events(),
        digest: cluster.digest(),
    }
}

/// The load of one resource between two moments.
fn way(name: String, part: Part, busy: Duration, backlogs: (Duration, Duration), counted: f64) -> Way {
    let of = |time: Duration| if counted > 0.0 { time.as_secs_f64() / counted } else { 0.0 };
    // A job or message in progress is counted to its end, which may be after the measurement.
    let utilisation = of(busy).min(1.0);
    Way { name, part, utilisation, growth: of(backlogs.1.saturating_sub(backlogs.0)) }
}

fn levels(exercise: &Exercise, layout: &Layout, before: &Seen, after: &Seen) -> Vec<Level> {
    let counted = after.at.since(before.at).as_secs_f64();
    let per_s = |value: u64| if counted > 0.0 { value as f64 / counted } else { 0.0 };
    let mut by_duty: BTreeMap<Duty, Vec<usize>> = BTreeMap::new();
    for (at, part) in layout.parts.iter().enumerate() {
        by_duty.entry(part.duty).or_default().push(at);
    }
    let level = |(duty, hosts): (Duty, Vec<usize>)| {
        let mut tallies: [Tally; 5] = Default::default();
        let mut busiest: Option<Way> = None;
        for &at in &hosts {
            let (from, to) = (&before.hosts[at], &after.hosts[at]);
            let ways = [Part::Processor, Part::Sending, Part::Receiving].map(|part| {
                let nth = part as usize;
                let busy = to.busy[nth].saturating_sub(from.busy[nth]);
                let name = String::new();
                way(name, part, busy, (from.backlog[nth], to.backlog[nth]), counted)
            });
            let values = [
                // The counters of a client go with it, where an overlay gives up a path.
                per_s(to.messages.saturating_sub(from.messages)),
                per_s(to.wire_bytes - from.wire_bytes) * 8e-6,
                per_s(to.interests.saturating_sub(from.interests)),
                ways[0].utilisation,
                ways[1].utilisation.max(ways[2].utilisation),
            ];
            tallies.iter_mut().zip(values).for_each(|(tally, value)| tally.add(value));
            for way in ways {
                if busiest.as_ref().is_none_or(|busiest| way.load() > busiest.load()) {
                    busiest = Some(Way { name: name(exercise, layout, at), ..way });
                }
            }
        }
        let [messages_per_s, mbit_per_s, interest_per_s, processor, port] =
            tallies.each_ref().map(Tally::spread);
        let busiest = busiest.expect("a duty has hosts");
        Level {
            duty,
            hosts: hosts.len(),
            messages_per_s,
            mbit_per_s,
            interest_per_s,
            processor,
            port,
            busiest,
        }
    };
    by_duty.into_iter().map(level).collect()
}

/// The name of a host, for display.
fn name(exercise: &Exercise, layout: &Layout, at: usize) -> String {
    let part = layout.parts[at];
    let number = part.number;
    let name = match part.duty {
        Duty::Root => "root router".to_owned(),
        Duty::Triad => format!("triad {number}"),
        Duty::Router(level) => format!("router {number} of level {level}"),
        Duty::Leaf => format!("leaf router {number}"),
        Duty::Simulator => format!("simulator {number}"),
    };
    if exercise.sites.len() > 1 { format!("{} {name}", exercise.sites[part.site].name) } else { name }
}

fn lines(exercise: &Exercise, before: &Seen, after: &Seen) -> Vec<LineLoad> {
    let counted = after.at.since(before.at).as_secs_f64();
    let per_s = |value: u64| if counted > 0.0 { value as f64 / counted } else { 0.0 };
    let mut loads = Vec::new();
    for lines in &exercise.lines {
        let (a, b) = lines.between;
        for (from, to) in [(a, b), (b, a)] {
            let get = |seen: &Seen| seen.lines.get(&(from, to)).copied().unwrap_or_default();
            let ((was, waited), (is, waits)) = (get(before), get(after));
            let bytes = is.wire_bytes - was.wire_bytes;
            let name = format!("{} to {}", exercise.sites[from].name, exercise.sites[to].name);
            let busy = on_wire(bytes, lines.line.rate);
            loads.push(LineLoad {
                from,
                to,
                mbit_per_s: per_s(bytes) * 8e-6,
                messages_per_s: per_s(is.messages - was.messages),
                way: way(name, Part::Line, busy, (waited, waits), counted),
            });
        }
    }
    loads
}
