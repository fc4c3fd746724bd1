//! Groups with many receivers, and the goals for them.
//!
//! The reference group has 4 sources with 15 objects each, alone at their sites, and sites of 50
//! receivers. Each site loses 1 % of the incoming datagrams for all its hosts, and each host
//! another 5 % by itself. A round trip takes 100 ms between sites and 1 ms within one. There are no
//! loggers: the sources repair everything, for the whole group.

use std::time::Duration;

use base::Seed;
use srmp::Config;
use srmp::rate::Rate;
use wan::{GilbertElliott, LineSpec, Loss, Share, Step};
use workload::Workload;

use super::group::{Group, GroupError, Setup};
use super::layout::{Layout, LossAt};
use super::report::Report;
use super::table1::{HOSTS, OBJECTS};

/// Number of receivers at a site.
pub const SITE: u32 = 50;
/// Number of hosts with objects.
pub const SOURCES: u32 = 4;
/// Round-trip time between sites.
pub const RTT: Duration = Duration::from_millis(100);
/// Share of datagrams that a site loses.
pub const SITE_LOSS: f64 = 0.01;
/// Share of the remaining datagrams that a host loses.
pub const HOST_LOSS: f64 = 0.05;
/// Maximum number of receivers of a run; addresses and memory limits are set for this number.
pub const RECEIVERS_MAX: u32 = 20_000;

/// The reference group with this number of receivers.
pub fn reference(receivers: u32, run: Duration) -> Setup {
    let full = receivers / SITE;
    let rest = receivers % SITE;
    let mut sites = vec![1; SOURCES as usize];
    sites.extend(std::iter::repeat_n(SITE, full as usize));
    sites.extend((rest > 0).then_some(rest));
    Setup {
        layout: Layout {
            sites,
            trunk: LineSpec { delay: RTT / 2, loss: bernoulli(SITE_LOSS), ..LineSpec::default() },
            local_delay: Duration::from_micros(500),
            last_hop: bernoulli(HOST_LOSS),
            loss_at: LossAt::Receiver,
            cuts: Vec::new(),
        },
        workload: Workload::table1(SOURCES * OBJECTS),
        sources: SOURCES as usize,
        tune: large_group,
        urgent: true,
        join_within: Duration::from_secs(10),
        traffic_from: Duration::from_secs(15),
        run,
        settle: Duration::from_secs(15),
        crashes: Vec::new(),
        region_crashes: Vec::new(),
        loggers: false,
    }
}

/// Settings for the reference group: 20 ms of bundling, and eight announcements in a bundle, the
/// latest ones first.
fn large_group(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
    config.timing.bundle_timeout = Duration::from_millis(20);
    config.announcements_max = 8;
    config.limits.members_max = (RECEIVERS_MAX + SOURCES) as usize;
}

/// The lower bound of repairs per message in the reference group, with ideal suppression.
pub fn least_repairs(receivers: u32) -> f64 {
    let sites = [
        (receivers / SITE, SITE),
        (u32::from(!receivers.is_multiple_of(SITE)), receivers % SITE),
        (SOURCES - 1, 1),
    ];
    (1..200)
        .map(|sendings| {
            let all: f64 =
                sites.iter().map(|&(sites, hosts)| site_has(sendings, hosts).powi(sites as i32)).product();
            1.0 - all
        })
        .sum()
}

/// The probability that all hosts of a site have a message after `sendings` transmissions.
fn site_has(sendings: i32, hosts: u32) -> f64 {
    let mut ways = 1.0;
    (0..=sendings)
        .map(|reached| {
            if reached > 0 {
                ways *= f64::from(sendings - reached + 1) / f64::from(reached);
            }
            let reaches = ways * (1.0 - SITE_LOSS).powi(reached) * SITE_LOSS.powi(sendings - reached);
            reaches * (1.0 - HOST_LOSS.powi(reached)).powi(hosts as i32)
        })
        .sum()
}

