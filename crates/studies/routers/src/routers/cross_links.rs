//! The cross links of a triad: links to other triads that nobody has wired. The product's overlay
//! makes them, and says over which link, or through which tunnel, the frames for each other triad go.
//!
//! A frame of a connection begins with its channel: 0 for the overlay, others for the routers.

use super::RunError;
use super::connection::{Arrival, Connections};
use super::station::Place;
use base::{Moment, NodeKey, Seed};
use bytes::{BufMut, Bytes, BytesMut};
use netsim::HostId;
use netsim::cluster::Message as Segment;
use overlay::{Config, Event, LinkId, OnDemand, Overlay, Target, TargetId, TopologyKind, Via};
use router::{ClientConfig, ClientFlags, ClientKind, Interest, LinkChange, Message, PipeConfig, Router};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The channel of the overlay.
const OVERLAY: u8 = 0;
/// Places of the routers of a triad, as [`router::topology::mesh`] orders them.
const POP_UP: usize = 1;
const PULL_DOWN: usize = 2;
/// Targets of overlays from this number on are not configured: the overlay made them.
const LEARNED: u32 = 1 << 31;

/// The network to whose triads cross links lead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peers<'a> {
    /// The hosts of all triads. All but the first are configured to connect to the first, and learn
    /// of the others from it.
    pub(crate) hosts: &'a [HostId],
    /// The settings of the pipes to other triads.
    pub(crate) pipe: &'a PipeConfig,
    /// When cross links are made and closed.
    pub(crate) on_demand: OnDemand,
    pub(crate) seed: Seed,
}

/// Counters of the cross links of one triad; they never decrease. A cross link counts at its
/// initiator. The configured links, to the first triad, are none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct CrossLinkCounts {
    pub(crate) opened: u64,
    pub(crate) closed: u64,
    /// When the first one came up.
    pub(crate) first_up: Option<Moment>,
    /// When the last one so far came up.
    pub(crate) last_up: Option<Moment>,
    /// Times that the path to another triad began, moved to a link or a tunnel, or ended.
    pub(crate) path_changes: u64,
}

impl CrossLinkCounts {
    /// Adds the counters of another triad.
    pub(crate) fn add(&mut self, other: Self) {
        self.opened += other.opened;
        self.closed += other.closed;
        self.first_up = Moment::sooner(self.first_up, other.first_up);
        self.last_up = self.last_up.max(other.last_up);
        self.path_changes += other.path_changes;
    }
}

/// The path to another triad.
struct Path {
    via: Via,
    /// Router clients for that triad, by channel.
    clients: [(u8, Place); 2],
}

/// The overlay of one triad, its connections, and its paths to the other triads.
pub(crate) struct CrossLinks {
    overlay: Overlay,
    connections: Connections,
    hosts: Vec<HostId>,
    pipe: PipeConfig,
    paths: BTreeMap<NodeKey, Path>,
    /// The triad that each router client stands for.
    owners: BTreeMap<Place, NodeKey>,
    /// Router clients that may have frames to send.
    ready: VecDeque<Place>,
    /// Neighbours to which this triad has made a cross link.
    initiated: BTreeSet<NodeKey>,
    counts: CrossLinkCounts,
}

fn url(triad: usize) -> String {
    format!("triad-{triad}")
}

impl CrossLinks {
    /// The cross links of one of the triads, by its index among the hosts.
    pub(crate) fn new(peers: Peers<'_>, triad: usize) -> Result<Self, RunError> {
        let seed = peers.seed.split("cross links").split_index(triad as u64);
        let key = NodeKey(seed.split("key").0.max(1));
        let mut config = Config::new(key, url(triad), TopologyKind::Mesh, seed.split("overlay"));
        config.network = base::network_number("triads", 0);
        config.urls = vec![url(triad)];
        config.on_demand = Some(peers.on_demand);
        if triad > 0 {
            config.targets = vec![Target { url: url(0), ..Target::default() }];
        }
        Ok(Self {
            overlay: Overlay::new(config).map_err(RunError::Overlay)?,
            connections: Connections::default(),
            hosts: peers.hosts.to_vec(),
            pipe: peers.pipe.clone(),
            paths: BTreeMap::new(),
            owners: BTreeMap::new(),
            ready: VecDeque::new(),
            initiated: BTreeSet::new(),
            counts: CrossLinkCounts::default(),
        })
    }

    /// Counters.
    pub(crate) fn counts(&self) -> CrossLinkCounts {
        self.counts
    }

    /// Whether there is a path to every other triad.
    pub(crate) fn is_complete(&self) -> bool {
        self.paths.len() + 1 == self.hosts.len()
    }

