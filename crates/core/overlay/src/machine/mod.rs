//! The machine: its state, its timers and its outputs. Its parts, by concern:
//!
//! | module | concern |
//! | --- | --- |
//! | `handshake` | greetings, refusals, which of two links stays |
//! | `links` | links that come, live and go; targets |
//! | `frames` | the choice of the next frame on a link |
//! | `flood` | the map: announcing, passing on, ageing |
//! | `routes` | consequences of a new map: reachability, paths, cycles, names |
//! | `unicast` | messages to any node |
//! | `tunnels` | channel frames to nodes without a link |
//! | `learn` | nodes of a mesh that nobody configured |
//! | `demand` | links that follow the traffic of a mesh |
//! | `view` | the network as a table |

mod demand;
mod flood;
mod frames;
mod handshake;
mod learn;
mod links;
mod routes;
mod tunnels;
mod unicast;
mod view;

use crate::config::{Config, Target, check_target, check_urls};
use crate::demand::Demand;
use crate::error::ConfigError;
use crate::event::Event;
use crate::graph::Routes;
use crate::identity::NetworkIdentity;
use crate::link::{Link, Ready};
use crate::map::{Entry, Map};
use crate::reassembly::Reassembly;
use crate::status::OverlayStats;
use crate::target::Targets;
use crate::throttle::Throttle;
use crate::tunnel::Tunnel;
use crate::{INFO_BYTES_MAX, LinkId, TargetId};
use base::{Deadlines, Moment, NodeKey};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// All timers of an overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The next attempt at a target is due.
    Connect(TargetId),
    /// A link has not greeted.
    Greeting(LinkId),
    /// A link may need a sign of life.
    KeepAlive(LinkId),
    /// A link may be dead.
    Silence(LinkId),
    /// A link that is to be closed has not taken its last frames.
    Close(LinkId),
    /// Entries of other nodes may go over a link again.
    RateLimit(LinkId),
    /// A link closes a cycle.
    Cycle(LinkId),
    /// An announcement of this node is due.
    Announce,
    /// The computation of routes is due.
    Routes,
    /// A node has been out of reach for so long that neighbours may have forgotten it.
    Suspect(NodeKey),
    /// A node has been out of reach for too long and is forgotten.
    Forget(NodeKey),
    /// A tunnel is to be made, opened or repeated.
    Tunnel(NodeKey),
    /// A node of a mesh has not connected to this one.
    Learn(NodeKey),
    /// A window over which traffic is measured ends.
    Demand,
}

/// The links that this node has had with another one.
#[derive(Clone, Debug)]
struct Relation {
    /// The end and the terms of the last link, for the tunnel that takes its place.
    initiator: bool,
    terms: Bytes,
    /// The last links that fell silent before they were steady; at most [`SILENT_LINKS_MAX`] count.
    silent_links: u32,
}

/// Each link that falls silent before it is steady doubles the silence allowed to the next one, up
/// to this many times, until a link to the same node has been steady. The first frames of several
/// links may fill the queue of a slow line for longer than [`Timing::silence_max`]. The other end
/// of each link then seems dead; their replacements begin with the same frames, and would fall
/// silent again, for ever.
///
/// [`Timing::silence_max`]: crate::Timing::silence_max
const SILENT_LINKS_MAX: u32 = 2;

