//! This node's part of a network: links to neighbours, the log of commands, the routers.
//!
//! | module | concern |
//! | --- | --- |
//! | `config` | settings |
//! | `events` | events of the overlay |
//! | `admission`, `membership` | becoming a member, removing dead members |
//! | `reformation` | the successor of a network that is lost |
//! | `command_log` | proposals on their way to the replicated log and back |
//! | `links` | frames in and out |
//! | `carried` | the contents of frames |
//! | `groups`, `group_keys` | the multicast groups of a site, and their keys |
//! | `info` | the summary that this node announces to all others |
//! | `envelope` | unicasts between nodes |
//! | `status` | the network, for people and tools |
//! | `traffic` | the traffic of links, as the world counts it |
//!
//! Each of these machines knows nothing of the others. This module turns the outputs of one into
//! the inputs of another.

mod admission;
mod carried;
mod command_log;
mod config;
mod envelope;
mod events;
mod group_keys;
mod groups;
mod info;
mod links;
mod membership;
mod reformation;
mod status;
mod traffic;

pub use carried::FrameKind;
pub use config::{LinkTarget, LinkTerms, Multicast, NetworkConfig, link_pipe};
pub use group_keys::{GroupKey, GroupKeyConfig, GroupKeys, GroupSecret, KeyName, SECRET_BYTES};
pub use groups::{Delivery, GroupCounts, GroupFrame, GroupInput, GroupOutput, GroupStatus};
pub use links::{LinkInput, LinkOutput};
pub use router::ChannelStatus;
pub(crate) use router::RouterClient;
pub use status::{LinkMessages, NetworkStatus, NodeStatus};
pub use traffic::{LinkCounts, LinkRates, LinkTraffic};

use base::{Moment, NodeKey, Seed};
use command_log::CommandLog;
use consensus::reformation::{Contact, Reformation};
use envelope::Unicast;
use group_keys::KeyRotation;
use groups::Groups;
use links::Links;
use membership::{Membership, Standing};
use overlay::{ConfigError, Overlay, TopologyKind};
use reformation::Withheld;
use router::NodeRouters;
use rti::{Completion, NetTopic, NodeId, Outgoing, Packet, Rti};
use std::collections::{BTreeMap, BTreeSet};

/// Invalid settings of a network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Settings of links.
    #[error(transparent)]
    Links(#[from] ConfigError),
    /// Settings of the replicated log.
    #[error(transparent)]
    Log(#[from] consensus::ConfigError),
}

/// A node of a network.
pub(crate) struct Network {
    config: NetworkConfig,
    key: NodeKey,
    overlay: Overlay,
    commands: CommandLog,
    routers: NodeRouters<Packet, NetTopic>,
    links: Links,
    groups: Groups,
    membership: Membership,
    nodes: BTreeMap<NodeId, NodeKey>,
    /// Nodes whose addition or removal this node has proposed and not yet seen.
    asked: BTreeSet<NodeKey>,
    leaving: bool,
    /// The shape of the network that was found, if it differs from the configured one.
    other_shape: Option<Shape>,
    yielding: Option<Yielding>,
    /// The network that it has given up in this way. Its next incarnation must not adopt it again at
    /// once.
    given_up: Option<u64>,
    reformation: Reformation,
    /// Messages of the log that wait until a state is stored.
    withheld: Withheld,
    /// The reason why it must find its network again under another key.
    rekey: Option<&'static str>,
    info: info::Info,
    review_due: bool,
    /// The congested pipes in which messages of the present call wait.
    waits_in: Vec<RouterClient>,
}

/// This node gives up its network in favour of another one of the same creator.
struct Yielding {
    at: Moment,
    network: u64,
    why: String,
}

/// The part of a network's shape on which its nodes must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    topology: TopologyKind,
    redundancy: bool,
}

/// The instruction of a network to its kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing to do.
    GoOn,
    /// The node has lost its place in the network: end all sessions with this reason, and rejoin
    /// [as a new incarnation](Network::rejoin).
    Rejoin {
        /// The reason, for the federates.
        why: String,
        /// Whether this node, if configured to create networks, may create one: it was never a
        /// member of a network, or its network has yielded to another one.
        may_create: bool,
    },
}

impl Network {
    /// A node at its start.
    ///
    /// # Errors
    /// The settings are invalid.
    pub(crate) fn new(now: Moment, config: NetworkConfig, key: NodeKey) -> Result<Self, ConfigError> {
        let reformation = reformation::machine(&config, key);
        Self::with(now, config, key, reformation)
    }

