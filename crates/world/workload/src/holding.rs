//! Distributions of the time that an object stays in a state.

use std::f64::consts::LN_2;
use std::fmt;
use std::sync::Arc;

use base::Rng;
use rand_core::RngCore;
use rand_distr::{Distribution, Exp1, Gamma, StandardNormal};

/// A distribution of holding times, in multiples of its mean. The mean is given elsewhere: changing
/// the distribution changes no expected count, only the spread between runs.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Holding {
    /// Exponential, without memory. Text: `exponential`.
    #[default]
    Exponential,
    /// Always the mean. Text: `deterministic`.
    Deterministic,
    /// Uniform, from the mean less this part of it to the mean plus this part; 0 to 1. Text:
    /// `uniform:0.5`.
    Uniform(f64),
    /// Erlang: the sum of this many exponential times. Text: `erlang:3`.
    Erlang(u32),
    /// Weibull with this shape; a shape below 1 gives a long tail. Text: `weibull:1.5`.
    Weibull(f64),
    /// Lognormal with this squared coefficient of variation. Text: `lognormal:4`.
    Lognormal(f64),
    /// A mixture of two exponential distributions with balanced means: each contributes half of the
    /// mean. Has this squared coefficient of variation, at least 1. Text: `hyperexponential:4`.
    Hyperexponential(f64),
    /// A Pareto distribution truncated to a range. Text: `pareto:1.5:1000`.
    Pareto {
        /// The exponent of the tail.
        alpha: f64,
        /// The longest time divided by the shortest.
        ratio: f64,
    },
    /// Drawn from recorded times. Text: `trace:FILE`; the file has one time on each line, in any
    /// unit.
    Trace {
        /// The file that it was read from.
        name: Arc<str>,
        /// The times, scaled to a mean of 1.
        times: Arc<[f64]>,
    },
}

/// A text that describes no distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HoldingError {
    /// An unknown distribution.
    #[error(
        "`{0}` is no distribution of times (there are: exponential, deterministic, uniform:SPREAD, erlang:K, weibull:SHAPE, \
         lognormal:CV2, hyperexponential:CV2, pareto:ALPHA:RATIO, trace:FILE)"
    )]
    Unknown(String),
    /// A parameter that is missing or out of range.
    #[error("`{text}`: {item} must be a number from {least} to {most}")]
    Parameter {
        /// The whole text.
        text: String,
        /// The parameter.
        item: &'static str,
        /// The least valid value.
        least: f64,
        /// The greatest valid value.
        most: f64,
    },
    /// A trace that cannot be used.
    #[error("{file}: {why}")]
    Trace {
        /// The file.
        file: String,
        /// The reason.
        why: String,
    },
}

