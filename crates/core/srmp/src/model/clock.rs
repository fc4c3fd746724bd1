//! Time stamps that wrap.

use base::Moment;
use std::time::Duration;

/// A member's clock on the wire, in the unit and width of its [`Clock`]. Only differences have a
/// meaning, and only to the member that made the stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Stamp(pub u32);

/// The unit and width of [`Stamp`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Milliseconds in 16 bits (RFC 4410, section 3.2): wraps after 65.5 s.
    V2,
    /// Microseconds in 32 bits: wraps after 71.6 min.
    V3,
}

impl Clock {
    const fn nanos(self) -> u64 {
        match self {
            Self::V2 => 1_000_000,
            Self::V3 => 1_000,
        }
    }

    const fn mask(self) -> u32 {
        match self {
            Self::V2 => 0xffff,
            Self::V3 => u32::MAX,
        }
    }

    /// One step of the clock.
    pub const fn granularity(self) -> Duration {
        Duration::from_nanos(self.nanos())
    }

    /// Stamps wrap after this time: [`Clock::between`] cannot tell a difference this long from a
    /// shorter one.
    pub const fn span(self) -> Duration {
        Duration::from_nanos(self.nanos() * (self.mask() as u64 + 1))
    }

    /// The stamp of a moment.
    pub const fn stamp(self, now: Moment) -> Stamp {
        // The cast keeps the low bits, as a clock that wraps requires.
        Stamp((now.as_nanos() / self.nanos()) as u32 & self.mask())
    }

    /// The stamp advanced by `held`. An echo carries it, so that the time for which the sender held
    /// the stamp does not count as travel time.
    pub const fn add(self, stamp: Stamp, held: Duration) -> Stamp {
        let steps = (held.as_nanos() / self.nanos() as u128) as u32;
        Stamp(stamp.0.wrapping_add(steps) & self.mask())
    }

    /// Time from `earlier` to `later`, modulo [`Clock::span`].
    pub const fn between(self, earlier: Stamp, later: Stamp) -> Duration {
        let steps = later.0.wrapping_sub(earlier.0) & self.mask();
        Duration::from_nanos(steps as u64 * self.nanos())
    }

    /// The round-trip time at `now` of a stamp that this member sent and got back, modulo
    /// [`Clock::span`].
    pub const fn since(self, echoed: Stamp, now: Moment) -> Duration {
        self.between(echoed, self.stamp(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bits_of_milliseconds_wrap() {
        let sent = Moment::from_millis(65_530);
        let stamp = Clock::V2.stamp(sent);
        assert_eq!(stamp, Stamp(65_530));
        assert_eq!(Clock::V2.stamp(sent + Duration::from_millis(6)), Stamp(0));
        let echoed = Clock::V2.add(stamp, Duration::from_millis(20));
        assert_eq!(echoed, Stamp(14));
        assert_eq!(Clock::V2.since(echoed, sent + Duration::from_millis(120)), Duration::from_millis(100));
        assert_eq!(Clock::V2.span(), Duration::from_millis(65_536));
    }

    #[test]
    fn thirty_two_bits_of_microseconds_wrap() {
        let sent = Moment::from_micros(u64::from(u32::MAX) - 4);
        let stamp = Clock::V3.stamp(sent);
        let back = sent + Duration::from_micros(250);
        assert_eq!(Clock::V3.stamp(back), Stamp(245));
        assert_eq!(Clock::V3.since(stamp, back), Duration::from_micros(250));
        assert_eq!(Clock::V3.between(Stamp(7), Stamp(7)), Duration::ZERO);
    }
}
