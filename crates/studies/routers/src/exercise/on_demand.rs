//! Cross links on demand: the triads of sites are linked by the product's overlay.
//!
//! Each triad knows that of the first site, and learns of the others there. Two triads without a link
//! reach each other through a tunnel over the first site, until they have more for each other than a
//! tunnel is good for. The paper names this as its future work: "an adaptive, dynamically configuring
//! topology that adjusts to failures and new resources" (Gottschalk, Amburn and Davis 2005, section
//! 5).

use super::layout::Layout;
use super::simulator::{Phases, Simulator};
use super::{Exercise, Joined, START, Station};
use crate::routers::RunError;
use crate::routers::cross_links::{CrossLinkCounts, CrossLinks, Peers};
use base::Moment;
use netsim::HostId;
use netsim::cluster::Cluster;
use std::time::Duration;

/// Additional time before updates begin. Overlays link up, learn of each other, and begin tunnels
/// after a second; then interest has to spread through these.
const FIRST_PATHS: Duration = Duration::from_millis(2_500);
/// Time to warm up, besides two windows, in one of which the rates of the traffic are measured: cross
/// links come up within some round trips.
const LINKED: Duration = Duration::from_secs(1);
/// Windows of rest, besides the time after which an idle link is closed: the last rate that counts is
/// that of the window in which updates end, and the links close within round trips.
const WINDOWS_OF_REST: u32 = 3;

/// The cross links of an exercise. The links to the first site, which are configured, are none.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CrossLinkFigures {
    /// Number of cross links that came up until the end of the measurement.
    pub opened: u64,
    /// Number of these that were closed until then.
    pub closed: u64,
    /// When the first one came up, in seconds after the first update; `None` if none did.
    pub first_up_s: Option<f64>,
    /// When the last one came up before the end of the measurement.
    pub last_up_s: Option<f64>,
    /// Changes of paths between triads during the measurement, counted at each end. The measurement
    /// is one of a steady state if there are none.
    pub path_changes: u64,
    /// Messages that a router received a second time, from the beginning to the end of the rest.
    pub duplicates: u64,
    /// Cross links that are up when simulators have been silent for so long that none should be;
    /// `None`: the run was stopped before.
    pub left: Option<u64>,
}

impl CrossLinkFigures {
    /// Cross links that are up at the end of the measurement.
    pub fn up(&self) -> u64 {
        self.opened - self.closed
    }
}

impl Exercise {
    /// The moments at which simulators begin to send, to move, to count, and to be silent. With links
    /// on demand they first send the updates of entities that stand still, so that the links that the
    /// traffic calls for are up when the exercise begins. From then on it is the same one over any
    /// topology.
    pub(super) fn phases(&self) -> Phases {
        let is_on_demand = self.joined == Joined::OnDemand;
        let (warm_from, warm_up) = match is_on_demand {
            true => (START + FIRST_PATHS, 2 * self.on_demand.window + LINKED),
            false => (START, Duration::ZERO),
        };
        let start = warm_from + warm_up;
        let counted_from = start + self.settle;
        let silent_from = if is_on_demand { counted_from + self.window } else { Moment::MAX };
        Phases { warm_from, start, counted_from, silent_from }
    }

    /// Simulated time after the measurement, in which simulators are silent.
    pub(super) fn rest(&self) -> Duration {
        match self.joined {
            Joined::OnDemand => self.on_demand.idle_after + WINDOWS_OF_REST * self.on_demand.window + LINKED,
            _ => Duration::ZERO,
        }
    }
}

/// Gives the triads of an exercise their overlays. Host `n` runs station `n`.
pub(super) fn join(
    exercise: &Exercise,
    layout: &Layout,
    stations: &mut [Station<Simulator>],
) -> Result<(), RunError> {
    let host = |at: usize| HostId(u32::try_from(at).expect("limits of exercises keep hosts below 2^32"));
    let hosts: Vec<HostId> = layout.triads().map(host).collect();
    let (pipe, on_demand, seed) = (&exercise.hardware.pipe, exercise.on_demand, exercise.seed);
    for (triad, at) in layout.triads().enumerate() {
        let peers = Peers { hosts: &hosts, pipe, on_demand, seed };
        stations[at].cross_links = Some(CrossLinks::new(peers, triad)?);
    }
    Ok(())
}

fn all(cluster: &Cluster<Station<Simulator>>) -> impl Iterator<Item = &CrossLinks> {
    cluster.hosts().filter_map(|host| cluster.process(host).cross_links.as_ref())
}

/// Whether every triad with an overlay has a path to every other one.
pub(super) fn is_complete(cluster: &Cluster<Station<Simulator>>) -> bool {
    all(cluster).all(CrossLinks::is_complete)
}

/// Counters of all triads.
pub(super) fn counts(cluster: &Cluster<Station<Simulator>>) -> CrossLinkCounts {
    let mut sum = CrossLinkCounts::default();
    all(cluster).for_each(|links| sum.add(links.counts()));
    sum
}

/// The figures of a measurement, from the counters at its beginning and its end.
pub(super) fn figures(
    exercise: &Exercise,
    before: CrossLinkCounts,
    after: CrossLinkCounts,
) -> CrossLinkFigures {
    let start = exercise.phases().warm_from.since(Moment::ZERO).as_secs_f64();
    let after_start = |at: Moment| at.since(Moment::ZERO).as_secs_f64() - start;
    CrossLinkFigures {
        opened: after.opened,
        closed: after.closed,
        first_up_s: after.first_up.map(after_start),
        last_up_s: after.last_up.map(after_start),
        path_changes: after.path_changes - before.path_changes,
        duplicates: 0,
        left: None,
    }
}

