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
use super::limits::{Limits, bundled, repairs_deviation};
use super::machine::{Group, GroupError, Setup};
use super::report::Report;

/// Number of locations.
pub const HOSTS: u32 = 4;
/// Number of objects at each location.
pub const OBJECTS: u32 = 15;
/// Length of the run.
pub const RUN: Duration = Duration::from_secs(1_800);

/// Share of messages that are lost.
const LOSS: f64 = 0.05;
/// Round-trip time, unless a reading says otherwise.
const ROUND_TRIP: Duration = Duration::from_millis(100);
/// The round-trip time of [`Preset::NoHoldoff`]. The paper does not give it. This one was *chosen*
/// so that the reading gives the paper's 2,220 retransmissions: it is fitted, and no evidence.
pub const FITTED_ROUND_TRIP: Duration = Duration::from_millis(150);
/// Round-trip times on both sides of the fitted one, to show how much depends on it.
pub const BESIDE_FITTED: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(200)];

/// Messages of a host per second, in the mean: an object sends 0.5 when idle and 5 when moving.
const HOST_PER_S: f64 = OBJECTS as f64 * 2.75;
/// Expected messages of a run.
const MODE0_COUNT: f64 = HOSTS as f64 * HOST_PER_S * RUN.as_secs() as f64;
const MODE1_COUNT: f64 = (HOSTS * OBJECTS) as f64 * RUN.as_secs() as f64 / 50.0;
/// Standard deviations of figures of a run, over seeds: mode 0 and mode 1 messages of 60 chains of
/// two states (their autocorrelation decays with 25 s), and the rate that follows from the first.
const MODE0_DEVIATION: f64 = 5_200.0;
const MODE1_DEVIATION: f64 = 47.0;
const KBIT_PER_S_DEVIATION: f64 = 5.9;
/// Standard deviation of the retransmissions without hold-off: 324 losses, each of 6.6 NACKs, whose
/// variances are 360 and 7.5; ten runs gave 142.
const NO_HOLDOFF_DEVIATION: f64 = 142.0;

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
    /// triggers a NACK, and every NACK a repair; one message per bundle. Round-trip time 150 ms,
    /// fitted.
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

    /// Round-trip time of this reading.
    pub const fn round_trip(self) -> Duration {
        match self {
            Self::NoHoldoff => FITTED_ROUND_TRIP,
            Self::Honest | Self::ObjectLoss => ROUND_TRIP,
        }
    }

    /// Expected number of retransmissions per mode 1 message.
    pub fn expected_repairs(self) -> f64 {
        self.expected_repairs_at(self.round_trip())
    }

    /// The same with another round-trip time, which matters without hold-off only.
    pub fn expected_repairs_at(self, round_trip: Duration) -> f64 {
        match self {
            Self::Honest => optimum(HOSTS - 1, LOSS),
            Self::ObjectLoss => optimum((HOSTS - 1) * OBJECTS, LOSS),
            Self::NoHoldoff => without_holdoff(HOSTS - 1, LOSS, round_trip),
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
        self.setup_at(self.round_trip(), objects, run)
    }

    fn setup_at(self, round_trip: Duration, objects: u32, run: Duration) -> Setup {
        let loss = Share::from_f64(LOSS).map_or(Loss::None, Loss::Bernoulli);
        let trunk = LineSpec { delay: round_trip / 2, loss, ..LineSpec::default() };
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
        self.run_at(self.round_trip(), seed, go_on)
    }

    /// The same with another round-trip time.
    ///
    /// # Errors
    /// Those of [`Preset::run`].
    pub fn run_at(
        self,
        round_trip: Duration,
        seed: Seed,
        go_on: impl FnMut() -> bool,
    ) -> Result<Report, GroupError> {
        Group::new(self.setup_at(round_trip, OBJECTS, RUN), seed)?.run(go_on)
    }

    /// Compares one or several runs with the acceptance limits, which are as wide as their number
    /// demands. `again` is a repetition of the first run.
    pub fn checks(self, runs: &[Report], again: Option<&Report>) -> Vec<Check> {
        let mut checks = self.traffic_checks(runs);
        checks.extend(self.repair_checks(runs));
        let finals = furthest(runs, 1.0, |run| run.finals.1 as f64 / run.finals.0.max(1) as f64);
        let skipped =
            furthest(runs, 0.0, |run| run.totals.superseded as f64 / run.totals.wants.max(1) as f64);
        checks.push(Check { test: "T9", what: "final values held", measured: finals, limits: (1.0, 1.0) });
        let what = "lost and never delivered, being old";
        // Of some 320, a run has none or one.
        checks.push(Check { test: "T9", what, measured: skipped, limits: (0.0, 0.02) });
        let measured = furthest(runs, 332.0, kbit_per_s);
        let limits = Limits::of(runs.len()).of_furthest(332.0, KBIT_PER_S_DEVIATION);
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
        let limits = Limits::of(runs.len());
        let lost = LOSS * (1.0 - LOSS) * self.loss_variance_factor() / MODE0_COUNT;
        vec![
            check(
                "T1",
                "mode 0 sent",
                furthest(runs, MODE0_COUNT, mode0),
                limits.of_furthest(MODE0_COUNT, MODE0_DEVIATION),
            ),
            check(
                "T2",
                "mode 0 sent, less what moving time tells",
                furthest(runs, 0.0, by_time),
                (-60.0, 60.0),
            ),
            check("T3", "mode 1 sent, less changes of state", furthest(runs, 0.0, transitions), (0.0, 0.0)),
            check(
                "T3",
                "mode 1 sent",
                furthest(runs, MODE1_COUNT, mode1),
                limits.of_furthest(MODE1_COUNT, MODE1_DEVIATION),
            ),
            check(
                "T4",
                "mode 0 sent, mean of runs",
                mean(runs, mode0),
                limits.of_mean(MODE0_COUNT, MODE0_DEVIATION),
            ),
            check(
                "T4",
                "mode 1 sent, mean of runs",
                mean(runs, mode1),
                limits.of_mean(MODE1_COUNT, MODE1_DEVIATION),
            ),
            check(
                "T5",
                "mode 0 lost",
                furthest(runs, LOSS, |run| self.loss(run)),
                limits.of_furthest(LOSS, lost.sqrt()),
            ),
        ]
    }

    fn repair_checks(self, runs: &[Report]) -> Vec<Check> {
        let repairs = |run: &Report| run.totals.retransmissions as f64;
        let share = |run: &Report| repairs(run) / run.totals.mode1_sent as f64;
        let limits = Limits::of(runs.len());
        let each = "retransmissions per mode 1 message";
        let the_mean = "the same, mean of runs";
        let expected = self.expected_repairs();
        let deviation = |receivers| repairs_deviation(receivers, LOSS) / MODE1_COUNT.sqrt();
        match self {
            Self::ObjectLoss => {
                let own = deviation((HOSTS - 1) * OBJECTS);
                let limits = limits.of_furthest(expected, own);
                vec![check("T6", each, furthest(runs, expected, share), limits)]
            }
            Self::Honest => {
                // A repair that is asked for twice is sent twice: the optimum is the least, and up
                // to a fifth more is accepted.
                let own = deviation(HOSTS - 1);
                let above = |(low, high): (f64, f64)| (low, high + 0.2 * expected);
                vec![
                    check(
                        "T7",
                        each,
                        furthest(runs, expected, share),
                        above(limits.of_furthest(expected, own)),
                    ),
                    check("T7", the_mean, mean(runs, share), above(limits.of_mean(expected, own))),
                ]
            }
            Self::NoHoldoff => {
                let (middle, own) = (expected * MODE1_COUNT, NO_HOLDOFF_DEVIATION);
                vec![
                    check(
                        "T8",
                        "retransmissions",
                        furthest(runs, middle, repairs),
                        limits.of_furthest(middle, own),
                    ),
                    check("T8", the_mean, mean(runs, repairs), limits.of_mean(middle, own)),
                ]
            }
        }
    }

    /// The factor by which the share of lost mode 0 messages varies more than that of messages of
    /// one receiver that are lost one by one.
    fn loss_variance_factor(self) -> f64 {
        let receivers = f64::from(HOSTS - 1);
        match self {
            // A bundle waits for 10 ms, and is lost with all its messages.
            Self::Honest => bundled(HOST_PER_S * 0.01) / receivers,
            Self::ObjectLoss => 1.0 / (receivers * f64::from(OBJECTS)),
            Self::NoHoldoff => 1.0 / receivers,
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

/// Repairs per message if every message that comes from a source while one is missing draws another
/// NACK, and every NACK that arrives a repair.
///
/// The k-th NACK is the first whose repair arrives with probability s (1 - s)^(k - 1), where s is
/// that neither is lost. Until then, and for a round trip more, messages of the source keep coming:
/// 1 / s + rate x round trip NACKs on average.
fn without_holdoff(receivers: u32, loss: f64, round_trip: Duration) -> f64 {
    let arrives = 1.0 - loss;
    let nacks = 1.0 / (arrives * arrives) + HOST_PER_S * arrives * round_trip.as_secs_f64();
    f64::from(receivers) * loss * arrives * nacks
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

    /// Repairs without hold-off, drawn by themselves: a source whose messages come at random, one
    /// loss, and NACKs until a repair arrives.
    #[test]
    fn repairs_without_holdoff_are_those_of_the_formula() {
        use rand_core::RngCore as _;
        for round_trip in [FITTED_ROUND_TRIP, BESIDE_FITTED[0], BESIDE_FITTED[1]] {
            let mut stream = Seed(7).rng();
            let mut unit = || (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let (losses, mut repairs) = (20_000, 0);
            for _ in 0..losses {
                let (mut now, mut repaired) = (0.0, f64::INFINITY);
                while now < repaired {
                    if unit() > LOSS {
                        repairs += 1;
                        if unit() > LOSS {
                            repaired = repaired.min(now + round_trip.as_secs_f64());
                        }
                    }
                    now -= libm::log(1.0 - unit()) / (HOST_PER_S * (1.0 - LOSS));
                }
            }
            let each = f64::from(HOSTS - 1) * LOSS * f64::from(repairs) / f64::from(losses);
            let expected = Preset::NoHoldoff.expected_repairs_at(round_trip);
            assert!((each / expected - 1.0).abs() < 0.01, "{round_trip:?}: {each} beside {expected}");
        }
    }

    /// False alarms: figures drawn from the distributions that the limits assume, for commands of
    /// one, ten and a hundred runs.
    #[test]
    fn fewer_than_one_command_in_a_thousand_rejects_a_good_program() {
        use rand_core::RngCore as _;
        let mut stream = Seed(11).rng();
        let mut unit = || (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut normal = || {
            let (radius, angle) = ((-2.0 * libm::log(1.0 - unit())).sqrt(), std::f64::consts::TAU * unit());
            radius * libm::cos(angle)
        };
        let (mut alarms, commands) = (0, 3_000);
        for runs in [1_usize, 10, 100] {
            let limits = Limits::of(runs).of_furthest(0.0, 1.0);
            let is_alarm = |value: f64| !(limits.0..=limits.1).contains(&value);
            alarms += (0..commands).filter(|_| (0..runs * 10).any(|_| is_alarm(normal()))).count();
        }
        assert!(alarms <= 12, "{alarms} of {} commands", 3 * commands); // 3 expected of ten checks
    }
}
