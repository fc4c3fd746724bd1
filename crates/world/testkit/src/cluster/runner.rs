//! Runs many seeds of clusters, and says how to run one again.

use super::log;
use super::options::Options;
use super::shape::Kind;
use super::world::{Cluster, Outcome};
use crate::runner;
use base::Seed;
use std::collections::BTreeMap;

/// Runs one seed of a kind of topology.
///
/// # Panics
/// When the run fails: with what was wrong, what had happened before, all that was drawn, and the command that runs it
/// again. `test` is the name of the test target and of the test.
pub fn check(test: &str, kind: Kind, seed: Seed) -> Outcome {
    let options = Options::swarm(seed, kind);
    match log::with_log(|| Cluster::new(options.clone()).run()) {
        Ok(outcome) => outcome,
        Err(failure) => {
            let replay = runner::replay(seed, test);
            panic!("{options:#?}\n{failure}\n{replay}")
        }
    }
}

/// Runs `seeds` seeds, or as many or the one that the environment says; see [`crate::check_seeds`].
///
/// # Panics
/// See [`check`].
pub fn check_seeds(test: &str, kind: Kind, seeds: u64) -> BTreeMap<Seed, Outcome> {
    runner::each_seed(test, seeds, |seed| check(test, kind, seed))
}