impl Holding {
    /// Reads the text form. `read` returns the content of a trace file, or the reason why it
    /// cannot.
    ///
    /// # Errors
    /// [`HoldingError`]: an unknown distribution, a parameter out of range, or an unusable trace.
    pub fn parse(text: &str, read: &dyn Fn(&str) -> Result<String, String>) -> Result<Self, HoldingError> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let number =
            |value: Option<&str>, item, least: f64, most: f64| {
                let number: Option<f64> = value.and_then(|value| value.parse().ok());
                number
                    .filter(|number| (least..=most).contains(number))
                    .ok_or_else(|| HoldingError::Parameter { text: text.to_owned(), item, least, most })
            };
        match (name, rest) {
            ("exponential", None) => Ok(Self::Exponential),
            ("deterministic", None) => Ok(Self::Deterministic),
            ("uniform", _) => number(rest, "the spread", 0.0, 1.0).map(Self::Uniform),
            ("erlang", _) => {
                let whole = rest.filter(|k| k.bytes().all(|digit| digit.is_ascii_digit()));
                number(whole, "the whole number of stages", 1.0, 1_000.0).map(|k| Self::Erlang(k as u32))
            }
            ("weibull", _) => number(rest, "the shape", 0.2, 100.0).map(Self::Weibull),
            ("lognormal", _) => number(rest, "the squared variation", 0.0, 1_000.0).map(Self::Lognormal),
            ("hyperexponential", _) => {
                number(rest, "the squared variation", 1.0, 1_000.0).map(Self::Hyperexponential)
            }
            ("pareto", _) => {
                let (alpha, ratio) = match rest.and_then(|rest| rest.split_once(':')) {
                    Some((alpha, ratio)) => (Some(alpha), Some(ratio)),
                    None => (rest, None),
                };
                let alpha = number(alpha, "alpha", 0.1, 10.0)?;
                Ok(Self::Pareto { alpha, ratio: number(ratio, "the ratio of most to least", 1.001, 1e6)? })
            }
            ("trace", Some(file)) => {
                let fail = |why| HoldingError::Trace { file: file.to_owned(), why };
                parse_trace(file, &read(file).map_err(fail)?)
            }
            _ => Err(HoldingError::Unknown(text.to_owned())),
        }
    }

    /// Draws a time, in multiples of the mean.
    pub fn sample(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Exponential => exponential(rng),
            Self::Deterministic => 1.0,
            Self::Uniform(spread) => 1.0 + spread * (2.0 * unit(rng) - 1.0),
            Self::Erlang(k) => gamma(f64::from(*k), rng) / f64::from(*k),
            Self::Weibull(shape) => weibull_scale(*shape) * libm::pow(exponential(rng), 1.0 / shape),
            Self::Lognormal(cv2) => lognormal(*cv2, -0.5, rng),
            Self::Hyperexponential(cv2) => {
                let first = hyperexponential_share(*cv2);
                let share = if unit(rng) <= first { first } else { 1.0 - first };
                exponential(rng) / (2.0 * share)
            }
            Self::Pareto { alpha, ratio } => power(-alpha, *ratio, rng) / pareto_moment(1.0, *alpha, *ratio),
            Self::Trace { times, .. } => times[below(times.len(), rng)],
        }
    }

    /// Draws the length of the stay that a random moment falls into, in multiples of the mean. This
    /// distribution is length-biased: a random moment falls into a long stay more often than into a
    /// short one.
    pub fn sample_biased(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Exponential => gamma(2.0, rng),
            Self::Deterministic => 1.0,
            Self::Uniform(spread) => {
                let (least, most) = (1.0 - spread, 1.0 + spread);
                libm::sqrt(least * least + unit(rng) * (most * most - least * least))
            }
            Self::Erlang(k) => gamma(f64::from(*k) + 1.0, rng) / f64::from(*k),
            Self::Weibull(shape) => {
                weibull_scale(*shape) * libm::pow(gamma(1.0 + 1.0 / shape, rng), 1.0 / shape)
            }
            Self::Lognormal(cv2) => lognormal(*cv2, 0.5, rng),
            Self::Hyperexponential(cv2) => {
                // Balanced means: each of the two distributions takes half of the time.
                let first = hyperexponential_share(*cv2);
                let share = if unit(rng) <= 0.5 { first } else { 1.0 - first };
                gamma(2.0, rng) / (2.0 * share)
            }
            Self::Pareto { alpha, ratio } => {
                power(1.0 - alpha, *ratio, rng) / pareto_moment(1.0, *alpha, *ratio)
            }
            Self::Trace { times, .. } => {
                let mut rest = unit(rng) * times.iter().sum::<f64>();
                let found = times.iter().find(|&&time| {
                    rest -= time;
                    rest <= 0.0
                });
                *found.unwrap_or(&times[times.len() - 1])
            }
        }
    }

    /// The squared coefficient of variation: variance over squared mean.
    pub fn cv2(&self) -> f64 {
        match self {
            Self::Exponential => 1.0,
            Self::Deterministic => 0.0,
            Self::Uniform(spread) => spread * spread / 3.0,
            Self::Erlang(k) => 1.0 / f64::from(*k),
            Self::Weibull(shape) => {
                let scale = weibull_scale(*shape);
                libm::tgamma(1.0 + 2.0 / shape) * scale * scale - 1.0
            }
            Self::Lognormal(cv2) | Self::Hyperexponential(cv2) => *cv2,
            Self::Pareto { alpha, ratio } => {
                let mean = pareto_moment(1.0, *alpha, *ratio);
                pareto_moment(2.0, *alpha, *ratio) / (mean * mean) - 1.0
            }
            Self::Trace { times, .. } => {
                times.iter().map(|time| (time - 1.0) * (time - 1.0)).sum::<f64>() / times.len() as f64
            }
        }
    }
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exponential => f.write_str("exponential"),
            Self::Deterministic => f.write_str("deterministic"),
            Self::Uniform(spread) => write!(f, "uniform:{spread}"),
            Self::Erlang(k) => write!(f, "erlang:{k}"),
            Self::Weibull(shape) => write!(f, "weibull:{shape}"),
            Self::Lognormal(cv2) => write!(f, "lognormal:{cv2}"),
            Self::Hyperexponential(cv2) => write!(f, "hyperexponential:{cv2}"),
            Self::Pareto { alpha, ratio } => write!(f, "pareto:{alpha}:{ratio}"),
            Self::Trace { name, .. } => write!(f, "trace:{name}"),
        }
    }
}

