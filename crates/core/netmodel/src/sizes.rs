//! Sizes of messages. Each host has a random stream of its own.

use std::sync::Arc;

use base::{Rng, Seed};

use crate::arrivals::{exponential, unit};
use crate::units::Picos;

/// Largest size of a message.
const MOST: u64 = 1 << 48;

/// A distribution of sizes, in bytes.
#[derive(Clone, PartialEq, Debug)]
pub enum Sizes {
    /// Always the same.
    Constant(u64),
    /// Exponential with this mean.
    Exponential(u64),
    /// Pareto: with the tail x^-alpha, from mean (alpha - 1) / alpha on.
    Pareto {
        /// The mean.
        mean: u64,
        /// Above 1; below 2 the variance is infinite.
        alpha: f64,
    },
    /// Log-normal: the exponential of a normal distribution.
    LogNormal {
        /// The mean.
        mean: u64,
        /// Standard deviation over mean.
        cv: f64,
    },
    /// Some sizes, each with a weight.
    Table(Arc<[(u64, f64)]>),
}

/// The reason why a distribution is not valid.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SizesError {
    /// A size is out of range.
    #[error("a size of {0} bytes; expected 1 to {MOST}")]
    Size(u64),
    /// The tail has no finite mean.
    #[error("alpha is {0}; expected more than 1, where the mean is finite")]
    Alpha(f64),
    /// The spread is out of range.
    #[error("cv is {0}; expected more than 0 and at most 1000")]
    Cv(f64),
    /// The weights cannot select a size.
    #[error("the weights of the table are not all numbers from 0 on with a sum above 0")]
    Weights,
}

impl Sizes {
    /// Checks that the distribution is valid.
    ///
    /// # Errors
    /// [`SizesError`].
    pub fn check(&self) -> Result<(), SizesError> {
        let size =
            |bytes: &u64| if (1..=MOST).contains(bytes) { Ok(()) } else { Err(SizesError::Size(*bytes)) };
        match self {
            Sizes::Constant(bytes) | Sizes::Exponential(bytes) => size(bytes),
            Sizes::Pareto { alpha, .. } if !(*alpha > 1.0 && alpha.is_finite()) => {
                Err(SizesError::Alpha(*alpha))
            }
            Sizes::LogNormal { cv, .. } if !(*cv > 0.0 && *cv <= 1_000.0) => Err(SizesError::Cv(*cv)),
            Sizes::Pareto { mean, .. } | Sizes::LogNormal { mean, .. } => size(mean),
            Sizes::Table(table) => {
                let sum: f64 = table.iter().map(|(_, weight)| weight).sum();
                if !(sum > 0.0 && sum.is_finite()) || table.iter().any(|(_, weight)| *weight < 0.0) {
                    return Err(SizesError::Weights);
                }
                table.iter().try_for_each(|(bytes, _)| size(bytes))
            }
        }
    }

    /// The mean, in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Constant(bytes) | Sizes::Exponential(bytes) => *bytes as f64,
            Sizes::Pareto { mean, .. } | Sizes::LogNormal { mean, .. } => *mean as f64,
            Sizes::Table(table) => {
                let sum = table.iter().fold((0.0, 0.0), |(bytes, weights), (size, weight)| {
                    (bytes + *size as f64 * weight, weights + weight)
                });
                sum.0 / sum.1
            }
        }
    }

    /// The largest size that can be drawn.
    pub fn most(&self) -> u64 {
        match self {
            Sizes::Constant(bytes) => *bytes,
            Sizes::Table(table) => table.iter().map(|(bytes, _)| *bytes).max().unwrap_or(MOST),
            _ => MOST,
        }
    }

    /// A size, at least 1.
    fn draw(&self, stream: &mut Rng) -> u64 {
        // From above 0 to 1, so that neither logarithm nor power is infinite.
        let above_zero = |stream: &mut Rng| 1.0 - unit(stream);
        let bytes = match self {
            Sizes::Constant(bytes) => return *bytes,
            Sizes::Exponential(mean) => return exponential(stream, Picos(*mean)).0.clamp(1, MOST),
            Sizes::Pareto { mean, alpha } => {
                let least = *mean as f64 * (alpha - 1.0) / alpha;
                least * libm::pow(above_zero(stream), -1.0 / alpha)
            }
            Sizes::LogNormal { mean, cv } => {
                let variance = libm::log1p(cv * cv);
                // By Box and Muller.
                let radius = libm::sqrt(-2.0 * libm::log(above_zero(stream)));
                let normal = radius * libm::cos(2.0 * std::f64::consts::PI * unit(stream));
                *mean as f64 * libm::exp(libm::sqrt(variance) * normal - variance / 2.0)
            }
            Sizes::Table(table) => {
                let mut left = unit(stream) * table.iter().map(|(_, weight)| weight).sum::<f64>();
                let mut drawn = 1;
                for (bytes, weight) in table.iter().filter(|(_, weight)| *weight > 0.0) {
                    drawn = *bytes;
                    left -= weight;
                    if left < 0.0 {
                        break;
                    }
                }
                return drawn;
            }
        };
        (bytes.round() as u64).clamp(1, MOST)
    }
}

