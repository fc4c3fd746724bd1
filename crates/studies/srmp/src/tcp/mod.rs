//! TCP in virtual time: one end of a connection, as a machine.
//!
//! A model for comparing other transports with TCP, for small messages on long and lossy lines. It
//! covers the mechanisms that matter there:
//!
//! | mechanism | source |
//! | --- | --- |
//! | slow start, congestion avoidance, fast recovery; the window grows only while it limits | RFC 5681, 6582, 7661 in spirit |
//! | CUBIC, with its Reno-friendly region | RFC 9438 |
//! | SACK with three blocks; loss detection by three later segments | RFC 2018, 6675 |
//! | loss detection by time, tail loss probes | RACK-TLP, RFC 8985 |
//! | retransmission timer with backoff; no sample from retransmitted segments | RFC 6298 |
//! | an acknowledgement after two segments or 40 ms, at once if something is missing; on data if there is any | RFC 1122, 5681 |
//! | Nagle's algorithm, optional; data that waits for the window is sent in full segments either way | RFC 896 |
//! | in-order delivery: early data waits for missing data | RFC 9293 |
//!
//! The window counts segments, as in Linux. Connections are open from the start, receive buffers
//! are unlimited, and there is no ECN, pacing, proportional rate reduction or F-RTO. Headers are
//! those of IPv4 and TCP with timestamps: 52 bytes, and SACK blocks.

mod control;
mod receive;
mod send;
#[cfg(test)]
mod tests;

use std::time::Duration;

use base::Moment;

pub use control::Control;
use receive::Receiver;
use send::Sender;

/// Octets of IPv4 and TCP headers, with timestamps.
const HEADERS: usize = 52;
/// Maximum number of SACK blocks beside timestamps.
const BLOCKS_MAX: usize = 3;

/// The variant of TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Maximum segment size: octets of data.
    pub mss: u32,
    /// Sends written data at once; otherwise Nagle's algorithm holds it back while any data is
    /// unacknowledged.
    pub nodelay: bool,
    /// The congestion control algorithm.
    pub control: Control,
    /// Loss detection by time and tail loss probes (RACK-TLP); otherwise by three later segments
    /// only.
    pub rack: bool,
    /// Initial window, in segments.
    pub initial_window: u32,
    /// Minimum retransmission timeout.
    pub rto_min: Duration,
    /// Longest delay of an acknowledgement that waits for data or another segment.
    pub ack_delay: Duration,
}

impl Config {
    /// Linux of today: CUBIC, RACK-TLP, an initial window of 10, timeouts from 200 ms.
    pub const MODERN: Self = Self {
        mss: 1_448,
        nodelay: true,
        control: Control::Cubic,
        rack: true,
        initial_window: 10,
        rto_min: Duration::from_millis(200),
        ack_delay: Duration::from_millis(40),
    };

    /// The RFCs at the time of the paper: NewReno with SACK, loss detection by three later
    /// segments, timeouts from a second.
    pub const CLASSIC: Self = Self {
        control: Control::NewReno,
        rack: false,
        initial_window: 2,
        rto_min: Duration::from_secs(1),
        ..Self::MODERN
    };
}

/// A segment in flight. It carries the length of its data, not the data itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Position of the first octet of data in the stream.
    pub seq: u64,
    /// Octets of data.
    pub len: u32,
    /// Cumulative acknowledgement: the sender of this segment has received all octets before this
    /// position.
    pub ack: u64,
    /// Ranges of octets received beyond that, begin to end, the latest first.
    pub sacks: [(u64, u64); BLOCKS_MAX],
    /// Number of valid blocks.
    pub sack_count: u8,
    /// It is a retransmission.
    pub again: bool,
}

impl Segment {
    /// Octets on the wire, including IPv4 and TCP headers.
    pub fn wire_bytes(&self) -> usize {
        let sacks = if self.sack_count > 0 { 4 + 8 * usize::from(self.sack_count) } else { 0 };
        HEADERS + sacks + self.len as usize
    }
}

/// Counters of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, without bare acknowledgements.
    pub segments: u64,
    /// Retransmissions among them.
    pub again: u64,
    /// Bare acknowledgements sent.
    pub acks: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Reductions of the window after losses.
    pub reductions: u64,
}

/// One end of an open connection.
///
/// `now` must never decrease. After any call, poll [`poll_transmit`](Self::poll_transmit) until it
/// returns `None`. Call [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout).
#[derive(Clone, Debug)]
pub struct Tcp {
    sender: Sender,
    receiver: Receiver,
    stats: Stats,
}

impl Tcp {
    /// An end that has neither sent nor received anything.
    pub fn new(config: Config) -> Self {
        Self { sender: Sender::new(config), receiver: Receiver::new(config), stats: Stats::default() }
    }

    /// Writes `bytes` octets to the stream.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// Handles a received segment.
    pub fn handle_segment(&mut self, now: Moment, segment: &Segment) {
        let sacks = &segment.sacks[..usize::from(segment.sack_count).min(BLOCKS_MAX)];
        self.sender.handle_ack(now, segment.ack, sacks, &mut self.stats);
        if segment.len > 0 {
            self.receiver.handle_data(now, segment.seq, segment.seq + u64::from(segment.len));
        }
    }

    /// Handles expired timers.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.sender.handle_timeout(now, &mut self.stats);
        self.receiver.handle_timeout(now);
    }

    /// Moment of the next call of [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Moment> {
        [self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten().min()
    }

    /// The next segment to send.
    pub fn poll_transmit(&mut self, now: Moment) -> Option<Segment> {
        let data = self.sender.poll_transmit(now);
        if data.is_none() && !self.receiver.wants_ack() {
            return None;
        }
        match data {
            Some((.., again)) => {
                self.stats.segments += 1;
                self.stats.again += u64::from(again);
            }
            None => self.stats.acks += 1,
        }
        let (seq, len, again) = data.unwrap_or((self.sender.next(), 0, false));
        let (ack, sacks, sack_count) = self.receiver.acknowledge();
        Some(Segment { seq, len, ack, sacks, sack_count, again })
    }

    /// Octets delivered to the application: all up to the first missing one.
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Whether all octets from `begin` to before `end` have been received, in order or not.
    pub fn has(&self, begin: u64, end: u64) -> bool {
        self.receiver.has(begin, end)
    }

    /// Octets written but not acknowledged.
    pub fn backlog(&self) -> u64 {
        self.sender.backlog()
    }

    /// The congestion window, in segments.
    pub fn window(&self) -> f64 {
        self.sender.window()
    }

    /// Counters of this end.
    pub fn stats(&self) -> Stats {
        self.stats
    }
}
