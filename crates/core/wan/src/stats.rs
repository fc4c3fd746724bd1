//! Counters and queue statistics of a line.

use std::time::Duration;

/// The fates of the datagrams of a line. Every counter only grows, and always
/// `offered + duplicated = lost + overflowed + cut + delivered + in flight`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LineCounters {
    /// Datagrams offered.
    pub offered: u64,
    /// Their octets.
    pub offered_bytes: u64,
    /// Datagrams lost by the loss model.
    pub lost: u64,
    /// Datagrams for which the queue had no room.
    pub overflowed: u64,
    /// Datagrams offered while the line was cut.
    pub cut: u64,
    /// Datagrams that were sent.
    pub taken: u64,
    /// Their octets.
    pub taken_bytes: u64,
    /// Copies that were made.
    pub duplicated: u64,
    /// Datagrams that were held back so that others overtake them.
    pub reordered: u64,
}

/// The queue of a line, including the datagram in transmission, as seen by its datagrams. All zero
/// on lines without a rate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueStats {
    /// Datagrams that passed through.
    pub datagrams: u64,
    /// Sum of the times from the offer to the last bit's departure, in ns.
    pub sojourn_ns: u128,
    /// The longest of these times.
    pub sojourn_max: Duration,
    /// Sum of the times from the offer to the first bit's departure, in ns.
    pub waiting_ns: u128,
    /// Sum of the transmission times, in ns.
    pub busy_ns: u128,
    /// Sum of octets times sojourn, in octet nanoseconds. Divided by the length of a run it is the
    /// mean occupancy in octets.
    pub byte_ns: u128,
    /// Sum of the datagrams that each one found before it, itself excluded.
    pub found: u64,
    /// Most datagrams that were there at once.
    pub datagrams_max: usize,
    /// Most octets that were there at once.
    pub bytes_max: usize,
}

impl QueueStats {
    /// Mean number of datagrams over a run of length `run`. It is exact when the line was empty at
    /// both ends of the run, because each datagram is there for its sojourn.
    pub fn datagrams_mean(&self, run: Duration) -> f64 {
        self.sojourn_ns as f64 / run.as_nanos().max(1) as f64
    }

    /// Share of a run of length `run` in which the line was sending.
    pub fn utilisation(&self, run: Duration) -> f64 {
        self.busy_ns as f64 / run.as_nanos().max(1) as f64
    }
}
