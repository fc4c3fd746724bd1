//! Acceptance limits for figures that chance moves: as wide as the number of runs and of checks
//! demands.
//!
//! A limit of three standard deviations suits one figure of one run. A command compares many
//! figures, and the furthest of many runs: with limits of that width one command in three would
//! reject a program without a fault. Here all checks of a command together do so with a
//! probability of at most [`FALSE_ALARMS`] (Bonferroni).

use std::f64::consts::SQRT_2;

/// The probability that a command rejects a program without a fault.
pub(super) const FALSE_ALARMS: f64 = 1e-3;
/// At most so many checks of a command depend on chance: ten for each of three readings.
pub(super) const CHECKS_MAX: usize = 30;

/// The limits of the figures of so many runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    runs: usize,
}

impl Limits {
    /// Limits for the figures of `runs` runs.
    pub(super) fn of(runs: usize) -> Self {
        Self { runs: runs.max(1) }
    }

    /// The limits of the figure furthest from `middle`, of all runs.
    pub(super) fn of_furthest(self, middle: f64, deviation: f64) -> (f64, f64) {
        around(middle, deviation * deviations(FALSE_ALARMS / (CHECKS_MAX * self.runs) as f64))
    }

    /// The limits of the mean of all runs.
    pub(super) fn of_mean(self, middle: f64, deviation: f64) -> (f64, f64) {
        let of_mean = deviation / (self.runs as f64).sqrt();
        around(middle, of_mean * deviations(FALSE_ALARMS / CHECKS_MAX as f64))
    }
}

fn around(middle: f64, off: f64) -> (f64, f64) {
    (middle - off, middle + off)
}

/// The number of standard deviations beyond which a normal variable is with this probability, on
/// both sides together: by bisection, since the tail falls with the distance.
fn deviations(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if libm::erfc(middle / SQRT_2) > probability { low = middle } else { high = middle }
    }
    high
}

/// The ratio of the variance of a share of lost messages to that of messages lost one by one, if
/// all messages of a bundle are lost together: E(b²) / E(b) for bundles of b messages.
///
/// A bundle is opened by a message and takes those of the next moments: b is one more than a
/// Poisson variable of mean `more`.
pub(super) fn bundled(more: f64) -> f64 {
    (1.0 + 3.0 * more + more * more) / (1.0 + more)
}

/// Standard deviation of the number of repairs of one message, when each transmission reaches each
/// of `receivers` with probability `1 - loss`, and no repair is sent in vain.
pub(super) fn repairs_deviation(receivers: u32, loss: f64) -> f64 {
    let at_least = |repairs: i32| 1.0 - (1.0 - loss.powi(repairs)).powi(receivers as i32);
    let (mut mean, mut squares) = (0.0, 0.0);
    for repairs in 1..200 {
        let probability = at_least(repairs);
        mean += probability;
        squares += f64::from(2 * repairs - 1) * probability; // k² is the sum of the first k odd numbers
    }
    (squares - mean * mean).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Seed;
    use rand_core::RngCore as _;

    #[test]
    fn deviations_are_those_of_tables() {
        for (probability, expected) in
            [(0.317_310_508, 1.0), (0.05, 1.959_964), (0.002_699_796, 3.0), (6.334e-5, 4.0)]
        {
            assert!((deviations(probability) - expected).abs() < 1e-4, "{probability}");
        }
    }

    #[test]
    fn the_furthest_of_more_runs_may_be_further_off_and_their_mean_less() {
        let width = |(low, high): (f64, f64)| high - low;
        let (one, ten) = (Limits::of(1), Limits::of(10));
        assert!(width(ten.of_furthest(0.0, 1.0)) > width(one.of_furthest(0.0, 1.0)));
        assert!((width(one.of_mean(5.0, 1.0)) / width(ten.of_mean(5.0, 1.0)) - 10_f64.sqrt()).abs() < 1e-9);
        assert_eq!(one.of_furthest(7.0, 2.0), one.of_mean(7.0, 2.0));
    }

    #[test]
    fn repairs_deviate_as_their_distribution_says() {
        // One receiver: a geometric number of repairs, p / (1 - p)² of variance.
        assert!((repairs_deviation(1, 0.05) - (0.05_f64 / (0.95 * 0.95)).sqrt()).abs() < 1e-9);
        let mut stream = Seed(5).rng();
        let mut is_lost = || stream.next_u32() < u32::MAX / 20;
        let mut repairs = || {
            let of_one = |_| std::iter::from_fn(|| is_lost().then_some(())).count();
            (0..45).map(of_one).max().unwrap_or(0) as f64
        };
        let drawn: Vec<f64> = (0..20_000).map(|_| repairs()).collect();
        let deviation = base::stats::variance(&drawn).sqrt();
        assert!((deviation / repairs_deviation(45, 0.05) - 1.0).abs() < 0.02, "{deviation}");
    }

    /// Losses of whole bundles, drawn: the variance of the share is as many times larger.
    #[test]
    fn bundles_raise_the_variance_of_losses_as_the_formula_says() {
        let mut stream = Seed(3).rng();
        let mut unit = || (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let (more, loss, bundles) = (0.4125, 0.05, 2_000);
        let mut shares = Vec::new();
        let mut messages = 0.0;
        for _ in 0..2_000 {
            let (mut sent, mut lost) = (0.0, 0.0);
            for _ in 0..bundles {
                let mut size = 1.0;
                let mut product = unit();
                while product > libm::exp(-more) {
                    size += 1.0;
                    product *= unit();
                }
                sent += size;
                lost += if unit() < loss { size } else { 0.0 };
            }
            messages += sent / 2_000.0;
            shares.push(lost / sent);
        }
        let alone = loss * (1.0 - loss) / messages;
        let ratio = base::stats::variance(&shares) / alone;
        assert!((ratio / bundled(more) - 1.0).abs() < 0.1, "{ratio} beside {}", bundled(more));
    }
}
