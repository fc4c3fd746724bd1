//! Runs many seeds, and prints the command that repeats a failed one.

use crate::cluster::{Cluster, Outcome};
use crate::log;
use crate::options::{Options, Setup};
use base::Seed;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The variable that replays one seed.
const ONE: &str = "MESHRTI_SEED";
/// The variable with the number of fresh seeds that replace the fixed and the fresh ones of a test.
const MANY: &str = "MESHRTI_SEEDS";
/// The variable with the base from which fresh seeds are derived. Without it they differ each time.
const BASE: &str = "MESHRTI_SEED_BASE";

/// Number of fixed seeds of a test for each fresh one. Failures of one run in ten thousand are for
/// `cargo xtask soak` to find: in tests they would block changes that have nothing to do with them.
const FIXED_PER_FRESH: u64 = 10;
/// Number of failures after which a test gives up. More of them hardly ever tell more.
const FAILURES_MAX: usize = 20;

/// A run that failed.
#[derive(Clone, Debug)]
pub struct FailedRun {
    /// The setup of the run.
    pub setup: Setup,
    /// Its seed.
    pub seed: Seed,
    /// The violation, in one line.
    pub summary: String,
    /// All drawn parameters, the preceding events, and the violation.
    pub details: String,
}

impl FailedRun {
    /// The command that repeats the run.
    pub fn replay(&self) -> String {
        let (seed, test, name) = (self.seed, self.setup.test(), self.setup.name());
        format!("{ONE}={seed} cargo test -p meshrti-testkit --test {test} {name} -- --exact --nocapture")
    }
}

/// Runs one seed of a setup.
///
/// # Errors
/// The run failed, or something in it panicked.
pub fn run(setup: Setup, seed: Seed) -> Result<Outcome, FailedRun> {
    let options = Options::swarm(seed, setup);
    let failed =
        |summary, details| FailedRun { setup, seed, summary, details: format!("{options:#?}\n{details}") };
    let cluster = || log::with_log(|| Cluster::new(options.clone()).run());
    match catch_unwind(AssertUnwindSafe(cluster)) {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(failure)) => Err(failed(failure.violation.to_string(), failure.to_string())),
        Err(panic) => {
            let text = format!("panicked: {}", text_of(&*panic));
            Err(failed(text.clone(), text))
        }
    }
}

/// Runs one seed of a setup in a test.
///
/// # Panics
/// If the run fails: with the violation, the preceding events, all drawn parameters, and the
/// command that repeats the run.
pub fn check(setup: Setup, seed: Seed) -> Outcome {
    run(setup, seed).unwrap_or_else(|failed| panic!("{}\nReplay: {}", failed.details, failed.replay()))
}

/// Runs seeds of a setup on all cores: `fixed` seeds that are the same each time, and a tenth as
/// many fresh ones. The environment may ask for `MESHRTI_SEEDS` fresh ones instead, or for the one
/// seed `MESHRTI_SEED`. Returns the outcomes by seed.
///
/// # Panics
/// If a run fails, with the commands that repeat the failed ones; also if a variable is not a
/// number.
pub fn check_seeds(setup: Setup, fixed: u64) -> BTreeMap<Seed, Outcome> {
    if let Some(seed) = number(ONE) {
        return BTreeMap::from([(Seed(seed), check(setup, Seed(seed)))]);
    }
    let base = number(BASE).map_or_else(fresh_base, Seed);
    let (fixed, fresh) = match number(MANY) {
        Some(many) => (0, many),
        None => (fixed, fixed.div_ceil(FIXED_PER_FRESH)),
    };
    log(&format!("{}: {fixed} fixed seeds and {fresh} fresh ones, {BASE}={base}", setup.name()));
    let (outcomes, failures) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
    let seed_at = |place| match place < fixed {
        true => seed_of(Seed(0), setup, place),
        false => seed_of(base, setup, place - fixed),
    };
    let more = |place| place < fixed + fresh && lock(&failures).len() < FAILURES_MAX;
    on_all_cores(more, |place| {
        let seed = seed_at(place);
        match run(setup, seed) {
            Ok(outcome) => {
                lock(&outcomes).insert(seed, outcome);
            }
            Err(failed) => lock(&failures).push(failed),
        }
    });
    let (outcomes, failures) = (std::mem::take(&mut *lock(&outcomes)), lock(&failures));
    if let Some(first) = failures.first() {
        let all: Vec<_> = failures.iter().map(|f| format!("  {}\n  {}", f.summary, f.replay())).collect();
        let (failed, runs) = (failures.len(), failures.len() + outcomes.len());
        panic!("{}\n{failed} of {runs} runs failed ({BASE}={base}):\n{}", first.details, all.join("\n"));
    }
    outcomes
}

