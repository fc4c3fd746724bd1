//! A link of [`Ports`](super::Ports): its transmission, and the packets and queues that wait for
//! it.

use base::{Rng, Seed};
use rand_core::RngCore as _;

use super::list::List;
use crate::packet::{Queue, Switching};
use crate::stage::{Bucket, TokenRate};
use crate::units::{Picos, Rate, Share};

/// Packets that are lost on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    /// The probability of loss, independent for each packet.
    pub share: Share,
    /// The seed of this link's draws. It belongs to this link alone, so that other links do not
    /// change them.
    pub seed: Seed,
}

/// A directed link with its queue and its limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// The link without these limits.
    pub queue: Queue,
    /// A token bucket in place of its rate: a higher rate while tokens last. Packets wait for
    /// tokens (they are shaped, not dropped).
    pub tokens: Option<TokenRate>,
    /// Random losses of packets.
    pub loss: Option<Loss>,
}

/// The counters of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Bytes on the wire whose transmission has begun.
    pub(super) bytes: u64,
    /// Transmission time of these.
    pub(super) busy: u64,
    /// Packets dropped because they found no room.
    pub dropped: u64,
    /// Packets lost on the way.
    pub lost: u64,
    /// Packets that were marked because they found more bytes waiting than the threshold, their own
    /// included.
    pub marked: u64,
    /// Most bytes that waited in its port of a switch.
    pub backlog_max: u64,
}

/// The packet in transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) bytes: u64,
    /// True if it came over another link, and so holds room here.
    pub(super) holds_room: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Link {
    rate: Rate,
    /// Transmission time of a full-size packet, and of a header.
    full: u64,
    header: u64,
    pub(super) delay: u64,
    pub(super) overhead: u32,
    /// Meaningless while the link is idle.
    pub(super) sending: Sending,
    pub(super) is_busy: bool,
    /// Queues that may send, in turn.
    pub(super) ring: List,
    /// Packets under way to the other end.
    pub(super) way: List,
    /// Queues of this link that were given room at the other end and have not heard of it.
    pub(super) words: List,
    /// Queues of other links that wait for room here.
    pub(super) waiters: List,
    /// Most bytes that may wait here.
    pub(super) limit: u64,
    /// Bytes of packets from other links that wait here, are under way here, or may come.
    pub(super) taken: u64,
    /// Bytes in its queues without the packet in transmission; and the part of them that came over
    /// another link.
    pub(super) queued: u64,
    pub(super) held: u64,
    pub(super) limits: Option<Box<Limits>>,
    pub(super) counts: Counts,
}

/// The properties that few links have.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    bucket: Option<Bucket>,
    /// A packet is lost when a random number is below the bound.
    loss: Option<(Rng, u64)>,
}

impl Link {
    pub(super) fn new(port: Port, full: u32, switching: Switching) -> Self {
        let Port { queue, tokens, loss } = port;
        let limits = (tokens.is_some() || loss.is_some()).then(|| {
            let loss = loss.map(|loss| (loss.seed.rng(), loss.share.bound()));
            Box::new(Limits { bucket: tokens.map(Bucket::new), loss })
        });
        Self {
            rate: queue.rate,
            full: queue.rate.time_of(u64::from(full) + u64::from(queue.overhead)).0,
            header: switching.header().map_or(0, |header| queue.rate.time_of(header).0),
            delay: queue.delay.0,
            overhead: queue.overhead,
            sending: Sending { begin: 0, end: 0, bytes: 0, holds_room: false },
            is_busy: false,
            ring: List::EMPTY,
            way: List::EMPTY,
            words: List::EMPTY,
            waiters: List::EMPTY,
            limit: queue.buffer.unwrap_or(u64::MAX),
            taken: 0,
            queued: 0,
            held: 0,
            limits,
            counts: Counts::default(),
        }
    }

    /// Bytes of a packet on the wire.
    #[inline]
    pub(super) fn wire(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.overhead)
    }

    /// Transmission time of a packet that begins now, and of its header of `header` bytes, if that
    /// goes ahead. Spends tokens.
    #[inline]
    pub(super) fn times(&mut self, now: u64, wire: u64, full: u32, header: Option<u64>) -> (u64, u64) {
        if let Some(bucket) = self.limits.as_mut().and_then(|limits| limits.bucket.as_mut()) {
            let ahead = header.map_or(0, |header| bucket.time_of(Picos(now), header).0.0);
            return (bucket.take(Picos(now), wire).0, ahead);
        }
        let is_full = wire == self.wire(full);
        (if is_full { self.full } else { self.rate.time_of(wire).0 }, self.header)
    }

    /// Draws whether the next packet is lost.
    #[inline]
    pub(super) fn loses(&mut self) -> bool {
        let loss = self.limits.as_mut().and_then(|limits| limits.loss.as_mut());
        loss.is_some_and(|(stream, bound)| stream.next_u64() < *bound)
    }

    /// Bytes of the packet in transmission that have not left.
    #[inline]
    pub(super) fn rest(&self, now: u64) -> u64 {
        if !self.is_busy || now >= self.sending.end {
            return 0;
        }
        let Sending { begin, end, bytes, .. } = self.sending;
        (u128::from(bytes) * u128::from(end - now) / u128::from(end - begin)) as u64 // at most `bytes`
    }

    /// Bytes that wait, including the rest of the packet in transmission.
    pub(super) fn backlog(&self, now: u64) -> u64 {
        self.queued + self.rest(now)
    }
}
