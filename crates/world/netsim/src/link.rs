//! Ideal point-to-point links: a rate, a delay, one queue without limit.

use base::{Moment, Seed};
use std::time::Duration;
use wan::Transmitter;

/// What a link does to what crosses it, in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSpec {
    /// Bits per second; `None` is infinitely fast.
    pub rate: Option<u64>,
    /// From the last bit's departure to its arrival.
    pub delay: Duration,
}

impl Default for LinkSpec {
    /// 50 µs and infinitely fast: a quiet local network.
    fn default() -> Self {
        Self { rate: None, delay: Duration::from_micros(50) }
    }
}

/// One direction of a link at work.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) spec: LinkSpec,
    /// Every number drawn for what crosses this link comes from here.
    pub(crate) seed: Seed,
    /// Packets that were ever put on it.
    pub(crate) packets: u64,
    line: Transmitter,
}

impl Link {
    pub(crate) fn new(spec: LinkSpec, seed: Seed) -> Self {
        Self { spec, seed, packets: 0, line: Transmitter::default() }
    }

    /// Changes rate and delay for what departs from now on.
    pub(crate) fn set_spec(&mut self, spec: LinkSpec) {
        self.spec = spec;
        self.line.round_down();
    }

    /// Queues `octets` octets at `now` and says when the last of them arrives: exact to the
    /// nanosecond (rounded up), however many packets stand in the queue.
    pub(crate) fn depart(&mut self, now: Moment, octets: usize) -> Moment {
        match self.spec.rate.filter(|&rate| rate > 0) {
            Some(rate) => self.line.carry(now, rate, octets).end + self.spec.delay,
            None => now + self.spec.delay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(rate: Option<u64>) -> Link {
        Link::new(LinkSpec { rate, delay: Duration::from_micros(10) }, Seed(1))
    }

    #[test]
    fn size_over_rate_plus_delay_to_the_nanosecond() {
        let mut gigabit = link(Some(1_000_000_000));
        assert_eq!(gigabit.depart(Moment::ZERO, 1_500), Moment::from_micros(22));
        // The second waits for the first; after a pause nothing waits.
        assert_eq!(gigabit.depart(Moment::from_nanos(1), 125), Moment::from_micros(23));
        assert_eq!(gigabit.depart(Moment::from_micros(50), 125), Moment::from_micros(61));
    }

    #[test]
    fn no_rate_means_no_waiting() {
        let mut ideal = link(None);
        assert_eq!(ideal.depart(Moment::ZERO, usize::MAX), Moment::from_micros(10));
        assert_eq!(link(Some(1)).depart(Moment::ZERO, usize::MAX), Moment::MAX);
    }
}
