//! Runs that once failed, and the scenarios behind them.

use base::{Moment, Seed};
use std::time::Duration;
use testkit::cluster::{self, Kind};
use testkit::{Group, Options, Trouble, TroubleKind, World, check};

#[test]
fn seeds_that_found_bugs_pass() {
    for line in include_str!("bug_seeds.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let group = words.next().unwrap_or_default();
        let digits = words.next().and_then(|word| word.strip_prefix("0x")).expect("a seed follows the group");
        let seed = Seed(u64::from_str_radix(digits, 16).expect("the seed is hexadecimal"));
        match group {
            "federation" => drop(check("bugs", Group::Federation, seed)),
            "declaration" => drop(check("bugs", Group::Declaration, seed)),
            "object" => drop(check("bugs", Group::Object, seed)),
            "support" => drop(check("bugs", Group::Support, seed)),
            "session" => drop(check("bugs", Group::Session, seed)),
            "tree" => drop(cluster::check("cluster tree", Kind::Tree, seed)),
            "mesh" => drop(cluster::check("cluster mesh", Kind::Mesh, seed)),
            "hypercube" => drop(cluster::check("cluster hypercube", Kind::Hypercube, seed)),
            "graph" => drop(cluster::check("cluster graph", Kind::Graph, seed)),
            other => panic!("no group is called {other:?}"),
        }
    }
}

/// A federate whose connection was cut and resumed, and then falls silent, is kept for the longer of
/// the two windows.
#[test]
fn the_window_is_that_of_the_last_loss() {
    let ms = Duration::from_millis;
    let mut options = Options::swarm(Seed(3), Group::Federation);
    (options.federates, options.federations, options.mistakes) = (1, 1, 0);
    (options.pace, options.lasts) = (ms(50), ms(20_000));
    options.delays = vec![ms(1)];
    options.mix.retain(|(op, _)| !format!("{op:?}").contains("Resign"));
    options.timeouts.heartbeat = ms(1_000);
    options.timeouts.heart = ms(3_000);
    options.timeouts.retry = ms(100);
    options.timeouts.closed_window = ms(1_000);
    options.timeouts.resume_window = ms(15_000);
    let trouble =
        |at, lasts, kind| Trouble { at: Moment::from_millis(at), lasts: ms(lasts), federate: 0, kind };
    options.troubles =
        vec![trouble(6_000, 500, TroubleKind::Cut(1_000_000)), trouble(9_000, 6_000, TroubleKind::Stall)];
    let outcome = World::new(options).run().unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.resumes >= 2, "{outcome:?}");
}
