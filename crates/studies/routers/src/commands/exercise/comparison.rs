//! Links on demand beside the mesh of sites that is wired by hand: the same sites and hosts, other
//! links.

use crate::exercise::{CrossLinkFigures, Joined};

use super::file::Scenario;
use super::results::{Done, Ran, at_site};
use console::table::figure;
use experiment::sheet::{Sheet, maybe, number};

/// Largest difference from the mesh of sites, as a share of it, that counts as equal.
const WITHIN: f64 = 0.1;

/// A figure of both topologies.
struct Figure {
    name: String,
    unit: &'static str,
    wired: f64,
    on_demand: f64,
}

impl Figure {
    fn ratio(&self) -> f64 {
        if self.on_demand == self.wired { 1.0 } else { self.on_demand / self.wired }
    }
}

/// The figures of one size: latencies of each pair of sites, then what the lines carry.
struct Comparison {
    entities: usize,
    /// Medians, by pair of sites.
    p50: Vec<Figure>,
    /// 99th percentiles.
    p99: Vec<Figure>,
    /// Lines and deliveries.
    loads: Vec<Figure>,
}

impl Comparison {
    /// Compares a run with that of the mesh of sites of the same size. `None` if there is no such
    /// run, or one of both was not counted.
    fn of(scenario: &Scenario, ran: &Ran, on_demand: &Done) -> Option<Self> {
        let wired = ran.of_topology(Joined::MeshOfSites).find(|done| done.size() == on_demand.size())?;
        if !wired.is_counted() || !on_demand.is_counted() {
            return None;
        }
        let sites = scenario.sites();
        let latency = |share: f64| {
            let pairs = (0..sites.len()).flat_map(|from| (0..sites.len()).map(move |to| (from, to)));
            let of = |(from, to): (usize, usize)| {
                let ms = |done: &Done| done.latency_ms(Some((from, to)), share);
                let name = format!("p{:.0}, {} to {}", share * 100.0, sites[from], sites[to]);
                Some(Figure { name, unit: "ms", wired: ms(wired)?, on_demand: ms(on_demand)? })
            };
            pairs.filter_map(of).collect()
        };
        let load = |name: &str, unit, of: &dyn Fn(&Done) -> f64| Figure {
            name: name.to_owned(),
            unit,
            wired: of(wired),
            on_demand: of(on_demand),
        };
        let lines = |done: &Done, of: fn(f64, f64) -> f64| {
            done.mean(|outcome| outcome.lines.iter().map(|line| line.mbit_per_s).fold(0.0, of))
        };
        let first = format!("{}'s lines, in and out", sites.first()?);
        let loads = vec![
            load("all lines", "Mbit/s", &|done| lines(done, |sum, rate| sum + rate)),
            load("busiest line", "Mbit/s", &|done| lines(done, f64::max)),
            load(&first, "Mbit/s", &|done| at_site(done, 0)),
            load("updates received", "1/s", &|done| done.mean(|outcome| outcome.deliveries_per_s)),
        ];
        Some(Self { entities: on_demand.entities(), p50: latency(0.5), p99: latency(0.99), loads })
    }

    fn all(&self) -> impl Iterator<Item = &Figure> {
        self.p50.iter().chain(&self.p99).chain(&self.loads)
    }

    /// The figure that differs most.
    fn worst(&self) -> Option<&Figure> {
        self.all().max_by(|a, b| (a.ratio() - 1.0).abs().total_cmp(&(b.ratio() - 1.0).abs()))
    }

