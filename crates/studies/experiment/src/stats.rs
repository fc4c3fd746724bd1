//! Statistics of lists of times.

use base::stats::{mean, variance};
use std::time::Duration;

/// A summary of the times of pairs, in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Mean of the times that count.
    pub mean: f64,
    /// Sample standard deviation of the times that count.
    pub std: f64,
    /// The minimum of all times.
    pub min: f64,
    /// The median of all times.
    pub p50: f64,
    /// The maximum of all times.
    pub max: f64,
    /// How the times divide into two groups.
    pub split: Split,
    /// Sarle's bimodality coefficient of the logarithms, corrected for small samples: 1/3 for a normal distribution, 5/9 for a uniform one, 1
    /// for two points.
    pub bimodality: f64,
}

/// The best split of a list into fast and slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The share of slow times.
    pub slow_share: f64,
    /// The mean of the slow times over the mean of the fast ones.
    pub slow_over_fast: f64,
}

/// The bimodality coefficient of a uniform distribution. Above it, a distribution counts as having
/// two modes.
const BIMODAL_ABOVE: f64 = 5.0 / 9.0;
/// The minimum ratio of the two modes. Closer ones do not count as two.
const APART: f64 = 2.0;

impl Summary {
    /// Whether there are two groups, one at least twice as slow as the other.
    pub fn is_bimodal(&self) -> bool {
        self.bimodality > BIMODAL_ABOVE && self.split.slow_over_fast >= APART
    }
}

/// Summarises the times of the pairs of several replications. Mean and standard deviation leave out
/// the `discard_largest` largest times of each replication.
pub fn sum_up(replications: &[Vec<Duration>], discard_largest: usize) -> Summary {
    let mut counted = Vec::new();
    let mut all = Vec::new();
    for times in replications {
        let mut times: Vec<f64> = times.iter().copied().map(micros).collect();
        times.sort_by(f64::total_cmp);
        counted.extend(&times[..times.len().saturating_sub(discard_largest).max(times.len().min(1))]);
        all.extend(times);
    }
    all.sort_by(f64::total_cmp);
    let logs: Vec<f64> = all.iter().map(|time| time.ln()).collect();
    Summary {
        mean: mean(counted.iter().copied()),
        std: variance(&counted).sqrt(),
        min: all.first().copied().unwrap_or(0.0),
        p50: all.get(all.len() / 2).copied().unwrap_or(0.0),
        max: all.last().copied().unwrap_or(0.0),
        split: split(&all),
        bimodality: bimodality(&logs),
    }
}

/// A time in µs.
pub fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// Splits sorted times where the logarithms of both parts are closest to their means (Otsu's rule).
fn split(sorted: &[f64]) -> Split {
    let between = |at: usize| {
        let log = |part: &[f64]| part.iter().map(|time| time.ln()).sum::<f64>() / part.len() as f64;
        let (fast, slow) = sorted.split_at(at);
        (fast.len() * slow.len()) as f64 * (log(slow) - log(fast)).powi(2)
    };
    let best = (1..sorted.len()).max_by(|a, b| between(*a).total_cmp(&between(*b)));
    let Some(at) = best else { return Split { slow_share: 0.0, slow_over_fast: 1.0 } };
    let (fast, slow) = sorted.split_at(at);
    Split {
        slow_share: slow.len() as f64 / sorted.len() as f64,
        slow_over_fast: mean(slow.iter().copied()) / mean(fast.iter().copied()),
    }
}

fn bimodality(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = mean(values.iter().copied());
    let moment = |power| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
    let second = moment(2);
    if n < 4.0 || second <= f64::EPSILON {
        return 0.0;
    }
    let skewness = moment(3) / second.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
    let excess = moment(4) / second.powi(2) - 3.0;
    let excess = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * excess + 6.0);
    (skewness.powi(2) + 1.0) / (excess + 3.0 * (n - 1.0).powi(2) / ((n - 2.0) * (n - 3.0)))
}

/// Counts by bins of half an octave: the lower edge of each bin in µs, and its number of times.
/// Empty bins at both ends are left out.
pub fn histogram(times: &[Duration]) -> Vec<(f64, usize)> {
    let bin = |time: &Duration| (micros(*time).max(1.0).log2() * 2.0).floor() as u32;
    let (Some(first), Some(last)) = (times.iter().map(bin).min(), times.iter().map(bin).max()) else {
        return Vec::new();
    };
    let count = |at| times.iter().filter(|time| bin(time) == at).count();
    (first..=last).map(|at| (2f64.powf(f64::from(at) / 2.0), count(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(micros: &[u64]) -> Vec<Duration> {
        micros.iter().map(|us| Duration::from_micros(*us)).collect()
    }

    #[test]
    fn the_largest_are_discarded_in_each_replication() {
        let summary = sum_up(&[of(&[1, 3, 900, 800]), of(&[2, 2, 5, 5])], 2);
        assert_eq!((summary.mean, summary.min, summary.max, summary.p50), (2.0, 1.0, 900.0, 5.0));
        assert!((summary.std - (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(sum_up(&[of(&[7])], 2).mean, 7.0, "one is left at least");
        assert_eq!(sum_up(&[], 2).mean, 0.0);
    }

    #[test]
    fn two_groups_are_found_and_one_is_not_taken_for_two() {
        let two: Vec<u64> = (0..40).map(|i| if i % 5 == 0 { 50_000 + i } else { 6_000 + i }).collect();
        let summary = sum_up(&[of(&two)], 0);
        assert!((summary.split.slow_share - 0.2).abs() < 1e-12);
        assert!((8.2..8.4).contains(&summary.split.slow_over_fast), "{summary:?}");
        assert!(summary.bimodality > 0.9 && summary.is_bimodal(), "{summary:?}");
        // Nearly normal: sums of dice.
        let one: Vec<u64> = (0..1_296).map(|i| 900 + i % 6 + i / 6 % 6 + i / 36 % 6 + i / 216).collect();
        let summary = sum_up(&[of(&one)], 0);
        assert!((0.3..0.4).contains(&summary.bimodality) && !summary.is_bimodal(), "{summary:?}");
        // Two points close together are two groups, but neither is a slow one.
        let close = sum_up(&[of(&[[1_000; 20], [1_010; 20]].concat())], 0);
        assert!(close.bimodality > BIMODAL_ABOVE && !close.is_bimodal());
    }

    #[test]
    fn histograms() {
        let counts = histogram(&of(&[4, 5, 6, 17]));
        assert_eq!(counts.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [2, 1, 0, 0, 1]);
        assert_eq!(counts[0].0, 4.0);
        assert!(histogram(&[]).is_empty());
    }
}
