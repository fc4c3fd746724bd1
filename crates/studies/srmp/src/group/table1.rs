//! Table 1 of the SRMP paper: four locations with 15 objects each, half an hour, 5 % loss.
//!
//! The paper states neither where losses occurred nor how NACKs were timed. Two readings reproduce
//! its number of retransmissions; a third shows the protocol at its best.

use base::stats;
use std::time::Duration;

use base::Seed;
use srmp::Config;
use srmp::rate::Rate;
use wan::{LineSpec, Loss, Share};
use workload::{State, Workload};

use super::layout::{Layout, LossAt};
use super::machine::{Group, GroupError, Setup};
use super::report::Report;

/// Number of locations.
pub const HOSTS: u32 = 4;
/// Number of objects at each location.
pub const OBJECTS: u32 = 15;
/// Length of the run.
pub const RUN: Duration = Duration::from_secs(1_800);

/// A reading of Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Each daemon has independent losses; suppression and hold-off as in this library. Round-trip
    /// time 100 ms.
    Honest,
    /// Each of the 45 remote objects has independent losses; one message per bundle, no second
    /// copies. Round-trip time 100 ms.
    ObjectLoss,
    /// Each daemon has independent losses. Every bundle that arrives while something is missing
    /// triggers a NACK, and every NACK a repair; one message per bundle. Round-trip time 150 ms.
    NoHoldoff,
}

/// Figures of Table 1, as printed in the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paper {
    /// Mode 0 messages.
    pub mode0: f64,
    /// Mode 1 messages.
    pub mode1: f64,
    /// Retransmissions.
    pub retransmissions: f64,
    /// "About" this rate, in kbit/s.
    pub kbit_per_s: f64,
}

/// The figures of the paper.
pub const PAPER: Paper =
    Paper { mode0: 296_684.0, mode1: 2_169.0, retransmissions: 2_220.0, kbit_per_s: 330.0 };

/// An acceptance limit, and the measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// `T1` to `T11`.
    pub test: &'static str,
    /// Name of the measured quantity.
    pub what: &'static str,
    /// The measured value; for several runs the mean, or the value furthest off.
    pub measured: f64,
    /// The limits, both included.
    pub limits: (f64, f64),
}

impl Check {
    /// Whether the measured value is within its limits.
    pub fn passes(&self) -> bool {
        (self.limits.0..=self.limits.1).contains(&self.measured)
    }
}

impl Preset {
    /// All readings.
    pub const ALL: [Preset; 3] = [Self::Honest, Self::ObjectLoss, Self::NoHoldoff];