fn parse_trace(file: &str, text: &str) -> Result<Holding, HoldingError> {
    let fail = |why: String| HoldingError::Trace { file: file.to_owned(), why };
    let mut times = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let time: Option<f64> = line.parse().ok().filter(|time: &f64| (0.0..=1e12).contains(time));
        times.push(time.ok_or_else(|| fail(format!("line {}: `{line}` is no time", index + 1)))?);
    }
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    if mean <= 0.0 {
        return Err(fail("no time above zero".to_owned()));
    }
    Ok(Holding::Trace { name: file.into(), times: times.into_iter().map(|time| time / mean).collect() })
}

/// A uniform number, above 0 and at most 1.
pub(crate) fn unit(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// A uniform whole number below `count`.
pub(crate) fn below(count: usize, rng: &mut Rng) -> usize {
    ((u128::from(rng.next_u64()) * count as u128) >> 64) as usize // below `count`
}

/// An exponential number with mean 1.
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    Exp1.sample(rng)
}

fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    Gamma::new(shape, 1.0).expect("shapes are checked to be above zero").sample(rng)
}

/// `exp(s Z + bias s^2)`, where s belongs to this variation. A bias of -1/2 gives mean 1, a bias of
/// +1/2 the length-biased form.
fn lognormal(cv2: f64, bias: f64, rng: &mut Rng) -> f64 {
    let variance = libm::log1p(cv2);
    let normal: f64 = StandardNormal.sample(rng);
    libm::exp(libm::sqrt(variance) * normal + bias * variance)
}

/// The scale at which the mean is 1.
fn weibull_scale(shape: f64) -> f64 {
    1.0 / libm::tgamma(1.0 + 1.0 / shape)
}

/// The probability of the distribution with the shorter mean.
fn hyperexponential_share(cv2: f64) -> f64 {
    0.5 * (1.0 + libm::sqrt((cv2 - 1.0) / (cv2 + 1.0)))
}

/// The integral of `x^(s-1)` from 1 to `ratio`.
fn power_integral(s: f64, ratio: f64) -> f64 {
    if s.abs() < 1e-9 { libm::log2(ratio) * LN_2 } else { (libm::pow(ratio, s) - 1.0) / s }
}

/// A number from 1 to `ratio` with a density like `x^(s-1)`.
fn power(s: f64, ratio: f64, rng: &mut Rng) -> f64 {
    let part = unit(rng);
    if s.abs() < 1e-9 {
        libm::pow(ratio, part)
    } else {
        libm::pow(1.0 + part * (libm::pow(ratio, s) - 1.0), 1.0 / s)
    }
}

/// The mean of `x^n` when the least time is 1.
fn pareto_moment(n: f64, alpha: f64, ratio: f64) -> f64 {
    power_integral(n - alpha, ratio) / power_integral(-alpha, ratio)
}