    /// Whether a message of the cluster is for the connections.
    pub(super) fn takes(message: &Segment) -> bool {
        Connections::is_segment(message)
    }

    /// Whether a router client stands for another triad.
    pub(super) fn owns(&self, place: Place) -> bool {
        self.owners.contains_key(&place)
    }

    /// A router client for another triad may have frames to send.
    pub(super) fn set_ready(&mut self, place: Place) {
        self.ready.push_back(place);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        self.overlay.poll_timeout()
    }

    /// Does all that is due.
    pub(super) fn handle_timeout(&mut self, now: Moment) {
        if self.overlay.poll_timeout().is_some_and(|at| at <= now) {
            self.overlay.handle_timeout(now);
        }
    }

    /// Takes a message of the cluster. [`run`](Self::run) does the rest.
    pub(super) fn handle<M: Message, I: Interest<Topic = M::Topic>>(
        &mut self,
        now: Moment,
        routers: &mut [Router<M, I>],
        segment: Segment,
    ) -> Result<(), RunError> {
        match self.connections.handle(segment) {
            Some(Arrival::Up { link, target }) => self.overlay.handle_link_up(now, link, target),
            Some(Arrival::Down { link }) => {
                self.overlay.handle_link_down(now, link, "closed by the other end");
            }
            Some(Arrival::Frame { link, frame }) => return self.handle_frame(now, routers, link, &frame),
            None => {}
        }
        Ok(())
    }

    fn handle_frame<M: Message, I: Interest<Topic = M::Topic>>(
        &mut self,
        now: Moment,
        routers: &mut [Router<M, I>],
        link: LinkId,
        frame: &Bytes,
    ) -> Result<(), RunError> {
        let Some(&channel) = frame.first() else { return Ok(()) };
        let body = frame.slice(1..);
        if channel == OVERLAY {
            self.overlay.handle_frame(now, link, body);
            return Ok(());
        }
        self.overlay.handle_heard(now, link);
        self.overlay.count_traffic(now, link, body.len());
        match self.overlay.channel_peer(link) {
            Some(from) => self.handle_channel(now, routers, from, channel, body),
            None => Ok(()),
        }
    }

    fn handle_channel<M: Message, I: Interest<Topic = M::Topic>>(
        &mut self,
        now: Moment,
        routers: &mut [Router<M, I>],
        from: NodeKey,
        channel: u8,
        frame: Bytes,
    ) -> Result<(), RunError> {
        let clients = self.paths.get(&from).map(|path| path.clients);
        let client = clients.into_iter().flatten().find(|(of, _)| *of == channel);
        if let Some((_, (router, client))) = client {
            let _congested = routers[router].handle_frame(now, client, frame).map_err(RunError::Frame)?;
        }
        Ok(())
    }

    /// Handles the events of the overlay, and sends what waits. Returns whether a router may have
    /// news: then call this again after they have been dealt with.
    pub(super) fn run<M: Message, I: Interest<Topic = M::Topic>>(
        &mut self,
        now: Moment,
        routers: &mut [Router<M, I>],
    ) -> Result<bool, RunError> {
        let mut touched = false;
        loop {
            if let Some(event) = self.overlay.poll_event() {
                touched |= self.handle_event(now, routers, event)?;
            } else if let Some(link) = self.overlay.poll_ready() {
                while let Some(frame) = self.overlay.poll_frame(now, link) {
                    self.send(link, OVERLAY, &frame);
                }
            } else if let Some(place) = self.ready.pop_front() {
                touched |= self.serve(now, routers, place)?;
            } else {
                return Ok(touched);
            }
        }
    }

    /// Returns whether a router may have news.
    fn handle_event<M: Message, I: Interest<Topic = M::Topic>>(
        &mut self,
        now: Moment,
        routers: &mut [Router<M, I>],
        event: Event,
    ) -> Result<bool, RunError> {
        match event {
            Event::Connect { target, url: to } => {
                match self.hosts.iter().enumerate().find(|(triad, _)| url(*triad) == to) {
                    Some((_, &host)) => self.connections.connect(host, target),
                    None => self.overlay.handle_link_failed(now, target, "no triad has this URL"),
                }
            }
            Event::Close { link, .. } => self.connections.close(link),
            Event::NeighbourUp { key, initiator: true, target: Some(TargetId(LEARNED..)), .. } => {
                // Of two links to the same triad one replaces the other.
                self.counts.opened += u64::from(self.initiated.insert(key));
                self.counts.first_up = self.counts.first_up.or(Some(now));
                self.counts.last_up = Some(now);
            }
            Event::NeighbourDown { key, .. } => {
                self.counts.closed += u64::from(self.initiated.remove(&key));
            }
            Event::PathUp { neighbour, via, initiator, .. } => {
                self.path_down(now, routers, neighbour);
                self.path_up(now, routers, neighbour, via, initiator)?;
                return Ok(true);
            }
            Event::PathDown { neighbour } => {
                self.path_down(now, routers, neighbour);
                return Ok(true);
            }
            Event::PathMoved { neighbour, via } => {
                if let Some(path) = self.paths.get_mut(&neighbour) {
                    path.via = via;
                    self.counts.path_changes += 1;
                }
                self.wake(neighbour);
            }
            Event::Channel { from, channel, frame } => {
                self.handle_channel(now, routers, from, channel, frame)?;
                return Ok(true);
            }
            Event::TunnelReady { neighbour } => self.wake(neighbour),
            _ => {}
        }
        Ok(false)
    }