/// Messages that any router received a second time.
pub(super) fn duplicates(cluster: &Cluster<Station<Simulator>>) -> u64 {
    let routers = cluster.hosts().flat_map(|host| &cluster.process(host).routers);
    routers.map(|router| router.stats().duplicate_messages).sum()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{received_of_each, wan};
    use super::super::{Outcome, execute};
    use super::*;
    use base::Seed;
    use overlay::OnDemand;

    /// Three sites, of which the second and the third may link to each other.
    fn three_sites(on_demand: OnDemand) -> Exercise {
        Exercise { on_demand, ..wan(Joined::OnDemand) }
    }

    fn settings(above: u64, below: u64, window_ms: u64, idle_ms: u64) -> OnDemand {
        let (window, idle_after) = (Duration::from_millis(window_ms), Duration::from_millis(idle_ms));
        OnDemand { above, below, window, windows: 1, idle_after }
    }

    /// Updates that each simulator must receive, from the first to the last of all.
    fn all_updates(exercise: &Exercise) -> Vec<f64> {
        let Phases { warm_from, start, silent_from, .. } = exercise.phases();
        let population = &exercise.population;
        received_of_each(exercise, |owner, (entities, moving)| {
            let mut turns = vec![0.0; entities];
            for lasts in [start.since(warm_from), silent_from.since(start)] {
                for mut rounds in population.rounds_of(owner, (moving, entities), exercise.seed) {
                    while rounds.due().is_some_and(|due| due < lasts)
                        && let Some(entity) = rounds.pop(lasts)
                    {
                        turns[entity] += 1.0;
                    }
                }
            }
            turns
        })
    }

    /// Runs an exercise, and checks that every simulator has received every update of what it sees,
    /// and that no router has received any twice.
    fn go(exercise: &Exercise) -> (Outcome, CrossLinkFigures) {
        let (outcome, cluster) = execute(exercise, |_| true).expect("it can be run");
        let simulators = cluster.hosts().filter_map(|host| cluster.process(host).application.as_ref());
        let received: Vec<f64> = simulators.map(|simulator| simulator.counts.received as f64).collect();
        assert_eq!(received, all_updates(exercise));
        let figures = outcome.cross_links.expect("it is on demand");
        assert_eq!(figures.duplicates, 0);
        (outcome, figures)
    }

    fn p50_ms(outcome: &Outcome, from: usize, to: usize) -> f64 {
        outcome.latency[from][to].quantile(0.5) / 1e3
    }

    #[test]
    fn a_cross_link_comes_with_traffic_and_goes_with_it() {
        let (outcome, figures) = go(&three_sites(settings(8_000, 2_000, 250, 1_000)));
        assert_eq!((figures.opened, figures.closed, figures.up()), (1, 0, 1), "{figures:?}");
        assert_eq!((figures.path_changes, figures.left), (0, Some(0)), "{figures:?}");
        let up = figures.first_up_s.expect("it came up");
        // Two round trips of 50 ms, and what is left of a window, which interest may have begun.
        assert!((0.1..1.0).contains(&up) && figures.last_up_s == Some(up), "{figures:?}");
        assert!((25.0..27.0).contains(&p50_ms(&outcome, 1, 2)), "{}", p50_ms(&outcome, 1, 2));
        assert!((33.0..35.0).contains(&p50_ms(&outcome, 0, 1)));
    }

    #[test]
    fn it_delivers_what_a_mesh_delivers_that_is_wired_by_hand() {
        let mut exercise = three_sites(settings(8_000, 2_000, 250, 1_000));
        exercise.population.cells_per_s = 0.5;
        let run =
            |joined| execute(&Exercise { joined, ..exercise.clone() }, |_| true).expect("it can be run").0;
        let (wired, on_demand) = (run(Joined::MeshOfSites), run(Joined::OnDemand));
        assert_eq!(on_demand.updates_per_s, wired.updates_per_s);
        assert!(on_demand.interest_changes_per_s > 50.0);
        assert_eq!(on_demand.interest_changes_per_s, wired.interest_changes_per_s);
        // Entities near the edge of a view may be in or out, by microseconds.
        assert!((on_demand.deliveries_per_s / wired.deliveries_per_s - 1.0).abs() < 0.002);
    }

    #[test]
    fn little_traffic_goes_by_the_first_site() {
        let (outcome, figures) = go(&three_sites(settings(1 << 40, 2_000, 250, 1_000)));
        assert_eq!((figures.opened, figures.first_up_s, figures.left), (0, None, Some(0)));
        assert!((88.0..91.0).contains(&p50_ms(&outcome, 1, 2)), "{}", p50_ms(&outcome, 1, 2));
    }

    #[test]
    fn links_that_come_and_go_in_the_midst_of_traffic_lose_nothing_and_repeat_nothing() {
        let mut moves = 0;
        for seed in 1..5 {
            // About the mean of the traffic, so that chance decides in each window.
            let mut exercise = three_sites(settings(70_000, 70_000, 50, 200));
            exercise.seed = Seed(seed);
            let (_, figures) = go(&exercise);
            assert!(figures.left == Some(0) && figures.up() <= 1, "{figures:?}");
            moves += figures.opened + figures.closed;
        }
        assert!(moves > 10, "{moves}");
    }

    #[test]
    fn a_run_is_a_function_of_its_seed() {
        let exercise = three_sites(settings(8_000, 2_000, 250, 1_000));
        let of =
            |seed| execute(&Exercise { seed: Seed(seed), ..exercise.clone() }, |_| true).expect("it runs").0;
        assert_eq!(of(1), of(1));
        assert_ne!(of(1).digest, of(2).digest);
        // A run that is stopped has no rest.
        let (part, _) = execute(&exercise, |share| share < 0.9).expect("it runs");
        assert_eq!((part.counted, part.cross_links.expect("on demand").left), (exercise.window, None));
    }
}
