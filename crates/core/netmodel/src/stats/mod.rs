//! Statistics of a list of times, in memory that does not grow with the list.

mod batches;
mod summary;
mod warm_up;

pub use batches::{Batches, Interval};
pub use summary::Summary;
pub use warm_up::{Truncation, WarmUp};

use crate::units::Picos;
use base::stats::Histogram;

/// The statistics of the times of messages.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Number, mean, spread, extremes.
    pub summary: Summary,
    /// Quantiles.
    pub histogram: Histogram,
    /// Batches, for the confidence interval of the mean.
    pub batches: Batches,
}

impl Recorder {
    /// Adds a time.
    #[inline]
    pub fn add(&mut self, time: Picos) {
        self.summary.add(time);
        self.histogram.add(time.0);
        self.batches.add(time);
    }

    /// Adds the values of another recorder to the numbers, means and quantiles. Batches stay those
    /// of this one: replications are batches of their own.
    pub fn merge(&mut self, other: &Recorder) {
        self.summary.merge(&other.summary);
        self.histogram.merge(&other.histogram);
    }
}