    /// Makes the router clients for another triad, as the product's
    /// [`NodeRouters`](router::NodeRouters) do.
    fn path_up<M: Message, I: Interest<Topic = M::Topic>>(
        &mut self,
        now: Moment,
        routers: &mut [Router<M, I>],
        neighbour: NodeKey,
        via: Via,
        initiator: bool,
    ) -> Result<(), RunError> {
        // The channel of each PopUp has the number of its end, so that both ends agree.
        let own_pop_up = if initiator { 1 } else { 2 };
        let mut add = |router: usize, flags: ClientFlags| {
            let flags = flags | ClientFlags::UPPER;
            let config = ClientConfig { flags, rank: 0, kind: ClientKind::Link, pipe: self.pipe.clone() };
            let client = routers[router].add_client(now, config).map_err(RunError::Client)?;
            routers[router].handle_link(now, client, LinkChange::Up).map_err(RunError::Client)?;
            self.owners.insert((router, client), neighbour);
            Ok::<Place, RunError>((router, client))
        };
        let clients = [
            (own_pop_up, add(POP_UP, ClientFlags::SINK)?),
            (3 - own_pop_up, add(PULL_DOWN, ClientFlags::SOURCE)?),
        ];
        self.paths.insert(neighbour, Path { via, clients });
        self.counts.path_changes += 1;
        Ok(())
    }

    fn path_down<M: Message, I: Interest<Topic = M::Topic>>(
        &mut self,
        now: Moment,
        routers: &mut [Router<M, I>],
        neighbour: NodeKey,
    ) {
        let Some(path) = self.paths.remove(&neighbour) else { return };
        for (_, (router, client)) in path.clients {
            routers[router].remove_client(now, client);
            self.owners.remove(&(router, client));
        }
        self.counts.path_changes += 1;
    }

    /// Lists the router clients of a neighbour: there is room for their frames again.
    fn wake(&mut self, neighbour: NodeKey) {
        if let Some(path) = self.paths.get(&neighbour) {
            self.ready.extend(path.clients.iter().map(|(_, place)| *place));
        }
    }

    /// Sends the frames of a router client over the path to its triad, as far as there is room.
    /// Returns whether there were any.
    fn serve<M: Message, I: Interest<Topic = M::Topic>>(
        &mut self,
        now: Moment,
        routers: &mut [Router<M, I>],
        place: Place,
    ) -> Result<bool, RunError> {
        let Some(&to) = self.owners.get(&place) else { return Ok(false) };
        let Some(path) = self.paths.get(&to) else { return Ok(false) };
        let Some(&(channel, (router, client))) = path.clients.iter().find(|(_, of)| *of == place) else {
            return Ok(false);
        };
        let (via, mut any) = (path.via, false);
        while matches!(via, Via::Link(_)) || self.overlay.can_send_channel(to) {
            let Some(frame) = routers[router].poll_frame(now, client) else { break };
            any = true;
            match via {
                Via::Link(link) => {
                    self.overlay.count_traffic(now, link, frame.len());
                    self.send(link, channel, &frame);
                }
                Via::Tunnel => {
                    self.overlay.send_channel(now, to, channel, frame).map_err(RunError::Tunnel)?;
                }
            }
        }
        Ok(any)
    }

    fn send(&mut self, link: LinkId, channel: u8, frame: &[u8]) {
        let mut out = BytesMut::with_capacity(1 + frame.len());
        out.put_u8(channel);
        out.put_slice(frame);
        // A connection that the other end has closed takes nothing: the overlay learns of that as
        // the next thing.
        let _is_up = self.connections.send(link, out.freeze());
    }

    /// The next message to another host.
    pub(super) fn poll_message(&mut self) -> Option<Segment> {
        self.connections.poll_message()
    }
}
