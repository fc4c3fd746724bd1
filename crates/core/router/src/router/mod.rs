//! The router and its event types.

mod advertisements;
mod backpressure;
mod clients;
mod forward;
mod groups;
mod interests;
mod links;
mod poll;

pub use groups::GROUPS_MAX;
pub use links::Received;

use crate::client::{ClientFlags, ClientId, Clients, Ready};
use crate::connection::ConnectionManager;
use crate::duplicates::Duplicates;
use crate::interest::Table;
use crate::message::{Interest, KINDS, Message, Priority};
use crate::queue::Enqueued;
use crate::stats::{PipeStats, RouterStats};
use crate::{ClientError, ClientKind, RouterConfig};
use base::Moment;
use smallvec::SmallVec;
use std::collections::{BTreeSet, VecDeque};

/// The reason why a client can no longer be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The world reported that the link went down or could not be brought up.
    LinkDown,
    /// Nothing was heard for [`RouterConfig::silence_max`]: the world should close the link.
    Silent,
}

/// An output of a router for its world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<I> {
    /// Bring up a link to this persistent client, then report with `handle_link`.
    Connect {
        /// The client.
        client: ClientId,
        /// 1 for the first attempt since the link was last up.
        attempt: u32,
    },
    /// The peer of a link identified itself.
    Met {
        /// The client.
        client: ClientId,
        /// Its identity.
        peer: crate::Origin,
    },
    /// A persistent client can no longer be reached; `Connect` follows.
    Lost {
        /// The client.
        client: ClientId,
        /// The reason.
        why: Gone,
    },
    /// A client that is not persistent stopped communicating and was removed; its id is no longer
    /// valid.
    Removed {
        /// The client.
        client: ClientId,
        /// The reason.
        why: Gone,
    },
    /// The interest in the messages of `client` changed. Only local sources that asked for advice
    /// get this.
    InterestChanged {
        /// The local source.
        client: ClientId,
        /// The interest that some client now has, or no longer has.
        interest: I,
        /// True: now wanted. False: no longer.
        any: bool,
    },
    /// More than [`PipeConfig::high_water`](crate::PipeConfig::high_water) bytes wait for this
    /// client, or a message finds no room. Hold back reliable senders to it until it is relieved,
    /// removed or disconnected.
    Congested {
        /// The client.
        client: ClientId,
    },
    /// At most [`PipeConfig::low_water`](crate::PipeConfig::low_water) bytes wait for this client
    /// again.
    Relieved {
        /// The client.
        client: ClientId,
    },
    /// A message from another router, which must not be dropped, found no room in the pipe of this
    /// client. It is lost for the client: disconnect the client, or accept the loss.
    Overflow {
        /// The client.
        client: ClientId,
        /// The class of the message.
        class: Priority,
    },
}

/// The outcome of a submitted message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Submitted {
    /// Number of pipes in which it waits.
    pub queued: u32,
    /// Messages dropped for want of room: this one, or older ones that made room for it. Each pipe
    /// counts.
    pub dropped: u32,
    /// A pipe in which it waits is congested: hold the sender back until that client is relieved.
    pub congested: bool,
    /// Clients whose pipes had no room for it although it must not be dropped.
    pub refused: SmallVec<[ClientId; 4]>,
    /// The congested pipes in which it waits and must not be dropped, by client of this router. The
    /// sender may go on when each of them is named in [`Event::Relieved`] or is removed.
    /// [`pump_noting`](crate::pump_noting) names the pipes behind memory pipes.
    pub waits_in: SmallVec<[ClientId; 4]>,
}

