//! Sequence numbers of 31 bits that wrap.

use std::fmt;

/// A 31-bit sequence number: 0 follows `0x7fff_ffff`. The top bit is never set.
///
/// It has no `<`: for numbers that wrap only [`Serial31::is_between`] and
/// [`Serial31::distance_from`] are meaningful.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Serial31(u32);

impl Serial31 {
    /// The largest value.
    pub const MAX: Serial31 = Serial31(0x7fff_ffff);

    /// The number `value`, or `None` when its top bit is set.
    pub const fn new(value: u32) -> Option<Self> {
        if value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// The plain number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self((self.0 + 1) & Self::MAX.0)
    }

    /// The number of steps of [`Serial31::next`] that lead from `earlier` to `self`.
    pub const fn distance_from(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0) & Self::MAX.0
    }

    /// Whether `self` lies on the way from `oldest` to `newest`, both included.
    pub const fn is_between(self, oldest: Self, newest: Self) -> bool {
        if oldest.0 <= newest.0 {
            oldest.0 <= self.0 && self.0 <= newest.0
        } else {
            self.0 >= oldest.0 || self.0 <= newest.0
        }
    }
}

impl fmt::Debug for Serial31 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for Serial31 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wraps_and_refuses_the_top_bit() {
        assert_eq!(Serial31::MAX.next(), Serial31::new(0).unwrap());
        assert_eq!(Serial31::new(0x8000_0000), None);
    }

    proptest! {
        #[test]
        fn interval_agrees_with_distance(oldest in 0u32..=0x7fff_ffff, a in 0u32..1000, b in 0u32..1000) {
            let step = |s: Serial31, n: u32| Serial31((s.0 + n) & 0x7fff_ffff);
            let oldest = Serial31(oldest);
            let newest = step(oldest, b);
            let x = step(oldest, a);
            prop_assert_eq!(x.is_between(oldest, newest), a <= b);
            prop_assert_eq!(x.distance_from(oldest), a);
        }
    }
}