    /// The name of its scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Honest => "table1",
            Self::ObjectLoss => "table1-object-loss",
            Self::NoHoldoff => "table1-no-holdoff",
        }
    }

    /// Expected number of retransmissions per mode 1 message.
    pub fn expected_repairs(self) -> f64 {
        match self {
            Self::Honest => optimum(3, 0.05),
            Self::ObjectLoss => optimum(45, 0.05),
            // The number of bundles until the repair arrives, from a simulation of this reading
            // without a protocol.
            Self::NoHoldoff => 2_160.0 / PAPER.mode1,
        }
    }

    fn tune(self) -> fn(&mut Config) {
        match self {
            Self::Honest => private_network,
            Self::ObjectLoss => one_by_one,
            Self::NoHoldoff => prototype,
        }
    }

    /// The group of this reading, with `objects` objects at each location and traffic for `run`.
    pub fn setup(self, objects: u32, run: Duration) -> Setup {
        let rtt = if self == Self::NoHoldoff { 150 } else { 100 };
        let loss = Loss::Bernoulli(Share::from_millionths(50_000));
        let trunk = LineSpec { delay: Duration::from_millis(rtt / 2), loss, ..LineSpec::default() };
        let loss_at = if self == Self::ObjectLoss { LossAt::Object } else { LossAt::Receiver };
        Setup {
            layout: Layout { loss_at, ..Layout::single_hosts(HOSTS, trunk) },
            workload: Workload::table1(HOSTS * objects),
            sources: HOSTS as usize,
            tune: self.tune(),
            urgent: false,
            join_within: Duration::ZERO,
            traffic_from: Duration::ZERO,
            run,
            settle: Duration::from_secs(30),
            crashes: Vec::new(),
            region_crashes: Vec::new(),
            loggers: false,
        }
    }

    /// Runs half an hour. `go_on` is as for [`Group::run`].
    ///
    /// # Errors
    /// [`GroupError::Stopped`] if `go_on` stops the run; a preset should cause no other.
    pub fn run(self, seed: Seed, go_on: impl FnMut() -> bool) -> Result<Report, GroupError> {
        Group::new(self.setup(OBJECTS, RUN), seed)?.run(go_on)
    }

    /// Compares one or several runs with the acceptance limits, which are three standard deviations
    /// unless noted. `again` is a repetition of the first run.
    pub fn checks(self, runs: &[Report], again: Option<&Report>) -> Vec<Check> {
        let mut checks = self.traffic_checks(runs);
        checks.extend(self.repair_checks(runs));
        let finals = furthest(runs, 1.0, |run| run.finals.1 as f64 / run.finals.0.max(1) as f64);
        let skipped =
            furthest(runs, 0.0, |run| run.totals.superseded as f64 / run.totals.wants.max(1) as f64);
        checks.push(Check { test: "T9", what: "final values held", measured: finals, limits: (1.0, 1.0) });
        let what = "lost and never delivered, being old";
        checks.push(Check { test: "T9", what, measured: skipped, limits: (0.0, 0.01) });
        let measured = furthest(runs, 332.1, kbit_per_s);
        let limits = (332.0 * (1.0 - 0.053), 332.0 * (1.0 + 0.053));
        checks.push(Check { test: "T10", what: "kbit/s of messages", measured, limits });
        if let (Some(first), Some(again)) = (runs.first(), again) {
            let measured = f64::from(u8::from(first == again));
            checks.push(Check {
                test: "T11",
                what: "same seed, same counters",
                measured,
                limits: (1.0, 1.0),
            });
        }
        checks
    }

    fn traffic_checks(self, runs: &[Report]) -> Vec<Check> {
        let mode0 = |run: &Report| run.totals.mode0_sent as f64;
        let mode1 = |run: &Report| run.totals.mode1_sent as f64;
        let by_time = |run: &Report| {
            let moving = run.generated.seconds_in(State::Moving);
            let all = RUN.as_secs_f64() * f64::from(HOSTS * OBJECTS);
            mode0(run) - (0.5 * (all - moving) + 5.0 * moving)
        };
        let transitions = |run: &Report| mode1(run) - run.generated.transitions() as f64;
        let root = (30.0 / runs.len().max(1) as f64).sqrt();
        let around = |middle: f64, off: f64| (middle - off, middle + off);
        vec![
            check("T1", "mode 0 sent", furthest(runs, 297_000.0, mode0), (281_400.0, 312_600.0)),
            check(
                "T2",
                "mode 0 sent, less what moving time tells",
                furthest(runs, 0.0, by_time),
                (-60.0, 60.0),
            ),
            check("T3", "mode 1 sent, less changes of state", furthest(runs, 0.0, transitions), (0.0, 0.0)),
            check("T3", "mode 1 sent", furthest(runs, 2_160.0, mode1), (2_020.0, 2_300.0)),
            check("T4", "mode 0 sent, mean of runs", mean(runs, mode0), around(297_000.0, 2_850.0 * root)),
            check("T4", "mode 1 sent, mean of runs", mean(runs, mode1), around(2_160.0, 26.0 * root)),
            check("T5", "mode 0 lost", furthest(runs, 0.05, |run| self.loss(run)), (0.0493, 0.0507)),
        ]
    }

    fn repair_checks(self, runs: &[Report]) -> Vec<Check> {
        let repairs = |run: &Report| run.totals.retransmissions as f64;
        let share = |run: &Report| repairs(run) / run.totals.mode1_sent as f64;
        let root = (10.0 / runs.len().max(1) as f64).sqrt();
        let each = "retransmissions per mode 1 message";
        match self {
            Self::ObjectLoss => vec![check("T6", each, furthest(runs, 1.013, share), (0.982, 1.044))],
            Self::Honest => {
                let mut checks = vec![check("T7", each, furthest(runs, 0.1505, share), (0.125, 0.21))];
                if runs.len() >= 10 {
                    checks.push(check("T7", "the same, mean of runs", mean(runs, share), (0.0, 0.18)));
                }
                checks
            }
            Self::NoHoldoff => vec![
                check("T8", "retransmissions", furthest(runs, 2_160.0, repairs), (1_740.0, 2_580.0)),
                check(
                    "T8",
                    "retransmissions, mean of runs",
                    mean(runs, repairs),
                    (2_160.0 - 135.0 * root, 2_160.0 + 135.0 * root),
                ),
            ],
        }
    }

    /// The share of mode 0 messages that daemons, or objects with [`Preset::ObjectLoss`], did not
    /// receive.
    pub fn loss(self, run: &Report) -> f64 {
        let (could, did) = match self {
            Self::ObjectLoss => run.object_receptions,
            _ => {
                let others = u64::from(HOSTS - 1);
                (run.totals.mode0_sent * others, run.totals.mode0_received + run.totals.mode0_gated)
            }
        };
        1.0 - did as f64 / could.max(1) as f64
    }
}

