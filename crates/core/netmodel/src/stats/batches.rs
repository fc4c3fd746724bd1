//! Confidence intervals of means, by batch means.

use crate::units::Picos;
use base::stats::student;

/// At this number of batches they are merged in pairs, so that 20 to 39 remain.
const BATCHES_MAX: usize = 40;
/// Least number of complete batches for an interval.
const BATCHES_MIN: usize = 10;

/// Sums of equal numbers of successive values. Long batches are nearly independent of one another,
/// even if the values in them are not.
#[derive(Clone, Debug)]
pub struct Batches {
    sums: Vec<f64>,
    size: u64,
    open: f64,
    count: u64,
}

impl Default for Batches {
    fn default() -> Self {
        Self { sums: Vec::new(), size: 1, open: 0.0, count: 0 }
    }
}

/// The confidence interval of a mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Half the width of the 95 % confidence interval, in µs.
    pub half_width_us: f64,
    /// Number of batches that it is based on.
    pub batches: usize,
    /// Correlation of neighbouring batches: near 0 when they are long enough.
    pub lag1: f64,
}

impl Batches {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, time: Picos) {
        self.open += time.0 as f64 * 1e-6;
        self.count += 1;
        if self.count == self.size {
            self.close();
        }
    }

    fn close(&mut self) {
        self.sums.push(std::mem::take(&mut self.open));
        self.count = 0;
        if self.sums.len() == BATCHES_MAX {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.size *= 2;
        }
    }

    /// The 95 % confidence interval of the mean; `None` when there are too few values.
    pub fn interval(&self) -> Option<Interval> {
        let batches = self.sums.len();
        if batches < BATCHES_MIN {
            return None;
        }
        let means: Vec<f64> = self.sums.iter().map(|sum| sum / self.size as f64).collect();
        let mean = means.iter().sum::<f64>() / batches as f64;
        let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
        let neighbours: f64 = means.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
        let error = (squares / ((batches - 1) * batches) as f64).sqrt();
        Some(Interval {
            half_width_us: student(batches - 1) * error,
            batches,
            lag1: if squares > 0.0 { neighbours / squares } else { 0.0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::exponential;
    use base::Seed;

    #[test]
    fn intervals_hold_the_mean_nineteen_times_of_twenty() {
        let (mean, mut held) = (Picos::from_micros(100), 0);
        for run in 0..200 {
            let (mut stream, mut batches) = (Seed(run).rng(), Batches::default());
            let mut sum = 0.0;
            for _ in 0..1_000 {
                let time = exponential(&mut stream, mean);
                sum += time.as_micros();
                batches.add(time);
            }
            let interval = batches.interval().unwrap();
            assert!((20..40).contains(&interval.batches) && interval.lag1.abs() < 0.7);
            held += i32::from((sum / 1_000.0 - 100.0).abs() <= interval.half_width_us);
        }
        assert!((180..=199).contains(&held), "{held} of 200");
    }

    #[test]
    fn too_few_values_say_nothing() {
        let mut batches = Batches::default();
        (0..9).for_each(|_| batches.add(Picos(1)));
        assert_eq!(batches.interval(), None);
    }
}
