//! Number, mean, standard deviation, extremes: exact, whatever the order.

use crate::units::Picos;

/// Sums of times and of their squares, as whole numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    count: u64,
    sum: u128,
    squares: u128,
    min: Picos,
    max: Picos,
}

impl Default for Summary {
    fn default() -> Self {
        Self { count: 0, sum: 0, squares: 0, min: Picos::MAX, max: Picos::ZERO }
    }
}

impl Summary {
    /// Adds a time.
    #[inline]
    pub fn add(&mut self, time: Picos) {
        let wide = u128::from(time.0);
        self.count += 1;
        self.sum += wide;
        self.squares = self.squares.saturating_add(wide * wide);
        self.min = self.min.min(time);
        self.max = self.max.max(time);
    }

    /// Adds the values of another summary.
    pub fn merge(&mut self, other: &Summary) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean in µs; 0 without values.
    pub fn mean_us(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 * 1e-6 }
    }

    /// Standard deviation of the sample, in µs; 0 with fewer than two values.
    pub fn std_us(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let count = self.count as f64;
        // Whole numbers where n Σx² - (Σx)² fits, so that no digits cancel.
        let exact =
            |n: u128| Some(self.squares.checked_mul(n)?.checked_sub(self.sum.checked_mul(self.sum)?)? as f64);
        let spread = exact(u128::from(self.count)).unwrap_or_else(|| {
            (count * self.squares as f64 - (self.sum as f64) * (self.sum as f64)).max(0.0)
        });
        (spread / (count * (count - 1.0))).sqrt() * 1e-6
    }

    /// The shortest time; `None` without values.
    pub fn min(&self) -> Option<Picos> {
        (self.count > 0).then_some(self.min)
    }

    /// The longest time; `None` without values.
    pub fn max(&self) -> Option<Picos> {
        (self.count > 0).then_some(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_up() {
        let mut summary = Summary::default();
        assert_eq!((summary.mean_us(), summary.std_us(), summary.min()), (0.0, 0.0, None));
        for us in [2, 4, 4, 4, 5, 5, 7, 9] {
            summary.add(Picos::from_micros(us));
        }
        assert_eq!((summary.count(), summary.mean_us()), (8, 5.0));
        assert!((summary.std_us() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(
            (summary.min(), summary.max()),
            (Some(Picos::from_micros(2)), Some(Picos::from_micros(9)))
        );
    }

    #[test]
    fn a_small_spread_of_long_times_is_not_lost() {
        let mut summary = Summary::default();
        for ps in [0, 2] {
            summary.add(Picos(Picos::from_secs(100_000).0 + ps));
        }
        assert!((summary.std_us() * 1e6 - 2.0f64.sqrt()).abs() < 1e-9);
    }
}
