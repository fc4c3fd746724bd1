//! TCP connections and the messages on them.

use std::collections::VecDeque;

use base::Moment;

use crate::tcp::{Config, Segment, Stats, Tcp};

/// Octets of the length prefix of a message on a connection.
pub(super) const FRAMING: u64 = 4;

/// A message on a connection: its range of octets and its index in the trace.
#[derive(Clone, Copy, Debug)]
struct Framed {
    begin: u64,
    end: u64,
    index: usize,
    delivered: bool,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct End {
    pub(super) tcp: Tcp,
    /// Index of the other end in the list of ends.
    pub(super) peer: usize,
    pub(super) site: usize,
    /// Moment of its next scheduled wake-up.
    pub(super) wake: Moment,
    /// It always has data to send.
    pub(super) is_bulk: bool,
    /// Written messages that are not all delivered.
    messages: VecDeque<Framed>,
    written: u64,
}

impl End {
    pub(super) fn new(config: Config, site: usize, peer: usize, is_bulk: bool) -> Self {
        Self {
            tcp: Tcp::new(config),
            peer,
            site,
            wake: Moment::MAX,
            is_bulk,
            messages: VecDeque::new(),
            written: 0,
        }
    }

    /// Writes a message.
    pub(super) fn write(&mut self, index: usize, size: usize) {
        let begin = self.written;
        self.written += size as u64 + FRAMING;
        self.messages.push_back(Framed { begin, end: self.written, index, delivered: false });
        self.tcp.write(size as u64 + FRAMING);
    }

    /// The messages of which this segment carries a part.
    pub(super) fn within<'a>(&'a self, segment: &'a Segment) -> impl Iterator<Item = usize> + 'a {
        let (begin, end) = (segment.seq, segment.seq + u64::from(segment.len));
        let first = self.messages.partition_point(|message| message.end <= begin);
        self.messages
            .range(first..)
            .take_while(move |message| message.begin < end)
            .map(|message| message.index)
    }

    /// The messages that the other end `there` has completely received since the last call: in
    /// order, or each independently if `unordered`.
    pub(super) fn take_delivered(&mut self, there: &Tcp, unordered: bool) -> Vec<usize> {
        let mut taken = Vec::new();
        if unordered {
            for message in self.messages.iter_mut().filter(|message| !message.delivered) {
                if there.has(message.begin, message.end) {
                    message.delivered = true;
                    taken.push(message.index);
                }
            }
        }
        while let Some(message) = self.messages.pop_front_if(|message| message.end <= there.delivered()) {
            if !message.delivered {
                taken.push(message.index);
            }
        }
        taken
    }
}

/// Sums the counters of all ends.
pub(super) fn sum(ends: &[End]) -> Stats {
    ends.iter().map(|end| end.tcp.stats()).fold(Stats::default(), |sum, stats| Stats {
        segments: sum.segments + stats.segments,
        again: sum.again + stats.again,
        acks: sum.acks + stats.acks,
        timeouts: sum.timeouts + stats.timeouts,
        probes: sum.probes + stats.probes,
        reductions: sum.reductions + stats.reductions,
    })
}
