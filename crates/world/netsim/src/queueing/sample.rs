//! Times that were measured, and how sure they are.

use std::time::Duration;

use base::{Moment, Rng};
use rand_core::RngCore;

/// Parts of a run of which each has a mean of its own.
pub const BATCHES: usize = 20;

/// Times of one run, in seconds. How sure their mean is comes from the means of [`BATCHES`] equal parts of the run: single times
/// hang together, parts that are long against the queue's memory do not.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    begin: Moment,
    run: Duration,
    /// In ns; sorted once percentiles are wanted.
    times: Vec<u64>,
    sorted: bool,
    /// Sum in ns and number of each part.
    batches: [(u128, u64); BATCHES],
}

impl Sample {
    /// A sample of a run that begins at `begin`.
    pub fn new(begin: Moment, run: Duration) -> Self {
        Self { begin, run, times: Vec::new(), sorted: true, batches: [(0, 0); BATCHES] }
    }

    /// Adds what began at `at` and took so long; what began before the run does not count.
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

    /// How many times.
    pub fn count(&self) -> u64 {
        self.times.len() as u64
    }

    /// The sum of all, over the length of the run: the mean number of those that are there at once.
    pub fn number(&self) -> f64 {
        self.mean() * self.times.len() as f64 / self.run.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Their mean; 0 of none.
    pub fn mean(&self) -> f64 {
        let sum: u128 = self.batches.iter().map(|(sum, _)| sum).sum();
        sum as f64 / 1e9 / self.times.len().max(1) as f64
    }

    /// The means of the parts.
    pub fn batch_means(&self) -> Vec<f64> {
        let known = self.batches.iter().filter(|(_, count)| *count > 0);
        known.map(|(sum, count)| *sum as f64 / 1e9 / *count as f64).collect()
    }

    /// The standard error of the mean, from the means of the parts.
    pub fn standard_error(&self) -> f64 {
        let means = self.batch_means();
        let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
        let squares: f64 = means.iter().map(|part| (part - mean) * (part - mean)).sum();
        let count = means.len() as f64;
        if count < 2.0 { f64::INFINITY } else { (squares / (count - 1.0) / count).sqrt() }
    }

    /// The time that this share does not exceed; 0 of none.
    pub fn percentile(&mut self, share: f64) -> f64 {
        if !self.sorted {
            self.times.sort_unstable();
            self.sorted = true;
        }
        let rank = (share * self.times.len() as f64).ceil() as usize;
        self.times.get(rank.saturating_sub(1)).map_or(0.0, |&ns| ns as f64 / 1e9)
    }
}

/// Of mean 1. The logarithm is one of this workspace's, the same on every machine.
pub(super) fn exponential(rng: &mut Rng) -> f64 {
    let unit = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64; // above 0
    -libm::log(unit)
}
