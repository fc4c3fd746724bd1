//! Seeds. Every random number is drawn from a generator that starts from one of these.

use std::fmt;

/// The random generator of every simulation and every test: PCG 64, reproducible on any machine.
pub type Rng = rand_pcg::Pcg64Mcg;

/// The seed of a run or of one part of it.
///
/// Each part derives its own seed with [`Seed::split`]. Adding a part, or drawing more numbers in
/// one, therefore changes nothing in the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the part called `label`.
    #[must_use]
    pub fn split(self, label: &str) -> Seed {
        let mut h = self.0 ^ 0x9e37_79b9_7f4a_7c15;
        for byte in label.bytes() {
            h = mix(h ^ u64::from(byte));
        }
        Seed(mix(h ^ label.len() as u64))
    }

    /// The seed of the part number `index`.
    #[must_use]
    pub fn split_index(self, index: u64) -> Seed {
        Seed(mix(mix(self.0 ^ 0xd1b5_4a32_d192_ed03) ^ index))
    }

    /// A generator that starts from this seed.
    pub fn rng(self) -> Rng {
        let high = mix(self.0);
        let low = mix(high ^ self.0);
        Rng::new((u128::from(high) << 64) | u128::from(low))
    }
}

/// The finaliser of SplitMix64: a bijection with full avalanche.
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::RngCore;

    #[test]
    fn parts_differ_and_repeat() {
        let seed = Seed(7);
        assert_ne!(seed.split("links"), seed.split("options"));
        assert_ne!(seed.split_index(0), seed.split_index(1));
        assert_eq!(seed.split("links").rng().next_u64(), seed.split("links").rng().next_u64());
        assert_ne!(Seed(1).rng().next_u64(), Seed(2).rng().next_u64());
    }
}