/// The figures of a run of the reference group.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// NACKs that reached the sources, per message that some host missed.
    pub nacks_per_loss: f64,
    /// Repairs per mode 1 message, second copies included.
    pub repairs_per_message: f64,
    /// The same, divided by its lower bound.
    pub repairs_over_least: f64,
    /// Median and 99th percentile of the time from the detection of a loss to the data, in seconds.
    pub recovery: [f64; 2],
    /// Share of control traffic in all octets.
    pub control: f64,
    /// Share of reports in all octets.
    pub feedback: f64,
    /// Share of the copies of final values that exist at the end.
    pub finals: f64,
}

impl Figures {
    /// The figures of a run with this number of receivers.
    pub fn of(receivers: u32, run: &Report) -> Self {
        let (totals, sent) = (&run.totals, &run.sent);
        let repairs = (totals.retransmissions + totals.copies) as f64 / totals.mode1_sent.max(1) as f64;
        let all = sent.ip_bytes.max(1) as f64;
        Self {
            nacks_per_loss: totals.nacks_at_source as f64 / run.lost.max(1) as f64,
            repairs_per_message: repairs,
            repairs_over_least: repairs / least_repairs(receivers),
            recovery: [0.5, 0.99].map(|quantile| totals.recovery(quantile).as_secs_f64()),
            control: sent.control_bytes as f64 / all,
            feedback: sent.feedback_bytes as f64 / all,
            finals: run.finals.1 as f64 / run.finals.0.max(1) as f64,
        }
    }
}

/// One object that sends an update every five seconds and is silent in between, 20 receivers, 5 %
/// loss on each line.
pub fn silent_source(run: Duration) -> Setup {
    let trunk = LineSpec { delay: RTT / 2, loss: bernoulli(0.05), ..LineSpec::default() };
    let mut workload = Workload::table1(1);
    for state in workload.classes.iter_mut().flat_map(|class| class.chain.states.iter_mut().flatten()) {
        state.mean = Duration::from_secs(5);
        state.holding = workload::Holding::Deterministic;
        state.rate = [0.0, 0.0];
    }
    Setup {
        layout: Layout::single_hosts(21, trunk),
        workload,
        sources: 1,
        tune: own_rate,
        urgent: true,
        join_within: Duration::ZERO,
        traffic_from: Duration::from_secs(15),
        run,
        settle: Duration::from_secs(15),
        crashes: Vec::new(),
        region_crashes: Vec::new(),
        loggers: false,
    }
}

fn own_rate(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
}

/// The group of Table 1 on lines with another loss; its mode 1 messages do not wait for others.
pub fn table1_under(loss: Loss, run: Duration) -> Setup {
    let trunk = LineSpec { delay: RTT / 2, loss, ..LineSpec::default() };
    Setup {
        layout: Layout::single_hosts(HOSTS, trunk),
        workload: Workload::table1(HOSTS * OBJECTS),
        sources: HOSTS as usize,
        ..Setup { run, traffic_from: Duration::ZERO, ..silent_source(run) }
    }
}

/// Independent losses of datagrams.
pub fn bernoulli(share: f64) -> Loss {
    Share::from_f64(share).map_or(Loss::None, Loss::Bernoulli)
}

/// Losses in bursts with a mean length of ten datagrams.
pub fn bursts(share: f64) -> Loss {
    let share = Share::from_f64(share).unwrap_or_default();
    GilbertElliott::of_burst(share, 10.0, Step::Datagram).map_or(Loss::None, Loss::GilbertElliott)
}

/// A goal for a group, and the measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// `G1` to `G10`.
    pub goal: &'static str,
    /// Name of the measured quantity.
    pub what: &'static str,
    /// Upper bound of the goal, if there is one.
    pub wanted: Option<f64>,
    /// Upper bound of the requirement, if there is one.
    pub must: Option<f64>,
    /// The measured value.
    pub measured: f64,
}

impl Goal {
    /// `goal` if the goal is met, `must` if only the requirement is, else `missed`; `-` without bounds
    /// for a group of this size.
    pub fn verdict(&self) -> &'static str {
        let within = |limit: Option<f64>| limit.is_some_and(|limit| self.measured <= limit);
        if self.wanted.is_none() && self.must.is_none() {
            "-"
        } else if within(self.wanted) {
            "goal"
        } else if within(self.must) {
            "must"
        } else {
            "missed"
        }
    }
}

