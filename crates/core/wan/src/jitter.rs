//! Jitter: random variation of the delay from datagram to datagram.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use base::{Rng, Seed};
use rand_core::RngCore;
use rand_distr::{Distribution, Gamma, StandardNormal};

use crate::units::{Time, parse_duration};

/// The shape of a gamma distribution, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(pub u32);

/// Valid shapes: 0.1 to 1000.
pub const SHAPE_RANGE: RangeInclusive<Shape> = Shape(100)..=Shape(1_000_000);

/// The default shape: 2, with a mode above zero and a tail to the right.
pub const GAMMA_SHAPE_DEFAULT: Shape = Shape(2_000);

/// The random addition to the delay of each datagram, drawn independently for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Jitter {
    /// Nothing.
    #[default]
    None,
    /// Uniform from zero to this duration. Text: `2ms`.
    UpTo(Duration),
    /// Uniform from minus to plus this duration. Text: `uniform:2ms`.
    Uniform(Duration),
    /// Normal with this standard deviation. The distribution is cut off where the delay would be
    /// negative and as far above, so that the mean stays. Text: `normal:2ms`.
    Normal(Duration),
    /// From a gamma distribution: a heavy tail to the right. Text: `gamma:3ms` or, with a shape,
    /// `gamma:3ms:2.5`.
    Gamma {
        /// Mean of the addition.
        mean: Duration,
        /// The standard deviation is the mean over the square root of the shape; shape 1 is
        /// exponential.
        shape: Shape,
    },
}

impl Jitter {
    /// Reads the text form.
    ///
    /// # Errors
    /// There is no such distribution, or its parameters are not valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let jitter = match text.split_once(':') {
            None if text == "none" => Self::None,
            None => Self::UpTo(parse_duration(text)?),
            Some(("uniform", spread)) => Self::Uniform(parse_duration(spread)?),
            Some(("normal", deviation)) => Self::Normal(parse_duration(deviation)?),
            Some(("gamma", rest)) => {
                let (mean, shape) = rest.split_once(':').map_or((rest, None), |(m, s)| (m, Some(s)));
                let shape = shape.map_or(Ok(GAMMA_SHAPE_DEFAULT), parse_shape)?;
                Self::Gamma { mean: parse_duration(mean)?, shape }
            }
            Some((name, _)) => {
                return Err(format!(
                    "`{name}` is no distribution of jitter; write \"2ms\" (up to), \"uniform:2ms\", \"normal:2ms\" \
                     or \"gamma:3ms\""
                ));
            }
        };
        Ok(if jitter.scale().is_zero() { Self::None } else { jitter })
    }

    /// The duration that parameterizes the distribution.
    pub const fn scale(&self) -> Duration {
        match *self {
            Self::None => Duration::ZERO,
            Self::UpTo(scale) | Self::Uniform(scale) | Self::Normal(scale) => scale,
            Self::Gamma { mean, .. } => mean,
        }
    }

    /// The mean addition to the delay.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::None | Self::Uniform(_) | Self::Normal(_) => Duration::ZERO,
            Self::UpTo(most) => most / 2,
            Self::Gamma { mean, .. } => mean,
        }
    }

    /// True if the addition may be negative, so that its scale must not be above the delay.
    pub const fn is_two_sided(&self) -> bool {
        matches!(self, Self::Uniform(_) | Self::Normal(_))
    }
}

fn parse_shape(text: &str) -> Result<Shape, String> {
    let fail = || format!("`{text}` is no shape of a gamma distribution; expected a number from 0.1 to 1000");
    let shape: f64 = text.parse().map_err(|_| fail())?;
    let shape = Shape((shape * 1_000.0).round() as u32); // saturates
    Some(shape).filter(|shape| SHAPE_RANGE.contains(shape)).ok_or_else(fail)
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::UpTo(most) => write!(f, "{}", Time(most)),
            Self::Uniform(spread) => write!(f, "uniform:{}", Time(spread)),
            Self::Normal(deviation) => write!(f, "normal:{}", Time(deviation)),
            Self::Gamma { mean, shape: GAMMA_SHAPE_DEFAULT } => write!(f, "gamma:{}", Time(mean)),
            Self::Gamma { mean, shape } => {
                write!(f, "gamma:{}:{}", Time(mean), f64::from(shape.0) / 1_000.0)
            }
        }
    }
}

/// Draws the delays of consecutive datagrams.
#[derive(Clone, Debug)]
pub struct JitterProcess {
    jitter: Jitter,
    gamma: Option<Gamma<f64>>,
    rng: Rng,
}

impl JitterProcess {
    /// A process whose random numbers come from `seed`.
    pub fn new(jitter: Jitter, seed: Seed) -> Self {
        let mut process = Self { jitter: Jitter::None, gamma: None, rng: seed.rng() };
        process.set(jitter);
        process
    }

    /// Changes the distribution from now on.
    pub fn set(&mut self, jitter: Jitter) {
        self.jitter = jitter;
        self.gamma = match jitter {
            Jitter::Gamma { mean, shape } => {
                let shape = f64::from(shape.0) / 1_000.0;
                Gamma::new(shape, mean.as_nanos() as f64 / shape).ok() // none of a zero
            }
            _ => None,
        };
    }

    /// The delay of the next datagram on a line whose delay is `delay`.
    pub fn draw(&mut self, delay: Duration) -> Duration {
        match self.jitter {
            Jitter::None => delay,
            Jitter::UpTo(most) => delay.saturating_add(self.evenly(most)),
            Jitter::Uniform(spread) => {
                delay.saturating_add(self.evenly(spread.saturating_mul(2))).saturating_sub(spread)
            }
            Jitter::Normal(deviation) => self.normally(delay, deviation),
            Jitter::Gamma { .. } => {
                let extra = self.gamma.map_or(0.0, |gamma| gamma.sample(&mut self.rng));
                delay.saturating_add(Duration::from_nanos(extra.round() as u64)) // saturates
            }
        }
    }

    /// Uniform from zero to `most`, both included.
    fn evenly(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX - 1);
        let draw = (u128::from(self.rng.next_u64()) * (u128::from(most) + 1)) >> 64;
        Duration::from_nanos(draw as u64) // at most `most`
    }

    fn normally(&mut self, delay: Duration, deviation: Duration) -> Duration {
        let (mean, deviation) = (delay.as_nanos() as f64, deviation.as_nanos() as f64);
        // The specification ensures a delay of at least the deviation, so at least two draws in
        // three are accepted. A much shorter delay may cause 64 rejected draws; it is then used
        // without jitter.
        for _ in 0..64 {
            let normal: f64 = StandardNormal.sample(&mut self.rng);
            let extra = normal * deviation;
            if extra.abs() <= mean {
                return Duration::from_nanos((mean + extra).round() as u64);
            }
        }
        delay
    }
}
