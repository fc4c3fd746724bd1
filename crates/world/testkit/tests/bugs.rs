//! Runs that once failed, and the scenarios behind them.

use base::{Moment, Seed};
use std::time::Duration;
use testkit::{Cluster, FaultKind, FederateFault, Group, Options, PlannedFault, Setup, check};

#[test]
fn seeds_that_found_bugs_pass() {
    for line in include_str!("bug_seeds.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let (_, setup) = *Setup::ALL.iter().find(|(of, _)| *of == name).expect("a setup has that name");
        let digits = words.next().and_then(|word| word.strip_prefix("0x")).expect("a seed follows the setup");
        let seed = Seed(u64::from_str_radix(digits, 16).expect("the seed is hexadecimal"));
        check(setup, seed);
    }
}

/// A federate whose connection was cut and resumed, and then falls silent, is kept for the longer
/// of the two windows.
#[test]
fn the_window_is_that_of_the_last_loss() {
    let ms = Duration::from_millis;
    let mut options = Options::swarm(Seed(3), Setup::One(Group::Federation));
    (options.federates, options.federations, options.mistakes) = (1, 1, 0);
    (options.call_interval, options.lasts) = (ms(50), ms(20_000));
    options.delays = vec![ms(1)];
    options.mix.retain(|(op, _)| !format!("{op:?}").contains("Resign"));
    options.timeouts.heartbeat = ms(1_000);
    options.timeouts.heart = ms(3_000);
    options.timeouts.retry = ms(100);
    options.timeouts.closed_window = ms(1_000);
    options.timeouts.resume_window = ms(15_000);
    let fault = |at, lasts, kind| {
        let kind = FaultKind::Federate(0, kind);
        PlannedFault { at: Moment::from_millis(at), lasts: ms(lasts), kind }
    };
    options.faults =
        vec![fault(6_000, 500, FederateFault::Cut(1_000_000)), fault(9_000, 6_000, FederateFault::Stall)];
    let outcome = Cluster::new(options).run().unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.resumes >= 2, "{outcome:?}");
}
