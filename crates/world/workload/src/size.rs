//! Distributions of message sizes.

use base::Rng;

use crate::holding::{below, exponential};

/// Largest message, in octets.
pub const SIZE_MAX: u32 = 1 << 20;

/// A distribution of sizes, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Always this size. Text: `250`.
    Constant(u32),
    /// Uniform, from the first to the second, both included. Text: `uniform:100:400`.
    Uniform(u32, u32),
    /// Exponential with this mean, rounded up and limited to [`SIZE_MAX`]. Text: `exponential:250`.
    Exponential(u32),
}

impl Default for Size {
    /// 250 octets (2000 bits).
    fn default() -> Self {
        Self::Constant(250)
    }
}

impl Size {
    /// Reads the text form.
    ///
    /// # Errors
    /// A message that names the mistake and the expected form.
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

    /// The mean, in octets. For [`Size::Exponential`] it ignores the rounding and the limit.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(octets) | Self::Exponential(octets) => f64::from(octets),
            Self::Uniform(least, most) => f64::midpoint(f64::from(least), f64::from(most)),
        }
    }

    /// Draws a size, in octets.
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
