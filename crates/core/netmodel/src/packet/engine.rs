//! Packets under way, and the links at which they queue.

use std::collections::BTreeMap;
use std::hint::black_box;

use super::store::{Fate, Gone, MessageId, NONE, Packet, Store};
use crate::ladder::Ladder;
use crate::units::{Picos, Rate};

/// The moment at which a switch begins to forward a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switching {
    /// When its last byte has arrived.
    StoreAndForward,
    /// When a header of this many bytes has arrived, if the output is free then (virtual
    /// cut-through). The last byte does not leave before it has arrived.
    CutThrough {
        /// Bytes.
        header: u64,
    },
}

impl Switching {
    /// Bytes of the header after which a packet may be forwarded; `None` when all of it must have
    /// arrived.
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
    /// Rate of the link.
    pub rate: Rate,
    /// Delay after the last byte until the packet can go on: propagation and forwarding.
    pub delay: Picos,
    /// Bytes that each packet takes on the wire beyond its own.
    pub overhead: u32,
    /// Bytes on the wire that may wait here. A packet that finds no room is dropped. `None`: there
    /// is always room.
    pub buffer: Option<u64>,
}

/// A directed link: the data that change with each packet that crosses it, in half a cache line.
#[derive(Clone, Debug)]
struct Link {
    /// The time at which all queued packets have left.
    free: u64,
    /// Number of full-size packets that it took.
    full: u64,
    /// Its packets under way, oldest first.
    head: u32,
    tail: u32,
    /// Its kind, as an index of all kinds.
    kind: u32,
}

/// The properties of a kind of links.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Transmission time of a full-size packet, and of a header.
    full: u64,
    header: u64,
    delay: u64,
    /// Bytes on the wire that may wait; the largest number if there is no limit.
    buffer: u64,
    rate: Rate,
    overhead: u32,
    /// Bytes of a full-size packet.
    packet: u32,
}

/// The counters of a link except those of full-size packets.
#[derive(Clone, Copy, Default, Debug)]
struct Aside {
    /// Bytes of smaller packets, and their transmission times.
    bytes: u64,
    busy: u64,
    /// Where room is limited: packets dropped, and most bytes that waited.
    dropped: u64,
    backlog_max: u64,
}

/// The packets of a message behind the one that exists last: they wait at its first link, right
/// behind it. They are not stored, because most waiting packets wait at senders and would be in no
/// near cache when their turn comes.
#[derive(Clone, Copy, Default, Debug)]
struct Train {
    left: u32,
    /// Bytes of the last one; all others have full size.
    last: u32,
}

/// Packets on links.
#[derive(Clone, Debug)]
pub struct Packets {
    switching: Switching,
    links: Vec<Link>,
    kinds: Vec<Kind>,
    asides: Vec<Aside>,
    events: Ladder,
    store: Store,
    /// By message.
    trains: Vec<Train>,
    crossings: u64,
}

impl Packets {
    /// Idle links. Messages are cut into packets of at most `packet_bytes`.
    ///
    /// The bytes that wait at a link are known from the time that they take to leave. With
    /// cut-through, part of that time may be spent waiting for bytes to come in, so that room must
    /// be unlimited there.
    ///
    /// # Panics
    /// `packet_bytes` is 0, or the room of a link is limited with cut-through: a mistake of the
    /// caller.
    pub fn new(switching: Switching, packet_bytes: u32, queues: impl IntoIterator<Item = Queue>) -> Self {
        let (mut kinds, mut known) = (Vec::new(), BTreeMap::new());
        let may_limit = switching == Switching::StoreAndForward;
        let link = |queue: Queue| {
            assert!(may_limit || queue.buffer.is_none(), "the room of a link is limited");
            let key = (queue.rate.bits_per_s(), queue.delay, queue.overhead, queue.buffer);
            let kind = *known.entry(key).or_insert_with(|| {
                kinds.push(Kind::new(switching, packet_bytes, queue));
                kinds.len() as u32 - 1 // as many as links at most, which have numbers of 32 bits
            });
            Link { free: 0, full: 0, head: NONE, tail: NONE, kind }
        };
        let links: Vec<Link> = queues.into_iter().map(link).collect();
        Self {
            switching,
            asides: vec![Aside::default(); links.len()],
            links,
            kinds,
            events: Ladder::default(),
            store: Store::new(packet_bytes),
            trains: Vec::new(),
            crossings: 0,
        }
    }