    fn say(&self, is_steady: bool) -> String {
        let range = |figures: &[Figure]| {
            let ratios = || figures.iter().map(Figure::ratio);
            let (least, most) = (ratios().fold(f64::MAX, f64::min), ratios().fold(0.0, f64::max));
            if figures.is_empty() { "not known".to_owned() } else { format!("x {least:.2} to {most:.2}") }
        };
        let loads = self.loads.iter().map(|load| {
            let (on_demand, wired) = (figure(load.on_demand), figure(load.wired));
            format!("{} {on_demand} of {wired} {} (x {:.2})", load.name, load.unit, load.ratio())
        });
        let judged = match self.worst() {
            _ if !is_steady => "not judged: links came or went during the measurement".to_owned(),
            Some(worst) if (worst.ratio() - 1.0).abs() <= WITHIN => {
                format!("within {:.0} % of the mesh that is wired by hand", WITHIN * 100.0)
            }
            Some(worst) => format!(
                "NOT within {:.0} % of the mesh that is wired by hand: {} x {:.2}",
                WITHIN * 100.0,
                worst.name,
                worst.ratio()
            ),
            None => "not judged: there are no figures".to_owned(),
        };
        format!(
            "on-demand beside mesh-of-sites, {} entities, when its links are up: latency of each pair of sites p50 {}, p99 {}; {}: {judged}",
            self.entities,
            range(&self.p50),
            range(&self.p99),
            loads.collect::<Vec<_>>().join(", "),
        )
    }
}

/// Figures of cross links over the replications of a run: a mean, or the first and the last moment.
struct Links<'a>(Vec<&'a CrossLinkFigures>);

impl<'a> Links<'a> {
    fn of(done: &'a Done) -> Self {
        Self(done.outcomes.iter().filter_map(|outcome| outcome.cross_links.as_ref()).collect())
    }

    fn mean(&self, of: impl Fn(&CrossLinkFigures) -> u64) -> f64 {
        base::stats::mean(self.0.iter().map(|links| of(links) as f64))
    }

    fn first_up_s(&self) -> Option<f64> {
        self.0.iter().filter_map(|links| links.first_up_s).min_by(f64::total_cmp)
    }

    fn last_up_s(&self) -> Option<f64> {
        self.0.iter().filter_map(|links| links.last_up_s).max_by(f64::total_cmp)
    }

    fn is_steady(&self) -> bool {
        self.0.iter().all(|links| links.path_changes == 0)
    }

    /// Cross links that are left after the rest. `None`: some replication did not get there.
    fn left(&self) -> Option<f64> {
        self.0.iter().all(|links| links.left.is_some()).then(|| self.mean(|links| links.left.unwrap_or(0)))
    }
}

/// Cross links of each run on demand, and its figures beside those of the mesh of sites.
pub(super) fn sheets(scenario: &Scenario, ran: &Ran) -> Vec<Sheet> {
    let on_demand = || ran.of_topology(Joined::OnDemand).filter(|done| done.is_counted());
    let columns = [
        ("entities", "entities"),
        ("opened", "opened"),
        ("closed", "closed"),
        ("up", "up"),
        ("first_up_s", "first after s"),
        ("last_up_s", "last after s"),
        ("path_changes", "path changes"),
        ("duplicates", "duplicates"),
        ("left", "left at rest"),
    ];
    let mut links = Sheet::new("cross-links", "Cross links on demand, from the first update on", &columns);
    for done in on_demand() {
        let of = Links::of(done);
        links.row(vec![
            done.entities().into(),
            number(of.mean(|links| links.opened)),
            number(of.mean(|links| links.closed)),
            number(of.mean(CrossLinkFigures::up)),
            maybe(of.first_up_s()),
            maybe(of.last_up_s()),
            number(of.mean(|links| links.path_changes)),
            number(of.mean(|links| links.duplicates)),
            maybe(of.left()),
        ]);
    }
    let columns = [
        ("entities", "entities"),
        ("figure", "figure"),
        ("mesh_of_sites", "mesh of sites"),
        ("on_demand", "on demand"),
        ("ratio", "ratio"),
    ];
    let mut ratios = Sheet::new("ratios", "Links on demand beside the mesh of sites", &columns);
    for comparison in on_demand().filter_map(|done| Comparison::of(scenario, ran, done)) {
        for figure in comparison.all() {
            ratios.row(vec![
                comparison.entities.into(),
                format!("{} ({})", figure.name, figure.unit).into(),
                number(figure.wired),
                number(figure.on_demand),
                number(figure.ratio()),
            ]);
        }
    }
    vec![links, ratios]
}

/// A mean of counts, without digits that say nothing.
fn count(mean: f64) -> String {
    if mean.fract() == 0.0 { format!("{mean:.0}") } else { figure(mean) }
}

