//! Ownership management (clause 7): one node, call by call against the reference model, and many
//! nodes under faults against invariants.
#![allow(clippy::print_stderr)] // the seeds of fresh runs

mod calls;
mod nodes;
mod script;
mod world;

use base::Seed;
use testkit::{fresh_base, parse_number};

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(parse_number(&text).unwrap_or_else(|| panic!("{variable}={text} is no number")))
}

/// Runs fixed and fresh seeds, as the other tests of this crate do. Returns how much happened.
fn swarm(test: &str, (fixed, fresh): (u64, u64), run: impl Fn(Seed) -> Result<u64, String>) {
    if let Some(seed) = number("MESHRTI_SEED") {
        let result = testkit::with_log(|| run(Seed(seed)));
        result.unwrap_or_else(|difference| panic!("{difference}"));
        return;
    }
    let base = number("MESHRTI_SEED_BASE").map_or_else(fresh_base, Seed);
    let (fixed, fresh) = number("MESHRTI_SEEDS").map_or((fixed, fresh), |many| (0, many));
    eprintln!("{test}: {fixed} fixed seeds and {fresh} fresh ones, MESHRTI_SEED_BASE={base}");
    let fixed = (0..fixed).map(|place| Seed(0).split("ownership").split_index(place));
    let fresh = (0..fresh).map(|place| base.split("ownership").split_index(place));
    let (mut runs, mut transfers) = (0_u64, 0);
    for seed in fixed.chain(fresh).map(|seed| Seed(seed.0 >> 32)) {
        runs += 1;
        transfers += run(seed).unwrap_or_else(|difference| {
            panic!(
                "{difference}\nReplay: MESHRTI_SEED={seed} cargo test -p meshrti-testkit --test ownership \
                 {test} -- --exact --nocapture"
            )
        });
    }
    eprintln!("{test}: {runs} runs, {transfers} attributes acquired");
    assert!(runs < 100 || transfers > 2 * runs, "the federates do too little");
}

/// The same answers and callbacks as the model's, call by call.
#[test]
fn random_federations() {
    swarm("random_federations", (4_000, 1_000), script::run);
}

/// Fixed and fresh seeds of federations over many nodes. Each takes some 80 ms of processor time.
const NODES: (u64, u64) = (120, 20);

/// Whole kernels on a simulated network.
#[test]
fn random_federations_over_many_nodes() {
    swarm("random_federations_over_many_nodes", NODES, |seed| nodes::Trial::new(seed).finish());
}

/// A node dies with its federates in the middle of everything, and links fail and come back.
#[test]
fn random_federations_under_faults() {
    swarm("random_federations_under_faults", NODES, |seed| nodes::Trial::with_faults(seed).finish());
}

/// A node died while an "acquire if available" waited for its new home. A new home that gets such a
/// request twice answers it twice.
#[test]
fn requests_that_wait_for_a_new_home_are_decided_once() {
    let run = nodes::Trial::with_faults(Seed(0x3ce77f39)).finish();
    run.unwrap_or_else(|difference| panic!("{difference}"));
}
