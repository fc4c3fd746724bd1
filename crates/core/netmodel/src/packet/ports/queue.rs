//! The queues of links: one for each link, or one for each flow at each link of its path.

use std::collections::BTreeMap;

use super::list::{Linked, List};
use crate::fluid::runs::Runs;
use crate::packet::store::NONE;

/// The order in which a link serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// First come, first served.
    Fifo,
    /// Flows in turn, by deficit round robin (Shreedhar and Varghese 1995). Each turn is worth
    /// `quantum` bytes, overhead included. A flow keeps the unused rest for its next turn, unless
    /// it has nothing left to send.
    DeficitRoundRobin {
        /// Bytes: at least those of the largest packet on the wire, so that each turn sends
        /// something.
        quantum: u64,
        /// The unit that counts as a flow.
        flows: Flows,
    },
}

/// The unit that has a queue of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flows {
    /// All messages from one source to one destination over one path.
    Pairs,
    /// Each message.
    Messages,
}

/// Packets of a flow at a link. It is in one list at a time: that of queues that may send, of
/// queues that wait for room, or of queues that were given room and have not heard of it. Without
/// packets it is in none.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) packets: List,
    next: u32,
    pub(super) link: u32,
    /// Bytes that it may send in this turn.
    pub(super) deficit: u64,
    pub(super) has_turn: bool,
    /// True if its first packet has room at the next link.
    pub(super) has_room: bool,
    /// True if all its packets came over another link, so that they hold room here.
    pub(super) holds_room: bool,
    /// Bytes of all its packets.
    pub(super) bytes: u64,
    /// The link at which it waits for room, or none; and since when.
    pub(super) waits_for: u32,
    pub(super) since: u64,
}

impl Queue {
    /// An empty queue.
    pub(super) fn new(link: u32, holds_room: bool) -> Self {
        Self {
            packets: List::EMPTY,
            next: NONE,
            link,
            deficit: 0,
            has_turn: false,
            has_room: false,
            holds_room,
            bytes: 0,
            waits_for: NONE,
            since: 0,
        }
    }

    /// Ends its turn, and discards the unused rest.
    pub(super) fn give_up_turn(&mut self) {
        (self.deficit, self.has_turn) = (0, false);
    }
}

impl Linked for Queue {
    fn next(&self) -> u32 {
        self.next
    }

    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// The flows of messages under way.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowTable {
    /// By source, destination and path.
    known: BTreeMap<Vec<u32>, u32>,
    flows: Vec<Flow>,
    unused: Vec<u32>,
    runs: Runs,
    /// By message.
    of: Vec<u32>,
    key: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    /// Its first queue; one for each further link of its path follows.
    first: u32,
    hops: u32,
    messages: u32,
    /// `None` for a flow of a single message.
    key: Option<Vec<u32>>,
}

impl FlowTable {
    /// Adds a message; its flow has queues from now on.
    pub(super) fn join(
        &mut self,
        message: u32,
        (kind, ends): (Flows, (u32, u32)),
        path: &[u32],
        queues: &mut Vec<Queue>,
    ) {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.extend([ends.0, ends.1].iter().chain(path));
        let known = if kind == Flows::Pairs { self.known.get(&key).copied() } else { None };
        let flow = known.unwrap_or_else(|| {
            let id = self.unused.pop().unwrap_or(self.flows.len() as u32);
            if id as usize == self.flows.len() {
                self.flows.push(Flow::default());
            }
            let first = self.runs.take(path.len());
            let end = self.runs.end().max(queues.len());
            queues.resize_with(end, || Queue::new(0, false));
            for (at, (place, link)) in queues[first as usize..].iter_mut().zip(path).enumerate() {
                *place = Queue::new(*link, at > 0);
            }
            let key = (kind == Flows::Pairs).then(|| key.clone());
            if let Some(key) = &key {
                self.known.insert(key.clone(), id);
            }
            self.flows[id as usize] = Flow { first, hops: path.len() as u32, messages: 0, key };
            id
        });
        self.key = key;
        self.flows[flow as usize].messages += 1;
        if self.of.len() <= message as usize {
            self.of.resize(message as usize + 1, 0);
        }
        self.of[message as usize] = flow;
    }

    /// Removes a message, and its flow with the last one, when all queues of the flow are empty.
    pub(super) fn leave(&mut self, message: u32) {
        let id = self.of[message as usize];
        let flow = &mut self.flows[id as usize];
        flow.messages -= 1;
        if flow.messages == 0 {
            if let Some(key) = flow.key.take() {
                self.known.remove(&key);
            }
            self.runs.give_back(flow.first, flow.hops as usize);
            self.unused.push(id);
        }
    }

    /// The queue of a message at a link of its path.
    #[inline]
    pub(super) fn queue(&self, message: u32, hop: u32) -> u32 {
        self.flows[self.of[message as usize] as usize].first + hop
    }
}
