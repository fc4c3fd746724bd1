//! Data distribution management (clause 9) over many nodes, with and without faults, against a mirror
//! of the federation.
#![allow(clippy::print_stderr)] // the seeds of fresh runs

mod calls;
mod directed;
mod hear;
mod judge;
mod mirror;
mod nodes;
mod script;

use base::Seed;
use testkit::{fresh_base, parse_number};

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(parse_number(&text).unwrap_or_else(|| panic!("{variable}={text} is no number")))
}

/// Runs fixed and fresh seeds, as the other tests of this crate do. A run returns how many messages
/// were due, and how many regions kept away.
fn swarm(test: &str, (fixed, fresh): (u64, u64), run: impl Fn(Seed) -> Result<(u64, u64), String>) {
    if let Some(seed) = number("MESHRTI_SEED") {
        let result = testkit::with_log(|| run(Seed(seed)));
        result.unwrap_or_else(|difference| panic!("{difference}"));
        return;
    }
    let base = number("MESHRTI_SEED_BASE").map_or_else(fresh_base, Seed);
    let (fixed, fresh) = number("MESHRTI_SEEDS").map_or((fixed, fresh), |many| (0, many));
    eprintln!("{test}: {fixed} fixed seeds and {fresh} fresh ones, MESHRTI_SEED_BASE={base}");
    let fixed = (0..fixed).map(|place| Seed(0).split("regions").split_index(place));
    let fresh = (0..fresh).map(|place| base.split("regions").split_index(place));
    let (mut runs, mut due, mut kept_away) = (0_u64, 0, 0);
    for seed in fixed.chain(fresh).map(|seed| Seed(seed.0 >> 32)) {
        runs += 1;
        let counts = run(seed).unwrap_or_else(|difference| {
            panic!(
                "{difference}\nReplay: MESHRTI_SEED={seed} cargo test -p meshrti-testkit --test regions \
                 {test} -- --exact --nocapture"
            )
        });
        due += counts.0;
        kept_away += counts.1;
    }
    eprintln!("{test}: {runs} runs, {due} deliveries, {kept_away} kept away");
    assert!(runs < 20 || due.min(kept_away) > 20 * runs, "the federates do too little");
}

/// Fixed and fresh seeds of federations over many nodes. Each takes some 150 ms of processor time.
const NODES: (u64, u64) = (60, 20);
/// Each takes some 350 ms.
const FAULTS: (u64, u64) = (30, 10);

/// Whole kernels on a simulated network.
#[test]
fn random_federations_over_many_nodes() {
    swarm("random_federations_over_many_nodes", NODES, |seed| nodes::Trial::new(seed).finish());
}

/// A node dies with its federates in the middle of everything, and links fail and come back.
#[test]
fn random_federations_under_faults() {
    swarm("random_federations_under_faults", FAULTS, |seed| nodes::Trial::with_faults(seed).finish());
}

/// A federate ended one of its subscriptions of an attribute while its node did not know yet where the
/// owner's regions were by then: the attribute stayed in scope by another subscription.
#[test]
fn an_attribute_stays_in_scope_by_regions_that_are_outdated() {
    let run = nodes::Trial::with_faults(Seed(0x91940531)).finish();
    run.unwrap_or_else(|difference| panic!("{difference}"));
}

/// A node died right after its federate had registered and deleted an instance. One node had heard of the
/// registration alone: the instance lives on without owners, and only those know it who had discovered it.
#[test]
fn a_deletion_that_dies_with_its_node_leaves_an_instance_without_owners() {
    let run = nodes::Trial::with_faults(Seed(0x9eaf1ff5)).finish();
    run.unwrap_or_else(|difference| panic!("{difference}"));
}

/// A federate divested an attribute while the home of the instance was dead. The new home had never
/// heard of the instance, and got the request before it got the record.
#[test]
fn requests_reach_a_new_home_that_learns_of_the_instance_later() {
    let run = nodes::Trial::with_faults(Seed(0xfbff17d6)).finish();
    run.unwrap_or_else(|difference| panic!("{difference}"));
}
