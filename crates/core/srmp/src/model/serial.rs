//! Serial numbers, which wrap.
//!
//! RFC 4410 says of sequence numbers only that a newer one is "one or more greater (mod 512)". This
//! module reads it as follows, for every width. With d = (a - b) modulo the size of the space, `a`
//! equals `b` for d = 0, is newer for d up to and including half the space, and is older otherwise.
//! At exactly half the space each of the two is newer than the other: a receiver that missed that
//! many numbers accepts the next one, because refusing it for ever would be worse.

use std::fmt;

/// The relation of one serial number to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// More than half the space ahead, that is, less than half the space behind.
    Older,
    /// The same number.
    Equal,
    /// 1 to half the space ahead.
    Newer,
}

/// Arithmetic modulo 2 to the `bits`.
#[derive(Clone, Copy)]
struct Wrap {
    bits: u32,
}

impl Wrap {
    const fn mask(self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    const fn half(self) -> u32 {
        1 << (self.bits - 1)
    }

    const fn next(self, a: u32) -> u32 {
        a.wrapping_add(1) & self.mask()
    }

    /// Steps of `next` from `b` to `a`.
    const fn ahead(self, a: u32, b: u32) -> u32 {
        a.wrapping_sub(b) & self.mask()
    }

    const fn compare(self, a: u32, b: u32) -> Relation {
        match self.ahead(a, b) {
            0 => Relation::Equal,
            d if d <= self.half() => Relation::Newer,
            _ => Relation::Older,
        }
    }

    /// The signed distance from `b` to `a` on the shorter way; positive at exactly half the space.
    const fn offset(self, a: u32, b: u32) -> i64 {
        let d = self.ahead(a, b) as i64;
        if d <= self.half() as i64 { d } else { d - (1 << self.bits) }
    }
}

/// The number of a version of a data element (RFC 4410, section 3.2). The first one is 0.
///
/// It has no `<`: only its [`SnSpace`] can compare it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sn(pub u32);

/// The number of a datagram of one `<sender, epoch, group>`, which grows by one with every
/// datagram: `bundle_SN` in v2 (bundles only), `Seq` in v3 (every datagram). It has no `<`: only
/// its [`SeqSpace`] can compare it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(pub u32);

/// The width of an [`Sn`] on the wire, and with it the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SnSpace {
    /// 9 bits (RFC 4410, section 3.2).
    V2,
    /// 32 bits.
    V3,
}

/// The width of a [`Seq`] on the wire, and with it the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeqSpace {
    /// 16 bits (RFC 4410, section 3.2).
    V2,
    /// 32 bits, which never wrap within an epoch: the sender starts a new epoch first.
    V3,
}

macro_rules! space {
    ($space:ident of $number:ident: $v2:literal and $v3:literal bits, $prefix:literal) => {
        impl $space {
            const fn wrap(self) -> Wrap {
                match self {
                    Self::V2 => Wrap { bits: $v2 },
                    Self::V3 => Wrap { bits: $v3 },
                }
            }

            /// The largest number.
            pub const fn max(self) -> $number {
                $number(self.wrap().mask())
            }

            /// Whether the number fits the wire.
            pub const fn contains(self, number: $number) -> bool {
                number.0 <= self.wrap().mask()
            }

            /// The number after `number`.
            pub const fn next(self, number: $number) -> $number {
                $number(self.wrap().next(number.0))
            }

            /// The relation of `a` to `b`.
            pub const fn compare(self, a: $number, b: $number) -> Relation {
                self.wrap().compare(a.0, b.0)
            }

            /// Whether `a` is newer than `b`.
            pub const fn is_newer(self, a: $number, b: $number) -> bool {
                matches!(self.compare(a, b), Relation::Newer)
            }

            /// The signed distance from `b` to `a` on the shorter way: positive when `a` is newer,
            /// negative when it is older.
            pub const fn offset(self, a: $number, b: $number) -> i64 {
                self.wrap().offset(a.0, b.0)
            }
        }

        impl fmt::Debug for $number {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Display for $number {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

space!(SnSpace of Sn: 9 and 32 bits, "sn");
space!(SeqSpace of Seq: 16 and 32 bits, "#");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_whole_table_of_nine_bits() {
        let space = SnSpace::V2;
        for a in 0..512u32 {
            for b in 0..512u32 {
                // Counted, not computed modulo 512: the number of steps from b to a.
                let steps = if a >= b { a - b } else { 512 - b + a };
                let relation = match steps {
                    0 => Relation::Equal,
                    1..=256 => Relation::Newer,
                    _ => Relation::Older,
                };
                assert_eq!(space.compare(Sn(a), Sn(b)), relation, "{a} against {b}");
                assert_eq!(space.is_newer(Sn(a), Sn(b)), (1..=256).contains(&steps));
                let offset = if steps <= 256 { i64::from(steps) } else { i64::from(steps) - 512 };
                assert_eq!(space.offset(Sn(a), Sn(b)), offset);
                let back = space.compare(Sn(b), Sn(a));
                match relation {
                    Relation::Equal => assert_eq!(back, Relation::Equal),
                    Relation::Newer if steps == 256 => assert_eq!(back, Relation::Newer),
                    Relation::Newer => assert_eq!(back, Relation::Older),
                    Relation::Older => assert_eq!(back, Relation::Newer),
                }
            }
        }
    }

    #[test]
    fn numbers_wrap() {
        assert_eq!(SnSpace::V2.next(Sn(511)), Sn(0));
        assert_eq!(SnSpace::V3.next(Sn(511)), Sn(512));
        assert_eq!(SnSpace::V3.next(Sn(u32::MAX)), Sn(0));
        assert_eq!(SeqSpace::V2.next(Seq(65_535)), Seq(0));
        assert_eq!(SeqSpace::V3.next(Seq(65_535)), Seq(65_536));
        assert_eq!(SeqSpace::V2.offset(Seq(3), Seq(65_533)), 6);
        assert_eq!(SeqSpace::V2.offset(Seq(65_533), Seq(3)), -6);
        assert_eq!(SeqSpace::V3.offset(Seq(1 << 31), Seq(0)), 1 << 31);
        assert_eq!(SeqSpace::V3.offset(Seq(0), Seq(1)), -1);
        assert!(!SnSpace::V2.contains(Sn(512)) && SnSpace::V2.contains(SnSpace::V2.max()));
    }

    proptest! {
        #[test]
        fn a_later_number_is_newer(start: u32, steps in 1u32..=1 << 31) {
            let (a, b) = (Sn(start.wrapping_add(steps)), Sn(start));
            prop_assert!(SnSpace::V3.is_newer(a, b));
            prop_assert_eq!(SnSpace::V3.offset(a, b), i64::from(steps));
            if steps < 1 << 31 {
                prop_assert_eq!(SnSpace::V3.compare(b, a), Relation::Older);
            }
        }
    }
}
