//! Quantiles from a histogram with logarithmic bins.

/// Bins of an octave: the width of each is at most 1/128 of its values.
const BINS: u64 = 128;
const BITS: u32 = BINS.trailing_zeros();

/// Counts of whole numbers, in bins of at most 0.8 % width. Below 128 each number has a bin of its
/// own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bin = bin_of(value);
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        self.total += 1;
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
    }

    /// The value below which the share `share` (0 to 1) of the values lies, to the width of a bin;
    /// 0 without values.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = share.clamp(0.0, 1.0) * self.total as f64;
        let mut below = 0.0;
        for (bin, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = count as f64;
            if below + count >= rank {
                let (low, width) = edges(bin);
                return low as f64 + (width as f64 - 1.0) * ((rank - below) / count).max(0.0);
            }
            below += count;
        }
        0.0
    }

    /// Lower edges of the bins that are not empty, and their counts.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let some = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        some.map(|(bin, count)| (edges(bin).0, *count))
    }
}

#[inline]
fn bin_of(value: u64) -> usize {
    if value < BINS {
        return value as usize;
    }
    let shift = value.ilog2() - BITS;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_many() {
        let mut histogram = Histogram::default();
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
        }
    }

    proptest! {
        #[test]
        fn bins_hold_what_is_put_into_them(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let (low, width) = edges(bin_of(value));
            prop_assert!(low <= value && value - low < width);
            prop_assert!(width == 1 || width * BINS <= low);
        }
    }
}