    /// Sends a message of at least a byte. All its packets queue at the first link of `path`, where
    /// there is always room (it is the memory of the sender).
    ///
    /// # Panics
    /// `path` is empty or has a link that does not exist, or there are no bytes: a mistake of the
    /// caller.
    pub fn send(&mut self, now: Picos, path: &[u32], bytes: u64) -> MessageId {
        let (id, mut sizes) = self.store.begin(path, bytes);
        let first = sizes.next().unwrap_or(0); // of a message of at least a byte there is one
        let packet = self.store.take(id, first, now.0);
        self.enqueue(now.0, path[0], packet, path.len() == 1);
        let train = Train { left: sizes.len() as u32, last: sizes.next_back().unwrap_or(0) };
        if train.left > 0 {
            self.reserve(now.0, path[0], train);
        }
        match self.trains.get_mut(id as usize) {
            Some(place) => *place = train,
            None => self.trains.push(train),
        }
        id
    }

    /// Touches the first link of a path that a message takes soon, so that it is in a near cache by
    /// then.
    #[inline]
    pub fn look(&self, path: &[u32]) {
        black_box(path.first().map(|link| self.links[*link as usize].tail));
    }

    /// The time of the next event.
    #[inline]
    pub fn next_event(&self) -> Option<Picos> {
        self.events.first().map(|(time, _)| Picos(time))
    }

    /// Processes the next event; returns the message if its last packet is gone. Without events it
    /// does nothing.
    pub fn step(&mut self) -> Option<Gone> {
        let (now, link) = self.events.first()?;
        let id = self.links[link as usize].head;
        let Packet { mut next, message, hop, bytes, .. } = self.store.packets[id as usize];
        if hop == 0 && self.trains[message as usize].left > 0 {
            next = self.follow(link, id);
        }
        let from = &mut self.links[link as usize];
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
        let kind = &self.kinds[to.kind as usize];
        if kind.is_limited() && kind.backlog(to, now) + kind.wire(bytes) > kind.buffer {
            self.asides[onward as usize].dropped += 1;
            return self.store.gone(id, Fate::Dropped);
        }
        self.store.packets[id as usize].hop += 1;
        self.enqueue(now, onward, id, last);
        None
    }

    /// Number of packets that arrived so far.
    pub fn arrived(&self) -> u64 {
        self.store.arrived
    }

    /// Touches the data of the next events: links, their oldest packets, and the next links of
    /// these. Each kind is touched for all events in turn, so that the waits for memory overlap.
    fn look_ahead(&mut self) {
        let (links, packets, messages) = (&self.links, &self.store.packets, &self.store.messages);
        let next = self.events.fresh();
        let of = |link: u32| &links[link as usize];
        let oldest = |link: u32| &packets[of(link).head as usize];
        let path = |link: u32| &messages[oldest(link).message as usize].path;
        for &(_, link) in next {
            black_box(of(link).head);
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
            black_box(onward.map(|onward| onward.free));
        }
    }

    /// Number of crossings of a link by a packet so far.
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

    /// Bytes of all packets that a link took, sent or still to be sent.
    pub fn bytes(&self, link: u32) -> u64 {
        let full = self.links[link as usize].full * self.kind(link).wire(self.store.full);
        full + self.asides[link as usize].bytes
    }

    /// Transmission time of these bytes.
    pub fn busy(&self, link: u32) -> Picos {
        let full = self.links[link as usize].full * self.kind(link).full;
        Picos(full + self.asides[link as usize].busy)
    }

    /// Bytes that wait at a link, including the rest of a packet that is being sent.
    pub fn backlog(&self, now: Picos, link: u32) -> u64 {
        self.kind(link).backlog(&self.links[link as usize], now.0)
    }

    /// True if the room at a link is limited.
    pub fn is_limited(&self, link: u32) -> bool {
        self.kind(link).is_limited()
    }

    /// Most bytes that waited at a link of limited room when a packet came, itself included.
    pub fn backlog_max(&self, link: u32) -> u64 {
        self.asides[link as usize].backlog_max
    }

    /// Packets dropped because they found no room at a link.
    pub fn dropped(&self, link: u32) -> u64 {
        self.asides[link as usize].dropped
    }

    fn kind(&self, link: u32) -> &Kind {
        &self.kinds[self.links[link as usize].kind as usize]
    }

