//! Seeded runs of whole groups. Messages get lost, late and duplicated; the network splits; nodes
//! stop for a while or for good, leave and join. All members apply one sequence. Every proposal of
//! a node that stays is in it at most once and in order, and some time after the last fault every
//! one is.

mod faults;
mod oracle;
mod world;

use std::time::Duration;

use base::{Moment, Seed};
use consensus::Config;

use crate::faults::Faults;
use crate::world::World;

/// Figures of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    digest: u64,
    entries: usize,
    calm_after: Duration,
    /// All members left.
    over: bool,
}

fn config(seed: u64) -> Config {
    // Small limits, so that a few entries reach them.
    Config {
        log_entries_max: 30 + seed as usize % 100,
        log_bytes_max: 100_000,
        message_bytes: 4_096,
        window_bytes: 30_000,
        inflight_messages: 4,
        voters_max: [3, 5, 9][seed as usize % 3],
        voter_lost_after: Duration::from_secs(2),
        ..Config::default()
    }
}

fn run(seed: u64) -> Outcome {
    let mut world = World::new(Seed(seed), config(seed));
    for _ in 0..seed % 5 {
        world.join();
    }
    world.run_until(Moment::from_millis(1_000 + seed % 1_000));
    let mut faults = Faults::default();
    faults.run(&mut world, 8);
    let calm_after = faults.calm(&mut world);
    let digest = world.digest ^ world.oracle.digest();
    Outcome { digest, entries: world.oracle.len(), calm_after, over: world.over }
}

fn run_named(seed: u64) -> Outcome {
    std::panic::catch_unwind(|| run(seed)).unwrap_or_else(|_| panic!("seed {seed} failed"))
}

/// Runs the seeds, and checks that faults really occurred in the runs.
fn run_all(seeds: std::ops::Range<u64>) {
    let count = seeds.clone().count();
    let outcomes: Vec<Outcome> = seeds.map(run_named).collect();
    let entries: usize = outcomes.iter().map(|outcome| outcome.entries).sum();
    assert!(entries > 100 * count, "{entries} entries");
    let over = outcomes.iter().filter(|outcome| outcome.over).count();
    assert!(over <= count / 20, "{over} groups were left by all");
    let slowest = outcomes.iter().map(|outcome| outcome.calm_after).max();
    assert!(slowest < Some(Duration::from_secs(15)), "{slowest:?}");
}

#[test]
fn groups_come_through_every_trouble() {
    run_all(0..200);
}

#[test]
fn groups_come_through_more_trouble() {
    // The seed that `MESHRTI_SEED` names, or as many seeds as `MESHRTI_SEEDS` says, as in other
    // crates.
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    match number("MESHRTI_SEED") {
        Some(seed) => drop(run_named(seed)),
        None => run_all(200..200 + number("MESHRTI_SEEDS").unwrap_or(200)),
    }
}

#[test]
fn a_run_can_be_repeated() {
    for seed in 0..20 {
        assert_eq!(run_named(seed), run_named(seed), "seed {seed}");
    }
}

/// The time from the death of the leader to the next entry that the survivors apply.
#[test]
fn a_new_leader_is_there_within_two_timeouts() {
    for seed in 0..30 {
        let mut world = World::new(Seed(seed), Config::default());
        for _ in 0..4 {
            world.join();
        }
        world.run_until(Moment::from_millis(3_000 + seed * 7));
        let leader = world.leader().expect("a leader");
        world.kill(leader);
        let killed = world.now;
        let (proposer, _) = world.nodes.first_key_value().expect("four are left");
        let (proposer, before) = (*proposer, world.oracle.len());
        world.propose(proposer, 10);
        while world.oracle.len() == before {
            world.run_until(world.now + Duration::from_millis(5));
            let waited = world.now.since(killed);
            assert!(waited < Duration::from_millis(1_700), "seed {seed}: {waited:?}");
        }
    }
}
