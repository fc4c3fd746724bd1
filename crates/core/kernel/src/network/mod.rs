//! This node's part of a network: links to neighbours, the order of commands, the routers.
//!
//! | module | concern |
//! | --- | --- |
//! | `config` | settings |
//! | `membership` | becoming a member, members that are dead |
//! | `order` | proposals on their way to the replicated log and back |
//! | `fabric` | the routers, with a client for each neighbour |
//! | `links` | frames in and out |
//! | `info` | what this node tells all others of itself |
//! | `envelope` | what nodes write to each other |
//! | `status` | the network, for people and tools |
//!
//! Each machine below knows nothing of the others; this is where what one says becomes what another hears.

mod config;
mod envelope;
mod fabric;
mod info;
mod links;
mod membership;
mod order;
mod status;

pub use config::{LinkTarget, LinkTerms, NetworkConfig, link_pipe};
pub use fabric::ChannelStatus;
pub(crate) use fabric::Place;
pub use links::LinkEvent;
pub use status::{NetworkStatus, NodeStatus};

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use envelope::Unicast;
use fabric::Fabric;
use links::Links;
use membership::{Membership, Standing};
use order::Order;
use overlay::{ConfigError, Event, Overlay, Refusal, TopologyKind, Via};
use router::ClientFlags;
use rti::remote::Outgoing;
use rti::{Command, Completion, NodeId, Rti};
use std::collections::{BTreeMap, BTreeSet};

/// Settings of a network that do not fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Of links.
    #[error(transparent)]
    Links(#[from] ConfigError),
    /// Of the replicated log.
    #[error(transparent)]
    Log(#[from] consensus::ConfigError),
}

/// A node of a network.
pub(crate) struct Network {
    config: NetworkConfig,
    key: NodeKey,
    overlay: Overlay,
    order: Order,
    fabric: Fabric,
    links: Links,
    membership: Membership,
    nodes: BTreeMap<NodeId, NodeKey>,
    /// Nodes that this one has asked to be added or removed, and has not yet seen to be.
    asked: BTreeSet<NodeKey>,
    leaving: bool,
    /// What the network that was found looks like, when that is not as configured.
    other_shape: Option<Shape>,
    info: info::Info,
    review_due: bool,
    /// What one call of the services sent, and where it now waits.
    waits_in: Vec<Place>,
}

/// The shape of a network, as far as its nodes have to agree on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    topology: TopologyKind,
    redundancy: bool,
}

/// What a network wants of its kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    GoOn,
    /// It has lost its place in the network: end all sessions for this reason, and begin anew.
    BeginAnew(String),
}

impl Network {
    /// A node at its start.
    ///
    /// # Errors
    /// The settings do not fit.
    pub(crate) fn new(now: Moment, config: NetworkConfig, key: NodeKey) -> Result<Self, ConfigError> {
        let mut settings = config.overlay.clone();
        settings.key = key;
        settings.network = 0;
        let target = |target: &LinkTarget| overlay::Target {
            url: target.url.clone(),
            name: target.name.clone(),
            terms: target.terms.encode(),
        };
        settings.targets = config.targets.iter().map(target).collect();
        let seed = settings.seed;
        let membership = Membership::new(now, config.bootstrap, config.node_timeout, config.minority_timeout);
        Ok(Self {
            key,
            order: Order::new(key, seed.split("consensus"), config.consensus.clone()),
            fabric: Fabric::new(now, key, seed.split("routers"), settings.topology, config.pipe.clone()),
            overlay: Overlay::new(settings)?,
            links: Links::default(),
            membership,
            nodes: BTreeMap::new(),
            asked: BTreeSet::new(),
            leaving: false,
            other_shape: None,
            info: info::Info::default(),
            review_due: true,
            waits_in: Vec::new(),
            config,
        })
    }

