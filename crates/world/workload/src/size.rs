//! How long messages are.

use base::Rng;

use crate::holding::{below, exponential};

/// Longest message, in octets.
pub const SIZE_MAX: u32 = 1 << 20;

/// A distribution of sizes, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Always the same. Text: `250`.
    Constant(u32),
    /// Evenly from the first to the second. Text: `uniform:100:400`.
    Uniform(u32, u32),
    /// Exponential, of this mean, rounded up; nothing is longer than [`SIZE_MAX`]. Text: `exponential:250`.
    Exponential(u32),
}

impl Default for Size {
    /// 2000 bits.
    fn default() -> Self {
        Self::Constant(250)
    }
}

impl Size {
    /// Reads the text form.
    ///
    /// # Errors
    /// What is wrong, and what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let octets = |text: &str| {
            text.parse().ok().filter(|octets| (1..=SIZE_MAX).contains(octets)).ok_or_else(|| {
                format!("`{text}` is no size of a message; expected a number of octets from 1 to {SIZE_MAX}")
            })
        };
        match text.split_once(':') {
            None => octets(text).map(Self::Constant),
            Some(("exponential", mean)) => octets(mean).map(Self::Exponential),
            Some(("uniform", range)) => {
                let (least, most) = range.split_once(':').unwrap_or((range, range));
                let (least, most) = (octets(least)?, octets(most)?);
                if least > most {
                    return Err(format!("`{text}`: the least size is above the most"));
                }
                Ok(Self::Uniform(least, most))
            }
            Some((name, _)) => Err(format!(
                "`{name}` is no distribution of sizes; write 250, \"uniform:100:400\" or \"exponential:250\""
            )),
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(octets) | Self::Exponential(octets) => f64::from(octets),
            Self::Uniform(least, most) => f64::midpoint(f64::from(least), f64::from(most)),
        }
    }

    /// A size.
    pub(crate) fn sample(self, rng: &mut Rng) -> u32 {
        match self {
            Self::Constant(octets) => octets,
            Self::Uniform(least, most) => least + below((most - least) as usize + 1, rng) as u32, // at most `most`
            Self::Exponential(mean) => {
                ((f64::from(mean) * exponential(rng)).ceil() as u32).clamp(1, SIZE_MAX)
            }
        }
    }
}
