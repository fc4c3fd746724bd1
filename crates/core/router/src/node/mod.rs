//! The routers of one node: a single one, or the three of a triad (MeshRouter, figure 4), with a
//! client for each neighbour and one for the application.

mod groups;

pub use groups::{Delivery, GroupFrame, GroupPipeStatus};

use crate::message::{Fifos, Interest, Message, Origin, Priority, RouterId};
use crate::router::{Event, Router};
use crate::stats::{PipeStats, RouterStats};
use crate::{
    ClientConfig, ClientError, ClientFlags, ClientId, ClientKind, FrameError, LinkChange, MemoryPipe,
    PipeConfig, RouterConfig, pump, pump_noting,
};
use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Index of the router by which the messages of the application enter.
const PRIMARY: usize = 0;
const POP_UP: usize = 1;
const PULL_DOWN: usize = 2;

/// The layer that reports neighbours detects silent links. A router of a node therefore never gives
/// up a link by itself.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

/// A client of one of the node's routers: (router, client).
pub type RouterClient = (usize, ClientId);

/// The client that represents one channel of a link to a neighbour.
#[derive(Clone, Copy, Debug)]
struct Attachment {
    channel: u8,
    router: usize,
    client: ClientId,
}

/// The status of a router's client, for people and tools.
#[derive(Clone, Debug)]
pub struct ChannelStatus {
    /// The channel of the link.
    pub channel: u8,
    /// The router of the node to which it belongs.
    pub role: &'static str,
    /// Its flags.
    pub flags: ClientFlags,
    /// Interests that the neighbour has declared.
    pub interests: usize,
    /// Messages that wait for it.
    pub waiting: usize,
    /// Their bytes.
    pub waiting_bytes: usize,
    /// The pipe has exceeded its high-water mark: senders are paused.
    pub congested: bool,
    /// Counters of its pipe.
    pub stats: PipeStats,
}

/// The routers of one node, with a client for each neighbour.
///
/// The caller reports neighbours as paths to them come and go, passes in the frames that arrive, and
/// pulls frames when a path can take them. The application declares its interests, publishes
/// messages and polls those of other nodes. A machine without sockets, clocks and threads.
///
/// # Contract
/// After any call with `now`, poll [messages](Self::poll_message), [interests](Self::poll_wanted),
/// [relieved pipes](Self::poll_relieved), [overflows](Self::poll_overflow) and
/// [ready neighbours](Self::poll_ready) until there are none, and call
/// [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct NodeRouters<M: Message, I: Interest<Topic = M::Topic>> {
    /// One, or the Primary, the PopUp and the PullDown of a triad.
    routers: Vec<Router<M, I>>,
    pipes: Vec<MemoryPipe>,
    /// The client that represents the application of this node, at the Primary.
    application: ClientId,
    pipe: PipeConfig,
    group_pipe: PipeConfig,
    neighbours: BTreeMap<NodeKey, Vec<Attachment>>,
    /// The neighbour that each client represents.
    owners: BTreeMap<RouterClient, NodeKey>,
    relieved: VecDeque<RouterClient>,
    ready: VecDeque<NodeKey>,
    /// The pipes of multicast groups, at the router that sends to neighbours.
    groups: Vec<ClientId>,
    groups_ready: VecDeque<usize>,
    /// The pipes for frames directed at one neighbour that a group reaches, at the same router.
    directed: BTreeMap<ClientId, NodeKey>,
    /// Directed pipes with waiting frames, each with the group that carries them.
    directed_ready: BTreeSet<(usize, ClientId)>,
    wanted: VecDeque<(I, bool)>,
    /// Reliable messages in transit that found no room in the pipe to a neighbour.
    overflows: VecDeque<(NodeKey, Priority)>,
}

impl<M: Message, I: Interest<Topic = M::Topic>> NodeRouters<M, I> {
    /// The single router of the node `key`, for trees, graphs and hypercubes. `pipe` configures the
    /// clients of neighbours.
    pub fn single(now: Moment, key: NodeKey, seed: Seed, pipe: PipeConfig) -> Self {
        Self::new(now, vec![Router::new(config(key, seed, PRIMARY))], Vec::new(), pipe)
    }

    /// The triad of the node `key`, for a mesh in which every node is a neighbour of all others.
    /// `pipe` configures the clients of neighbours.
    pub fn triad(now: Moment, key: NodeKey, seed: Seed, pipe: PipeConfig) -> Self {
        let places = [PRIMARY, POP_UP, PULL_DOWN];
        let mut routers: Vec<_> = places.map(|place| Router::new(config(key, seed, place))).into();
        let pipes = triad(now, &mut routers).expect("three fresh routers have room for each other");
        Self::new(now, routers, pipes, pipe)
    }

