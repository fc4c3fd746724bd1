//! Packets under way, and the links that they queue at.

use std::hint::black_box;

use super::store::{Fate, Gone, MessageId, NONE, Packet, Store};
use crate::ladder::Ladder;
use crate::units::{Picos, Rate};

/// When a switch begins to pass a packet on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switching {
    /// When its last byte has come.
    StoreAndForward,
    /// When its header of so many bytes has come, if the output is free then (virtual cut-through). The last byte leaves not before it
    /// came.
    CutThrough {
        /// Bytes.
        header: u64,
    },
}

impl Switching {
    /// Bytes of the header that a packet is passed on by before it has come whole; `None` when it must have.
    pub(super) fn header(self) -> Option<u64> {
        match self {
            Switching::StoreAndForward => None,
            Switching::CutThrough { header } => Some(header),
        }
    }
}

/// A directed link with its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue {
    /// Of the link.
    pub rate: Rate,
    /// From the last byte on the link until it can go on: propagation and forwarding.
    pub delay: Picos,
    /// Bytes that each packet takes on the wire beside its own.
    pub overhead: u32,
    /// Bytes on the wire that may wait here; a packet that finds no room is dropped. `None`: there is always room.
    pub buffer: Option<u64>,
}

#[derive(Clone, Debug)]
struct Link {
    /// When all that is queued has left.
    free: u64,
    /// Time of a packet of full size, and of a header.
    full: u64,
    header: u64,
    delay: u64,
    /// Its packets under way, oldest first.
    head: u32,
    tail: u32,
    overhead: u32,
    rate: Rate,
    buffer: u64,
    /// Counters: bytes sent, time at work, packets dropped, most bytes waiting.
    bytes: u64,
    busy: u64,
    dropped: u64,
    backlog_max: u64,
}

/// Packets on links.
#[derive(Clone, Debug)]
pub struct Packets {
    switching: Switching,
    links: Vec<Link>,
    events: Ladder,
    store: Store,
    crossings: u64,
}

impl Packets {
    /// Idle links. Messages are cut into packets of at most `packet_bytes`.
    ///
    /// # Panics
    /// `packet_bytes` is 0: a mistake of the caller.
    pub fn new(switching: Switching, packet_bytes: u32, queues: impl IntoIterator<Item = Queue>) -> Self {
        let link = |queue: Queue| Link {
            free: 0,
            full: queue.rate.time_of(u64::from(packet_bytes) + u64::from(queue.overhead)).0,
            header: switching.header().map_or(0, |header| queue.rate.time_of(header).0),
            delay: queue.delay.0,
            head: NONE,
            tail: NONE,
            overhead: queue.overhead,
            rate: queue.rate,
            buffer: queue.buffer.unwrap_or(u64::MAX),
            bytes: 0,
            busy: 0,
            dropped: 0,
            backlog_max: 0,
        };
        Self {
            switching,
            links: queues.into_iter().map(link).collect(),
            events: Ladder::default(),
            store: Store::new(packet_bytes),
            crossings: 0,
        }
    }

    /// Sends a message of at least a byte: all its packets queue at the first link of `path`, where there is always room (it is the memory of
    /// the sender).
    ///
    /// # Panics
    /// `path` is empty or has a link that there is not, or there are no bytes: a mistake of the caller.
    pub fn send(&mut self, now: Picos, path: &[u32], bytes: u64) -> MessageId {
        let (id, sizes) = self.store.begin(path, bytes);
        for size in sizes {
            let packet = self.store.take(id, size, now.0);
            self.enqueue(now.0, path[0], packet, path.len() == 1);
        }
        id
    }

    /// Reads the first link of a path that a message takes soon, so that it is near then.
    #[inline]
    pub fn look(&self, path: &[u32]) {
        black_box(path.first().map(|link| self.links[*link as usize].tail));
    }

    /// When the next event is due.
    #[inline]
    pub fn next_event(&self) -> Option<Picos> {
        self.events.first().map(|(time, _)| Picos(time))
    }

    /// Lets the next event happen; answers when the last packet of a message is gone. Without events nothing happens.
    pub fn step(&mut self) -> Option<Gone> {
        let (now, link) = self.events.first()?;
        let from = &mut self.links[link as usize];
        let id = from.head;
        let Packet { next, message, hop, bytes, .. } = self.store.packets[id as usize];
        from.head = next;
        if next == NONE {
            from.tail = NONE;
            self.events.pop();
        } else {
            self.events.replace_first((self.store.packets[next as usize].at, link));
        }
        self.look_ahead();
        self.crossings += 1;
        let path = &self.store.messages[message as usize].path;
        let Some(&onward) = path.get(hop as usize + 1) else {
            return self.store.gone(id, Fate::Arrived { marked: false });
        };
        let last = hop as usize + 2 == path.len();
        let to = &self.links[onward as usize];
        if to.buffer != u64::MAX {
            let waiting = backlog(to, now);
            if waiting + u64::from(bytes) + u64::from(to.overhead) > to.buffer {
                self.links[onward as usize].dropped += 1;
                return self.store.gone(id, Fate::Dropped);
            }
        }
        self.store.packets[id as usize].hop += 1;
        self.enqueue(now, onward, id, last);
        None
    }