    /// Puts an existing packet behind all others of a link.
    #[inline]
    fn enqueue(&mut self, now: u64, onto: u32, id: u32, last: bool) {
        let packet = &mut self.store.packets[id as usize];
        let link = &mut self.links[onto as usize];
        let kind = &self.kinds[link.kind as usize];
        let time = if packet.bytes == self.store.full {
            link.full += 1;
            kind.full
        } else {
            self.asides[onto as usize].add(kind, packet.bytes)
        };
        let start = link.free.max(now);
        // With cut-through a packet may come in more slowly than it could go out.
        let end = (start + time).max(packet.tail_at);
        link.free = end;
        packet.tail_at = end + kind.delay;
        packet.at = match self.switching {
            Switching::CutThrough { .. } if !last => (start + kind.header).min(end) + kind.delay,
            _ => packet.tail_at,
        };
        packet.next = NONE;
        if kind.is_limited() {
            self.asides[onto as usize].look(kind.backlog(link, now));
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

    /// Reserves the time of a link for packets that do not exist yet.
    fn reserve(&mut self, now: u64, onto: u32, Train { left, last }: Train) {
        let (link, aside) = (&mut self.links[onto as usize], &mut self.asides[onto as usize]);
        let kind = &self.kinds[link.kind as usize];
        let of_last = if last == self.store.full { 0 } else { aside.add(kind, last) };
        let full = u64::from(left) - u64::from(last != self.store.full);
        link.full += full;
        link.free += full * kind.full + of_last;
        if kind.is_limited() {
            aside.look(kind.backlog(link, now));
        }
    }

    /// Creates the next packet of a message in place of the previous one, which leaves its sender.
    fn follow(&mut self, from: u32, before: u32) -> u32 {
        let (link, packet) = (&mut self.links[from as usize], self.store.packets[before as usize]);
        let kind = &self.kinds[link.kind as usize];
        let train = &mut self.trains[packet.message as usize];
        train.left -= 1;
        let bytes = if train.left == 0 { train.last } else { self.store.full };
        let time = kind.time(bytes);
        let id = self.store.take(packet.message, bytes, packet.tail_at + time);
        let follower = &mut self.store.packets[id as usize];
        let is_last = self.store.messages[packet.message as usize].path.len() == 1;
        if let (Switching::CutThrough { .. }, false) = (self.switching, is_last) {
            follower.at = packet.tail_at + kind.header.min(time);
        }
        follower.next = packet.next;
        if link.tail == before {
            link.tail = id;
        }
        id
    }
}

impl Aside {
    /// Counts a packet that is smaller than others; returns its transmission time.
    fn add(&mut self, kind: &Kind, bytes: u32) -> u64 {
        let time = kind.time(bytes);
        self.bytes += kind.wire(bytes);
        self.busy += time;
        time
    }

    /// Notes the bytes that wait now.
    fn look(&mut self, backlog: u64) {
        self.backlog_max = self.backlog_max.max(backlog);
    }
}

impl Kind {
    fn new(switching: Switching, packet_bytes: u32, queue: Queue) -> Self {
        Self {
            full: queue.rate.time_of(u64::from(packet_bytes) + u64::from(queue.overhead)).0,
            header: switching.header().map_or(0, |header| queue.rate.time_of(header).0),
            delay: queue.delay.0,
            buffer: queue.buffer.unwrap_or(u64::MAX),
            rate: queue.rate,
            overhead: queue.overhead,
            packet: packet_bytes,
        }
    }

    /// Transmission time of a packet.
    #[inline]
    fn time(&self, bytes: u32) -> u64 {
        if bytes == self.packet { self.full } else { self.rate.time_of(self.wire(bytes)).0 }
    }

    /// Bytes of a packet on the wire.
    #[inline]
    fn wire(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.overhead)
    }

    #[inline]
    fn is_limited(&self) -> bool {
        self.buffer != u64::MAX
    }

    /// The bytes that wait at a link of this kind: it sends at its rate until it is free.
    fn backlog(&self, link: &Link, now: u64) -> u64 {
        let left = u128::from(link.free.saturating_sub(now)) * u128::from(self.rate.bits_per_s());
        u64::try_from(left / 8_000_000_000_000).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory estimates given before a network is built depend on the first size, and the cost of
    /// an event in a large network on all of them.
    #[test]
    fn links_packets_and_messages_are_small() {
        assert_eq!(size_of::<Link>() + size_of::<Aside>(), 64);
        assert_eq!(size_of::<Packet>(), 32);
        assert_eq!(size_of::<crate::packet::store::Message>(), 64);
    }

    #[test]
    #[should_panic(expected = "the room of a link is limited")]
    fn cutting_through_takes_room_for_all() {
        let rate = Rate::mbit(800);
        let queue = Queue { rate, delay: Picos::ZERO, overhead: 0, buffer: Some(10_000) };
        Packets::new(Switching::CutThrough { header: 20 }, 1_000, [queue]);
    }
}
