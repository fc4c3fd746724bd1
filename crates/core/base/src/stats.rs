//! Statistics of lists of numbers: quantiles, means and their confidence intervals.

/// Counts of whole numbers, in bins of at most 1/`BINS` (a power of two) of their values. Below
/// `BINS` each number has a bin of its own. Memory grows with the logarithm of the largest value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram<const BINS: u64 = 128> {
    counts: Vec<u64>,
    total: u64,
}

impl<const BINS: u64> Histogram<BINS> {
    const BITS: u32 = BINS.trailing_zeros();

    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Adds a value `count` times.
    #[inline]
    pub fn add_many(&mut self, value: u64, count: u64) {
        let bin = Self::bin_of(value);
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += count;
        self.total += count;
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The mean, to half the width of a bin; 0 without values.
    pub fn mean(&self) -> f64 {
        let middle = |low, width| low as f64 + (width - 1) as f64 / 2.0;
        self.bins().map(|(low, width, count)| middle(low, width) * count as f64).sum::<f64>()
            / self.total.max(1) as f64
    }

    /// The value below which the share `share` (0 to 1) of the values lies, interpolated within its
    /// bin; 0 without values.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = share.clamp(0.0, 1.0) * self.total as f64;
        let mut below = 0.0;
        for (low, width, count) in self.bins() {
            let count = count as f64;
            if below + count >= rank {
                return low as f64 + (width as f64 - 1.0) * ((rank - below) / count).max(0.0);
            }
            below += count;
        }
        0.0
    }

    /// The largest value of the bin of the smallest value that at least the share `share` (0 to 1)
    /// of the values does not exceed; 0 without values.
    pub fn upper_quantile(&self, share: f64) -> u64 {
        let rank = (share.clamp(0.0, 1.0) * self.total as f64).ceil().max(1.0) as u64;
        let mut bins = self.bins().scan(0, |seen, (low, width, count)| {
            *seen += count;
            Some((*seen, low + (width - 1)))
        });
        bins.find(|(seen, _)| *seen >= rank).map_or(0, |(_, high)| high)
    }

    /// The bins that are not empty, from the least: the least value of each, the number of values
    /// that fall into it, and its count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let some = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        some.map(|(bin, count)| {
            let (low, width) = Self::edges(bin);
            (low, width, *count)
        })
    }

    #[inline]
    fn bin_of(value: u64) -> usize {
        if value < BINS {
            return value as usize;
        }
        let shift = value.ilog2() - Self::BITS;
        (u64::from(shift) * BINS + (value >> shift)) as usize
    }

    /// The least value of a bin, and the number of values in it.
    fn edges(bin: usize) -> (u64, u64) {
        let bin = bin as u64;
        if bin < 2 * BINS {
            return (bin, 1);
        }
        let shift = bin / BINS - 1;
        ((bin - shift * BINS) << shift, 1 << shift)
    }
}

/// The smallest of ascending values that at least the share `share` (0 to 1) of them does not
/// exceed: the nearest rank. `None` without values.
pub fn quantile<T: Copy>(rising: &[T], share: f64) -> Option<T> {
    // A share such as 0.07 is not exact in binary; its rank must not be rounded up for that.
    let rank = (share.clamp(0.0, 1.0) * rising.len() as f64 - 1e-9).ceil() as usize;
    rising.get(rank.saturating_sub(1)).copied()
}

/// The middle value, or the mean of the two middle ones. `None` without values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { (values[middle - 1] + upper) / 2.0 })
}

/// The mean; 0 without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    sum / count.max(1) as f64
}

/// The variance of a sample; 0 with fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    let mean = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    if values.len() < 2 { 0.0 } else { squares / (values.len() - 1) as f64 }
}

/// Half the width of the 95 % confidence interval of the mean of independent values. `None` for
/// fewer than two.
pub fn ci95(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    Some(student(freedom) * (variance(values) / values.len() as f64).sqrt())
}

