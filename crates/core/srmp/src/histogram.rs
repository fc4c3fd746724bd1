//! A histogram of durations.

use std::time::Duration;

/// Slots of an octave. With eight, a slot is an eighth of its octave wide.
const PARTS: usize = 8;
/// Octaves of microseconds: up to 2^32 µs, or 71 minutes.
const OCTAVES: usize = 33;

/// A histogram of durations in microseconds, with eight slots for each octave.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u32; PARTS * OCTAVES]>,
    total: u64,
    sum: Duration,
    max: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; PARTS * OCTAVES]), total: 0, sum: Duration::ZERO, max: Duration::ZERO }
    }
}

impl Histogram {
    /// Adds a duration.
    pub fn record(&mut self, took: Duration) {
        let cell = &mut self.counts[slot(took)];
        *cell = cell.saturating_add(1);
        self.total += 1;
        self.sum = self.sum.saturating_add(took);
        self.max = self.max.max(took);
    }

    /// The number of durations recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The longest duration recorded; zero when there is none.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The mean; zero when nothing has been recorded.
    pub fn mean(&self) -> Duration {
        let nanos = self.sum.as_nanos().checked_div(u128::from(self.total)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The duration that the share `quantile` (from 0 to 1) of all does not exceed, rounded up by
    /// at most one part in eight; zero when nothing has been recorded.
    pub fn quantile(&self, quantile: f64) -> Duration {
        let rank = (self.total as f64 * quantile.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (slot, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                return upper(slot).min(self.max);
            }
        }
        self.max
    }

    /// Adds all durations of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine = mine.saturating_add(*theirs);
        }
        self.total += other.total;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (half, most) = (self.quantile(0.5), self.quantile(0.99));
        write!(f, "{} (mean {:?}, p50 {half:?}, p99 {most:?}, max {:?})", self.total, self.mean(), self.max)
    }
}

fn slot(took: Duration) -> usize {
    let us = took.as_micros().clamp(1, u128::from(u32::MAX)) as u64;
    let octave = us.ilog2() as usize;
    let part = ((us * PARTS as u64) >> octave) as usize - PARTS;
    octave * PARTS + part
}

/// The upper end of a slot.
fn upper(slot: usize) -> Duration {
    let (octave, part) = (slot / PARTS, slot % PARTS);
    Duration::from_nanos((((part + PARTS + 1) as u64) << octave) * 1_000 / PARTS as u64)
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
        fn a_slot_holds_what_falls_into_it(us in 1u64..1 << 31) {
            let took = Duration::from_micros(us);
            prop_assert!(took <= upper(slot(took)));
            prop_assert!(upper(slot(took)) <= took * 9 / 8 + Duration::from_micros(1));
        }
    }
}
