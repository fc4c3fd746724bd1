//! One server's part of the network: the overlay finds paths to neighbours, the routers decide what
//! goes over them.
//!
//! A frame of a link begins with its channel. Channel 0 belongs to the overlay: greetings, signs of
//! life, the map, tunnels. The others belong to the routers. Frames are pulled when a link can take
//! one, and those of the overlay go first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{Moment, NodeKey, Seed};
use bytes::{BufMut as _, Bytes, BytesMut};
use node::link::{LinkId, LinkInput, LinkOutput};
use overlay::{ConfigError, Event, Overlay, Target, TopologyKind, Via};
use router::{ClientFlags, Fifos, Interest, Message, NodeRouters, PipeConfig, RouterClient};

/// The channel of the overlay.
const OVERLAY: u8 = 0;
/// Bytes that a neighbour may send before this server has passed them on: a few round trips of a
/// wide-area line at 100 Mbit/s.
const CREDIT_BYTES: usize = 1 << 20;

/// How the servers of a network are linked. All have the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One router per server, and a single path between any two.
    Tree,
    /// The same, with spare links: those that would close a loop stand by until they are needed.
    RedundantTree,
    /// A triad of routers per server, linked to all others.
    Mesh,
}

impl Shape {
    fn topology(self) -> TopologyKind {
        match self {
            Self::Tree | Self::RedundantTree => TopologyKind::Tree,
            Self::Mesh => TopologyKind::Mesh,
        }
    }
}

/// The settings of a server in its network.
#[derive(Clone, Debug)]
pub struct MeshSettings {
    /// The identity of this incarnation of the server: random, and never used again.
    pub key: NodeKey,
    /// Its name, unique among the servers.
    pub name: String,
    /// The name of the network. Servers refuse links to another network.
    pub network: String,
    /// How the servers are linked.
    pub shape: Shape,
    /// URLs of servers that this one connects to.
    pub join: Vec<String>,
    /// The seed of random waits.
    pub seed: Seed,
}

/// News of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshEvent<I> {
    /// A path leads to this server.
    Reachable {
        /// Its incarnation.
        key: NodeKey,
        /// Its name.
        name: String,
    },
    /// Another server wants this, and before none did; or no other server wants it any longer.
    Wanted {
        /// The interest.
        interest: I,
        /// Whether there is one that wants it.
        any: bool,
    },
    /// No path leads to this server any longer.
    Unreachable {
        /// Its incarnation.
        key: NodeKey,
    },
}

/// The overlay and the routers of one server. It moves messages of any type `M` by interests of any
/// type `I`.
///
/// After any call with `now`, poll [messages](Self::poll_message), [events](Self::poll_event),
/// [relieved pipes](Self::poll_relieved) and [outputs](Self::poll_output).
pub struct Mesh<M: Message, I: Interest<Topic = M::Topic>> {
    overlay: Overlay,
    routers: NodeRouters<M, I>,
    /// Links that are up.
    open: BTreeSet<LinkId>,
    /// Neighbours with a path for messages, and the path.
    paths: BTreeMap<NodeKey, Via>,
    /// The inverse of `paths`, for neighbours reached by a link.
    peers: BTreeMap<LinkId, NodeKey>,
    /// Links that the driver was asked to pull frames for, and that have not been drained since.
    awake: BTreeSet<LinkId>,
    outputs: VecDeque<LinkOutput>,
    events: VecDeque<MeshEvent<I>>,
}

impl<M: Message, I: Interest<Topic = M::Topic>> Mesh<M, I> {
    /// A server without links. It asks for those to [`MeshSettings::join`] at once.
    ///
    /// # Errors
    /// A name or an address is out of range.
    pub fn new(now: Moment, settings: &MeshSettings) -> Result<Self, ConfigError> {
        let MeshSettings { key, seed, shape, .. } = *settings;
        let topology = shape.topology();
        let mut config = overlay::Config::new(key, &*settings.name, topology, seed.split("overlay"));
        config.redundancy = shape == Shape::RedundantTree;
        // The same at every server: links to a network of another name are refused.
        config.network = base::network_number(&settings.network, 0);
        let target = |url: &String| Target { url: url.clone(), ..Target::default() };
        config.targets = settings.join.iter().map(target).collect();
        let pipe = PipeConfig { credit_bytes: Some(CREDIT_BYTES), ..PipeConfig::default() };
        let seed = seed.split("routers");
        let routers = match shape {
            Shape::Mesh => NodeRouters::triad(now, key, seed, pipe),
            Shape::Tree | Shape::RedundantTree => NodeRouters::single(now, key, seed, pipe),
        };
        let mut mesh = Self {
            overlay: Overlay::new(config)?,
            routers,
            open: BTreeSet::new(),
            paths: BTreeMap::new(),
            peers: BTreeMap::new(),
            awake: BTreeSet::new(),
            outputs: VecDeque::new(),
            events: VecDeque::new(),
        };
        mesh.settle(now);
        Ok(mesh)
    }