    fn with(
        now: Moment,
        mut config: NetworkConfig,
        key: NodeKey,
        reformation: Reformation,
    ) -> Result<Self, ConfigError> {
        let head = reformation.head();
        // Only members of a mesh record URLs. From these a node that adopts any shape tells which
        // one it had.
        if config.any_shape && head.is_some_and(|h| h.contacts.values().any(|c| !c.urls.is_empty())) {
            config.overlay.topology = TopologyKind::Mesh;
        }
        let mut settings = config.overlay.clone();
        settings.key = key;
        settings.network = 0;
        let target = |target: &LinkTarget| overlay::Target {
            url: target.url.clone(),
            name: target.name.clone(),
            terms: target.terms.encode(),
        };
        settings.targets = config.targets.iter().map(target).collect();
        settings.targets.extend(reformation::targets(head, &config));
        let seed = settings.seed;
        // A former member of a network creates no other one: it rejoins that network or its
        // successor.
        let bootstrap = config.bootstrap.filter(|_| head.is_none());
        if let Some(head) = head {
            tracing::info!(
                network = format_args!("{:016x}", head.network),
                voters = head.voter_names().join(", "),
                "this node was a member of a network: it joins that, or creates its successor with a majority of the voters"
            );
        }
        let membership = Membership::new(now, bootstrap, config.node_timeout, config.minority_timeout);
        let (routers_seed, pipe) = (seed.split("routers"), config.pipe.clone());
        let mut routers = match settings.topology {
            TopologyKind::Mesh => NodeRouters::triad(now, key, routers_seed, pipe),
            _ => NodeRouters::single(now, key, routers_seed, pipe),
        };
        let mut groups = 0;
        if let Some(multicast) = config.multicast {
            match routers.add_groups(now, multicast.groups, multicast.frame_bytes) {
                Ok(()) => groups = multicast.groups,
                Err(error) => tracing::error!(%error, "the multicast groups of this node are not used"),
            }
        }
        let keys = config.group_keys.clone().filter(|_| groups > 0);
        let keys = keys.map(|keys| KeyRotation::new(now, key, keys));
        let topology = settings.topology;
        let mut overlay = Overlay::new(settings)?;
        overlay.set_quorum_size(now, None);
        Ok(Self {
            key,
            groups: Groups::new(key, groups, topology != TopologyKind::Mesh, keys),
            commands: CommandLog::new(key, seed.split("consensus"), config.consensus.clone()),
            routers,
            overlay,
            links: Links::default(),
            membership,
            nodes: BTreeMap::new(),
            asked: BTreeSet::new(),
            leaving: false,
            other_shape: None,
            yielding: None,
            given_up: None,
            reformation,
            withheld: Withheld::default(),
            rekey: None,
            info: info::Info::default(),
            review_due: true,
            waits_in: Vec::new(),
            config,
        })
    }

    /// The next incarnation of the node, with a new key. It looks for the network that it knows of.
    /// If it `may_create`, it creates one of its own after [`NetworkConfig::minority_timeout`] at
    /// the earliest.
    ///
    /// # Errors
    /// As for [`Network::new`]; but the settings were valid before.
    pub(crate) fn rejoin(&self, now: Moment, may_create: bool) -> Result<Self, ConfigError> {
        let key = NodeKey(Seed(self.key.0).split("anew").0.max(1));
        let mut config = self.config.clone();
        config.bootstrap =
            config.bootstrap.filter(|_| may_create).map(|wait| wait.max(config.minority_timeout));
        if let Some(shape) = self.other_shape {
            config.overlay.topology = shape.topology;
            config.overlay.redundancy = shape.redundancy;
        }
        let reformation = self.reformation.rejoin(key);
        let mut network = Self::with(now, config, key, reformation)?;
        if let Some(given_up) = self.given_up {
            network.overlay.avoid_network(now, given_up);
        }
        network.links.close_all_of(&self.links, "this node joins the network again");
        network.groups.begin_with(self.groups.leave_all());
        Ok(network)
    }

    /// The incarnation of the node.
    pub(crate) fn key(&self) -> NodeKey {
        self.key
    }

    /// Whether federates can be served.
    pub(crate) fn is_member(&self) -> bool {
        self.membership.standing == Standing::Member
    }