/// Sentences on cross links, and whether they do as well as the mesh of sites.
pub(super) fn notes(scenario: &Scenario, ran: &Ran) -> Vec<String> {
    let mut notes = Vec::new();
    for done in ran.of_topology(Joined::OnDemand).filter(|done| done.is_counted()) {
        let of = Links::of(done);
        let up = match (of.first_up_s(), of.last_up_s()) {
            (Some(first), Some(last)) => {
                format!(
                    "the first came up {first:.2} s after the first update, the last {last:.2} s after it"
                )
            }
            _ => "none came up".to_owned(),
        };
        let left = match of.left() {
            Some(left) => format!("after a rest {} are left", count(left)),
            None => "it did not get to the rest after it".to_owned(),
        };
        notes.push(format!(
            "on-demand, {} entities: {} cross links opened and {} closed until the end of the measurement; {up}; {left}; routers received {} \
             messages twice",
            done.entities(),
            count(of.mean(|links| links.opened)),
            count(of.mean(|links| links.closed)),
            count(of.mean(|links| links.duplicates)),
        ));
        notes.extend(Comparison::of(scenario, ran, done).map(|comparison| comparison.say(of.is_steady())));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::super::file::{TopologyName, Wishes};
    use super::*;
    use crate::exercise::run;

    fn comparison(wired: f64, on_demand: f64) -> Comparison {
        let figure =
            |name: &str, wired, on_demand| Figure { name: name.to_owned(), unit: "ms", wired, on_demand };
        Comparison {
            entities: 100,
            p50: vec![figure("p50, A to B", 10.0, 10.0), figure("p50, B to A", wired, on_demand)],
            p99: Vec::new(),
            loads: vec![figure("an idle line", 0.0, 0.0)],
        }
    }

    #[test]
    fn a_tenth_more_or_less_is_within_and_more_than_that_is_named() {
        for (wired, on_demand, verdict) in [
            (10.0, 10.9, ": within 10 % of the mesh that is wired by hand"),
            (10.0, 9.1, ": within 10 % of the mesh that is wired by hand"),
            (10.0, 11.2, ": NOT within 10 % of the mesh that is wired by hand: p50, B to A x 1.12"),
            (10.0, 8.5, ": NOT within 10 % of the mesh that is wired by hand: p50, B to A x 0.85"),
            (0.0, 1.0, ": NOT within 10 % of the mesh that is wired by hand: p50, B to A x inf"),
        ] {
            let said = comparison(wired, on_demand).say(true);
            assert!(said.ends_with(verdict), "{said}");
        }
        let said = comparison(10.0, 11.2).say(false);
        assert!(said.ends_with("not judged: links came or went during the measurement"), "{said}");
        let said = comparison(10.0, 10.5).say(true);
        assert!(
            said.contains("p50 x 1.00 to 1.05, p99 not known; an idle line 0.00 of 0.00 ms (x 1.00)"),
            "{said}"
        );
    }

    #[test]
    fn a_small_exercise_is_as_good_as_over_a_mesh_that_is_wired_by_hand() {
        let scenario = Scenario::parse(crate::commands::built_in::JUO).unwrap();
        let points = [TopologyName::MeshOfSites, TopologyName::OnDemand].map(|topology| {
            let topology = Some(topology);
            let wishes = Wishes { nodes: Some(60), seconds: Some(1), topology, ..Wishes::default() };
            scenario.points(&wishes).unwrap().remove(0)
        });
        let outcomes = points.iter().map(|point| run(&point.exercise, |_| true).unwrap()).collect();
        let ran = Ran::of(points.to_vec(), outcomes, 1);
        let said = notes(&scenario, &ran);
        assert!(
            said[0].starts_with("on-demand, 2500 entities: 3 cross links opened and 0 closed"),
            "{said:?}"
        );
        assert!(said[0].ends_with("after a rest 0 are left; routers received 0 messages twice"), "{said:?}");
        assert!(
            said[1].contains("NORFOLK's lines")
                && said[1].ends_with(": within 10 % of the mesh that is wired by hand")
        );
        assert_eq!(said.len(), 2);
        // Without the mesh to compare with, nothing is said of it.
        let alone = Ran(ran.0.into_iter().filter(|done| done.joined() == Joined::OnDemand).collect());
        assert_eq!(notes(&scenario, &alone), said[..1]);
    }
}
