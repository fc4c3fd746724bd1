//! The transmitter: sends one packet after the other at a rate.

use std::time::Duration;

use base::Moment;

/// The transmitter of a line: the time at which it is free. It is exact to the nanosecond, however
/// many packets wait in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transmitter {
    /// The departure of the last queued bit, rounded down to a nanosecond.
    busy_until: Moment,
    /// The part of a nanosecond that the rounding cut off, in units of 1/rate.
    busy_rest: u64,
    /// A pause of up to this length counts as none.
    slack: Duration,
}

/// The times of a packet on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnLine {
    /// Departure of its first bit, rounded down.
    pub start: Moment,
    /// Departure of its last bit, rounded up.
    pub end: Moment,
}

impl Transmitter {
    /// A transmitter for a host whose timers are late: it makes up for a pause of up to `slack`
    /// between packets.
    pub fn with_slack(slack: Duration) -> Self {
        Self { slack, ..Self::default() }
    }

    /// Queues `octets` octets at `now` behind all that were queued before. `rate` is in bits per
    /// second; a rate of 0 counts as 1.
    pub fn carry(&mut self, now: Moment, rate: u64, octets: usize) -> OnLine {
        if self.busy_until + self.slack < now {
            self.hold(now);
        }
        let start = self.busy_until;
        let rate = rate.max(1);
        let work = octets as u128 * 8 * 1_000_000_000 + u128::from(self.busy_rest);
        let nanos = u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX);
        self.busy_until += Duration::from_nanos(nanos);
        self.busy_rest = (work % u128::from(rate)) as u64; // below rate, a u64
        let rounded_up = Duration::from_nanos(u64::from(self.busy_rest > 0));
        OnLine { start, end: self.busy_until + rounded_up }
    }

    /// Sends nothing before `until`.
    pub fn hold(&mut self, until: Moment) {
        if until > self.busy_until {
            (self.busy_until, self.busy_rest) = (until, 0);
        }
    }

    /// Drops the part of a nanosecond, because its unit changes with the rate.
    pub fn round_down(&mut self) {
        self.busy_rest = 0;
    }

    /// The departure of the last queued bit, rounded down.
    pub fn busy_until(&self) -> Moment {
        self.busy_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_nanosecond_add_up() {
        // 3 octets at 7 Gb/s take 24/7 ns. Seven of them take 24 ns, not seven times 4.
        let mut transmitter = Transmitter::default();
        let mut carry = || transmitter.carry(Moment::ZERO, 7_000_000_000, 3).end.as_nanos();
        let ends: Vec<u64> = (0..7).map(|_| carry()).collect();
        assert_eq!(ends, [4, 7, 11, 14, 18, 21, 24]);
    }

    #[test]
    fn a_late_host_is_forgiven_up_to_the_slack() {
        let mut transmitter = Transmitter::with_slack(Duration::from_micros(2));
        let mut carry = |us| transmitter.carry(Moment::from_micros(us), 1_000_000_000, 125).end;
        assert_eq!(carry(10), Moment::from_micros(11));
        assert_eq!(carry(13), Moment::from_micros(12), "as if it had come in time");
        assert_eq!(carry(15), Moment::from_micros(16));
    }

    #[test]
    fn a_held_link_starts_later() {
        let mut transmitter = Transmitter::default();
        transmitter.hold(Moment::from_micros(5));
        let on_line = transmitter.carry(Moment::ZERO, 1_000_000_000, 125);
        assert_eq!(on_line, OnLine { start: Moment::from_micros(5), end: Moment::from_micros(6) });
    }
}