    /// Bytes that wait to be sent to other nodes.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.routers.queued_bytes()
    }

    /// The network that it is a member of.
    pub(crate) fn member_of(&self) -> Option<u64> {
        self.is_member().then(|| self.overlay.network())
    }

    /// The time since when it has not been a member; `None` for a member.
    pub(crate) fn outside_since(&self) -> Option<Moment> {
        self.membership.outside_since()
    }

    /// Sets the URLs at which others reach this node.
    fn set_addresses(&mut self, now: Moment, urls: Vec<String>) {
        self.config.overlay.urls.clone_from(&urls);
        let name = self.config.overlay.name.clone();
        self.reformation.set_contact(Contact { name, urls: urls.clone() });
        if let Err(error) = self.overlay.set_urls(now, urls) {
            tracing::error!(%error, "the addresses of this node are not told to others");
        }
    }

    /// See [`NetworkConfig::minority_timeout`].
    pub(crate) fn minority_timeout(&self) -> std::time::Duration {
        self.config.minority_timeout
    }

    /// Whether it has left the network properly. A node that has never been in one has left at once.
    pub(crate) fn has_left(&self) -> bool {
        // It does not suffice that all others have left the control plane: they may need the vote of
        // this node until they have left the log.
        self.leaving && self.commands.is_removed() && self.reformation.is_persisted()
    }

    /// Begins to leave the network properly.
    pub(crate) fn leave(&mut self, now: Moment) {
        if !std::mem::replace(&mut self.leaving, true) {
            // The last member takes the network with it. A node outside may still be a voter.
            if self.is_member() && self.nodes.len() <= 1 {
                self.reformation.forget();
            }
            self.remove(now, self.key);
        }
    }

    /// Lets all machines do their timed work.
    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        self.review_due = true;
        self.overlay.handle_timeout(now);
        self.commands.handle_timeout(now);
        if self.reformation.poll_timeout().is_some_and(|at| at <= now) {
            self.reformation.handle_timeout(now);
        }
        if self.routers.poll_timeout().is_some_and(|at| at <= now) {
            self.routers.handle_timeout(now);
        }
        if self.groups.keys.as_ref().and_then(KeyRotation::poll_timeout).is_some_and(|at| at <= now) {
            self.change_keys(now, |keys| keys.handle_timeout(now));
        }
    }

    /// When to call [`Network::handle_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let links = Moment::sooner(self.overlay.poll_timeout(), self.routers.poll_timeout());
        // A leaving node never becomes a member or declares a node dead. Without the filter these
        // deadlines would fire again and again.
        let membership = self.membership.poll_timeout().filter(|_| !self.leaving);
        let standing = Moment::sooner(self.commands.poll_timeout(), membership);
        let own =
            Moment::sooner(self.info.poll_timeout(), self.yielding.as_ref().map(|yielding| yielding.at));
        let own = Moment::sooner(own, self.reformation.poll_timeout());
        let own = Moment::sooner(own, self.groups.keys.as_ref().and_then(KeyRotation::poll_timeout));
        Moment::sooner(Moment::sooner(links, standing), own)
    }

    /// The congested pipes in which messages sent since the last call wait. Their sender must be
    /// paused.
    pub(crate) fn take_waits(&mut self) -> Vec<RouterClient> {
        let mut pipes = std::mem::take(&mut self.waits_in);
        pipes.retain(|pipe| self.routers.is_congested(*pipe));
        pipes
    }

    /// A pipe that senders need no longer wait for.
    pub(crate) fn poll_relieved(&mut self) -> Option<RouterClient> {
        self.routers.poll_relieved()
    }

    /// Takes the proposals and outgoing messages of the services.
    pub(crate) fn take_from(&mut self, now: Moment, rti: &mut Rti) -> bool {
        let mut any = self.take_proposals(now, rti);
        while let Some(outgoing) = rti.poll_outgoing() {
            self.send(now, outgoing);
            any = true;
        }
        any
    }

    /// Like [`Network::take_from`], but leaves messages to which the next call may add.
    pub(crate) fn take_finished(&mut self, now: Moment, rti: &mut Rti) {
        self.take_proposals(now, rti);
        while let Some(outgoing) = rti.poll_finished() {
            self.send(now, outgoing);
        }
    }

    fn take_proposals(&mut self, now: Moment, rti: &mut Rti) -> bool {
        let mut any = false;
        while let Some(proposal) = rti.poll_proposal() {
            tracing::debug!(command = ?proposal.command(), "propose");
            self.commands.propose(now, proposal);
            any = true;
        }
        any
    }

    fn send(&mut self, now: Moment, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Publish(packet) => {
                let pipes = self.routers.publish(now, packet);
                self.waits_in.extend(pipes);
            }
            Outgoing::Unicast { to, body, urgent } => match self.nodes.get(&to).copied() {
                Some(key) => self.write(now, key, &Unicast::Services(body), urgent),
                None => tracing::debug!(%to, "no such node: a peer message is dropped"),
            },
            Outgoing::Interest { topic, any } => {
                self.groups.note(topic, false, any);
                self.routers.set_interest(now, &topic, any);
            }
            Outgoing::Advertise { topic, any } => {
                self.groups.note(topic, true, any);
                self.routers.set_advertisement(now, &topic, any);
            }
        }
    }

    fn write(&mut self, now: Moment, to: NodeKey, message: &Unicast, urgent: bool) {
        if let Err(error) = self.overlay.send(now, to, message.encode(), urgent) {
            tracing::debug!(%to, %error, "a message to a node was not sent");
        }
    }

    /// Does all work that has become possible, and adds completions of calls to `done`. The second
    /// value returned says that this may have made more work possible: call again.
    pub(crate) fn drive(
        &mut self,
        now: Moment,
        rti: &mut Rti,
        done: &mut Vec<Completion>,
    ) -> (Verdict, bool) {
        let mut any = self.take_from(now, rti);
        let mut again = false;
        // Congestion met by messages that no federate caused pauses nobody.
        self.waits_in.clear();
        let mut paths_changed = false;
        while let Some(event) = self.overlay.poll_event() {
            paths_changed |= events::changes_paths(&event);
            self.handle_event(now, event, rti);
            again = true;
        }
        // Once for all events: a node that goes takes several paths with it.
        if paths_changed {
            self.commands.handle_paths_changed();
            rti.handle_network_changed(now);
        }
        again |= self.drive_order(now, rti, done);
        again |= self.drive_reformation(now);
        self.review_due |= again;
        any |= self.drive_routers(now, rti);
        if !self.leaving && self.membership.must_bootstrap(now) {
            self.bootstrap(now);
            again = true;
        }
        // The standing of nodes changes with events and with time, not with every message.
        let verdict = match std::mem::take(&mut self.review_due) {
            true => self.review(now, rti),
            false => Verdict::GoOn,
        };
        again |= verdict != Verdict::GoOn;
        if any | again {
            self.info.mark_dirty();
        }
        // Forwarded messages, the majority, make no further work possible.
        (verdict, again || self.overlay.has_events() || rti.has_outgoing())
    }

    fn drive_order(&mut self, now: Moment, rti: &mut Rti, done: &mut Vec<Completion>) -> bool {
        let mut any = self.commands.apply(now, rti, done);
        if any {
            self.learn_nodes(now, rti);
        }
        any |= self.send_log_messages(now);
        any
    }

    /// Notes nodes that were added or removed.
    fn learn_nodes(&mut self, now: Moment, rti: &mut Rti) {
        let nodes: BTreeMap<_, _> = rti.control().nodes().map(|record| (record.node, record.key)).collect();
        if nodes == self.nodes {
            return;
        }
        // Forgets requests that have been fulfilled.
        let (before, after): (BTreeSet<_>, BTreeSet<_>) =
            (self.nodes.values().copied().collect(), nodes.values().copied().collect());
        self.asked.retain(|key| before.contains(key) == after.contains(key));
        self.nodes = nodes;
        for &removed in before.difference(&after) {
            self.change_keys(now, |keys| keys.handle_removed(now, removed));
        }
        self.note_members();
        // The leader that removed it may have died before it removed it from the log as well.
        if self.is_member() && !self.leaving && !self.nodes.values().any(|key| *key == self.key) {
            self.rekey = Some("this node was taken for dead and removed from the network");
        }
        if self.nodes.values().any(|key| *key == self.key) && !self.is_member() {
            tracing::info!(name = self.config.overlay.name, key = %self.key, "member of the network");
            self.membership.admitted();
            if self.config.any_shape && self.config.overlay.topology == TopologyKind::Hypercube {
                tracing::error!(
                    "the network is a hypercube, whose links have dimensions: name this node in the topology file, or give its links a `rank`; as it is, messages do not reach everybody"
                );
            }
        }
        if self.nodes.len() > 1 && self.is_member() {
            rti.set_networked(now, true);
        }
    }

    fn drive_routers(&mut self, now: Moment, rti: &mut Rti) -> bool {
        let mut any = false;
        while let Some((topic, wanted)) = self.routers.poll_wanted() {
            rti.handle_wanted(now, topic, wanted);
            any = true;
        }
        while let Some(packet) = self.routers.poll_message() {
            if let Err(error) = rti.handle_packet(now, packet) {
                tracing::warn!(%error, "a message of another node is not understood");
            }
            any = true;
        }
        while let Some((neighbour, class)) = self.routers.poll_overflow() {
            tracing::error!(%neighbour, ?class, "no room for a reliable message in transit: it has to be asked for again");
            any = true;
        }
        while let Some(neighbour) = self.routers.poll_ready() {
            self.serve(now, neighbour);
            any = true;
        }
        while let Some(link) = self.overlay.poll_ready() {
            self.links.wake(link);
            any = true;
        }
        any
    }
}