    /// Declares or withdraws an interest of this server.
    pub fn set_interest(&mut self, now: Moment, interest: &I, any: bool) {
        self.routers.set_interest(now, interest, any);
        self.settle(now);
    }

    /// Sends a message to all servers with an interest in it. Returns the congested pipes in which it
    /// waits: pause its sender until each of them is [relieved](Self::poll_relieved).
    pub fn publish(&mut self, now: Moment, message: M) -> Vec<RouterClient> {
        let waits_in = self.routers.publish(now, message);
        self.settle(now);
        waits_in
    }

    /// A message of another server.
    pub fn poll_message(&mut self) -> Option<M> {
        self.routers.poll_message()
    }

    /// News of the network.
    pub fn poll_event(&mut self) -> Option<MeshEvent<I>> {
        self.events.pop_front()
    }

    /// A pipe that is no longer congested, or is gone.
    pub fn poll_relieved(&mut self) -> Option<RouterClient> {
        self.routers.poll_relieved()
    }

    /// A request to the driver.
    pub fn poll_output(&mut self) -> Option<LinkOutput> {
        self.outputs.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Moment> {
        Moment::sooner(self.overlay.poll_timeout(), self.routers.poll_timeout())
    }

    /// Does all that is due.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.overlay.handle_timeout(now);
        if self.routers.poll_timeout().is_some_and(|at| at <= now) {
            self.routers.handle_timeout(now);
        }
        self.settle(now);
    }

    /// Tells the neighbours that this server goes for good.
    pub fn leave(&mut self, now: Moment) {
        self.overlay.leave(now);
        self.settle(now);
    }

    /// Handles news of the links.
    pub fn handle_link(&mut self, now: Moment, input: LinkInput<'_>) {
        match input {
            LinkInput::Addresses(urls) => {
                if let Err(error) = self.overlay.set_urls(now, urls) {
                    tracing::error!(%error, "the addresses of this server are not told to others");
                }
            }
            LinkInput::Up { link, target } => {
                self.open.insert(link);
                self.overlay.handle_link_up(now, link, target);
            }
            LinkInput::Proven { link, names } => self.overlay.handle_link_proven(link, names),
            LinkInput::Failed { target, reason } => {
                tracing::debug!(reason, "cannot connect; trying again");
                self.overlay.handle_link_failed(now, target, reason);
            }
            LinkInput::Frame { link, frame } => self.handle_frame(now, link, &frame),
            LinkInput::Down { link, reason } => {
                if self.open.remove(&link) {
                    self.overlay.handle_link_down(now, link, reason);
                    self.forget(link);
                }
            }
            // All messages of this application are reliable, and go over the stream.
            LinkInput::Datagram { .. } | LinkInput::DatagramSize { .. } | LinkInput::Counts { .. } => {}
        }
        self.settle(now);
    }

    /// The next frame for a link that [`LinkOutput::Ready`] named.
    pub fn poll_frame(&mut self, now: Moment, link: LinkId) -> Option<Bytes> {
        let frame = match self.overlay.poll_frame(now, link) {
            Some(frame) => Some((OVERLAY, frame)),
            None => {
                let neighbour = self.peers.get(&link).copied();
                neighbour.and_then(|key| self.routers.poll_frame(now, key, Fifos::ALL, usize::MAX))
            }
        };
        if frame.is_none() {
            self.awake.remove(&link);
        }
        self.settle(now);
        let (channel, frame) = frame?;
        let mut out = BytesMut::with_capacity(1 + frame.len());
        out.put_u8(channel);
        out.put_slice(&frame);
        Some(out.freeze())
    }

    /// Names of the neighbours, with the messages sent to each of them since there is a path to it, and
    /// the number of interests that it has declared.
    pub fn neighbours(&self) -> Vec<(String, u64, usize)> {
        let one = |key: NodeKey| {
            let name = self.overlay.contact(key).map_or_else(|| key.to_string(), |(name, _)| name.to_owned());
            let interests = self.routers.channels(key).iter().map(|channel| channel.interests).sum();
            (name, self.routers.sent_to(key), interests)
        };
        let mut all: Vec<_> = self.routers.neighbours().map(one).collect();
        all.sort();
        all
    }

    /// Number of other servers to which a path leads.
    pub fn reachable(&self) -> usize {
        self.overlay.reachable().count()
    }

    fn handle_frame(&mut self, now: Moment, link: LinkId, frame: &Bytes) {
        if !self.open.contains(&link) {
            return;
        }
        let Some(&channel) = frame.first() else { return self.end_link(now, link, "an empty frame") };
        let frame = frame.slice(1..);
        if channel == OVERLAY {
            return self.overlay.handle_frame(now, link, frame);
        }
        self.overlay.handle_heard(now, link);
        // While the path moves, frames may come by the link although this server's own go through the
        // tunnel.
        if let Some(neighbour) = self.overlay.channel_peer(link).filter(|peer| self.paths.contains_key(peer))
        {
            self.handle_channel(now, neighbour, channel, frame);
        }
    }

