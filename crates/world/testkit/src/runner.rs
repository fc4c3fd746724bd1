//! Runs many seeds, and says how to run one again.

use crate::cluster::{Cluster, Outcome};
use crate::log;
use crate::options::{Options, Setup};
use base::Seed;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that replays one seed.
const ONE: &str = "MESHRTI_SEED";
/// The variable that says how many seeds to run.
const MANY: &str = "MESHRTI_SEEDS";

/// Runs one seed of a setup.
///
/// # Panics
/// When the run fails: with what was wrong, what had happened before, all that was drawn, and the
/// command that runs it again. `test` is the name of the test target.
pub fn check(test: &str, setup: Setup, seed: Seed) -> Outcome {
    let options = Options::swarm(seed, setup);
    match log::with_log(|| Cluster::new(options.clone()).run()) {
        Ok(outcome) => outcome,
        Err(failure) => {
            let name = setup.name();
            let replay =
                format!("{ONE}={seed} cargo test -p meshrti-testkit --test {test} {name} -- --nocapture");
            panic!("{options:#?}\n{failure}\nReplay: {replay}")
        }
    }
}

/// Runs `seeds` seeds of a setup on all cores, or as many as `MESHRTI_SEEDS` says, or the one that
/// `MESHRTI_SEED` names. Returns the outcomes by seed.
///
/// # Panics
/// See [`check`]; also when a variable is no number.
pub fn check_seeds(test: &str, setup: Setup, seeds: u64) -> BTreeMap<Seed, Outcome> {
    let run = |seed| check(test, setup, seed);
    if let Some(seed) = number(ONE) {
        return BTreeMap::from([(Seed(seed), run(Seed(seed)))]);
    }
    let seeds = number(MANY).unwrap_or(seeds);
    let base = Seed(0).split(&setup.label());
    let (next, outcomes) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    let work = || loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        if place >= seeds {
            return;
        }
        // Short seeds are easier to pass on.
        let seed = Seed(base.split_index(place).0 >> 32);
        let outcome = run(seed);
        outcomes.lock().expect("nobody panics with the lock held").insert(seed, outcome);
    };
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    #[allow(clippy::disallowed_methods)] // whole runs side by side; within a run there is one thread
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    outcomes.into_inner().expect("nobody panics with the lock held")
}

/// A variable with a number, decimal or after `0x` hexadecimal.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    Some(parsed.unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}
