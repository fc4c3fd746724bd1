//! Measured times, with their standard error.

use std::time::Duration;

use base::stats::{quantile, variance};
use base::{Moment, Rng};
use rand_core::RngCore;

/// Number of equal parts of a run, for the method of batch means.
pub const BATCHES: usize = 20;

/// Times of one run, in seconds. The standard error comes from the means of [`BATCHES`] equal parts
/// of the run: single times are correlated, whereas parts that are long compared with the queue's
/// memory are not.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    begin: Moment,
    run: Duration,
    /// In ns; sorted on the first request for a percentile.
    times: Vec<u64>,
    sorted: bool,
    /// Sum in ns and number of the times of each part.
    batches: [(u128, u64); BATCHES],
}

impl Sample {
    /// A sample of a run of length `run` that begins at `begin`.
    pub fn new(begin: Moment, run: Duration) -> Self {
        Self { begin, run, times: Vec::new(), sorted: true, batches: [(0, 0); BATCHES] }
    }

    /// Adds a time of length `took` that began at `at`. Times that began before the run are
    /// ignored.
    pub fn add(&mut self, at: Moment, took: Duration) {
        if at < self.begin {
            return;
        }
        let part = at.since(self.begin).as_nanos() * BATCHES as u128 / self.run.as_nanos().max(1);
        let batch = &mut self.batches[(part as usize).min(BATCHES - 1)];
        batch.0 += took.as_nanos();
        batch.1 += 1;
        self.times.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.sorted = false;
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.times.len() as u64
    }

    /// Sum of all times divided by the length of the run: the mean number in the system, by
    /// Little's law.
    pub fn number(&self) -> f64 {
        self.mean() * self.times.len() as f64 / self.run.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The mean, in seconds; 0 without times.
    pub fn mean(&self) -> f64 {
        let sum: u128 = self.batches.iter().map(|(sum, _)| sum).sum();
        sum as f64 / 1e9 / self.times.len().max(1) as f64
    }

    /// The means of the parts that have times, in seconds.
    pub fn batch_means(&self) -> Vec<f64> {
        let known = self.batches.iter().filter(|(_, count)| *count > 0);
        known.map(|(sum, count)| *sum as f64 / 1e9 / *count as f64).collect()
    }

    /// The standard error of the mean, from the means of the parts; infinite with fewer than two
    /// parts.
    pub fn standard_error(&self) -> f64 {
        let means = self.batch_means();
        let count = means.len() as f64;
        if count < 2.0 { f64::INFINITY } else { (variance(&means) / count).sqrt() }
    }

    /// The time that this share of times does not exceed, in seconds; 0 without times.
    pub fn percentile(&mut self, share: f64) -> f64 {
        if !self.sorted {
            self.times.sort_unstable();
            self.sorted = true;
        }
        quantile(&self.times, share).map_or(0.0, |ns| ns as f64 / 1e9)
    }
}

/// An exponential number with mean 1. Uses the workspace's own logarithm, which gives the same
/// result on every machine.
pub(super) fn exponential(rng: &mut Rng) -> f64 {
    let unit = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64; // above 0
    -libm::log(unit)
}
