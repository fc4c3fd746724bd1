//! Runs on several threads, with results that do not depend on the number of threads.

use std::num::NonZeroUsize;

use crate::routers::{Outcome, Run, RunError, run};
use base::Seed;

use super::file::Point;
use experiment::parallel::in_parallel;

/// A point with the outcomes of its replications.
pub(super) struct Done {
    pub(super) point: Point,
    /// One outcome for each replication, in order.
    pub(super) outcomes: Vec<Outcome>,
}

/// A failed run.
pub(super) struct Failed {
    pub(super) run: Run,
    pub(super) error: RunError,
}

/// Does all replications of all points on `jobs` threads. If the user stops it, returns the points
/// done so far, the last one possibly with fewer replications.
///
/// # Errors
/// The error of the first failing run in order.
pub(super) fn run_all(
    points: Vec<Point>,
    seed: Seed,
    replications: usize,
    jobs: Option<NonZeroUsize>,
) -> Result<Vec<Done>, Box<Failed>> {
    let outcomes = in_parallel(jobs, points.len() * replications, 1, |index, ticker| {
        let seed = seed.split_index((index % replications) as u64);
        let one = Run { seed, ..points[index / replications].run.clone() };
        let outcome = run(&one);
        ticker.tick();
        outcome.map_err(|error| Box::new(Failed { run: one, error }))
    })?;
    let mut outcomes = outcomes.into_iter();
    let of = |point| Done { point, outcomes: outcomes.by_ref().take(replications).collect() };
    Ok(points.into_iter().map(of).filter(|done| !done.outcomes.is_empty()).collect())
}
