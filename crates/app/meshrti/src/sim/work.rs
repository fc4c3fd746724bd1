//! Runs on several threads, with results that do not depend on how many.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use base::Seed;
use netsim::routers::{Outcome, Run, RunError, run};

use super::file::Point;

/// A point with what its replications gave.
pub(super) struct Done {
    pub(super) point: Point,
    /// One for each replication, in order.
    pub(super) outcomes: Vec<Outcome>,
}

/// A run that came to nothing.
pub(super) struct Failed {
    pub(super) run: Run,
    pub(super) error: RunError,
}

/// Does all replications of all points on `jobs` threads. `progress` is told how many of how many runs are done.
///
/// # Errors
/// That of the first run, in order, which fails; runs not begun then are not begun.
pub(super) fn run_all(
    points: Vec<Point>,
    seed: Seed,
    replications: usize,
    jobs: usize,
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<Done>, Box<Failed>> {
    let runs: Vec<Run> = points
        .iter()
        .flat_map(|point| (0..replications).map(move |number| (point, number)))
        .map(|(point, number)| Run { seed: seed.split_index(number as u64), ..point.run.clone() })
        .collect();
    let mut results: Vec<Option<Result<Outcome, RunError>>> = runs.iter().map(|_| None).collect();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, runs.len().max(1)) {
            let (sender, next, runs) = (sender.clone(), &next, &runs);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = runs.get(index) else { return };
                    let result = run(one);
                    if result.is_err() {
                        next.store(runs.len(), Ordering::Relaxed);
                    }
                    if sender.send((index, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (done, (index, result)) in receiver.iter().enumerate() {
            results[index] = Some(result);
            progress(done as u64 + 1, runs.len() as u64);
        }
    });
    let mut outcomes = Vec::with_capacity(runs.len());
    for (run, result) in runs.into_iter().zip(results) {
        match result {
            Some(Ok(outcome)) => outcomes.push(outcome),
            Some(Err(error)) => return Err(Box::new(Failed { run, error })),
            // Runs are begun in order: not begun means that an earlier one failed, which the loop has met.
            None => {}
        }
    }
    let mut outcomes = outcomes.into_iter();
    let of = |point| Done { point, outcomes: outcomes.by_ref().take(replications).collect() };
    Ok(points.into_iter().map(of).collect())
}
