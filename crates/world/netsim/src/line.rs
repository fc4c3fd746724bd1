//! A line that carries one packet after the other at a rate.

use base::Moment;
use std::time::Duration;

/// The transmitter of a link: when it is free. Exact to the nanosecond, however many packets stand in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Line {
    /// When the last bit of all that is queued has left, rounded down to a nanosecond ...
    busy_until: Moment,
    /// ... and the part of a nanosecond that rounding cut off, in units of 1/rate.
    busy_rest: u64,
}

/// When a packet is on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OnLine {
    /// Its first bit leaves; rounded down.
    pub(crate) start: Moment,
    /// Its last bit has left; rounded up.
    pub(crate) end: Moment,
}

impl Line {
    /// Queues `octets` octets at `now` behind all that was queued before. `rate` is in bits per second and not zero.
    pub(crate) fn carry(&mut self, now: Moment, rate: u64, octets: usize) -> OnLine {
        if now > self.busy_until {
            (self.busy_until, self.busy_rest) = (now, 0);
        }
        let start = self.busy_until;
        let work = octets as u128 * 8 * 1_000_000_000 + u128::from(self.busy_rest);
        let nanos = u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX);
        self.busy_until += Duration::from_nanos(nanos);
        self.busy_rest = (work % u128::from(rate)) as u64; // below rate, a u64
        let rounded_up = Duration::from_nanos(u64::from(self.busy_rest > 0));
        OnLine { start, end: self.busy_until + rounded_up }
    }

    /// Keeps the line until `until` at least.
    pub(crate) fn hold(&mut self, until: Moment) {
        if until > self.busy_until {
            (self.busy_until, self.busy_rest) = (until, 0);
        }
    }

    /// Forgets the part of a nanosecond: the rate changes.
    pub(crate) fn round_down(&mut self) {
        self.busy_rest = 0;
    }
}