    fn new(now: Moment, mut routers: Vec<Router<M, I>>, pipes: Vec<MemoryPipe>, pipe: PipeConfig) -> Self {
        let application =
            routers[PRIMARY].add_client(now, ClientConfig::advised()).expect("it is the first client");
        Self {
            routers,
            pipes,
            application,
            group_pipe: pipe.clone(),
            pipe,
            neighbours: BTreeMap::new(),
            owners: BTreeMap::new(),
            relieved: VecDeque::new(),
            ready: VecDeque::new(),
            groups: Vec::new(),
            groups_ready: VecDeque::new(),
            directed: BTreeMap::new(),
            directed_ready: BTreeSet::new(),
            wanted: VecDeque::new(),
            overflows: VecDeque::new(),
        }
    }

    fn is_triad(&self) -> bool {
        self.routers.len() > 1
    }

    /// Bytes that wait in all pipes.
    pub fn queued_bytes(&self) -> usize {
        self.routers.iter().map(Router::queued_bytes).sum()
    }

    /// Index of the router that sends to neighbours.
    fn sender(&self) -> usize {
        if self.is_triad() { POP_UP } else { PRIMARY }
    }

    /// Index of the router that receives from neighbours.
    fn receiver(&self) -> usize {
        if self.is_triad() { PULL_DOWN } else { PRIMARY }
    }

    fn client_at(&self, key: NodeKey, router: usize) -> Option<ClientId> {
        let attachments = self.neighbours.get(&key)?;
        attachments.iter().find(|attachment| attachment.router == router).map(|attachment| attachment.client)
    }

    /// Adds a neighbour, or replaces its former clients. `initiator`: this node made the link. `flags`
    /// and `rank` are those of the client that represents the neighbour. A triad has its own: all
    /// neighbours are above it, a sink of its PopUp and a source of its PullDown.
    ///
    /// # Errors
    /// The routers have no room for another client.
    pub fn neighbour_up(
        &mut self,
        now: Moment,
        key: NodeKey,
        initiator: bool,
        flags: ClientFlags,
        rank: u8,
    ) -> Result<(), ClientError> {
        self.neighbour_down(now, key);
        let (source, sink, upper) = (ClientFlags::SOURCE, ClientFlags::SINK, ClientFlags::UPPER);
        // The channel of each PopUp has the number of its end, so that both ends agree.
        let own_pop_up = if initiator { 1 } else { 2 };
        let plan = match self.is_triad() {
            true => {
                vec![(own_pop_up, POP_UP, sink | upper), (3 - own_pop_up, PULL_DOWN, source | upper)]
            }
            false => vec![(1, PRIMARY, flags)],
        };
        let mut attachments = Vec::new();
        for (channel, router, flags) in plan {
            let config = ClientConfig { flags, rank, kind: ClientKind::Link, pipe: self.pipe.clone() };
            let client = self.routers[router].add_client(now, config)?;
            self.routers[router].handle_link(now, client, LinkChange::Up)?;
            self.owners.insert((router, client), key);
            attachments.push(Attachment { channel, router, client });
        }
        self.neighbours.insert(key, attachments);
        self.settle(now);
        Ok(())
    }

    /// Removes a neighbour and the messages that wait for it.
    pub fn neighbour_down(&mut self, now: Moment, key: NodeKey) {
        let Some(attachments) = self.neighbours.remove(&key) else { return };
        self.end_directed(now, key);
        for Attachment { router, client, .. } in attachments {
            self.routers[router].remove_client(now, client);
            self.owners.remove(&(router, client));
            self.relieved.push_back((router, client));
        }
        self.settle(now);
    }