/// The quantile 0.975 of Student's t distribution: from a table up to 10 degrees of freedom, else
/// by the expansion of Cornish and Fisher around the normal quantile (Abramowitz and Stegun
/// 26.7.5; within 0.01 %).
pub fn student(freedom: usize) -> f64 {
    const T: [f64; 11] = [
        f64::INFINITY,
        12.706_204_736,
        4.302_652_730,
        3.182_446_305,
        2.776_445_105,
        2.570_581_836,
        2.446_911_851,
        2.364_624_252,
        2.306_004_135,
        2.262_157_163,
        2.228_138_852,
    ];
    const Z: f64 = 1.959_963_984_540_054;
    if let Some(t) = T.get(freedom) {
        return *t;
    }
    let n = freedom as f64;
    let z2 = Z * Z;
    let (z3, z5, z7, z9) = (Z * z2, Z * z2 * z2, Z * z2 * z2 * z2, Z * z2 * z2 * z2 * z2);
    let g1 = (z3 + Z) / 4.0;
    let g2 = (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / 96.0;
    let g3 = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / 384.0;
    let g4 = (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * Z) / 92_160.0;
    Z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_many() {
        let mut histogram = Histogram::<128>::default();
        assert_eq!(histogram.quantile(0.5), 0.0);
        (1..=100_000u64).for_each(|value| histogram.add(value * 1_000));
        let (mut low, mut high) = (Histogram::default(), Histogram::default());
        (1..=50_000u64).for_each(|value| low.add(value * 1_000));
        (50_001..=100_000u64).for_each(|value| high.add(value * 1_000));
        low.merge(&high);
        assert_eq!(low, histogram);
        for share in [0.01, 0.5, 0.9, 0.999] {
            let expected = share * 1e8;
            assert!((histogram.quantile(share) / expected - 1.0).abs() < 0.01, "{share}");
            let upper = histogram.upper_quantile(share) as f64 / expected;
            assert!((1.0..1.01).contains(&upper), "{share}");
        }
        assert!((histogram.mean() / 50_000_500.0 - 1.0).abs() < 0.004);
    }

    #[test]
    fn quantiles_are_of_the_values_that_are_there() {
        let rising: Vec<u32> = (1..=10).collect();
        assert_eq!([0.5, 0.9, 1.0].map(|share| quantile(&rising, share)), [Some(5), Some(9), Some(10)]);
        assert_eq!((quantile(&[7], 0.5), quantile(&[7], 0.0)), (Some(7), Some(7)));
        assert_eq!(quantile::<u32>(&[], 0.5), None);
        let hundred: Vec<u32> = (1..=100).collect();
        (1..=100u32).for_each(|n| assert_eq!(quantile(&hundred, f64::from(n) / 100.0), Some(n)));
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn quantiles_of_student_are_those_of_tables() {
        for (freedom, t) in [(1, 12.7062), (4, 2.7764), (5, 2.5706), (10, 2.2281), (29, 2.0452), (39, 2.0227)]
        {
            assert!((student(freedom) / t - 1.0).abs() < 1e-4, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn intervals_of_few_and_of_many() {
        assert_eq!(ci95(&[1.0]), None);
        let five = ci95(&[9.0, 10.0, 11.0, 10.0, 10.0]).unwrap();
        assert!((five - 2.776_445_105 * (0.5f64 / 5.0).sqrt()).abs() < 1e-9);
        let many: Vec<f64> = (0..31).map(f64::from).collect();
        let quantile = ci95(&many).unwrap() / (variance(&many) / 31.0).sqrt();
        assert!((quantile - 2.042).abs() < 0.001, "{quantile}");
    }

    proptest! {
        #[test]
        fn bins_hold_what_is_put_into_them(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let (low, width) = Histogram::<128>::edges(Histogram::<128>::bin_of(value));
            prop_assert!(low <= value && value - low < width);
            prop_assert!(width == 1 || width * 128 <= low);
        }
    }
}
