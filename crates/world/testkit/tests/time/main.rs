//! Time management (clause 8) of one node, step by step against the reference model: the same
//! answers, grants, times and order of delivery.
#![allow(clippy::print_stderr)] // the seeds of fresh runs

mod faults;
mod nodes;
mod plan;
mod script;
mod world;

use base::Seed;
use script::Run;
use testkit::model::time::Flaw;
use testkit::{fresh_base, parse_number};

const FIXED: u64 = 10_000;
const FRESH: u64 = 1_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(parse_number(&text).unwrap_or_else(|| panic!("{variable}={text} is no number")))
}

/// Runs fixed and fresh seeds, as the other tests of this crate do.
#[test]
fn random_federations() {
    if let Some(seed) = number("MESHRTI_SEED") {
        let result = Run::new(Seed(seed), None).finish();
        result.unwrap_or_else(|difference| panic!("{difference}"));
        return;
    }
    let base = number("MESHRTI_SEED_BASE").map_or_else(fresh_base, Seed);
    let (fixed, fresh) = number("MESHRTI_SEEDS").map_or((FIXED, FRESH), |many| (0, many));
    eprintln!("time: {fixed} fixed seeds and {fresh} fresh ones, MESHRTI_SEED_BASE={base}");
    let fixed = (0..fixed).map(|place| Seed(0).split("time").split_index(place));
    let fresh = (0..fresh).map(|place| base.split("time").split_index(place));
    let (mut runs, mut grants, mut in_time, mut retracted) = (0_u64, 0, 0, 0);
    for seed in fixed.chain(fresh).map(|seed| Seed(seed.0 >> 32)) {
        let tally = Run::new(seed, None).finish().unwrap_or_else(|difference| {
            panic!(
                "{difference}\nReplay: MESHRTI_SEED={seed} cargo test -p meshrti-testkit --test time \
                 random_federations -- --exact --nocapture"
            )
        });
        runs += 1;
        grants += tally.grants;
        in_time += tally.in_time;
        retracted += tally.retracted;
    }
    eprintln!(
        "time: {runs} runs, {grants} grants, {in_time} messages in time-stamp order, {retracted} retracted"
    );
    if runs >= 100 {
        assert!(
            grants > 10 * runs && in_time > 5 * runs && retracted > runs / 4,
            "the federates do too little"
        );
    }
}

/// Fixed and fresh seeds of federations over many nodes. Each takes some 25 ms of processor time,
/// fifteen times as much as one at a single node, or as one in the simulation of the machines alone
/// (`rti/src/time/tests/nodes.rs`), of which a run of the gate has 10,000 as well.
const FIXED_NODES: u64 = 240;
const FRESH_NODES: u64 = 80;

/// Runs fixed and fresh seeds of federations over many nodes.
fn over_many_nodes(test: &str, (fixed, fresh): (u64, u64), trial: impl Fn(Seed) -> nodes::Trial) {
    if let Some(seed) = number("MESHRTI_SEED") {
        let result = testkit::with_log(|| trial(Seed(seed)).finish());
        result.unwrap_or_else(|difference| panic!("{difference}"));
        return;
    }
    let base = number("MESHRTI_SEED_BASE").map_or_else(fresh_base, Seed);
    let (fixed, fresh) = number("MESHRTI_SEEDS").map_or((fixed, fresh), |many| (0, many));
    eprintln!("{test}: {fixed} fixed seeds and {fresh} fresh ones, MESHRTI_SEED_BASE={base}");
    let fixed = (0..fixed).map(|place| Seed(0).split("time nodes").split_index(place));
    let fresh = (0..fresh).map(|place| base.split("time nodes").split_index(place));
    let mut grants = 0;
    for seed in fixed.chain(fresh).map(|seed| Seed(seed.0 >> 32)) {
        grants += trial(seed).finish().unwrap_or_else(|difference| {
            panic!(
                "{difference}\nReplay: MESHRTI_SEED={seed} cargo test -p meshrti-testkit --test time \
                 {test} -- --exact --nocapture"
            )
        });
    }
    eprintln!("{test}: {grants} grants");
}

/// Whole kernels on a simulated network.
#[test]
fn random_federations_over_many_nodes() {
    over_many_nodes("random_federations_over_many_nodes", (FIXED_NODES, FRESH_NODES), nodes::Trial::new);
}

/// One of the nodes dies, with its federates. The others go on.
#[test]
fn random_federations_that_lose_a_node() {
    over_many_nodes(
        "random_federations_that_lose_a_node",
        (FIXED_NODES / 2, FRESH_NODES / 2),
        nodes::Trial::with_crash,
    );
}

/// Links fail and come back, a node comes and goes, and federates are killed.
#[test]
fn random_federations_under_faults() {
    over_many_nodes(
        "random_federations_under_faults",
        (FIXED_NODES / 2, FRESH_NODES / 2),
        nodes::Trial::with_faults,
    );
}

/// Runs under faults that once failed: a publication was ended and begun again by two commands that
/// were both on their way, and its node took what the control plane said for settled.
#[test]
fn seeds_under_faults_that_found_bugs_pass() {
    for seed in [0x591f_4221, 0x1292_6e07] {
        let result = nodes::Trial::with_faults(Seed(seed)).finish();
        result.unwrap_or_else(|difference| panic!("{seed:#x}: {difference}"));
    }
}

/// Each deliberate mistake of the model is noticed within a few hundred runs.
#[test]
fn mistakes_are_noticed() {
    for flaw in Flaw::ALL {
        let noticed = (0..400).any(|place| {
            let seed = Seed(0).split("flaws").split_index(place);
            Run::new(seed, Some(flaw)).finish().is_err()
        });
        assert!(noticed, "{flaw:?}");
    }
}