    /// Packets that arrived so far.
    pub fn arrived(&self) -> u64 {
        self.store.arrived
    }

    /// Reads what the next events need: links, their oldest packets, and the links that these go on to. One after the other, each for all events, so that
    /// the waits for memory overlap.
    fn look_ahead(&mut self) {
        let (links, packets, messages) = (&self.links, &self.store.packets, &self.store.messages);
        let next = self.events.fresh();
        let of = |link: u32| &links[link as usize];
        let oldest = |link: u32| &packets[of(link).head as usize];
        let path = |link: u32| &messages[oldest(link).message as usize].path;
        for &(_, link) in next {
            black_box((of(link).head, of(link).busy));
        }
        for &(_, link) in next {
            black_box((
                oldest(link).message,
                packets.get(oldest(link).next as usize).map(|packet| packet.at),
            ));
        }
        for &(_, link) in next {
            black_box(path(link).first());
        }
        for &(_, link) in next {
            let onward = path(link).get(oldest(link).hop as usize + 1).map(|onward| of(*onward));
            black_box(onward.map(|onward| (onward.free, onward.busy)));
        }
    }

    /// Crossings of a link by a packet so far.
    pub fn crossings(&self) -> u64 {
        self.crossings
    }

    /// Bytes that a link has sent so far, with the overhead of packets.
    pub fn sent(&self, now: Picos, link: u32) -> u64 {
        self.bytes(link) - self.backlog(now, link).min(self.bytes(link))
    }

    /// Number of links.
    pub fn links(&self) -> u32 {
        self.links.len() as u32
    }

    /// Bytes that a link has sent or is to send of what it took.
    pub fn bytes(&self, link: u32) -> u64 {
        self.links[link as usize].bytes
    }

    /// Time that a link has been at work for these bytes.
    pub fn busy(&self, link: u32) -> Picos {
        Picos(self.links[link as usize].busy)
    }

    /// Bytes that wait at a link, the rest of a packet that is being sent included.
    pub fn backlog(&self, now: Picos, link: u32) -> u64 {
        backlog(&self.links[link as usize], now.0)
    }

    /// Whether the room at a link is limited.
    pub fn is_limited(&self, link: u32) -> bool {
        self.links[link as usize].buffer != u64::MAX
    }

    /// The most bytes that waited at a link of limited room when a packet came, itself included.
    pub fn backlog_max(&self, link: u32) -> u64 {
        self.links[link as usize].backlog_max
    }

    /// Packets that found no room at a link.
    pub fn dropped(&self, link: u32) -> u64 {
        self.links[link as usize].dropped
    }

    /// Puts a packet that is there behind all others of a link.
    #[inline]
    fn enqueue(&mut self, now: u64, onto: u32, id: u32, last: bool) {
        let packet = &mut self.store.packets[id as usize];
        let link = &mut self.links[onto as usize];
        let wire = u64::from(packet.bytes) + u64::from(link.overhead);
        let time = if packet.bytes == self.store.full { link.full } else { link.rate.time_of(wire).0 };
        let start = link.free.max(now);
        // Packets that are cut through may be slower to come than to go.
        let end = (start + time).max(packet.tail_at);
        link.free = end;
        link.bytes += wire;
        link.busy += time;
        packet.tail_at = end + link.delay;
        packet.at = match self.switching {
            Switching::CutThrough { .. } if !last => (start + link.header).min(end) + link.delay,
            _ => packet.tail_at,
        };
        packet.next = NONE;
        if link.buffer != u64::MAX {
            link.backlog_max = link.backlog_max.max(backlog(link, now));
        }
        let at = packet.at;
        if link.tail == NONE {
            link.head = id;
            self.events.push((at, onto));
        } else {
            self.store.packets[link.tail as usize].next = id;
        }
        link.tail = id;
    }
}

/// Unfinished work: the link sends at its rate until it is free.
fn backlog(link: &Link, now: u64) -> u64 {
    let left = u128::from(link.free.saturating_sub(now)) * u128::from(link.rate.bits_per_s());
    u64::try_from(left / 8_000_000_000_000).unwrap_or(u64::MAX)
}