/// The part of one node in the network.
///
/// # Contract
/// - `now` never goes back. Call [`handle_timeout`](Self::handle_timeout) at
///   [`poll_timeout`](Self::poll_timeout) or soon after. When that call is late, links get time to
///   be heard before they are called silent.
/// - After any call that takes `now`, poll events until there is none.
///   [`poll_ready`](Self::poll_ready) names a link once; then call [`poll_frame`](Self::poll_frame)
///   whenever the link can take a frame, until it returns `None`.
/// - On each link the frames of the overlay keep their order and go ahead of all waiting frames of
///   channels. Take a frame only when it is really sent.
/// - Unknown links and targets are ignored: reports about closed links may come late.
#[derive(Debug)]
pub struct Overlay {
    config: Config,
    network: u64,
    /// See [`Overlay::set_quorum_size`].
    quorum_size: Option<u32>,
    leaving: bool,
    info: Bytes,
    map: Map,
    routes: Routes,
    /// The summary of the map (see `flood`), if it was computed since the last change.
    summary: Option<u64>,
    /// Computations of routes.
    routing: Throttle,
    /// Routes are being computed. The consequences may make another computation necessary.
    computing: bool,
    stale: bool,
    /// Announcements of this node.
    announcing: Throttle,
    /// Announce even if nothing changed: a link came up again, and its other end waits for that.
    renewed: bool,
    /// When the information blob was last announced.
    informed: Moment,
    links: BTreeMap<LinkId, Link>,
    /// The one link to each neighbour.
    neighbours: BTreeMap<NodeKey, LinkId>,
    /// Nodes that this node has had a link with.
    relations: BTreeMap<NodeKey, Relation>,
    /// The network that this node has given up, and until when it refuses links to it while in no
    /// network.
    given_up: Option<(u64, Moment)>,
    /// When the information about each other node was received. For people only.
    info_received: BTreeMap<NodeKey, Moment>,
    targets: Targets,
    tunnels: BTreeMap<NodeKey, Tunnel>,
    /// The traffic of channels with other nodes, if links are made on demand.
    demand: BTreeMap<NodeKey, Demand>,
    /// When the window began over which it is measured.
    window_from: Moment,
    /// The last epoch of a tunnel that this node opened.
    epoch: u32,
    reassembly: Reassembly,
    next_id: u32,
    timers: Deadlines<Timer>,
    events: VecDeque<Event>,
    ready: VecDeque<LinkId>,
    stats: OverlayStats,
}

