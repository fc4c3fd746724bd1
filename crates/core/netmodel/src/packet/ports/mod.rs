//! Packets at links whose departures are not known when packets arrive, because they take turns, or
//! wait for room at the next link, or for tokens.
//!
//! Each crossing of a link by a packet takes two events: its end, which lets the link choose the
//! next packet, and the arrival at the other end. For links that serve first come, first served,
//! and nothing else, [`Packets`](super::Packets) gives the same times at a lower cost.
//!
//! **Back-pressure** ([`Full::Wait`]) is credit-based flow control, link by link. A packet leaves
//! for a switch only when its next port there has room for it, and that room is reserved for it
//! from then on. A packet that finds none waits, in the order of asking, and hears of room after
//! the delay of its link. A queue waits as a whole. With one queue for each link, all packets
//! behind are held up, wherever they go (head-of-line blocking). With a queue for each flow only
//! that flow is. Links that wait for each other in a circle wait for ever: [`Ports::deadlock`].

mod deadlock;
mod link;
mod list;
mod queue;
#[cfg(test)]
mod tests;

pub use deadlock::Deadlock;
pub use link::{Counts, Loss, Port};
pub use queue::{Discipline, Flows};

use link::{Link, Sending};
use queue::{FlowTable, Queue};

use super::Switching;
use super::store::{Fate, Gone, MessageId, NONE, Store};
use crate::ladder::Ladder;
use crate::units::Picos;

/// The fate of a packet that finds no room at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// It is dropped.
    Drop,
    /// It waits where it is.
    Wait,
}

/// The rules by which links serve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The moment at which switches forward packets.
    pub switching: Switching,
    /// The order of service.
    pub discipline: Discipline,
    /// The rule for full ports.
    pub full: Full,
    /// A packet is marked when it finds more bytes than this waiting at a port of a switch, itself
    /// included (explicit congestion notification, RFC 3168, by a threshold). `None`: never.
    pub mark_above: Option<u64>,
}

/// Kinds of events. The number of an event is that of its link times [`KINDS`], plus its kind.
const END: u32 = 0;
const WORD: u32 = 1;
const ARRIVAL: u32 = 2;
const KINDS: u32 = 4;

/// Packets on links, with rules.
#[derive(Clone, Debug)]
pub struct Ports {
    rules: Rules,
    /// Bytes that a queue may send in one turn.
    quantum: u64,
    links: Vec<Link>,
    /// One for each link, or for each flow at each link.
    queues: Vec<Queue>,
    flows: Option<(Flows, FlowTable)>,
    events: Ladder,
    store: Store,
    /// By packet: true if it has a mark.
    marks: Vec<bool>,
    /// Number of queues that wait for room.
    waiting: u32,
    crossings: u64,
}

impl Ports {
    /// Idle links. Messages are cut into packets of at most `packet_bytes`.
    ///
    /// # Panics
    /// `packet_bytes` is 0, a quantum is less than a packet on the wire, a port that makes others
    /// wait has no room for a packet, or there are too many links to be numbered: mistakes of the
    /// caller.
    pub fn new(rules: Rules, packet_bytes: u32, ports: impl IntoIterator<Item = Port>) -> Self {
        let links: Vec<Link> =
            ports.into_iter().map(|port| Link::new(port, packet_bytes, rules.switching)).collect();
        assert!(links.len() < (NONE / KINDS) as usize, "links are too many");
        let fits = |link: &Link| rules.full == Full::Drop || link.limit >= link.wire(packet_bytes);
        assert!(links.iter().all(fits), "a port has no room for a packet");
        let (quantum, flows) = match rules.discipline {
            Discipline::Fifo => (u64::MAX, None),
            Discipline::DeficitRoundRobin { quantum, flows } => {
                let is_enough = links.iter().all(|link| quantum >= link.wire(packet_bytes));
                assert!(is_enough, "a quantum is less than a packet");
                (quantum, Some((flows, FlowTable::default())))
            }
        };
        let queues = match flows {
            None => (0..links.len() as u32).map(|link| Queue::new(link, false)).collect(),
            Some(_) => Vec::new(),
        };
        Self {
            rules,
            quantum,
            links,
            queues,
            flows,
            events: Ladder::default(),
            store: Store::new(packet_bytes),
            marks: Vec::new(),
            waiting: 0,
            crossings: 0,
        }
    }

    /// Sends a message of at least a byte between two `ends`. All its packets queue at the first
    /// link of `path`, where there is always room (it is the memory of the sender).
    ///
    /// # Panics
    /// `path` is empty or has a link that does not exist, or there are no bytes: a mistake of the
    /// caller.
    pub fn send(&mut self, now: Picos, ends: (u32, u32), path: &[u32], bytes: u64) -> MessageId {
        let (id, sizes) = self.store.begin(path, bytes);
        if let Some((kind, flows)) = &mut self.flows {
            flows.join(id, (*kind, ends), path, &mut self.queues);
        }
        for size in sizes {
            let packet = self.store.take(id, size, now.0);
            if self.rules.mark_above.is_some() {
                self.marks.resize(self.store.packets.len(), false);
                self.marks[packet as usize] = false;
            }
            self.enqueue(now.0, path[0], packet);
        }
        id
    }

