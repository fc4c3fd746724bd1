//! TCP in virtual time: one end of a connection, as a machine.
//!
//! Made to compare other transports with what TCP does to small messages on long and lossy lines, so what makes the difference is
//! modelled, and as the RFCs say:
//!
//! | what | after |
//! | --- | --- |
//! | slow start, congestion avoidance, fast recovery; the window grows only while it limits | RFC 5681, 6582, 7661 in spirit |
//! | CUBIC, with its Reno-friendly region | RFC 9438 |
//! | SACK with three blocks; losses by three later segments | RFC 2018, 6675 |
//! | losses by time, probes of the tail | RACK-TLP, RFC 8985 |
//! | retransmission timer with backoff; no sample from retransmitted segments | RFC 6298 |
//! | an acknowledgement for two segments or after 40 ms, at once when something is missing; on data if there is any | RFC 1122, 5681 |
//! | Nagle's algorithm, or not; what waits for the window is sent in full segments either way | RFC 896 |
//! | bytes in order: what comes early waits for what is missing | RFC 9293 |
//!
//! The window counts segments, as Linux does. Connections are open from the start, receivers' buffers have no end, and there is no
//! ECN, pacing, proportional rate reduction or F-RTO. Headers are those of IPv4 and TCP with time stamps: 52 bytes, and SACK blocks.

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

/// IPv4 and TCP headers, with time stamps.
const HEADERS: usize = 52;
/// SACK blocks beside time stamps.
const BLOCKS_MAX: usize = 3;

/// Which TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Octets of data in the longest segment.
    pub mss: u32,
    /// What the application writes is sent at once, not held back while anything is without acknowledgement.
    pub nodelay: bool,
    /// How the window grows and shrinks.
    pub control: Control,
    /// Losses by time and probes of the tail, RACK-TLP; otherwise by three later segments alone.
    pub rack: bool,
    /// Segments of the first window.
    pub initial_window: u32,
    /// The retransmission timer is never below this.
    pub rto_min: Duration,
    /// How long an acknowledgement waits for data or another segment.
    pub ack_delay: Duration,
}

impl Config {
    /// As Linux does it today: CUBIC, RACK-TLP, a first window of 10, timers from 200 ms.
    pub const MODERN: Self = Self {
        mss: 1_448,
        nodelay: true,
        control: Control::Cubic,
        rack: true,
        initial_window: 10,
        rto_min: Duration::from_millis(200),
        ack_delay: Duration::from_millis(40),
    };

    /// As the RFCs of the paper's time have it: NewReno with SACK, losses by three later segments, timers from a second.
    pub const CLASSIC: Self = Self {
        control: Control::NewReno,
        rack: false,
        initial_window: 2,
        rto_min: Duration::from_secs(1),
        ..Self::MODERN
    };
}

/// A segment on its way. Data are counted, not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Place of the first octet of data in the stream.
    pub seq: u64,
    /// Octets of data.
    pub len: u32,
    /// All octets before this have been received by the sender of this segment.
    pub ack: u64,
    /// Octets received beyond that: begins and ends, the freshest first.
    pub sacks: [(u64, u64); BLOCKS_MAX],
    /// How many of these blocks there are.
    pub sack_count: u8,
    /// It was sent before.
    pub again: bool,
}

impl Segment {
    /// Octets on the wire, with IPv4.
    pub fn wire_bytes(&self) -> usize {
        let sacks = if self.sack_count > 0 { 4 + 8 * usize::from(self.sack_count) } else { 0 };
        HEADERS + sacks + self.len as usize
    }

    /// Whether it has nothing but an acknowledgement.
    pub fn is_bare(&self) -> bool {
        self.len == 0
    }
}

/// What one end counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, bare acknowledgements not counted.
    pub segments: u64,
    /// Of these, sent again.
    pub again: u64,
    /// Bare acknowledgements sent.
    pub acks: u64,
    /// Times that the retransmission timer fired.
    pub timeouts: u64,
    /// Probes of the tail.
    pub probes: u64,
    /// Times that the window shrank for losses.
    pub reductions: u64,
}

/// One end of an open connection.
///
/// `now` never goes back. After any call, take what is to be sent with [`poll_transmit`](Self::poll_transmit) until there is nothing; call
/// [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout).
#[derive(Clone, Debug)]
pub struct Tcp {
    sender: Sender,
    receiver: Receiver,
    stats: Stats,
}

impl Tcp {
    /// An end that has sent and received nothing.
    pub fn new(config: Config) -> Self {
        Self { sender: Sender::new(config), receiver: Receiver::new(config), stats: Stats::default() }
    }

    /// The application writes so many octets.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// A segment comes in.
    pub fn handle_segment(&mut self, now: Moment, segment: &Segment) {
        let sacks = &segment.sacks[..usize::from(segment.sack_count).min(BLOCKS_MAX)];
        self.sender.handle_ack(now, segment.ack, sacks, &mut self.stats);
        if segment.len > 0 {
            self.receiver.handle_data(now, segment.seq, segment.seq + u64::from(segment.len));
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.sender.handle_timeout(now, &mut self.stats);
        self.receiver.handle_timeout(now);
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Moment> {
        [self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten().min()
    }

    /// The next segment to be sent.
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

    /// Octets that the application can have: all up to the first that is missing.
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Whether all octets from `begin` to before `end` are here, in order or not.
    pub fn has(&self, begin: u64, end: u64) -> bool {
        self.receiver.has(begin, end)
    }

    /// Octets written that are not acknowledged.
    pub fn backlog(&self) -> u64 {
        self.sender.backlog()
    }

    /// The window, in segments.
    pub fn window(&self) -> f64 {
        self.sender.window()
    }

    /// What was counted.
    pub fn stats(&self) -> Stats {
        self.stats
    }
}