    /// The same node with a key of its own again; it does not begin a network, since it knows of one.
    ///
    /// # Errors
    /// As [`Network::new`]; but they fitted before.
    pub(crate) fn anew(&self, now: Moment) -> Result<Self, ConfigError> {
        let key = NodeKey(Seed(self.key.0).split("anew").0.max(1));
        let mut config = self.config.clone();
        config.bootstrap = None;
        if let Some(shape) = self.other_shape {
            config.overlay.topology = shape.topology;
            config.overlay.redundancy = shape.redundancy;
        }
        let mut network = Self::new(now, config, key)?;
        network.links.close_all_of(&self.links, "this node joins the network again");
        Ok(network)
    }

    /// Which start of the node this is.
    pub(crate) fn key(&self) -> NodeKey {
        self.key
    }

    /// True once federates can be served.
    pub(crate) fn is_member(&self) -> bool {
        self.membership.standing == Standing::Member
    }

    /// Since when it has been no member.
    pub(crate) fn outside_since(&self) -> Option<Moment> {
        self.membership.outside_since()
    }

    /// Where others reach this node.
    pub(crate) fn set_addresses(&mut self, now: Moment, urls: Vec<String>) {
        self.config.overlay.urls.clone_from(&urls);
        if let Err(error) = self.overlay.set_urls(now, urls) {
            tracing::error!(%error, "the addresses of this node are not told to others");
        }
    }

    /// See [`NetworkConfig::minority_timeout`].
    pub(crate) fn minority_timeout(&self) -> std::time::Duration {
        self.config.minority_timeout
    }

    /// True when it has left the network in order, or never was in it with others.
    pub(crate) fn has_left(&self) -> bool {
        self.leaving && (self.order.is_removed() || self.nodes.len() <= 1)
    }

    /// It is to leave the network in order.
    pub(crate) fn leave(&mut self, now: Moment) {
        if !std::mem::replace(&mut self.leaving, true) {
            self.remove(now, self.key);
        }
    }