    /// The time of the next event; `None` when all messages are gone, or none can move.
    #[inline]
    pub fn next_event(&self) -> Option<Picos> {
        self.events.first().map(|(time, _)| Picos(time))
    }

    /// Processes the next event; returns the message if its last packet is gone. Without events it
    /// does nothing.
    pub fn step(&mut self) -> Option<Gone> {
        let (now, event) = self.events.first()?;
        let link = event / KINDS;
        match event % KINDS {
            END => {
                self.events.pop();
                self.end(now, link);
                None
            }
            WORD => {
                self.hear(now, link);
                None
            }
            _ => self.arrive(now, link),
        }
    }

    /// Handles the end of a transmission on a link.
    fn end(&mut self, now: u64, at: u32) {
        let link = &mut self.links[at as usize];
        link.is_busy = false;
        let Sending { bytes, holds_room, .. } = link.sending;
        if holds_room {
            self.give_back(now, at, bytes);
        }
        self.serve(now, at);
    }

    /// Lets a queue know that there is room at the next link.
    fn hear(&mut self, now: u64, at: u32) {
        let link = &mut self.links[at as usize];
        let Some(queue) = link.words.pop(&self.queues) else { return };
        match link.words.first() {
            Some(next) => self.events.replace_first((self.queues[next as usize].since, at * KINDS + WORD)),
            None => self.events.pop(),
        }
        link.ring.push(&mut self.queues, queue);
        if !link.is_busy {
            self.serve(now, at);
        }
    }

    /// Handles a packet that has crossed a link.
    fn arrive(&mut self, now: u64, over: u32) -> Option<Gone> {
        let link = &mut self.links[over as usize];
        let id = link.way.pop(&self.store.packets)?;
        match link.way.first() {
            Some(next) => {
                self.events.replace_first((self.store.packets[next as usize].at, over * KINDS + ARRIVAL));
            }
            None => self.events.pop(),
        }
        self.crossings += 1;
        let packet = self.store.packets[id as usize];
        let onward = self.store.messages[packet.message as usize].path.get(packet.hop as usize + 1).copied();
        if link.loses() {
            link.counts.lost += 1;
            if let Some(onward) = onward {
                self.give_back(now, onward, self.links[onward as usize].wire(packet.bytes));
            }
            return self.gone(id, Fate::Dropped);
        }
        let Some(onward) = onward else {
            let marked = self.marks.get(id as usize).copied().unwrap_or(false);
            return self.gone(id, Fate::Arrived { marked });
        };
        let to = &mut self.links[onward as usize];
        if self.rules.full == Full::Drop
            && to.limit != u64::MAX
            && to.backlog(now) + to.wire(packet.bytes) > to.limit
        {
            to.counts.dropped += 1;
            return self.gone(id, Fate::Dropped);
        }
        self.store.packets[id as usize].hop += 1;
        self.enqueue(now, onward, id);
        None
    }

    fn gone(&mut self, packet: u32, fate: Fate) -> Option<Gone> {
        let gone = self.store.gone(packet, fate)?;
        if let Some((_, flows)) = &mut self.flows {
            flows.leave(gone.message);
        }
        Some(gone)
    }

    /// Puts an existing packet behind the others of its queue.
    fn enqueue(&mut self, now: u64, onto: u32, id: u32) {
        let packet = self.store.packets[id as usize];
        let queue = match &self.flows {
            None => onto,
            Some((_, flows)) => flows.queue(packet.message, packet.hop),
        };
        let link = &mut self.links[onto as usize];
        let wire = link.wire(packet.bytes);
        link.queued += wire;
        if packet.hop > 0 {
            link.held += wire;
            let backlog = link.backlog(now);
            link.counts.backlog_max = link.counts.backlog_max.max(backlog);
            if self.rules.mark_above.is_some_and(|bytes| backlog > bytes) {
                link.counts.marked += 1;
                self.marks[id as usize] = true;
            }
        }
        let of = &mut self.queues[queue as usize];
        of.bytes += wire;
        let was_empty = of.packets.is_empty();
        of.packets.push(&mut self.store.packets, id);
        if was_empty {
            link.ring.push(&mut self.queues, queue);
        }
        if !link.is_busy {
            self.serve(now, onto);
        }
    }

    /// Lets an idle link choose a packet and send it.
    fn serve(&mut self, now: u64, at: u32) {
        while let Some(id) = self.links[at as usize].ring.first() {
            let (link, queue) = (&mut self.links[at as usize], &mut self.queues[id as usize]);
            let Some(first) = queue.packets.first() else { return };
            let packet = self.store.packets[first as usize];
            let wire = link.wire(packet.bytes);
            if !queue.has_turn {
                queue.has_turn = true;
                queue.deficit = queue.deficit.saturating_add(self.quantum);
            }
            if queue.deficit < wire {
                queue.has_turn = false;
                link.ring.pop(&self.queues);
                link.ring.push(&mut self.queues, id);
                continue;
            }
            if !self.has_room(now, id, first) {
                continue;
            }
            let (link, queue) = (&mut self.links[at as usize], &mut self.queues[id as usize]);
            queue.has_room = false;
            queue.deficit -= wire;
            queue.bytes -= wire;
            link.queued -= wire;
            queue.packets.pop(&self.store.packets);
            if queue.packets.is_empty() {
                queue.give_up_turn();
                link.ring.pop(&self.queues);
            }
            return self.transmit(now, at, first, wire);
        }
    }

