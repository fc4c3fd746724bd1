//! Time management (clause 8) of one node, step by step against the reference model: the same
//! answers, grants, times and order of delivery.
#![allow(clippy::print_stderr)] // the seeds of fresh runs

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
