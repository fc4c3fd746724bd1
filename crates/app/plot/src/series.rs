//! What is plotted.

/// How values are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through all of them.
    Line,
    /// A broken line: what is expected, beside what was measured.
    Dashed,
    /// A dot for each, and a line through them.
    Dots,
    /// A dot for each.
    Points,
    /// A line that keeps its height until the next value.
    Steps,
    /// A bar from nothing, as wide as it is far to the next.
    Bars,
}

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    pub(crate) points: Vec<(f64, f64)>,
    /// Around each value: half the width of what it may be, or nothing.
    pub(crate) spreads: Vec<f64>,
    /// Its colour is that of the series before it.
    pub(crate) same_colour: bool,
}

impl Series {
    /// A series.
    pub fn new(name: &str, mark: Mark, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        Self { name: name.to_owned(), mark, points, spreads: Vec::new(), same_colour: false }
    }

    /// With a confidence interval for each value: half its width.
    #[must_use]
    pub fn with_spreads(self, spreads: impl IntoIterator<Item = f64>) -> Self {
        Self { spreads: spreads.into_iter().collect(), ..self }
    }

    /// In the colour of the series before it: two views of one thing.
    #[must_use]
    pub fn in_same_colour(self) -> Self {
        Self { same_colour: true, ..self }
    }

    /// The share of samples that are no greater, over their value; at most a few hundred steps of it.
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

    /// How many samples are in each of `bins` equal parts of their range: the lower edge of each, and the count.
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