/// Moves messages from sources to sinks by interest.
///
/// Contract: after any `&mut` call drain [`poll_event`](Router::poll_event), then
/// [`poll_ready`](Router::poll_ready). Drain each client that it names with `poll_message` (local),
/// `poll_parcel` (memory) or `poll_frame` (link) until `None`, or remember to do so when its link
/// can take more: it is not named again before that. Then sleep until
/// [`poll_timeout`](Router::poll_timeout), which is the last `now` seen while events or unnamed
/// ready clients are pending, and call [`handle_timeout`](Router::handle_timeout). `now` never
/// decreases (a smaller one counts as the last seen). Spurious timeouts are harmless.
///
/// Links keep order and lose nothing, or go down; datagrams may be lost. On every single path,
/// messages of one source and one class reach each sink in the order in which they were submitted.
#[derive(Debug)]
pub struct Router<M: Message, I: Interest<Topic = M::Topic>> {
    config: RouterConfig,
    now: Moment,
    clients: Clients<M, I>,
    table: Table<I>,
    /// Sources to which interests are announced: all but local ones that did not ask for advice.
    announced_sources: BTreeSet<ClientId>,
    /// The advertisements of sources.
    advertisements: Table<I>,
    /// Sinks to which advertisements are announced: all but local ones.
    announced_sinks: BTreeSet<ClientId>,
    /// Number of pairs of a waiting client and a pipe that it waits for.
    blocked: usize,
    connections: ConnectionManager,
    duplicates: Duplicates,
    /// Next number of a message that enters here, by kind.
    sequences: [u64; KINDS],
    ready: VecDeque<ClientId>,
    events: VecDeque<Event<I>>,
    /// Reused by every forwarding, so that none allocates.
    scratch: Vec<ClientId>,
    mark: u64,
    /// Pipes that stand for several clients; topics are spread over them.
    groups: Vec<ClientId>,
    /// Bytes that wait in all pipes.
    queued_bytes: usize,
    stats: RouterStats,
}

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// A router without clients.
    pub fn new(config: RouterConfig) -> Self {
        Self {
            now: Moment::ZERO,
            clients: Clients::new(),
            table: Table::new(),
            announced_sources: BTreeSet::new(),
            advertisements: Table::new(),
            announced_sinks: BTreeSet::new(),
            blocked: 0,
            groups: Vec::new(),
            connections: ConnectionManager::new(config.backoff.clone(), config.seed.split("backoff")),
            duplicates: Duplicates::default(),
            sequences: [0; KINDS],
            ready: VecDeque::new(),
            events: VecDeque::new(),
            scratch: Vec::new(),
            mark: 0,
            queued_bytes: 0,
            stats: RouterStats::default(),
            config,
        }
    }

    /// Its settings.
    pub fn config(&self) -> &RouterConfig {
        &self.config
    }

    /// Its counters.
    pub fn stats(&self) -> &RouterStats {
        &self.stats
    }

    /// The counters of a client's pipe.
    pub fn pipe_stats(&self, client: ClientId) -> Option<&PipeStats> {
        self.clients.get(client).map(|client| &client.pipe.stats)
    }

    /// Messages and bytes that wait in a client's pipe.
    pub fn queued(&self, client: ClientId) -> Option<(usize, usize)> {
        self.clients.get(client).map(|client| (client.pipe.queued_messages(), client.pipe.queued_bytes()))
    }

    /// Bytes that wait in the pipes of all clients together, as a running sum.
    pub const fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// True when the pipe is congested: see [`Event::Congested`].
    pub fn is_congested(&self, client: ClientId) -> bool {
        self.clients.get(client).is_some_and(|client| client.pipe.congested)
    }

    /// True for local and memory clients, and for link clients whose link is up.
    pub fn is_up(&self, client: ClientId) -> bool {
        self.clients.get(client).is_some_and(|client| client.up)
    }

    /// The identity of the router behind a client, once it has greeted.
    pub fn peer(&self, client: ClientId) -> Option<crate::Origin> {
        self.clients.get(client)?.peer
    }

    /// The flags of a client.
    pub fn flags(&self, client: ClientId) -> Option<ClientFlags> {
        self.clients.get(client).map(|client| client.flags)
    }

    /// The kind of a client.
    pub fn kind(&self, client: ClientId) -> Option<ClientKind> {
        self.clients.get(client).map(|client| client.kind)
    }

    /// All clients, by slot.
    pub fn clients(&self) -> impl Iterator<Item = ClientId> + '_ {
        (0..self.clients.slots()).filter_map(|slot| self.clients.at(slot).map(|(id, _)| id))
    }

    /// Number of clients.
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// True when some client has declared exactly this interest and messages of `source` go to it.
    pub fn is_wanted(&self, source: ClientId, interest: &I) -> bool {
        let Some(client) = self.clients.get(source) else { return false };
        self.table.is_wanted_of(interest, source, client.level)
    }

    /// True when a message of `source` about `topic` would go to any client.
    pub fn has_sinks(&self, source: ClientId, topic: &M::Topic) -> bool {
        let Some(client) = self.clients.get(source) else { return false };
        let mut any = false;
        self.table.each_sink(topic, source, client.level, |_| any = true);
        any
    }

    fn observe(&mut self, now: Moment) {
        self.now = self.now.max(now);
    }

    /// Lists the client for `poll_ready` if its pipe has something to send now.
    fn wake(&mut self, id: ClientId) {
        let now = self.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        if !client.up || client.ready != Ready::Idle {
            return;
        }
        if client.pipe.is_due(now) {
            client.ready = Ready::Listed;
            self.ready.push_back(id);
        } else if let Some(due) = client.pipe.bundle_due(now) {
            let timer = crate::connection::Timer::Bundle(id);
            if !self.connections.is_set(timer) {
                self.connections.set(timer, due);
            }
        }
    }

    /// Puts a message into a pipe.
    fn enqueue(&mut self, id: ClientId, envelope: crate::Envelope<M>) -> Result<Enqueued, ClientError> {
        let now = self.now;
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        let before = client.pipe.queued_bytes();
        let enqueued = client.pipe.push(now, envelope);
        self.queued_bytes = self.queued_bytes + client.pipe.queued_bytes() - before;
        if matches!(enqueued, Enqueued::Queued { .. } | Enqueued::Replaced) {
            self.stats.forwarded_messages += 1;
            if client.pipe.rises() {
                self.events.push_back(Event::Congested { client: id });
            }
            self.wake(id);
        }
        Ok(enqueued)
    }
}
