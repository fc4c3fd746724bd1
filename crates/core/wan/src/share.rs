//! Exact shares of a whole.

use std::fmt;

use rand_core::RngCore;

/// A share in units of one part in 10^9: a probability that can be compared, written and read
/// without loss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u32);

/// Units of a whole.
const WHOLE: u32 = 1_000_000_000;

impl Share {
    /// Nothing.
    pub const NONE: Share = Share(0);
    /// The whole.
    pub const ALL: Share = Share(WHOLE);

    /// That many parts of 10^9; more than the whole is the whole.
    pub const fn from_billionths(parts: u32) -> Self {
        Self(if parts > WHOLE { WHOLE } else { parts })
    }

    /// That many parts of 10^6; more than the whole is the whole.
    pub const fn from_millionths(parts: u32) -> Self {
        Self::from_billionths(parts.saturating_mul(1_000))
    }

    /// The nearest share; `None` unless `part` is a number from 0 to 1.
    pub fn from_f64(part: f64) -> Option<Self> {
        let sound = (0.0..=1.0).contains(&part);
        sound.then(|| Self((part * f64::from(WHOLE)).round() as u32)) // at most the whole
    }

    /// Its number of parts of 10^9.
    pub const fn billionths(self) -> u32 {
        self.0
    }

    /// The share as a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// The remainder to the whole.
    #[must_use]
    pub const fn rest(self) -> Self {
        Self(WHOLE - self.0)
    }

    /// True if this is nothing.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns true with this probability. Certainty and impossibility draw no random number.
    pub fn draw(self, rng: &mut impl RngCore) -> bool {
        match self {
            Self::NONE => false,
            Self::ALL => true,
            Self(parts) => (u128::from(rng.next_u64()) * u128::from(WHOLE)) >> 64 < u128::from(parts),
        }
    }
}

/// Writes the share in percent.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 10_000_000.0)
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Seed;

    #[test]
    fn bounds_hold() {
        assert_eq!(Share::from_f64(0.05), Some(Share::from_millionths(50_000)));
        assert_eq!(Share::from_f64(1.0), Some(Share::ALL));
        assert_eq!(Share::from_f64(1.01), None);
        assert_eq!(Share::from_f64(f64::NAN), None);
        assert_eq!(Share::from_billionths(u32::MAX), Share::ALL);
        assert_eq!(Share::from_millionths(5_000).to_string(), "0.5%");
        assert_eq!(Share::from_billionths(17_540_123).to_string(), "1.7540123%");
    }

    #[test]
    fn draws_come_as_often_as_they_should() {
        let mut rng = Seed(1).rng();
        let hits = (0..100_000).filter(|_| Share::from_millionths(50_000).draw(&mut rng)).count();
        assert!((4_793..=5_207).contains(&hits), "3 sigma: {hits}");
        assert!((0..100).all(|_| Share::ALL.draw(&mut rng) && !Share::NONE.draw(&mut rng)));
    }
}