    /// Something was due, or may be.
    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        self.review_due = true;
        self.overlay.handle_timeout(now);
        self.order.handle_timeout(now);
        if self.fabric.poll_timeout().is_some_and(|at| at <= now) {
            self.fabric.handle_timeout(now);
        }
    }

    /// When to call [`Network::handle_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let parts = [
            self.overlay.poll_timeout(),
            self.order.poll_timeout(),
            self.fabric.poll_timeout(),
            self.membership.poll_timeout(),
            self.info.poll_timeout(),
        ];
        parts.into_iter().flatten().min()
    }

    /// Where what was sent since the last call waits in congested pipes: its sender is to be held back.
    pub(crate) fn take_waits(&mut self) -> Vec<Place> {
        std::mem::take(&mut self.waits_in)
    }

    /// A pipe that senders need no longer wait for.
    pub(crate) fn poll_relieved(&mut self) -> Option<Place> {
        self.fabric.poll_relieved()
    }

    /// Takes what the services propose and send.
    pub(crate) fn take_from(&mut self, now: Moment, rti: &mut Rti) -> bool {
        let mut any = false;
        while let Some(proposal) = rti.poll_proposal() {
            tracing::debug!(command = ?proposal.command(), "propose");
            self.order.propose(now, proposal);
            any = true;
        }
        while let Some(outgoing) = rti.poll_outgoing() {
            self.send(now, outgoing);
            any = true;
        }
        any
    }

    fn send(&mut self, now: Moment, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Publish(packet) => {
                let places = self.fabric.publish(now, packet);
                self.waits_in.extend(places);
            }
            Outgoing::Unicast { to, body, urgent } => match self.nodes.get(&to).copied() {
                Some(key) => self.write(now, key, &Unicast::Services(body), urgent),
                None => tracing::debug!(%to, "no such node: a letter of the services is dropped"),
            },
            Outgoing::Interest { topic, any } => self.fabric.set_interest(now, topic, any),
            Outgoing::Offer { topic, any } => self.fabric.set_offer(now, topic, any),
        }
    }

    fn write(&mut self, now: Moment, to: NodeKey, message: &Unicast, urgent: bool) {
        if let Err(error) = self.overlay.send(now, to, message.encode(), urgent) {
            tracing::debug!(%to, %error, "a message to a node was not sent");
        }
    }

    /// Does everything that has become possible; `None` when there was nothing. Completions of calls are added to `done`.
    pub(crate) fn drive(
        &mut self,
        now: Moment,
        rti: &mut Rti,
        done: &mut Vec<Completion>,
    ) -> Option<Verdict> {
        let mut any = self.take_from(now, rti);
        while let Some(event) = self.overlay.poll_event() {
            self.handle_event(now, event, rti);
            any = true;
            self.review_due = true;
        }
        if self.drive_order(now, rti, done) {
            any = true;
            self.review_due = true;
        }
        any |= self.drive_routers(now, rti);
        if self.membership.must_bootstrap(now) {
            self.bootstrap(now);
            any = true;
        }
        // Where nodes stand changes with news and with time, not with every message.
        let verdict = match std::mem::take(&mut self.review_due) {
            true => self.review(now, rti),
            false => Verdict::GoOn,
        };
        any |= verdict != Verdict::GoOn;
        if any {
            self.info.stir();
        }
        any.then_some(verdict)
    }

    fn drive_order(&mut self, now: Moment, rti: &mut Rti, done: &mut Vec<Completion>) -> bool {
        let mut any = self.order.apply(now, rti, done);
        if any {
            self.learn_nodes(now, rti);
        }
        while let Some((to, body)) = self.order.poll_message() {
            self.write(now, to, &Unicast::Consensus(body), true);
            any = true;
        }
        any
    }

    /// Nodes came or went.
    fn learn_nodes(&mut self, now: Moment, rti: &mut Rti) {
        let nodes: BTreeMap<_, _> = rti.control().nodes().map(|record| (record.node, record.key)).collect();
        if nodes == self.nodes {
            return;
        }
        // What was asked for these has happened.
        let (before, after): (BTreeSet<_>, BTreeSet<_>) =
            (self.nodes.values().copied().collect(), nodes.values().copied().collect());
        self.asked.retain(|key| before.contains(key) == after.contains(key));
        self.nodes = nodes;
        if self.nodes.values().any(|key| *key == self.key) && !self.is_member() {
            tracing::info!(name = self.config.overlay.name, key = %self.key, "member of the network");
            self.membership.admitted();
        }
        if self.nodes.len() > 1 && self.is_member() {
            rti.set_networked(now, true);
        }
    }

    fn drive_routers(&mut self, now: Moment, rti: &mut Rti) -> bool {
        let mut any = false;
        while let Some((topic, wanted)) = self.fabric.poll_wanted() {
            rti.handle_wanted(now, topic, wanted);
            any = true;
        }
        while let Some(packet) = self.fabric.poll_packet() {
            if let Err(error) = rti.handle_packet(now, packet) {
                tracing::warn!(%error, "a message of another node is not understood");
            }
            any = true;
        }
        while let Some((neighbour, class)) = self.fabric.poll_overflow() {
            tracing::error!(%neighbour, ?class, "no room for a reliable message in transit: it has to be asked for again");
            any = true;
        }
        while let Some(neighbour) = self.fabric.poll_ready() {
            self.serve(now, neighbour);
            any = true;
        }
        while let Some(link) = self.overlay.poll_ready() {
            self.links.wake(link);
            any = true;
        }
        any
    }

    fn handle_event(&mut self, now: Moment, event: Event, rti: &mut Rti) {
        match event {
            Event::Connect { target, url } => self.links.tell(LinkEvent::Connect { target, url }),
            Event::Close { link, reason } => self.links.close(link, reason),
            Event::NeighbourUp { key, name, link, .. } => tracing::info!(%key, name, %link, "link up"),
            Event::NeighbourDown { key, why } => tracing::warn!(%key, why, "link down"),
            Event::PathUp { neighbour, via, initiator, terms } => {
                self.path_up(now, neighbour, via, initiator, &terms);
                rti.handle_network_changed(now);
            }
            Event::PathDown { neighbour } => {
                tracing::debug!(%neighbour, "no path for messages to this neighbour");
                self.links.path_down(neighbour);
                self.fabric.neighbour_down(now, neighbour);
                rti.handle_network_changed(now);
            }
            Event::Reachable { key, name } => {
                tracing::info!(%key, name, "node reachable");
                self.membership.hurry(now);
                rti.handle_network_changed(now);
            }
            Event::Unreachable { key } => {
                tracing::warn!(%key, "node unreachable");
                rti.handle_network_changed(now);
            }
            Event::Received { from, body } => self.received(now, from, &body, rti),
            Event::Channel { from, channel, frame } => self.frame(now, from, channel, frame, false),
            Event::TunnelReady { neighbour } => self.serve(now, neighbour),
            Event::NetworkAdopted { network } => {
                tracing::info!(network = format_args!("{network:016x}"), "found a network");
                self.membership.found(now);
            }
            // It is the node that joins which takes the shape of the other.
            Event::Refused { refusal, target: Some(_), .. } if self.takes_shape(&refusal) => {}
            Event::Refused { link, peer, refusal, .. } => {
                let peer = peer.map_or_else(|| "a node that has not greeted".to_owned(), |(_, name)| name);
                tracing::error!(%link, peer, "link refused: {refusal}");
            }
            Event::RefusedByPeer { code, target: Some(_), .. } if self.tries_shape(code) => {}
            Event::RefusedByPeer { link, peer, text, .. } => {
                tracing::error!(%link, %peer, "the other node refuses the link: {text}");
            }
            Event::NameTaken { holder } => {
                tracing::error!(name = self.config.overlay.name, %holder, "another node has this name: give this one another");
            }
            Event::Warned { key, warning } => tracing::warn!(%key, "{warning}"),
            other => tracing::debug!(?other, "overlay"),
        }
    }

    /// The refusal of a link says that the network has another shape, and this node takes any.
    fn takes_shape(&mut self, refusal: &Refusal) -> bool {
        let settings = &self.config.overlay;
        let ours = Shape { topology: settings.topology, redundancy: settings.redundancy };
        let theirs = match *refusal {
            Refusal::Topology { theirs, .. } => Shape { topology: theirs, redundancy: false },
            Refusal::Redundancy { theirs } => Shape { redundancy: theirs, ..ours },
            _ => return false,
        };
        let takes = self.config.any_shape && !self.is_member();
        if takes {
            self.other_shape = Some(theirs);
        }
        takes
    }

    /// The other node has refused a link because of the shape, without saying its own in a way that a machine reads: the
    /// next one is tried.
    fn tries_shape(&mut self, code: u8) -> bool {
        let ours = &self.config.overlay;
        let all = TopologyKind::ALL;
        let place = all.iter().position(|kind| *kind == ours.topology).unwrap_or(0);
        let next = all[(place + 1) % all.len()];
        let [topology, redundancy] = [
            Refusal::Topology { theirs: next, ours: ours.topology },
            Refusal::Redundancy { theirs: !ours.redundancy },
        ];
        [topology, redundancy].iter().any(|refusal| refusal.code() == code && self.takes_shape(refusal))
    }

    fn path_up(&mut self, now: Moment, neighbour: NodeKey, via: Via, initiator: bool, terms: &Bytes) {
        let terms = match LinkTerms::decode(terms) {
            Ok(terms) => terms,
            Err(why) => return tracing::error!(%neighbour, why, "the terms of a link are not understood"),
        };
        let flags = if initiator { terms.near } else { terms.far };
        let flags = if initiator { flags | ClientFlags::PERSISTENT } else { flags };
        self.links.path_up(neighbour, via);
        if let Err(error) = self.fabric.neighbour_up(now, neighbour, initiator, flags, terms.rank) {
            tracing::error!(%neighbour, %error, "no client for this neighbour");
        }
    }

    fn received(&mut self, now: Moment, from: NodeKey, body: &Bytes, rti: &mut Rti) {
        match Unicast::decode(from, body) {
            Ok(Unicast::Consensus(message)) => self.order.handle_message(now, from, message),
            Ok(Unicast::Services(body)) => {
                let node = self.nodes.iter().find(|(_, key)| **key == from).map(|(node, _)| *node);
                let Some(node) = node else { return };
                if let Err(error) = rti.handle_unicast(now, node, body) {
                    tracing::warn!(%from, %error, "a letter of another node is not understood");
                }
            }
            Ok(Unicast::Join { name }) => self.admit(now, from, name, rti),
            Ok(Unicast::Refused(why)) => tracing::error!(%from, "not let into the network: {why}"),
            Err(why) => tracing::warn!("{why}"),
        }
    }

    /// A node asks to be a member.
    fn admit(&mut self, now: Moment, key: NodeKey, name: String, rti: &Rti) {
        if !self.is_member() || self.leaving {
            return;
        }
        let twin = rti.control().nodes().find(|record| record.name == name && record.key != key);
        if let Some(twin) = twin.filter(|twin| self.overlay.is_reachable(twin.key)) {
            let why =
                format!("a node called `{name}` ({}) is a member; give this one another name", twin.key);
            return self.write(now, key, &Unicast::Refused(why), true);
        }
        self.order.add(now, key);
        if twin.is_none() && rti.control().node_by_key(key).is_none() && self.asked.insert(key) {
            tracing::info!(%key, name, "let into the network");
            self.order.command(now, &Command::AddNode { key, name });
        }
    }

    /// A member is dead or leaves.
    fn remove(&mut self, now: Moment, key: NodeKey) {
        if self.nodes.values().any(|known| *known == key) && self.asked.insert(key) {
            self.order.command(now, &Command::RemoveNode { key });
        }
        self.order.remove(now, key);
        self.review_due = true;
    }

    /// Looks at where this node and the others stand.
    fn review(&mut self, now: Moment, rti: &Rti) -> Verdict {
        let nodes: Vec<NodeKey> = self.overlay.reachable().collect();
        if let Some(to) = self.membership.ask(now, &nodes) {
            let name = self.config.overlay.name.clone();
            self.write(now, to, &Unicast::Join { name }, true);
        }
        if !self.order.is_leader() || self.leaving {
            self.membership.look_away();
        } else {
            let overlay = &self.overlay;
            let members = self.nodes.values().copied().filter(|key| *key != self.key);
            for key in self.membership.dead(now, members, |key| overlay.is_reachable(key)) {
                if !self.asked.contains(&key) {
                    let name = rti.control().node_by_key(key).map_or("?", |record| &record.name);
                    tracing::warn!(%key, name, "dead: removed from the network");
                }
                self.remove(now, key);
            }
        }
        if let Some(shape) = self.other_shape {
            return Verdict::BeginAnew(format!("the network is a {}", shape.topology));
        }
        let lost = self.membership.is_lost(now, self.order.has_quorum() || self.leaving);
        if self.leaving {
            if self.order.is_removed() {
                self.overlay.leave(now);
            }
            return Verdict::GoOn;
        }
        if self.order.is_removed() {
            return Verdict::BeginAnew(
                "this node was taken for dead and removed from the network".to_owned(),
            );
        }
        if lost {
            return Verdict::BeginAnew("this node has no contact with a majority of the network".to_owned());
        }
        Verdict::GoOn
    }

    /// Begins a network of its own.
    fn bootstrap(&mut self, now: Moment) {
        let network = Seed(self.key.0).split("network").0.max(1);
        tracing::debug!(network = format_args!("{network:016x}"), "begin a network");
        self.overlay.set_network(now, network);
        self.order.bootstrap(now);
        self.membership.found(now);
        let name = self.config.overlay.name.clone();
        self.order.command(now, &Command::AddNode { key: self.key, name });
    }
}
