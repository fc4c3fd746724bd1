//! Drift: whether a figure rises or falls over a long run beyond noise.
//!
//! The slope is that of Theil and Sen, the median of the slopes between all pairs of values, which a few
//! outliers do not move. Whether there is one at all is the test of Mann and Kendall on the signs of the
//! same pairs (Mann 1945, Kendall 1975), which needs no assumption on the distribution.

/// The error probability of the test.
const P_MAX: f64 = 0.01;
/// The least change over the whole run, relative to the median, that counts as drift.
const CHANGE_MIN: f64 = 0.05;
/// The least number of values for which the normal distribution of the test statistic holds (Kendall).
const VALUES_MIN: usize = 10;
/// The most values that are compared pair by pair; of more, every second, third and so on is taken.
const VALUES_MAX: usize = 2_000;

/// The course of a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drift {
    /// The median of the values.
    pub median: f64,
    /// The slope, in units of the figure per hour.
    pub per_hour: f64,
    /// The change over the whole run that the slope means, relative to the median.
    pub change_ratio: f64,
    /// The probability of a statistic as extreme as this one without drift; `None` for fewer values than
    /// the test needs.
    pub p: Option<f64>,
}

impl Drift {
    /// Of values at moments in seconds, in order. `None` for fewer than two.
    #[must_use]
    pub fn of(values: &[(f64, f64)]) -> Option<Self> {
        let step = values.len().div_ceil(VALUES_MAX).max(1);
        let values: Vec<(f64, f64)> = values.iter().copied().step_by(step).collect();
        let pairs = || (1..values.len()).flat_map(|at| values[..at].iter().map(move |before| (*before, at)));
        let slopes = pairs().filter_map(|((before_s, before), at)| {
            let (now_s, now) = values[at];
            (now_s > before_s).then(|| (now - before) / (now_s - before_s))
        });
        let slope = base::stats::median(slopes.collect::<Vec<f64>>())?;
        let median = base::stats::median(values.iter().map(|(_, value)| *value).collect::<Vec<f64>>())?;
        let span = values.last()?.0 - values.first()?.0;
        let change = slope * span;
        let change_ratio = if median == 0.0 { 0.0 } else { change / median };
        let sign = |((_, before), at): ((f64, f64), usize)| match values[at].1.total_cmp(&before) {
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => 1.0,
        };
        let p = (values.len() >= VALUES_MIN).then(|| p_of(pairs().map(sign).sum(), &values));
        Some(Self { median, per_hour: slope * 3_600.0, change_ratio, p })
    }

    /// Whether the figure drifts: by more than 5 % over the run, with an error probability of 1 %.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.p.is_some_and(|p| p < P_MAX) && self.change_ratio.abs() > CHANGE_MIN
    }
}

/// The two-sided probability of a sum of signs, with the variance of Mann and Kendall for ties.
fn p_of(sum: f64, values: &[(f64, f64)]) -> f64 {
    let n = values.len() as f64;
    let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    sorted.sort_by(f64::total_cmp);
    let ties = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|tied| tied.len() as f64);
    let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let variance = (spread(n) - ties.map(spread).sum::<f64>()) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    // The correction for continuity takes one from the sum.
    let z = (sum.abs() - 1.0).max(0.0) / variance.sqrt();
    2.0 * normal_above(z)
}

/// The probability that a standard normal variable exceeds `z`, which is not negative, to 7.5e-8
/// (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17).
fn normal_above(z: f64) -> f64 {
    const FACTORS: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    density * t * FACTORS.iter().rev().fold(0.0, |sum, factor| sum * t + factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(at: u32) -> f64 {
        // Without a trend, and without a period that a short run could take for one.
        f64::from(at.wrapping_mul(2_654_435_761) >> 16 & 0xff) / 256.0 - 0.5
    }

    fn drift(count: u32, value: impl Fn(u32) -> f64) -> Drift {
        let values: Vec<(f64, f64)> = (0..count).map(|at| (f64::from(at) * 60.0, value(at))).collect();
        Drift::of(&values).expect("there are values")
    }

    #[test]
    fn noise_is_no_drift_and_a_leak_is_one() {
        let noisy = drift(60, |at| 100.0 + 20.0 * noise(at));
        assert!(!noisy.is_significant(), "{noisy:?}");
        // 0.3 a minute are 18 an hour.
        let leak = drift(60, |at| 100.0 + 0.3 * f64::from(at) + 4.0 * noise(at));
        assert!(leak.is_significant() && (leak.per_hour / 18.0 - 1.0).abs() < 0.1, "{leak:?}");
        let outlier = drift(60, |at| if at == 59 { 1e9 } else { 100.0 + noise(at) });
        assert!(!outlier.is_significant() && outlier.per_hour.abs() < 1.0, "{outlier:?}");
        let slow = drift(1_000, |at| 100.0 + 0.001 * f64::from(at));
        assert!(slow.p.expect("many values") < 1e-6 && !slow.is_significant(), "1 % is too little: {slow:?}");
    }

    #[test]
    fn few_or_equal_values_say_nothing() {
        assert_eq!(Drift::of(&[(0.0, 1.0)]), None);
        let few = drift(9, |at| 1.0 + f64::from(at));
        assert_eq!((few.p, few.is_significant()), (None, false));
        assert!((few.per_hour - 60.0).abs() < 1e-9);
        let equal = drift(30, |_| 5.0);
        assert_eq!((equal.p, equal.per_hour), (Some(1.0), 0.0));
        let zero = drift(30, |_| 0.0);
        assert!(!zero.is_significant());
    }

    /// Ten rising values: the sum is 45, its variance 10 * 9 * 25 / 18 = 125, and z = 44 / sqrt(125).
    #[test]
    fn the_statistic_is_that_of_mann_and_kendall() {
        let rising = drift(10, f64::from);
        let p = rising.p.expect("ten values");
        assert!((p - 8.3e-5).abs() < 1e-6, "{p}");
        for (z, above) in [(0.0, 0.5), (1.0, 0.158_655), (1.959_964, 0.025), (3.0, 0.001_349_9)] {
            assert!((normal_above(z) - above).abs() < 1e-6, "{z}");
        }
    }
}
