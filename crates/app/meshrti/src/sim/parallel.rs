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

/// Does something with each of these on so many threads (one per core without a wish): the results, in order.
///
/// # Errors
/// That of the first, in order, which fails.
pub(super) fn each_in_parallel<I: Sync, T: Send, E: Send>(
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
    let ticker = Ticker { progress: Mutex::new((Progress::new("sim"), 0)), steps, all: steps * count as u64 };
    let all: Vec<usize> = (0..count).collect();
    let results = each_in_parallel(jobs, &all, |index| {
        // The first always begins, so that there is something to tell.
        let begins = *index == 0 || !interrupt::is_stopped();
        begins.then(|| work(*index, &ticker)).transpose()
    })?;
    // Two may look at the same moment, and the later begin: then it is not one of the first ones.
    Ok(results.into_iter().map_while(std::convert::identity).collect())
}