/// Draws the size of each message. Every host has a random stream of its own.
#[derive(Clone, Debug)]
pub struct SizeDraws {
    sizes: Sizes,
    /// By host; empty if nothing is drawn.
    streams: Vec<Rng>,
}

impl SizeDraws {
    /// Sizes for `hosts` hosts.
    ///
    /// # Errors
    /// The distribution is not valid.
    pub fn new(sizes: &Sizes, hosts: u32, seed: Seed) -> Result<Self, SizesError> {
        sizes.check()?;
        let constant = matches!(sizes, Sizes::Constant(_));
        let seed = seed.split("sizes");
        let streams = (0..if constant { 0 } else { hosts }).map(|host| seed.split_index(host.into()).rng());
        Ok(Self { sizes: sizes.clone(), streams: streams.collect() })
    }

    /// The size of the next message of a host.
    #[inline]
    pub fn next(&mut self, host: u32) -> u64 {
        match (&self.sizes, self.streams.get_mut(host as usize)) {
            (Sizes::Constant(bytes), _) => *bytes,
            (sizes, Some(stream)) => sizes.draw(stream),
            (_, None) => 1, // no such host
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_their_mean_and_spread() {
        let table: Arc<[(u64, f64)]> = Arc::new([(100, 3.0), (7, 0.0), (1_000, 1.0)]);
        for (sizes, cv, within) in [
            (Sizes::Constant(700), 0.0, 1e-12),
            (Sizes::Exponential(10_000), 1.0, 0.02),
            // With a tail x^-3 the cv is 1 / sqrt(3).
            (Sizes::Pareto { mean: 10_000, alpha: 3.0 }, 0.577, 0.1),
            (Sizes::LogNormal { mean: 10_000, cv: 0.5 }, 0.5, 0.02),
            (Sizes::LogNormal { mean: 10_000, cv: 2.0 }, 2.0, 0.1),
            (Sizes::Table(table), 1.199, 0.02),
        ] {
            let mut draws = SizeDraws::new(&sizes, 3, Seed(5)).unwrap();
            let drawn: Vec<f64> = (0..200_000).map(|_| draws.next(1) as f64).collect();
            let count = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / count;
            let variance = drawn.iter().map(|bytes| (bytes - mean).powi(2)).sum::<f64>() / count;
            assert!((mean / sizes.mean() - 1.0).abs() < 0.02, "{sizes:?}: {mean}");
            assert!(
                (variance.sqrt() / mean - cv).abs() <= within * f64::max(cv, 1.0),
                "{sizes:?}: {variance}"
            );
            assert!(drawn.iter().all(|bytes| *bytes >= 1.0 && *bytes <= sizes.most() as f64));
        }
        let mut pareto = SizeDraws::new(&Sizes::Pareto { mean: 3_000, alpha: 1.5 }, 1, Seed(5)).unwrap();
        assert!((0..10_000).map(|_| pareto.next(0)).min() >= Some(1_000));
    }

    #[test]
    fn one_host_more_changes_nothing_in_the_others() {
        let sizes = Sizes::LogNormal { mean: 1_000, cv: 1.0 };
        let [mut few, mut many] = [3, 9].map(|hosts| SizeDraws::new(&sizes, hosts, Seed(1)).unwrap());
        (0..5).for_each(|_| {
            many.next(8);
        });
        let drawn: Vec<u64> = (0..9).map(|at| few.next(at % 3)).collect();
        assert_eq!(drawn, (0..9).map(|at| many.next(at % 3)).collect::<Vec<_>>());
        assert_ne!(drawn[0], drawn[1]);
    }

    #[test]
    fn invalid_values_are_reported() {
        let say = |sizes: Sizes| SizeDraws::new(&sizes, 1, Seed(1)).map(|_| ()).unwrap_err().to_string();
        assert!(say(Sizes::Constant(0)).contains("a size of 0 bytes"));
        assert!(say(Sizes::Pareto { mean: 9, alpha: 1.0 }).contains("alpha is 1; expected more than 1"));
        assert!(say(Sizes::Pareto { mean: 9, alpha: f64::NAN }).contains("alpha is NaN"));
        assert!(say(Sizes::LogNormal { mean: 9, cv: 0.0 }).contains("cv is 0"));
        assert!(say(Sizes::Table(Arc::new([]))).contains("weights"));
        assert!(say(Sizes::Table(Arc::new([(1, -1.0), (1, 3.0)]))).contains("weights"));
        assert!(say(Sizes::Table(Arc::new([(0, 1.0)]))).contains("a size of 0 bytes"));
    }
}
