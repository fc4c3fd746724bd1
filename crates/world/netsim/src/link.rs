//! Ideal point-to-point links: a rate, a delay, and one unlimited queue.

use base::{Moment, Seed};
use std::time::Duration;
use wan::Transmitter;

/// Rate and delay of a link, in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSpec {
    /// Rate in bit/s; `None` is infinitely fast.
    pub rate: Option<u64>,
    /// Propagation delay, from the departure of the last bit to its arrival.
    pub delay: Duration,
}

impl Default for LinkSpec {
    /// 50 µs and infinitely fast: an idle local network.
    fn default() -> Self {
        Self { rate: None, delay: Duration::from_micros(50) }
    }
}

/// One direction of a link, with its queue.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) spec: LinkSpec,
    /// The seed of all draws for packets on this link.
    pub(crate) seed: Seed,
    /// Number of packets put on it so far.
    pub(crate) packets: u64,
    line: Transmitter,
}

impl Link {
    pub(crate) fn new(spec: LinkSpec, seed: Seed) -> Self {
        Self { spec, seed, packets: 0, line: Transmitter::default() }
    }

    /// Changes rate and delay for packets that depart from now on.
    pub(crate) fn set_spec(&mut self, spec: LinkSpec) {
        self.spec = spec;
        self.line.round_down();
    }

    /// Whether the line takes time for each octet.
    pub(crate) fn has_rate(&self) -> bool {
        self.rate().is_some()
    }

    /// The rate, if the line takes time for each octet.
    fn rate(&self) -> Option<u64> {
        self.spec.rate.filter(|&rate| rate > 0)
    }

    /// Queues `octets` octets at `now` and returns the arrival of the last one. It is exact to the
    /// nanosecond (rounded up), regardless of the number of queued packets.
    pub(crate) fn depart(&mut self, now: Moment, octets: usize) -> Moment {
        match self.rate() {
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