/// Rate of the messages that objects sent, in kbit/s, without headers and repairs.
pub fn kbit_per_s(run: &Report) -> f64 {
    run.generated.bytes.iter().sum::<u64>() as f64 * 8.0 / RUN.as_secs_f64() / 1e3
}

/// Repairs per message if each transmission reaches each of `receivers` with probability `1 - loss`
/// and no repair is sent in vain.
pub fn optimum(receivers: u32, loss: f64) -> f64 {
    (1..200).map(|sendings| 1.0 - (1.0 - loss.powi(sendings)).powi(receivers as i32)).sum()
}

/// The paper's daemons have lines of their own, so that loss must not limit their rate. Only
/// retransmissions on request count, so that no copy may be sent without one.
fn private_network(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
    config.copy_share = 0.0;
}

/// One message per bundle, as in the paper's prototype.
fn one_by_one(config: &mut Config) {
    private_network(config);
    config.timing.bundle_timeout = Duration::ZERO;
    config.timing.urgent_flush = Duration::ZERO;
    config.copies = false;
}

fn prototype(config: &mut Config) {
    one_by_one(config);
    config.timing.nack_hold_off = false;
    config.timing.repair_holdoff = (Duration::ZERO, Duration::ZERO);
    // Losses become visible with the next bundle and not before.
    config.timing.trailing = config.timing.heartbeat;
}

fn check(test: &'static str, what: &'static str, measured: f64, limits: (f64, f64)) -> Check {
    Check { test, what, measured, limits }
}

fn mean(runs: &[Report], value: impl Fn(&Report) -> f64) -> f64 {
    stats::mean(runs.iter().map(value))
}

/// The value furthest from `middle`.
fn furthest(runs: &[Report], middle: f64, value: impl Fn(&Report) -> f64) -> f64 {
    let off = |value: &f64| (value - middle).abs();
    runs.iter().map(value).max_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_is_that_of_the_closed_form() {
        for (receivers, expected) in [(1, 0.0526), (3, 0.1505), (4, 0.1960), (45, 1.0130), (60, 1.1013)] {
            assert!((optimum(receivers, 0.05) - expected).abs() < 5e-5, "{receivers}");
        }
    }
}
