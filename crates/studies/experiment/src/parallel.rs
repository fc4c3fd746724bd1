//! Runs on several threads: results are in order, whatever the number of threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::interrupt;
use console::progress::Progress;

/// Shows the progress of all runs.
pub struct Ticker {
    progress: Mutex<(Progress, u64)>,
    /// The number of steps of one run.
    steps: u64,
    all: u64,
}

impl Ticker {
    /// The number of steps of a run.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Notes one more step of some run.
    pub fn tick(&self) {
        let mut progress = self.progress.lock().expect("no thread panics while it holds this");
        progress.1 += 1;
        let done = progress.1;
        progress.0.at(done, self.all);
    }
}

/// The number of threads for `count` runs: `jobs`, or one per core.
pub fn threads(jobs: Option<NonZeroUsize>, count: usize) -> usize {
    jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get).min(count)
}

/// Applies a function to each item on `jobs` threads (one per core by default). The results are in
/// order.
///
/// # Errors
/// The error of the first failing item in order.
pub fn each_in_parallel<I: Sync, T: Send, E: Send>(
    jobs: Option<NonZeroUsize>,
    items: &[I],
    work: impl Fn(&I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads(jobs, items.len()) {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let result = work(item);
                    results.lock().expect("no thread panics while it holds this").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics while it holds this");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Does `count` runs of `steps` steps each on `jobs` threads (one per core by default). Once the
/// user has [stopped](interrupt) them no further run begins, and the results are those of the first
/// runs.
///
/// # Errors
/// The error of the first failing run in order.
pub fn in_parallel<T: Send, E: Send>(
    jobs: Option<NonZeroUsize>,
    count: usize,
    steps: u64,
    work: impl Fn(usize, &Ticker) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let ticker = Ticker { progress: Mutex::new((Progress::new("sim"), 0)), steps, all: steps * count as u64 };
    let all: Vec<usize> = (0..count).collect();
    let results = each_in_parallel(jobs, &all, |index| {
        // The first run always begins, so that there is a result.
        let begins = *index == 0 || !interrupt::is_stopped();
        begins.then(|| work(*index, &ticker)).transpose()
    })?;
    // Race: of two threads, the one with the later run may begin while the other sees the stop. The
    // later run is then not one of the first, and its result is dropped.
    Ok(results.into_iter().map_while(std::convert::identity).collect())
}
