//! Clients: neighbours of a router, with their interest, their pipe and their four flags.

use crate::credit::Window;
use crate::interest::Adverts;
use crate::message::{Interest, Message, Origin};
use crate::pipe::Pipe;
use crate::reassembly::{BestEffortReassembly, Reassembly};
use crate::stalled::Stalled;
use crate::{ClientConfig, ClientKind};
use base::Moment;
use indexmap::IndexSet;
use smallvec::SmallVec;
use std::fmt;

bitflags::bitflags! {
    /// The four flags that make every topology (Gottschalk, Amburn and Davis 2005, section 3.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct ClientFlags: u8 {
        /// The client sends messages; it is told which of them are wanted.
        const SOURCE = 1;
        /// The client receives messages; its interest counts.
        const SINK = 2;
        /// The client is (re)connected. Others are removed when they stop communicating.
        const PERSISTENT = 4;
        /// The client is above this router: its messages go only to lower clients. A client without
        /// this flag is lower.
        const UPPER = 8;
    }
}

/// A client of a router: slot and generation, so that a stale id finds nothing rather than the
/// client that now uses the slot. The pipe of the client has the same id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl ClientId {
    /// Position in tables of this router's clients: small, and reused after the client is gone.
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.generation {
            0 => write!(f, "c{}", self.slot),
            generation => write!(f, "c{}.{generation}", self.slot),
        }
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Height of a client for the forwarding rule: 0 is lower, others are upper by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(pub(crate) u8);

impl Level {
    pub(crate) const LOWER: Level = Level(0);

    pub(crate) fn new(flags: ClientFlags, rank: u8) -> Self {
        if flags.contains(ClientFlags::UPPER) { Level(rank.saturating_add(1)) } else { Self::LOWER }
    }

    /// The level by which advertisements, which travel from sources to sinks, obey the same rule as
    /// interests: `a.may_send_to(b)` exactly if `b.turned().may_send_to(a.turned())`.
    pub(crate) fn turned(self) -> Level {
        Level(self.0.wrapping_neg())
    }

    /// True if a message may go from a client of this level to another client of level `to`.
    pub(crate) fn may_send_to(self, to: Level) -> bool {
        self == Self::LOWER || to < self
    }
}

/// The state of a client in `poll_ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// There is nothing to name it for.
    Idle,
    /// In the list of `poll_ready`.
    Listed,
    /// Named; the caller has not yet drained it.
    Named,
}

/// One neighbour.
#[derive(Debug)]
pub(crate) struct Client<M, I: Interest> {
    pub(crate) flags: ClientFlags,
    pub(crate) kind: ClientKind,
    pub(crate) level: Level,
    pub(crate) pipe: Pipe<M, I>,
    /// The interests that it declared.
    pub(crate) interests: IndexSet<I>,
    /// The advertisements that it made.
    pub(crate) advertisements: IndexSet<I>,
    /// The interests that it was told of.
    pub(crate) adverts: Adverts<I>,
    /// The advertisements that it was told of.
    pub(crate) advertised: Adverts<I>,
    pub(crate) reassembly: Reassembly,
    pub(crate) best_effort_reassembly: BestEffortReassembly,
    /// The credit that it was granted.
    pub(crate) window: Window,
    /// Congested pipes in which its messages wait. It gets no credit until they are relieved.
    pub(crate) blocked_by: SmallVec<[ClientId; 2]>,
    /// Its messages for which some pipe has no room.
    pub(crate) stalled: Stalled<M>,
    /// Local and memory clients are always up.
    pub(crate) up: bool,
    pub(crate) peer: Option<Origin>,
    pub(crate) last_heard: Moment,
    pub(crate) last_sent: Moment,
    pub(crate) ready: Ready,
    /// Stamp of the last message that was routed to it, so that several matching interests count
    /// once.
    pub(crate) mark: u64,
    /// The groups that reach it, one bit each.
    pub(crate) covered: u64,
    /// The pipe for messages directed at it alone.
    pub(crate) directed: Option<ClientId>,
}

impl<M: Message, I: Interest> Client<M, I> {
    pub(crate) fn new(now: Moment, config: ClientConfig) -> Self {
        let summary_above = config.pipe.interests_per_key_max;
        Self {
            flags: config.flags,
            kind: config.kind,
            level: Level::new(config.flags, config.rank),
            reassembly: Reassembly::new(config.pipe.message_bytes_max),
            best_effort_reassembly: BestEffortReassembly::new(config.pipe.message_bytes_max),
            window: Window::new(&config.pipe),
            blocked_by: SmallVec::new(),
            stalled: Stalled::new(),
            pipe: Pipe::new(config.pipe),
            interests: IndexSet::new(),
            advertisements: IndexSet::new(),
            adverts: Adverts::new(summary_above),
            advertised: Adverts::new(summary_above),
            up: config.kind != ClientKind::Link,
            peer: None,
            last_heard: now,
            last_sent: now,
            ready: Ready::Idle,
            mark: 0,
            covered: 0,
            directed: None,
        }
    }

    pub(crate) fn is(&self, flag: ClientFlags) -> bool {
        self.flags.contains(flag)
    }
}

/// The clients of a router, by slot.
#[derive(Debug)]
pub(crate) struct Clients<M, I: Interest> {
    slots: Vec<(u32, Option<Client<M, I>>)>,
    free: Vec<u32>,
}

impl<M: Message, I: Interest> Clients<M, I> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, client: Client<M, I>) -> ClientId {
        if let Some(slot) = self.free.pop() {
            let (generation, entry) = &mut self.slots[slot as usize];
            *entry = Some(client);
            return ClientId { slot, generation: *generation };
        }
        let slot = u32::try_from(self.slots.len()).expect("clients_max keeps slots far below 2^32");
        self.slots.push((0, Some(client)));
        ClientId { slot, generation: 0 }
    }

    pub(crate) fn remove(&mut self, id: ClientId) -> Option<Client<M, I>> {
        self.get(id)?;
        let (generation, entry) = &mut self.slots[id.slot()];
        *generation = generation.wrapping_add(1);
        self.free.push(id.slot);
        entry.take()
    }

    pub(crate) fn get(&self, id: ClientId) -> Option<&Client<M, I>> {
        let (generation, client) = self.slots.get(id.slot())?;
        if *generation == id.generation { client.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, id: ClientId) -> Option<&mut Client<M, I>> {
        let (generation, client) = self.slots.get_mut(id.slot())?;
        if *generation == id.generation { client.as_mut() } else { None }
    }

    /// The client in slot `slot`, if any: for walks over all clients in slot order.
    pub(crate) fn at(&self, slot: usize) -> Option<(ClientId, &Client<M, I>)> {
        let (generation, client) = self.slots.get(slot)?;
        let slot = u32::try_from(slot).ok()?;
        client.as_ref().map(|client| (ClientId { slot, generation: *generation }, client))
    }

    /// One above the largest slot in use.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }
}
