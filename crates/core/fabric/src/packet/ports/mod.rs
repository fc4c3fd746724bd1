//! Packets at links whose departures are not known when packets arrive: taken in turn, waiting for room at the next link, or for tokens.
//!
//! Two events for each crossing of a link by a packet: its end, which lets the link choose what to send next, and the arrival at the other
//! end. With links that serve first come, first served, and nothing else, [`Packets`](super::Packets) gives the same times for less.
//!
//! **Back-pressure** ([`Full::Wait`]) is flow control by credit, link by link: a packet leaves for a switch only when the port it goes to there has room
//! for it, and that room is kept for it from then on. Who finds none waits, in the order of asking, and hears of room after the delay
//! of its link. A queue waits as a whole. With one queue for each link whoever is behind is held up, wherever it goes (head-of-line blocking);
//! with a queue for each flow only that flow is. Links that wait for each other in a circle wait for ever: [`Ports::deadlock`].

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

/// What happens to a packet that finds no room at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// It is dropped.
    Drop,
    /// It waits where it is.
    Wait,
}

/// How links serve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// When switches pass packets on.
    pub switching: Switching,
    /// Who is next.
    pub discipline: Discipline,
    /// What happens at full ports.
    pub full: Full,
    /// A packet is marked when it finds more bytes than this waiting at a port of a switch, itself included (explicit congestion
    /// notification, RFC 3168, by a threshold). `None`: never.
    pub mark_above: Option<u64>,
}

/// Kinds of events: the number of an event is that of its link, then this.
const END: u32 = 0;
const WORD: u32 = 1;
const ARRIVAL: u32 = 2;
const KINDS: u32 = 4;

/// Packets on links, with rules.
#[derive(Clone, Debug)]
pub struct Ports {
    rules: Rules,
    /// What a turn is worth.
    quantum: u64,
    links: Vec<Link>,
    /// One for each link, or for each flow at each link.
    queues: Vec<Queue>,
    flows: Option<(Flows, FlowTable)>,
    events: Ladder,
    store: Store,
    /// By packet: whether it has a mark.
    marks: Vec<bool>,
    /// Queues that wait for room.
    waiting: u32,
    crossings: u64,
}

impl Ports {
    /// Idle links. Messages are cut into packets of at most `packet_bytes`.
    ///
    /// # Panics
    /// `packet_bytes` is 0, a quantum is less than a packet on the wire, a port that makes others wait has no room for a packet, or links
    /// are too many to be numbered: mistakes of the caller.
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

    /// Sends a message of at least a byte between two `ends`: all its packets queue at the first link of `path`, where there is always room
    /// (it is the memory of the sender).
    ///
    /// # Panics
    /// `path` is empty or has a link that there is not, or there are no bytes: a mistake of the caller.
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

    /// When the next event is due; `None` when all messages are gone, or none can move.
    #[inline]
    pub fn next_event(&self) -> Option<Picos> {
        self.events.first().map(|(time, _)| Picos(time))
    }

    /// Lets the next event happen; answers when the last packet of a message is gone. Without events nothing happens.
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

    /// A link has sent a packet.
    fn end(&mut self, now: u64, at: u32) {
        let link = &mut self.links[at as usize];
        link.is_busy = false;
        let Sending { bytes, holds_room, .. } = link.sending;
        if holds_room {
            self.give_back(now, at, bytes);
        }
        self.serve(now, at);
    }

    /// A queue hears that there is room at the next link.
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

    /// A packet has crossed a link.
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

    /// Puts a packet that is there behind the others of its queue.
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

    /// An idle link chooses what to send.
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

    /// Whether there is room for the first packet of a queue that is next to send. If not, the queue waits for room.
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
        // Whoever waits is first.
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

    /// Room at a port is free again: those who wait for it get it, as far as it goes.
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

    /// A link sends a packet.
    fn transmit(&mut self, now: u64, at: u32, id: u32, wire: u64) {
        let (link, packet) = (&mut self.links[at as usize], &mut self.store.packets[id as usize]);
        let last = packet.hop as usize + 1 == self.store.messages[packet.message as usize].path.len();
        let header = self.rules.switching.header();
        let (time, ahead) = link.times(now, wire, self.store.full, header);
        // Packets that are cut through may be slower to come than to go.
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

    /// Crossings of a link by a packet so far.
    pub fn crossings(&self) -> u64 {
        self.crossings
    }

    /// Packets that arrived so far, and those of them with a mark.
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

    /// Time that a link has been at work for what it has begun to send.
    pub fn busy(&self, link: u32) -> Picos {
        Picos(self.links[link as usize].counts.busy)
    }

    /// Bytes that wait at a link, the rest of a packet that is being sent included.
    pub fn backlog(&self, now: Picos, link: u32) -> u64 {
        self.links[link as usize].backlog(now.0)
    }

    /// What a link has counted so far.
    pub fn counts(&self, link: u32) -> Counts {
        self.links[link as usize].counts
    }
}
