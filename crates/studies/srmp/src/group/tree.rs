//! The reference group of [`scale`] with loggers, and the goals for such groups.
//!
//! Every site elects a logger; more than eight sites have region loggers. Sources are alone at
//! their sites and are their own loggers.

use std::time::Duration;

use wan::{LineSpec, Loss};
use workload::{Holding, Workload};

use super::group::{GroupError, Setup};
use super::layout::LossAt;
use super::report::Report;
use super::scale::{self, Goal, RTT, SITE, SOURCES, bernoulli};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Time by which elections are over and all distances are known.
pub(super) const SETTLED: Duration = seconds(35);
/// Number of joiners of the storm, and its time in seconds.
const STORM: u32 = 200;
const STORM_AT: u64 = 60;

/// The reference group with loggers.
pub fn reference(receivers: u32, run: Duration) -> Setup {
    Setup {
        loggers: true,
        join_within: seconds(2),
        traffic_from: SETTLED,
        ..scale::reference(receivers, run)
    }
}

/// The same group where only hosts have losses, which each site can repair by itself.
pub fn lossy_hosts(receivers: u32, run: Duration) -> Setup {
    let mut setup = reference(receivers, run);
    setup.layout.trunk.loss = Loss::None;
    setup
}

/// The same group where only the sources' own links have losses, which are the same for all
/// receivers.
pub fn lossy_sources(receivers: u32, run: Duration) -> Setup {
    let mut setup = reference(receivers, run);
    setup.layout.loss_at = LossAt::Sender;
    setup.layout.trunk.loss = bernoulli(0.05);
    setup.layout.last_hop = Loss::None;
    setup
}

/// Two sites of receivers. Each receiver restarts once without its state, one after another.
pub fn joins(run: Duration) -> Setup {
    let mut setup = reference(2 * SITE, run);
    busy(&mut setup.workload);
    let first = SOURCES as usize;
    let hosts = first..first + 2 * SITE as usize;
    let count = hosts.len() as u32;
    let pause = seconds(13);
    let begin = setup.traffic_from + run / 3;
    let span = run - run / 3 - pause;
    setup.crashes = hosts.zip(0..).map(|(host, index)| (host, begin + span * index / count, pause)).collect();
    setup
}

/// The same with sites of one host each, so that a joiner can only ask the sources.
pub fn lonely_joins(run: Duration) -> Setup {
    let mut setup = joins(run);
    setup.layout.sites = vec![1; (SOURCES + 2 * SITE) as usize];
    setup
}

/// `objects` objects of 250 octets at one source, and a site of four hosts, one of which restarts
/// after the traffic.
pub fn many_objects(objects: u32, host_loss: f64) -> Setup {
    let mut workload = Workload::table1(objects);
    for state in workload.classes.iter_mut().flat_map(|class| class.chain.states.iter_mut().flatten()) {
        state.mean = seconds(20);
        state.holding = Holding::Deterministic;
        state.rate = [0.0, 0.0];
    }
    let mut setup = reference(SITE, seconds(25));
    setup.layout.sites = vec![1, 4];
    setup.layout.trunk = LineSpec { delay: RTT / 2, ..LineSpec::default() };
    setup.layout.last_hop = bernoulli(host_loss);
    setup.workload = workload;
    setup.sources = 1;
    setup.crashes = vec![(3, SETTLED + seconds(30), seconds(5))];
    setup.settle = seconds(60);
    setup
}

/// The reference group, in which `joiners` receivers of all sites restart within one second.
pub fn storm(receivers: u32, joiners: u32) -> Setup {
    let mut setup = reference(receivers, seconds(40));
    busy(&mut setup.workload);
    let first = SOURCES as usize;
    let step = (receivers / joiners.max(1)).max(1) as usize;
    let hosts = (first..first + receivers as usize).step_by(step).take(joiners as usize);
    let from = seconds(STORM_AT - 15);
    setup.crashes = hosts
        .zip(0..)
        .map(|(host, index)| (host, from, seconds(15) + seconds(1) * index / joiners.max(1)))
        .collect();
    setup
}

/// Makes states change often, so that every object soon has a version.
fn busy(workload: &mut Workload) {
    for state in workload.classes.iter_mut().flat_map(|class| class.chain.states.iter_mut().flatten()) {
        state.mean = seconds(10);
    }
}