    fn handle_channel(&mut self, now: Moment, neighbour: NodeKey, channel: u8, frame: Bytes) {
        let Err(error) = self.routers.handle_frame(now, neighbour, channel, frame, false) else { return };
        match self.paths.get(&neighbour) {
            Some(&Via::Link(link)) => {
                self.end_link(now, link, &format!("the peer breaks the protocol: {error}"));
            }
            _ => tracing::warn!(%neighbour, %error, "a frame that came through a tunnel is not understood"),
        }
    }

    fn end_link(&mut self, now: Moment, link: LinkId, why: &str) {
        self.overlay.handle_link_down(now, link, why);
        self.close(link, why.to_owned());
    }

    fn close(&mut self, link: LinkId, reason: String) {
        if self.open.remove(&link) {
            self.forget(link);
            self.outputs.push_back(LinkOutput::Close { link, reason });
        }
    }

    fn forget(&mut self, link: LinkId) {
        self.awake.remove(&link);
        if let Some(neighbour) = self.peers.remove(&link) {
            self.paths.remove(&neighbour);
        }
    }

    /// Turns the outputs of the overlay into inputs of the routers, and those of both into requests to
    /// the driver, until there are none.
    fn settle(&mut self, now: Moment) {
        loop {
            if let Some(event) = self.overlay.poll_event() {
                self.handle_event(now, event);
            } else if let Some(link) = self.overlay.poll_ready() {
                self.wake(link);
            } else if let Some(neighbour) = self.routers.poll_ready() {
                self.serve(now, neighbour);
            } else if let Some((neighbour, _)) = self.routers.poll_overflow() {
                // With credit this takes a neighbour that ignores it.
                tracing::error!(%neighbour, "no room for a message in transit");
            } else if let Some((interest, any)) = self.routers.poll_wanted() {
                self.events.push_back(MeshEvent::Wanted { interest, any });
            } else {
                return;
            }
        }
    }

    fn handle_event(&mut self, now: Moment, event: Event) {
        match event {
            Event::Connect { target, url } => self.outputs.push_back(LinkOutput::Connect { target, url }),
            Event::Close { link, reason } => self.close(link, reason),
            Event::PathUp { neighbour, via, initiator, .. } => {
                self.path_down(now, neighbour);
                self.paths.insert(neighbour, via);
                if let Via::Link(link) = via {
                    self.peers.insert(link, neighbour);
                }
                // In a tree every neighbour sends and receives.
                let flags = ClientFlags::SOURCE | ClientFlags::SINK;
                if let Err(error) = self.routers.neighbour_up(now, neighbour, initiator, flags, 0) {
                    tracing::error!(%neighbour, %error, "no client for this neighbour");
                }
            }
            Event::PathMoved { neighbour, via } => {
                if let Some(Via::Link(link)) = self.paths.insert(neighbour, via) {
                    self.peers.remove(&link);
                }
                if let Via::Link(link) = via {
                    self.peers.insert(link, neighbour);
                }
                self.serve(now, neighbour);
            }
            Event::PathDown { neighbour } => self.path_down(now, neighbour),
            Event::Channel { from, channel, frame } => self.handle_channel(now, from, channel, frame),
            Event::TunnelReady { neighbour } => self.serve(now, neighbour),
            Event::Reachable { key, name } => self.events.push_back(MeshEvent::Reachable { key, name }),
            Event::Unreachable { key } => self.events.push_back(MeshEvent::Unreachable { key }),
            Event::Refused { refusal, .. } => tracing::error!("link refused: {refusal}"),
            Event::RefusedByPeer { text, .. } => {
                tracing::error!("the other server refuses the link: {text}");
            }
            Event::NameTaken { .. } => tracing::error!("another server has this name: give this one another"),
            Event::Warned { warning, .. } => tracing::warn!("{warning}"),
            other => tracing::debug!(?other, "overlay"),
        }
    }

    fn path_down(&mut self, now: Moment, neighbour: NodeKey) {
        if let Some(Via::Link(link)) = self.paths.remove(&neighbour) {
            self.peers.remove(&link);
        }
        self.routers.neighbour_down(now, neighbour);
    }

    fn wake(&mut self, link: LinkId) {
        if self.open.contains(&link) && self.awake.insert(link) {
            self.outputs.push_back(LinkOutput::Ready(link));
        }
    }

    /// Lets frames for a neighbour leave by its link or tunnel.
    fn serve(&mut self, now: Moment, neighbour: NodeKey) {
        match self.paths.get(&neighbour) {
            Some(&Via::Link(link)) => self.wake(link),
            Some(Via::Tunnel) => {
                while self.overlay.can_send_channel(neighbour) {
                    let next = self.routers.poll_frame(now, neighbour, Fifos::ALL, usize::MAX);
                    let Some((channel, frame)) = next else { return };
                    if let Err(error) = self.overlay.send_channel(now, neighbour, channel, frame) {
                        return tracing::warn!(%neighbour, %error, "a frame was not sent");
                    }
                }
            }
            None => {}
        }
    }
}
