//! Series of values, and their marks.

/// The way in which values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through all of them.
    Line,
    /// A dashed line, for expected values beside measured ones.
    Dashed,
    /// A dot for each, and a line through them.
    Dots,
    /// A dot for each.
    Points,
    /// A line that keeps its height until the next value.
    Steps,
    /// A bar from zero, as wide as the smallest distance between values.
    Bars,
}

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    pub(crate) points: Vec<(f64, f64)>,
    /// Half the width of the confidence interval of each value; empty without intervals.
    pub(crate) spreads: Vec<f64>,
    /// True if it has the colour of the series before it.
    pub(crate) same_colour: bool,
}

impl Series {
    /// A series.
    pub fn new(name: &str, mark: Mark, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        Self { name: name.to_owned(), mark, points, spreads: Vec::new(), same_colour: false }
    }

    /// Adds a confidence interval for each value, given by half its width.
    #[must_use]
    pub fn with_spreads(self, spreads: impl IntoIterator<Item = f64>) -> Self {
        Self { spreads: spreads.into_iter().collect(), ..self }
    }

    /// Gives it the colour of the series before it, for two views of one thing.
    #[must_use]
    pub fn in_same_colour(self) -> Self {
        Self { same_colour: true, ..self }
    }

    /// The empirical distribution function: the share of samples that are not greater than a value,
    /// at no more than 256 steps.
    pub fn cdf(name: &str, samples: &[f64]) -> Self {
        const STEPS: usize = 256;
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let steps = STEPS.min(count);
        let points = (1..=steps).map(|step| {
            let rank = step * count / steps; // 1 to count
            (sorted[rank - 1], rank as f64 / count as f64)
        });
        Self::new(name, Mark::Steps, points)
    }

    /// A histogram: the number of samples in each of `bins` equal parts of their range, at the
    /// lower edge of each part.
    pub fn histogram(name: &str, samples: &[f64], bins: usize) -> Self {
        let range = samples.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), sample| {
            (low.min(*sample), high.max(*sample))
        });
        if !(range.0.is_finite() && range.1.is_finite()) || bins == 0 {
            return Self::new(name, Mark::Bars, []);
        }
        let width = if range.1 > range.0 { (range.1 - range.0) / bins as f64 } else { 1.0 };
        let mut counts = vec![0u64; bins];
        for sample in samples {
            counts[(((sample - range.0) / width) as usize).min(bins - 1)] += 1;
        }
        let points =
            counts.into_iter().enumerate().map(|(bin, count)| (range.0 + bin as f64 * width, count as f64));
        Self::new(name, Mark::Bars, points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_count_every_sample() {
        let samples: Vec<f64> = (1..=1_000).map(f64::from).collect();
        let cdf = Series::cdf("", &samples);
        assert_eq!(cdf.points.len(), 256);
        assert_eq!(cdf.points.last(), Some(&(1_000.0, 1.0)));
        assert!(cdf.points.iter().all(|(value, share)| (value / 1_000.0 - share).abs() < 1e-9));
        let histogram = Series::histogram("", &samples, 7);
        assert_eq!(histogram.points.iter().map(|(_, count)| *count).sum::<f64>(), 1_000.0);
        assert!(Series::histogram("", &[], 7).points.is_empty());
        assert_eq!(Series::histogram("", &[3.0, 3.0], 2).points[0], (3.0, 2.0));
        assert!(Series::cdf("", &[]).points.is_empty());
    }
}
