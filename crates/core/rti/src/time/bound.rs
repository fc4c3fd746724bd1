//! Lower bounds on the time stamps that may still come.

use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};

/// A lower bound: time stamps at `time` and above it may come, or only those above it.
///
/// All times of a federation are non-negative, and order as their bits do. The bits are doubled,
/// and one is added if the bound is exclusive, so that a bound compares as one integer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Bound(u64);

impl Bound {
    /// Nothing may come any more.
    pub(super) const INFINITE: Self = Self(u64::MAX);

    /// `time` and everything above it may come.
    pub(super) fn at(time: LogicalTime) -> Self {
        Self(u64::from_be_bytes(time.encode()) << 1)
    }

    /// Everything above `time` may come; above the last time, nothing.
    pub(super) fn above(time: LogicalTime) -> Self {
        if time.is_final() { Self::INFINITE } else { Self(Self::at(time).0 | 1) }
    }

    /// The least time, or its infimum; `None` if nothing may come.
    pub(super) fn time(self, kind: TimeKind) -> Option<LogicalTime> {
        if self == Self::INFINITE {
            return None;
        }
        kind.decode_time(&(self.0 >> 1).to_be_bytes()).ok()
    }

    /// Whether a message of this time may come.
    pub(super) fn admits(self, time: LogicalTime) -> bool {
        self <= Self::at(time)
    }

    /// Whether `time` is not after the least time.
    pub(super) fn is_at_or_after(self, time: LogicalTime) -> bool {
        Self::at(time).0 >> 1 <= self.0 >> 1
    }

    /// The number by which nodes tell each other a bound.
    pub(super) fn to_bits(self) -> u64 {
        self.0
    }

    /// The bound with this number.
    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    fn is_exclusive(self) -> bool {
        self.0 & 1 == 1
    }

    /// The bound for federates that get nothing below `self`. Times beyond the last one are
    /// infinite: no federate can send there.
    pub(super) fn after(self, delay: Delay) -> Self {
        let Some(time) = self.time(delay.lookahead.kind()) else { return Self::INFINITE };
        match time.add(delay.lookahead) {
            Ok(sum) if self.is_exclusive() || delay.exclusive => Self::above(sum),
            Ok(sum) => Self::at(sum),
            Err(_) => Self::INFINITE,
        }
    }

    /// The bound for people.
    pub(super) fn describe(self, kind: TimeKind) -> String {
        match self.time(kind) {
            None => "no time".to_owned(),
            Some(time) if self.is_exclusive() => format!("times above {time}"),
            Some(time) => format!("{time} and later"),
        }
    }
}

/// The distance that a federate keeps from its logical time with what it sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Delay {
    pub(super) lookahead: LogicalTimeInterval,
    /// With a lookahead of zero: it sends nothing at its logical time itself.
    pub(super) exclusive: bool,
}

impl Delay {
    /// The delay of a federate whose time is, or will be, granted by a service that is `strict`.
    pub(super) fn new(lookahead: LogicalTimeInterval, strict: bool) -> Self {
        Self { lookahead, exclusive: strict && lookahead.is_zero() }
    }
}
