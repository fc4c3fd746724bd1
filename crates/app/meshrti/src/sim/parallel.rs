//! Runs on several threads: results are in order, whatever the number of threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::interrupt;
use crate::bench::progress::Progress;

/// Says how far all runs are.
pub(super) struct Ticker {
    progress: Mutex<(Progress, u64)>,
    /// Of one run, and of all.
    steps: u64,
    all: u64,
}

impl Ticker {
    /// Steps of a run.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// One more step of some run is done.
    pub(super) fn tick(&self) {
        let mut progress = self.progress.lock().expect("no thread panics while it holds this");
        progress.1 += 1;
        let done = progress.1;
        progress.0.at(done, self.all);
    }
}

/// Threads for so many runs: as wished, or one per core.
pub(super) fn threads(jobs: Option<NonZeroUsize>, count: usize) -> usize {
    jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get).min(count)
}

/// Does `count` runs of `steps` steps each on so many threads (one per core without a wish). Once the user has [stopped](interrupt) it no
/// other run begins: the results are then those of the first ones.
///
/// # Errors
/// That of the first run, in order, which fails.
pub(super) fn in_parallel<T: Send, E: Send>(
    jobs: Option<NonZeroUsize>,
    count: usize,
    steps: u64,
    work: impl Fn(usize, &Ticker) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let jobs = threads(jobs, count);
    let next = AtomicUsize::new(0);
    let ticker = Ticker { progress: Mutex::new((Progress::new("sim"), 0)), steps, all: steps * count as u64 };
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    // The first always begins, so that there is something to tell.
                    if index >= count || index > 0 && interrupt::is_stopped() {
                        return;
                    }
                    let result = work(index, &ticker);
                    results.lock().expect("no thread panics while it holds this").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics while it holds this");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