/// Repair traffic over links per message with loggers, divided by that without.
pub fn crossings_over_flat(tree: &Report, flat: &Report) -> f64 {
    let per_message = |report: &Report| {
        let crossings = report.crossings.repairs_between_sites + report.crossings.repairs_to_hosts;
        crossings as f64 / report.totals.mode1_sent.max(1) as f64
    };
    per_message(tree) / per_message(flat).max(f64::MIN_POSITIVE)
}

/// Relative increase of the sources' traffic in the two seconds of a storm.
pub fn storm_load(with: &Report, without: &Report) -> f64 {
    let bytes = |report: &Report| {
        let seconds = report.source_bytes.iter().skip(STORM_AT as usize).take(2);
        seconds.sum::<u64>() as f64
    };
    bytes(with) / bytes(without).max(1.0) - 1.0
}

/// Adds the goals for groups with loggers, one after another. Runs have `receivers` receivers and
/// last `time`; `flat` is the report of the same group without loggers.
///
/// # Errors
/// The error of `run`.
pub(super) fn find_goals(
    goals: &mut Vec<Goal>,
    receivers: u32,
    time: Duration,
    flat: &Report,
    run: &mut impl FnMut(Setup) -> Result<Report, GroupError>,
) -> Result<(), GroupError> {
    let goal = |goal, what, wanted, must, measured| Goal { goal, what, wanted, must, measured };
    let ms = |report: &Report, quantile| report.totals.recovery(quantile).as_secs_f64() * 1e3;
    let tree = run(reference(receivers, time))?;
    let at_source = tree.totals.nacks_at_source as f64 / tree.lost.max(1) as f64;
    let round_trips = |quantile| ms(&tree, quantile) / (RTT.as_secs_f64() * 1e3);
    let lacking = 1.0 - tree.finals.1 as f64 / tree.finals.0.max(1) as f64;
    goals.extend([
        goal("G1", "NACKs at the source per loss, loggers", Some(1.0), None, at_source),
        goal("G3", "recovery p50, round trips, loggers", Some(1.05), Some(1.6), round_trips(0.5)),
        goal("G3", "recovery p99, round trips, loggers", Some(2.6), None, round_trips(0.99)),
        goal("G5", "repairs on links, loggers over flat", Some(0.05), None, crossings_over_flat(&tree, flat)),
        goal("G6", "share of final values missing, loggers", Some(0.0), Some(0.0), lacking),
    ]);
    let cut = run(lossy_sources(receivers, time))?;
    let most = cut.most_asked as f64;
    goals.push(goal("G1", "the most for one loss at the source's link", Some(8.0), None, most));
    let hosts = run(lossy_hosts(receivers, time))?;
    let of_receivers = |quantile| hosts.totals.recovery_of_receivers.quantile(quantile).as_secs_f64() * 1e3;
    goals.push(goal("G2", "detection to data in a site, p50 ms", Some(2.0), None, of_receivers(0.5)));
    goals.push(goal("G2", "the same, p99 ms", Some(6.0), Some(15.0), of_receivers(0.99)));
    find_join_goals(goals, receivers, run)
}

/// Adds the goals for joiners.
fn find_join_goals(
    goals: &mut Vec<Goal>,
    receivers: u32,
    run: &mut impl FnMut(Setup) -> Result<Report, GroupError>,
) -> Result<(), GroupError> {
    let goal = |what, wanted, must, measured| Goal { goal: "G8", what, wanted, must, measured };
    let ms = |report: &Report| {
        let time = report.joins.quantile(0.99).as_secs_f64() * 1e3;
        if report.unjoined > 0 { f64::INFINITY } else { time }
    };
    let near = run(joins(seconds(240)))?;
    goals.push(goal("a joiner has 60 objects, site logger, p99 ms", Some(250.0), Some(1_000.0), ms(&near)));
    let far = run(lonely_joins(seconds(240)))?;
    goals.push(goal("the same without any logger, p99 ms", Some(250.0), Some(1_000.0), ms(&far)));
    let many = run(many_objects(10_000, 0.0))?;
    goals.push(goal("10,000 objects of 250 octets, ms", Some(3_000.0), None, ms(&many)));
    let lossy = run(many_objects(10_000, 0.05))?;
    goals.push(goal("the same at 5 % loss, ms", Some(3_000.0), None, ms(&lossy)));
    let joiners = STORM.min(receivers / 5);
    let with = run(storm(receivers, joiners))?;
    let without = run(Setup { crashes: Vec::new(), ..storm(receivers, joiners) })?;
    goals.extend([
        goal("load of sources more, 200 join in 1 s", Some(0.1), None, storm_load(&with, &without)),
        goal("of these, all has the last after ms", None, None, ms(&with)),
    ]);
    Ok(())
}