/// The results of the runs of one setup.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of runs, failed ones included.
    pub runs: u64,
    /// The failed runs, by their places.
    pub failures: BTreeMap<u64, FailedRun>,
}

/// Runs fresh seeds of all `setups` in turn, on all cores, while `more` returns true; it gets the
/// number of runs begun so far. `report` gets each failure at once.
pub fn soak(
    setups: &[Setup],
    base: Seed,
    more: impl Fn(u64) -> bool + Sync,
    report: impl Fn(&FailedRun) + Sync,
) -> Vec<(Setup, Tally)> {
    let all = setups.iter().map(|&setup| (setup, Tally::default())).collect::<Vec<_>>();
    let (count, tallies) = (all.len().max(1) as u64, Mutex::new(all));
    on_all_cores(
        |place| !setups.is_empty() && more(place),
        |place| {
            let of = (place % count) as usize;
            let result = run(setups[of], seed_of(base, setups[of], place / count));
            let tally = &mut lock(&tallies)[of].1;
            tally.runs += 1;
            if let Err(failed) = result {
                report(&failed);
                tally.failures.insert(place, failed);
            }
        },
    );
    tallies.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A base for fresh seeds, different each time.
#[allow(clippy::disallowed_methods)] // this one number must differ from call to call; it is printed
pub fn fresh_base() -> Seed {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Seed(Seed(now.as_nanos() as u64).split("base").0 >> 32)
}

/// The seed at a place among the seeds that are derived from `base`. It is short, so that it is
/// easy to pass on.
fn seed_of(base: Seed, setup: Setup, place: u64) -> Seed {
    Seed(base.split(&setup.label()).split_index(place).0 >> 32)
}

/// Calls `work` with 0, 1, 2, … on all cores, while `more` returns true for the number.
fn on_all_cores(more: impl Fn(u64) -> bool + Sync, work: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let all = || loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        if !more(place) {
            return;
        }
        work(place);
    };
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    #[allow(clippy::disallowed_methods)] // whole runs side by side; within a run there is one thread
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(all);
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a text").to_owned()
}

#[allow(clippy::print_stderr)] // shown beside a failure, and always with --nocapture
fn log(text: &str) {
    eprintln!("{text}");
}

/// The number in a variable: decimal, or hexadecimal after `0x`.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(parse_number(&text).unwrap_or_else(|| panic!("{variable}={text} is no number")))
}

/// Parses a number: decimal, or hexadecimal after `0x`.
pub fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Kind;
    use crate::script::Group;

    #[test]
    fn seeds_follow_from_the_base_and_the_setup() {
        let (one, many) = (Setup::One(Group::Object), Setup::Many(Kind::Tree));
        assert_eq!(seed_of(Seed(7), one, 3), seed_of(Seed(7), one, 3));
        let others = [seed_of(Seed(8), one, 3), seed_of(Seed(7), many, 3), seed_of(Seed(7), one, 4)];
        assert!(!others.contains(&seed_of(Seed(7), one, 3)));
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert_eq!([parse_number("12"), parse_number("0x1f")], [Some(12), Some(31)]);
        assert_eq!([parse_number("1f"), parse_number("0x"), parse_number("-1")], [None; 3]);
    }

    #[test]
    fn a_soak_runs_its_setups_in_turn() {
        let setups = [Setup::One(Group::Support), Setup::One(Group::Federation)];
        let tallies = soak(&setups, Seed(1), |begun| begun < 5, |failed| panic!("{}", failed.details));
        let runs: Vec<_> = tallies.iter().map(|(setup, tally)| (*setup, tally.runs)).collect();
        assert_eq!(runs, [(setups[0], 3), (setups[1], 2)]);
        assert!(soak(&[], Seed(1), |_| true, |_| {}).is_empty());
    }

    #[test]
    fn a_failed_run_says_how_to_repeat_it() {
        let (summary, details) = (String::new(), String::new());
        let failed = FailedRun { setup: Setup::Many(Kind::Mesh), seed: Seed(0xb6), summary, details };
        let command =
            "MESHRTI_SEED=0xb6 cargo test -p meshrti-testkit --test cluster mesh -- --exact --nocapture";
        assert_eq!(failed.replay(), command);
    }
}