    /// Neighbours at this moment.
    pub fn neighbours(&self) -> impl Iterator<Item = NodeKey> + '_ {
        self.neighbours.keys().copied()
    }

    /// Handles a frame of a neighbour's channel, or, with `datagram`, one that came beside the link
    /// and may have been reordered, repeated or preceded by losses.
    ///
    /// # Errors
    /// The neighbour broke the protocol: end the link.
    pub fn handle_frame(
        &mut self,
        now: Moment,
        key: NodeKey,
        channel: u8,
        frame: Bytes,
        datagram: bool,
    ) -> Result<(), FrameError> {
        let attachments = self.neighbours.get(&key).map(Vec::as_slice).unwrap_or_default();
        // One end has just begun or ceased to use the link. A layer above may request again what is
        // lost.
        let Some(&Attachment { router, client, .. }) =
            attachments.iter().find(|attachment| attachment.channel == channel)
        else {
            return Ok(());
        };
        let router = &mut self.routers[router];
        let _received = match datagram {
            false => router.handle_frame(now, client, frame)?,
            true => router.handle_datagram(now, client, frame)?,
        };
        self.settle(now);
        Ok(())
    }

    /// Sends a message of the application to all interested nodes. Returns the congested pipes in
    /// which it waits and from which it must not be dropped: pause its sender until each of them is
    /// [relieved](Self::poll_relieved).
    pub fn publish(&mut self, now: Moment, message: M) -> Vec<RouterClient> {
        let mut waits_in = Vec::new();
        match self.routers[PRIMARY].submit(now, self.application, message) {
            Ok(done) => waits_in.extend(done.waits_in.iter().map(|client| (PRIMARY, *client))),
            Err(error) => tracing::error!(%error, "a message of this node was not sent"),
        }
        if let Err(error) = pump_noting(now, &mut self.routers, &self.pipes, &mut waits_in) {
            tracing::error!(%error, "routers of one node disagree");
        }
        self.take_all_events();
        let sender = self.sender();
        waits_in.retain(|place| {
            self.owners.contains_key(place)
                || place.0 == sender
                    && (self.groups.contains(&place.1) || self.directed.contains_key(&place.1))
        });
        waits_in
    }

    /// Declares or withdraws an interest of the application.
    pub fn set_interest(&mut self, now: Moment, interest: &I, any: bool) {
        let result = self.routers[PRIMARY].set_interest(now, self.application, interest.clone(), any);
        if let Err(error) = result {
            tracing::error!(%error, ?interest, "interest of this node not declared");
        }
        self.settle(now);
    }

    /// Declares or withdraws an advertisement: the application may send what it matches.
    pub fn set_advertisement(&mut self, now: Moment, advertisement: &I, any: bool) {
        let router = &mut self.routers[PRIMARY];
        if let Err(error) = router.set_advertisement(now, self.application, advertisement.clone(), any) {
            tracing::error!(%error, ?advertisement, "advertisement of this node not declared");
        }
        self.settle(now);
    }

    /// A message for the application.
    pub fn poll_message(&mut self) -> Option<M> {
        self.routers[PRIMARY].poll_message(self.application)
    }

    /// A change of the other nodes' interest: whether any of them has it now.
    pub fn poll_wanted(&mut self) -> Option<(I, bool)> {
        self.wanted.pop_front()
    }

    /// A neighbour whose pipe had no room for a reliable message in transit.
    pub fn poll_overflow(&mut self) -> Option<(NodeKey, Priority)> {
        self.overflows.pop_front()
    }

    /// A neighbour for which frames wait. It is named once until drained.
    pub fn poll_ready(&mut self) -> Option<NodeKey> {
        self.ready.pop_front()
    }

    /// The next frame for a neighbour, from the given FIFOs, and its channel.
    pub fn poll_frame(&mut self, now: Moment, key: NodeKey, fifos: Fifos, max: usize) -> Option<(u8, Bytes)> {
        let (attachments, routers) = (self.neighbours.get(&key)?, &mut self.routers);
        let next = attachments.iter().find_map(|attachment| {
            let router = &mut routers[attachment.router];
            Some((attachment.channel, router.poll_frame_of(now, attachment.client, fifos, max)?))
        });
        self.settle(now);
        next
    }

    /// Whether a pipe has exceeded its high-water mark.
    pub fn is_congested(&self, (router, client): RouterClient) -> bool {
        self.routers[router].is_congested(client)
    }

    /// A pipe that is no longer congested, or has been removed.
    pub fn poll_relieved(&mut self) -> Option<RouterClient> {
        self.relieved.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.routers.iter().filter_map(Router::poll_timeout).min()
    }

    /// Lets the routers do their timed work, such as sending a bundle that has waited long enough.
    pub fn handle_timeout(&mut self, now: Moment) {
        for router in &mut self.routers {
            router.handle_timeout(now);
        }
        self.settle(now);
    }

    /// Moves messages between the routers of this node and takes in their events.
    fn settle(&mut self, now: Moment) {
        if let Err(error) = pump(now, &mut self.routers, &self.pipes) {
            tracing::error!(%error, "routers of one node disagree");
        }
        self.take_all_events();
    }

    fn take_all_events(&mut self) {
        for place in 0..self.routers.len() {
            if self.routers[place].has_news() {
                self.take_events(place);
            }
        }
    }

    fn take_events(&mut self, place: usize) {
        while let Some(event) = self.routers[place].poll_event() {
            match event {
                Event::InterestChanged { interest, any, .. } => self.wanted.push_back((interest, any)),
                Event::Relieved { client } | Event::Removed { client, .. } => {
                    self.relieved.push_back((place, client));
                }
                Event::Overflow { client, class } => {
                    if let Some(&key) = self.owners.get(&(place, client)) {
                        self.overflows.push_back((key, class));
                    }
                }
                Event::Congested { .. } | Event::Connect { .. } | Event::Met { .. } | Event::Lost { .. } => {}
            }
        }
        while let Some(client) = self.routers[place].poll_ready() {
            if let Some(&key) = self.owners.get(&(place, client)) {
                self.ready.push_back(key);
            } else if place == self.sender() {
                self.note_group_ready(client);
            }
        }
    }

    /// Counters of each router of the node, with its role.
    pub fn stats(&self) -> Vec<(&'static str, RouterStats)> {
        self.routers
            .iter()
            .enumerate()
            .map(|(place, router)| (self.role(place), router.stats().clone()))
            .collect()
    }

    /// Messages received from all neighbours.
    pub fn received_messages(&self) -> u64 {
        // Only neighbours send to this router through pipes.
        self.routers[self.receiver()].stats().received_messages
    }

    /// Messages sent to a neighbour.
    pub fn sent_to(&self, key: NodeKey) -> u64 {
        let attachments = self.neighbours.get(&key).into_iter().flatten();
        let stats = attachments
            .filter_map(|attachment| self.routers[attachment.router].pipe_stats(attachment.client));
        stats.map(|stats| stats.sent_messages).sum()
    }

    /// The channels to a neighbour.
    pub fn channels(&self, key: NodeKey) -> Vec<ChannelStatus> {
        let attachments = self.neighbours.get(&key).map(Vec::as_slice).unwrap_or_default();
        let status = |attachment: &Attachment| {
            let router = &self.routers[attachment.router];
            let (waiting, waiting_bytes) = router.queued(attachment.client)?;
            Some(ChannelStatus {
                channel: attachment.channel,
                role: self.role(attachment.router),
                flags: router.flags(attachment.client)?,
                interests: router.interests(attachment.client).count(),
                waiting,
                waiting_bytes,
                congested: router.is_congested(attachment.client),
                stats: router.pipe_stats(attachment.client)?.clone(),
            })
        };
        attachments.iter().filter_map(status).collect()
    }

    fn role(&self, place: usize) -> &'static str {
        match place {
            _ if !self.is_triad() => "router",
            POP_UP => "PopUp",
            PULL_DOWN => "PullDown",
            _ => "Primary",
        }
    }
}