    /// True if there is room for the first packet of the queue whose turn it is. If not, the queue
    /// waits for room.
    #[inline]
    fn has_room(&mut self, now: u64, queue: u32, first: u32) -> bool {
        if self.rules.full == Full::Drop || self.queues[queue as usize].has_room {
            return true;
        }
        let packet = self.store.packets[first as usize];
        let path = &self.store.messages[packet.message as usize].path;
        let Some(&onward) = path.get(packet.hop as usize + 1) else { return true };
        let to = &mut self.links[onward as usize];
        let wire = to.wire(packet.bytes);
        // Queues that wait already come first.
        if to.waiters.is_empty() && to.taken + wire <= to.limit {
            to.taken += wire;
            return true;
        }
        let asking = &mut self.queues[queue as usize];
        asking.give_up_turn();
        (asking.waits_for, asking.since) = (onward, now);
        self.links[asking.link as usize].ring.pop(&self.queues);
        self.links[onward as usize].waiters.push(&mut self.queues, queue);
        self.waiting += 1;
        false
    }

    /// Frees room at a port, and gives it to the queues that wait for it, as far as it goes.
    fn give_back(&mut self, now: u64, at: u32, bytes: u64) {
        if self.rules.full == Full::Drop {
            return;
        }
        self.links[at as usize].taken -= bytes;
        while let Some(id) = self.links[at as usize].waiters.first() {
            let to = &mut self.links[at as usize];
            let Some(first) = self.queues[id as usize].packets.first() else { return };
            let wire = to.wire(self.store.packets[first as usize].bytes);
            if to.taken + wire > to.limit {
                return;
            }
            to.taken += wire;
            to.waiters.pop(&self.queues);
            self.waiting -= 1;
            let queue = &mut self.queues[id as usize];
            let from = &mut self.links[queue.link as usize];
            (queue.has_room, queue.waits_for) = (true, NONE);
            queue.since = now.saturating_add(from.delay);
            if from.words.is_empty() {
                self.events.push((queue.since, queue.link * KINDS + WORD));
            }
            from.words.push(&mut self.queues, id);
        }
    }

    /// Sends a packet over a link.
    fn transmit(&mut self, now: u64, at: u32, id: u32, wire: u64) {
        let (link, packet) = (&mut self.links[at as usize], &mut self.store.packets[id as usize]);
        let last = packet.hop as usize + 1 == self.store.messages[packet.message as usize].path.len();
        let header = self.rules.switching.header();
        let (time, ahead) = link.times(now, wire, self.store.full, header);
        // With cut-through a packet may come in more slowly than it could go out.
        let end = now.saturating_add(time).max(packet.tail_at);
        link.counts.bytes += wire;
        link.counts.busy += time;
        link.held -= if packet.hop > 0 { wire } else { 0 };
        link.sending = Sending { begin: now, end, bytes: wire, holds_room: packet.hop > 0 };
        link.is_busy = true;
        packet.tail_at = end.saturating_add(link.delay);
        packet.at = match header {
            Some(_) if !last => now.saturating_add(ahead).min(end).saturating_add(link.delay),
            _ => packet.tail_at,
        };
        let arrival = packet.at;
        if link.way.is_empty() {
            self.events.push((arrival, at * KINDS + ARRIVAL));
        }
        link.way.push(&mut self.store.packets, id);
        self.events.push((end, at * KINDS + END));
    }

    /// Number of crossings of a link by a packet so far.
    pub fn crossings(&self) -> u64 {
        self.crossings
    }

    /// Numbers of packets that arrived so far, and of those with a mark.
    pub fn arrived(&self) -> (u64, u64) {
        (self.store.arrived, self.store.marked)
    }

    /// Number of links.
    pub fn links(&self) -> u32 {
        self.links.len() as u32
    }

    /// Bytes that a link has sent so far, with the overhead of packets.
    pub fn sent(&self, now: Picos, link: u32) -> u64 {
        let link = &self.links[link as usize];
        link.counts.bytes - link.rest(now.0)
    }

    /// Transmission time of everything that a link has begun to send.
    pub fn busy(&self, link: u32) -> Picos {
        Picos(self.links[link as usize].counts.busy)
    }

    /// Bytes that wait at a link, including the rest of a packet that is being sent.
    pub fn backlog(&self, now: Picos, link: u32) -> u64 {
        self.links[link as usize].backlog(now.0)
    }

    /// The counters of a link so far.
    pub fn counts(&self, link: u32) -> Counts {
        self.links[link as usize].counts
    }
}