impl Overlay {
    /// A node without links. It emits requests to connect to its targets at once.
    ///
    /// # Errors
    /// A name, URL or target is out of range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let mut config = config.checked()?;
        let (limits, seed) = (&config.limits, config.seed);
        let mut map = Map::new(limits.nodes_max, limits.map_bytes_max);
        let reassembly = Reassembly::new(limits.reassembly_bytes_max);
        let targets = std::mem::take(&mut config.targets);
        map.insert(Entry {
            key: config.key,
            sequence: 1,
            network: config.network,
            member: true,
            leaving: false,
            name: config.name.clone(),
            urls: config.urls.clone(),
            neighbours: Vec::new(),
            info: Bytes::new(),
        });
        let mut overlay = Self {
            network: config.network,
            quorum_size: Some(0),
            leaving: false,
            info: Bytes::new(),
            map,
            routes: Routes::default(),
            summary: None,
            routing: Throttle::default(),
            computing: false,
            stale: false,
            announcing: Throttle::default(),
            renewed: false,
            informed: Moment::ZERO,
            links: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            relations: BTreeMap::new(),
            given_up: None,
            info_received: BTreeMap::new(),
            targets: Targets::new(seed.split("targets")),
            tunnels: BTreeMap::new(),
            demand: BTreeMap::new(),
            window_from: Moment::ZERO,
            epoch: 0,
            reassembly,
            next_id: 0,
            timers: Deadlines::new(),
            events: VecDeque::new(),
            ready: VecDeque::new(),
            stats: OverlayStats::default(),
            config,
        };
        for target in targets {
            overlay.add_checked_target(target);
        }
        Ok(overlay)
    }

    /// Adds a target and connects to it at once.
    ///
    /// # Errors
    /// A name or terms are out of range.
    pub fn add_target(&mut self, target: Target) -> Result<TargetId, ConfigError> {
        check_target(&target)?;
        Ok(self.add_checked_target(target))
    }

    fn add_checked_target(&mut self, target: Target) -> TargetId {
        let id = self.targets.add(target, None);
        self.connect(id);
        id
    }

    /// Changes the information blob that this node announces to all others, for status. Changes
    /// within the [interval](crate::Timing::info_interval) are announced together.
    ///
    /// # Errors
    /// The blob is longer than [`INFO_BYTES_MAX`].
    pub fn set_info(&mut self, now: Moment, info: Bytes) -> Result<(), ConfigError> {
        if info.len() > INFO_BYTES_MAX {
            return Err(ConfigError::Info { len: info.len() });
        }
        if info != self.info {
            self.info = info;
            // Information changes often and is read by people: it waits for its interval, while
            // changes of links and membership go at once.
            self.announce_info(now);
        }
        Ok(())
    }

    /// Changes the URLs at which others can connect to this node.
    ///
    /// # Errors
    /// There are too many URLs, or one is too long.
    pub fn set_urls(&mut self, now: Moment, urls: Vec<String>) -> Result<(), ConfigError> {
        check_urls(&urls)?;
        if urls != self.config.urls {
            self.config.urls = urls;
            self.announce_soon(now);
        }
        Ok(())
    }

    /// Sets the network that this node created. Links to other networks are refused from now on.
    pub fn set_network(&mut self, now: Moment, network: u64) {
        if network != self.network {
            self.network = network;
            self.announce_soon(now);
        }
    }

    /// This node has given up a network, and looks for another before it adopts the same one again:
    /// it refuses links to that network for two silences of a link, or until it finds another one.
    pub fn avoid_network(&mut self, now: Moment, network: u64) {
        self.given_up = Some((network, now + 2 * self.config.timing.silence_max));
    }

    /// Sets the standing of this node in its network. `None`: it is not a member, and others must
    /// not adopt the network that it knows of. `Some`: the number of members if a majority of them
    /// is together, and 0 if not. Default `Some(0)`. Of two networks of one creator that meet, the
    /// weaker or the younger one yields: [`Refusal::Yields`](crate::Refusal::Yields).
    pub fn set_quorum_size(&mut self, now: Moment, quorum_size: Option<u32>) {
        let before = std::mem::replace(&mut self.quorum_size, quorum_size);
        // Others need to know whether this node is a member. The size itself goes with greetings
        // only.
        if before.is_some() != quorum_size.is_some() {
            self.announce_soon(now);
        }
    }

    /// The network identity of this node.
    fn identity(&self) -> NetworkIdentity {
        NetworkIdentity { network: self.network, quorum_size: self.quorum_size.unwrap_or(0) }
    }

    /// Leaves the network: others learn that this node goes for good, and no longer look for it.
    /// Links close when they have taken the farewell; new ones are refused.
    pub fn leave(&mut self, now: Moment) {
        if !std::mem::replace(&mut self.leaving, true) {
            self.send_goodbye(now);
        }
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, now: Moment) {
        let mut late = None;
        while let Some(next) = self.timers.next().filter(|next| *next <= now) {
            let Some(timer) = self.timers.pop_due(now) else { return };
            // This node itself slept: the frames that arrived meanwhile are still to be read.
            let slept = *late.get_or_insert(now.since(next) > self.config.timing.keep_alive);
            match timer {
                Timer::Connect(target) => self.connect_due(target),
                Timer::Greeting(link) => self.greeting_timed_out(now, link),
                Timer::KeepAlive(link) => self.keep_alive(now, link),
                Timer::Silence(link) => self.check_silence(now, link, slept),
                Timer::Close(link) => self.finish_close(link),
                Timer::RateLimit(link) => self.wake(link),
                Timer::Cycle(link) => self.refuse_cycle(now, link),
                Timer::Announce => self.announce(now),
                Timer::Routes => self.recompute(now),
                Timer::Suspect(key) => self.suspect(key),
                Timer::Forget(key) => self.forget(key),
                Timer::Tunnel(key) => self.tunnel_due(now, key),
                Timer::Learn(key) => self.learn_due(key),
                Timer::Demand => self.demand_due(now),
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.timers.next()
    }

    /// Whether [`poll_event`](Self::poll_event) returns an event.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next link with frames, named once until [`poll_frame`](Self::poll_frame) says `None`.
    pub fn poll_ready(&mut self) -> Option<LinkId> {
        while let Some(id) = self.ready.pop_front() {
            if let Some(link) = self.links.get_mut(&id)
                && link.ready == Ready::Listed
            {
                link.ready = Ready::Named;
                return Some(id);
            }
        }
        None
    }

    /// The identity of this node.
    pub fn key(&self) -> NodeKey {
        self.config.key
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// The network that this node is in; 0: none yet.
    pub fn network(&self) -> u64 {
        self.network
    }

    /// Whether a path leads to that node.
    pub fn is_reachable(&self, key: NodeKey) -> bool {
        key == self.config.key || self.routes.reaches(key)
    }

    /// The nodes to which a path leads, without this one, in order of their keys.
    pub fn reachable(&self) -> impl Iterator<Item = NodeKey> + '_ {
        self.routes.to.keys().copied()
    }

    /// Whether that node can be reached and announces that it is a member of the network that this
    /// node is in. A node between two others may be in another network than theirs: while a lost
    /// network makes way for its successor, both have nodes that can be reached.
    pub fn is_member(&self, key: NodeKey) -> bool {
        let member = |entry: &Entry| entry.member && entry.network == self.network;
        self.is_reachable(key) && self.map.get(key).is_some_and(member)
    }

    /// Whether any node that can be reached announces that it is a member of this node's network.
    pub fn has_members(&self) -> bool {
        self.reachable().any(|key| self.is_member(key))
    }

    /// Whether any node that can be reached announces that it is in this node's network, or joins it.
    pub fn has_company(&self) -> bool {
        let is_in = |key| self.map.get(key).is_some_and(|entry| entry.network == self.network);
        self.network != 0 && self.reachable().any(is_in)
    }

    /// Whether that node announces that it is in another network than this one.
    pub fn is_elsewhere(&self, key: NodeKey) -> bool {
        self.map.get(key).is_some_and(|entry| entry.network != 0 && entry.network != self.network)
    }

    /// Name and URLs of a node of the map.
    pub fn contact(&self, key: NodeKey) -> Option<(&str, &[String])> {
        self.map.get(key).map(|entry| (entry.name.as_str(), entry.urls.as_slice()))
    }

    /// Whether `key` is unreachable and another node of its name is reachable: it was restarted.
    pub fn is_restarted(&self, key: NodeKey, name: &str) -> bool {
        !self.is_reachable(key)
            && self.map.named(name).any(|other| other != key && self.routes.reaches(other))
    }

    /// The nodes to ask for membership: those that announce that they are members. If there are
    /// none: all that can be reached and are in no other network, since one may have become a
    /// member meanwhile. The list starts at a different place on each node, so that not all of them
    /// ask the same one.
    pub fn admitting_member(&self) -> Vec<NodeKey> {
        let mut nodes: Vec<NodeKey> = self.reachable().filter(|key| self.is_member(*key)).collect();
        if nodes.is_empty() {
            nodes.extend(self.reachable().filter(|key| !self.is_elsewhere(*key)));
        }
        let own = nodes.partition_point(|key| *key < self.config.key);
        // Each node begins with the member after itself, so that many that join at once do not all
        // ask the same one.
        nodes.rotate_left(own);
        nodes
    }

    /// The link to a neighbour.
    pub fn link_to(&self, key: NodeKey) -> Option<LinkId> {
        self.neighbours.get(&key).copied()
    }

    /// Bytes of the messages that are being reassembled.
    pub fn partial_bytes(&self) -> usize {
        self.reassembly.bytes()
    }

    /// Counters.
    pub fn stats(&self) -> &OverlayStats {
        &self.stats
    }

    /// Marks the link as ready: it has something to send.
    fn wake(&mut self, id: LinkId) {
        if let Some(link) = self.links.get_mut(&id)
            && link.ready == Ready::Idle
        {
            link.ready = Ready::Listed;
            self.ready.push_back(id);
        }
    }
}
