//! The end of the warm-up of a run: the marginal standard error rule with batches of five (MSER-5;
//! White, Cobb and Spratt 2000).

use crate::units::Picos;

/// Values of a batch at first.
const FIVE: u64 = 5;
/// At this number of batches they are merged in pairs, so that memory does not grow with the run.
const BATCHES_MAX: usize = 4_096;
/// Least number of batches for a result.
const BATCHES_MIN: usize = 20;

/// A batch of successive values.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    sum_us: f64,
    last: Picos,
}

/// Values in the order of time.
#[derive(Clone, Debug)]
pub struct WarmUp {
    batches: Vec<Batch>,
    size: u64,
    open: Batch,
    count: u64,
}

impl Default for WarmUp {
    fn default() -> Self {
        Self { batches: Vec::new(), size: FIVE, open: Batch::default(), count: 0 }
    }
}

/// The initial part to leave out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Truncation {
    /// All values up to this moment.
    pub until: Picos,
    /// Their share of all values, at most a half. The rule is not valid beyond that; the run was
    /// then too short.
    pub share: f64,
    /// The mean of the other values, in microseconds.
    pub mean_us: f64,
}

impl WarmUp {
    /// Adds a value, which was known at `now`.
    #[inline]
    pub fn add(&mut self, now: Picos, value: Picos) {
        self.open.sum_us += value.as_micros();
        self.open.last = now;
        self.count += 1;
        if self.count == self.size {
            self.batches.push(std::mem::take(&mut self.open));
            self.count = 0;
            if self.batches.len() == BATCHES_MAX {
                let merged = |pair: &[Batch]| Batch {
                    sum_us: pair.iter().map(|batch| batch.sum_us).sum(),
                    last: pair[pair.len() - 1].last,
                };
                self.batches = self.batches.chunks(2).map(merged).collect();
                self.size *= 2;
            }
        }
    }

    /// The initial part to leave out so that the standard error of the rest is least, computed
    /// without regard to correlation. `from` is the start of the run. `None` when there are too few
    /// values.
    pub fn truncation(&self, from: Picos) -> Option<Truncation> {
        let count = self.batches.len();
        if count < BATCHES_MIN {
            return None;
        }
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut best: Option<(f64, usize, f64)> = None;
        for (left_out, batch) in self.batches.iter().enumerate().rev() {
            let value = batch.sum_us / self.size as f64;
            sum += value;
            squares += value * value;
            let kept = (count - left_out) as f64;
            if left_out <= count / 2 {
                let error = (squares - sum * sum / kept).max(0.0) / (kept * kept);
                if best.is_none_or(|(least, ..)| error <= least) {
                    best = Some((error, left_out, sum / kept));
                }
            }
        }
        let (_, left_out, mean_us) = best?;
        let until = left_out.checked_sub(1).map_or(from, |last| self.batches[last].last);
        Some(Truncation { until, share: left_out as f64 / count as f64, mean_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::exponential;
    use base::Seed;

    /// Exponential values with a mean of 100 us; the first `high` of them have 1000 us more.
    fn series(values: u64, high: u64) -> WarmUp {
        let (mut stream, mut warm_up) = (Seed(4).rng(), WarmUp::default());
        for number in 0..values {
            let more = Picos::from_micros(if number < high { 1_000 } else { 0 });
            warm_up.add(Picos(number), more + exponential(&mut stream, Picos::from_micros(100)));
        }
        warm_up
    }

    #[test]
    fn a_beginning_that_differs_is_left_out() {
        for (values, high) in [(1_000, 100), (1_000, 400), (100_000, 10_000)] {
            let truncation = series(values, high).truncation(Picos::ZERO).unwrap();
            let expected = high as f64 / values as f64;
            // To a batch, and by chance to a few more where the rest begins.
            assert!((truncation.share - expected).abs() < 0.06, "{truncation:?}");
            assert!(truncation.until >= Picos(high - 1), "{truncation:?}");
            assert!((truncation.mean_us - 100.0).abs() < 20.0, "{truncation:?}");
        }
    }

    #[test]
    fn unchanged_interests_are_kept() {
        let constant = (0..1_000).fold(WarmUp::default(), |mut warm_up, number| {
            warm_up.add(Picos(number), Picos::from_micros(7));
            warm_up
        });
        let nothing = Truncation { until: Picos(3), share: 0.0, mean_us: 7.0 };
        assert_eq!(constant.truncation(Picos(3)), Some(nothing));
        assert!(series(100_000, 0).truncation(Picos::ZERO).unwrap().share < 0.2);
        assert_eq!(series(99, 0).truncation(Picos::ZERO), None);
    }
}
