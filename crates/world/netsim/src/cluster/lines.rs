//! Wide-area lines between sites.

use super::ethernet::{Departure, Framing, PortStats, transmission};
use base::Moment;
use std::collections::BTreeMap;
use std::time::Duration;
use wan::Transmitter;

base::id! {
    /// A site, with a switch of its own.
    pub struct SiteId(u16) as "site";
}

/// One direction of a line between two sites, with an unlimited FIFO queue at its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// Rate in bit/s; at least 1.
    pub rate: u64,
    /// Propagation delay.
    pub delay: Duration,
}

#[derive(Debug)]
struct LineState {
    line: Line,
    transmitter: Transmitter,
    stats: PortStats,
}

/// All lines, by their ends.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: BTreeMap<(SiteId, SiteId), LineState>,
}

impl Lines {
    pub(super) fn set(&mut self, from: SiteId, to: SiteId, line: Line) {
        let state = LineState { line, transmitter: Transmitter::default(), stats: PortStats::default() };
        self.lines.insert((from, to), state);
    }

    /// Carries a message of `bytes` bytes over a line. `arrival` is its timing at the beginning;
    /// the result is its timing at the end.
    pub(super) fn cross(
        &mut self,
        ends: (SiteId, SiteId),
        framing: &Framing,
        arrival: &Departure,
        bytes: usize,
    ) -> Departure {
        let state = self
            .lines
            .get_mut(&ends)
            .expect("hosts that speak to each other have a line between their sites");
        let Line { rate, delay } = state.line;
        let rate = rate.max(1);
        let wire = framing.wire_bytes(bytes);
        let on = state.transmitter.carry(arrival.head, rate, wire);
        state.stats.count(arrival.head, on.start, wire);
        // A line faster than its input waits for the last packet.
        let end = on.end.max(arrival.tail);
        state.transmitter.hold(end);
        let first = on.start + transmission(framing.first_packet_bytes(bytes), rate);
        Departure { head: first.min(end) + delay, tail: end + delay }
    }

    pub(super) fn stats(&self, ends: (SiteId, SiteId), now: Moment) -> Option<(PortStats, Duration)> {
        let state = self.lines.get(&ends)?;
        Some((state.stats, state.transmitter.busy_until().since(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_costs_its_delay_once_and_the_time_of_the_bytes() {
        let ends = (SiteId(0), SiteId(1));
        let mut lines = Lines::default();
        lines.set(ends.0, ends.1, Line { rate: 8_000_000, delay: Duration::from_millis(33) });
        let framing = Framing { payload_bytes_max: 1_000, overhead_bytes: 0 };
        let at = |us| Moment::from_micros(us);
        // Two packets arrive at once; a byte takes a microsecond.
        let over = lines.cross(ends, &framing, &Departure { head: at(10), tail: at(10) }, 2_000);
        assert_eq!(over, Departure { head: at(34_010), tail: at(35_010) });
        // The next message waits for both.
        let next = lines.cross(ends, &framing, &Departure { head: at(20), tail: at(20) }, 100);
        assert_eq!(next, Departure { head: at(35_110), tail: at(35_110) });
        let (stats, backlog) = lines.stats(ends, at(1_010)).expect("there is such a line");
        assert_eq!((stats.messages, stats.wire_bytes), (2, 2_100));
        assert_eq!((stats.waited, backlog), (Duration::from_micros(1_990), Duration::from_micros(1_100)));
        // A message that arrives more slowly than the line could send it ends with its tail.
        let slow = lines.cross(ends, &framing, &Departure { head: at(5_000), tail: at(9_000) }, 1_500);
        assert_eq!(slow, Departure { head: at(39_000), tail: at(42_000) });
        assert_eq!(lines.stats((ends.1, ends.0), at(0)), None);
    }
}
