//! How often a source sends each reliable message: a small group, whose receivers lose a twentieth.
//!
//! One source sends 20 mode 1 messages per second to three receivers, each of which loses 5 % by
//! itself. A repair that all wait for is one sending, so the least number of sendings of a message
//! is the expected maximum of three geometric numbers, 1.15. A source that has little else to send
//! also sends copies before anybody asks, which saves round trips and not sendings.

use std::time::Duration;

use base::Seed;
use srmp::Config;
use srmp::rate::Rate;
use wan::LineSpec;
use workload::Workload;

use super::layout::{Layout, LossAt};
use super::machine::{Group, GroupError, Setup};
use super::report::Report;
use super::scale::bernoulli;

/// Number of receivers.
pub const RECEIVERS: u32 = 3;
/// Share of datagrams that each host loses.
pub const LOSS: f64 = 0.05;
/// Messages of the source per second.
pub const PER_S: u32 = 20;
/// Traffic begins when the hosts know each other.
const SETTLED: Duration = Duration::from_secs(5);

/// Whether the source sends copies before anybody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// As by default: while they are at most 5 % of the bytes, after a first credit of 16 KiB.
    Usual,
    /// Never.
    None,
}

/// The least number of sendings of a message, in the mean.
pub fn least() -> f64 {
    // The k-th sending is needed while some receiver has lost all before it.
    let needed = |k: i32| 1.0 - (1.0 - LOSS.powi(k)).powi(RECEIVERS as i32);
    1.0 + (1..200).map(needed).sum::<f64>()
}

/// The settings of a run with this delay between two hosts, and messages of so many bytes.
pub fn setup(delay: Duration, size: u32, copies: Copies, run: Duration) -> Setup {
    let text = format!(
        "[[class]]\nname = \"values\"\ncount = {PER_S}\nsize1 = {size}\n\
         [class.state.idle]\nmean = \"1h\"\nnext = {{ moving = 1.0 }}\nrate1 = 1.0\n\
         [class.state.moving]\nmean = \"1h\"\nnext = {{ idle = 1.0 }}\nrate1 = 1.0\n"
    );
    Setup {
        layout: Layout {
            sites: vec![1 + RECEIVERS],
            trunk: LineSpec::default(),
            local_delay: delay,
            last_hop: bernoulli(LOSS),
            loss_at: LossAt::Receiver,
            cuts: Vec::new(),
        },
        workload: Workload::parse(&text).expect("a workload that the tests parse"),
        sources: 1,
        tune: match copies {
            Copies::Usual => usual,
            Copies::None => without_copies,
        },
        urgent: false,
        join_within: Duration::from_secs(1),
        traffic_from: SETTLED,
        run,
        settle: Duration::from_secs(15),
        crashes: Vec::new(),
        region_crashes: Vec::new(),
        loggers: false,
    }
}

fn usual(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
}

fn without_copies(config: &mut Config) {
    usual(config);
    config.copies = false;
}

/// Executes a run. `go_on` is as for [`Group::run`].
///
/// # Errors
/// [`GroupError`].
pub fn run(setup: Setup, seed: Seed, go_on: impl FnMut() -> bool) -> Result<Report, GroupError> {
    Group::new(setup, seed)?.run(go_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_is_the_maximum_of_three_geometric_numbers() {
        assert!((least() - 1.1503).abs() < 5e-4, "{}", least());
    }

    /// All arrive; without copies the source stays near the optimum, and copies are what is above it.
    #[test]
    fn copies_are_what_is_sent_more_often() {
        let minute = Duration::from_secs(60);
        let of = |copies| {
            let report =
                run(setup(Duration::from_millis(50), 250, copies, minute), Seed(1), || true).unwrap();
            assert_eq!(report.finals.0, report.finals.1, "{copies:?}");
            let totals = report.totals;
            assert!((1_150..=1_350).contains(&totals.mode1_sent), "{}", totals.mode1_sent);
            let each = |count: u64| count as f64 / totals.mode1_sent as f64;
            (each(totals.retransmissions), each(totals.copies))
        };
        let (repairs, copies) = of(Copies::None);
        assert!(copies == 0.0 && repairs < 2.0 * (least() - 1.0) && repairs > 0.1, "{repairs} {copies}");
        let (fewer, copies) = of(Copies::Usual);
        assert!(copies > 0.1 && fewer < repairs, "{fewer} {copies}");
    }
}