/// Measures all goals, without loggers and with them. Runs have `receivers` receivers and last
/// `time`, or `long` where a goal needs a long run. If `go_on`, which is as for [`Group::run`],
/// stops the runs, returns the goals measured so far.
///
/// # Errors
/// [`GroupError`]; these settings should cause none.
pub fn goals(
    receivers: u32,
    time: Duration,
    long: Duration,
    seed: Seed,
    mut go_on: impl FnMut() -> bool,
) -> Result<Vec<Goal>, GroupError> {
    let mut goals = Vec::new();
    let mut run = |setup| Group::new(setup, seed)?.run(&mut go_on);
    match find_goals(&mut goals, receivers, (time, long), &mut run) {
        Ok(()) | Err(GroupError::Stopped) => {}
        Err(error) => return Err(error),
    }
    goals.sort_by_key(|goal| goal.goal);
    Ok(goals)
}

/// Adds the goals one after another, with reports from `run`.
fn find_goals(
    goals: &mut Vec<Goal>,
    receivers: u32,
    (time, long): (Duration, Duration),
    run: &mut impl FnMut(Setup) -> Result<Report, GroupError>,
) -> Result<(), GroupError> {
    let report = run(reference(receivers, time))?;
    goals.extend(reference_goals(receivers, &Figures::of(receivers, &report)));
    super::tree::find_goals(goals, receivers, time, &report, run)?;
    goals.extend(detection_goals(&run(silent_source(long))?));
    let lines = [
        ("stale s per object-hour, 20 % loss", bernoulli(0.2), true),
        ("the same, 10 % in bursts of 10", bursts(0.1), true),
        ("the same, 10 % loss", bernoulli(0.1), false),
        ("the same, 5 % in bursts of 10", bursts(0.05), false),
    ];
    for (what, loss, is_goal) in lines {
        let stale = run(table1_under(loss, long))?.stale_seconds_per_hour;
        let limit = |applies: bool| applies.then_some(1.0);
        goals.push(Goal { goal: "G7", what, wanted: limit(is_goal), must: limit(!is_goal), measured: stale });
    }
    Ok(())
}

/// The goals that the reference group shows.
pub fn reference_goals(receivers: u32, figures: &Figures) -> Vec<Goal> {
    let rtt = RTT.as_secs_f64();
    let goal = |goal, what, wanted, must, measured| Goal { goal, what, wanted, must, measured };
    let lacking = 1.0 - figures.finals;
    let (many, some) = ((receivers >= 10_000).then_some(0.0), (receivers >= 1_000).then_some(0.0));
    vec![
        goal("G1", "NACKs at the source per loss, flat", Some(3.5), Some(5.0), figures.nacks_per_loss),
        goal("G3", "recovery p50, round trips", Some(1.05), Some(1.6), figures.recovery[0] / rtt),
        goal("G3", "recovery p99, round trips", Some(2.6), None, figures.recovery[1] / rtt),
        goal("G5", "repairs over the least, flat", Some(1.15), Some(1.3), figures.repairs_over_least),
        goal("G6", "share of final values missing", many, some, lacking),
        goal("G9", "control bytes over all", Some(0.15), Some(0.25), figures.control),
        goal("G9", "report bytes over all", Some(0.05), None, figures.feedback),
    ]
}

fn detection_goals(silent: &Report) -> Vec<Goal> {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let extra = silent.totals.trailing as f64 / silent.totals.mode1_sent.max(1) as f64;
    let goal = |what, wanted, must, measured| Goal { goal: "G4", what, wanted, must, measured };
    vec![
        goal("a lost last update is detected, mean ms", Some(30.0), None, ms(silent.detection.mean())),
        goal("the same, p99 ms", Some(200.0), Some(1_000.0), ms(silent.detection.quantile(0.99))),
        goal("extra packets per update", Some(6.0), None, extra),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::table1::optimum;

    #[test]
    fn the_least_is_that_of_one_loss_where_sites_lose_nothing_more() {
        // About 1000 receivers at 5 %; sites add a little.
        let plain = optimum(1_000, HOST_LOSS);
        let least = least_repairs(1_000);
        assert!(least > plain && least < plain + 0.6, "{least} {plain}");
        assert!((site_has(1, 2) - 0.99 * 0.95 * 0.95).abs() < 1e-12);
    }
}