/// Settings of one router of a node.
fn config(key: NodeKey, seed: Seed, place: usize) -> RouterConfig {
    // Each incarnation of a node has a key of its own. Together with the router's index it gives
    // each router a unique origin.
    let mixed = if place == PRIMARY { key.0 } else { Seed(key.0).split_index(place as u64).0 };
    let origin = Origin { router: RouterId((mixed >> 32) as u32), epoch: mixed as u32 };
    let mut config = RouterConfig::new(origin.router, seed.split_index(place as u64));
    config.origin = origin;
    config.keep_alive = NEVER;
    config.silence_max = NEVER;
    config
}

/// Joins a Primary with its PopUp and its PullDown. Messages of the application go up to the PopUp;
/// messages from the mesh come down from the PullDown.
fn triad<M: Message, I: Interest<Topic = M::Topic>>(
    now: Moment,
    routers: &mut [Router<M, I>],
) -> Result<Vec<MemoryPipe>, ClientError> {
    let (source, sink, upper) = (ClientFlags::SOURCE, ClientFlags::SINK, ClientFlags::UPPER);
    let mut join = |primary: ClientFlags, place: usize, other: ClientFlags| {
        let a = routers[PRIMARY].add_client(now, ClientConfig::memory(primary))?;
        let b = routers[place].add_client(now, ClientConfig::memory(other))?;
        Ok(MemoryPipe { a: (PRIMARY, a), b: (place, b) })
    };
    Ok(vec![join(sink | upper, POP_UP, source)?, join(source | upper, PULL_DOWN, sink)?])
}
