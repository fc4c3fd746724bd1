//! A histogram of durations.

use base::stats;
use std::time::Duration;

/// A histogram of durations in microseconds, in bins of at most an eighth of their values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    micros: stats::Histogram<8>,
    sum: Duration,
    max: Duration,
}

impl Histogram {
    /// Adds a duration.
    pub fn record(&mut self, took: Duration) {
        self.micros.add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        self.sum = self.sum.saturating_add(took);
        self.max = self.max.max(took);
    }

    /// The number of durations recorded.
    pub fn count(&self) -> u64 {
        self.micros.count()
    }

    /// The longest duration recorded; zero when there is none.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The mean; zero when nothing has been recorded.
    pub fn mean(&self) -> Duration {
        let nanos = self.sum.as_nanos().checked_div(u128::from(self.count())).unwrap_or(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The duration that the share `quantile` (from 0 to 1) of all does not exceed, rounded up by
    /// at most one part in eight; zero when nothing has been recorded.
    pub fn quantile(&self, quantile: f64) -> Duration {
        Duration::from_micros(self.micros.upper_quantile(quantile).saturating_add(1)).min(self.max)
    }

    /// Adds all durations of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.micros.merge(&other.micros);
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (half, most) = (self.quantile(0.5), self.quantile(0.99));
        write!(f, "{} (mean {:?}, p50 {half:?}, p99 {most:?}, max {:?})", self.count(), self.mean(), self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_hundred() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|ms| histogram.record(Duration::from_millis(ms)));
        let half = histogram.quantile(0.5);
        assert!((50..=57).contains(&half.as_millis()), "{half:?}");
        assert_eq!(histogram.quantile(1.0), Duration::from_millis(100));
        assert_eq!(histogram.mean(), Duration::from_micros(50_500));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!((twice.count(), twice.quantile(0.5)), (200, half));
        assert_eq!(Histogram::default().quantile(0.5), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_an_eighth_too_long(us in 1u64..1 << 31) {
            let took = Duration::from_micros(us);
            let mut histogram = Histogram::default();
            histogram.record(took);
            histogram.record(Duration::MAX);
            prop_assert!(took <= histogram.quantile(0.5));
            prop_assert!(histogram.quantile(0.5) <= took * 9 / 8 + Duration::from_micros(1));
        }
    }
}
