//! Frames in and out: the link that leads to each neighbour, and the order in which frames leave.

use super::{LinkCounts, LinkTraffic, Network, groups};
use base::{Moment, NodeKey};
use bytes::{BufMut, Bytes, BytesMut};
use overlay::{LinkId, TargetId, TargetPhase, Via};
use router::Fifos;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The channel of the overlay; others belong to the routers.
pub(super) const OVERLAY: u8 = 0;

/// An input from the links of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkInput<'a> {
    /// The URLs at which others reach this node, as far as is known now. They replace earlier ones.
    Addresses(Vec<String>),
    /// A link is up.
    Up {
        /// The link, under a number that was never used before.
        link: LinkId,
        /// The target of the [`LinkOutput::Connect`] that this answers; `None` for a link that
        /// another node made.
        target: Option<TargetId>,
    },
    /// The other end of a link has proven that it has one of these names, for example by its
    /// certificate. It follows [`LinkInput::Up`]; a node that says another name is refused.
    Proven {
        /// The link.
        link: LinkId,
        /// The names.
        names: Vec<String>,
    },
    /// No link could be made.
    Failed {
        /// The target of the [`LinkOutput::Connect`] that this answers.
        target: TargetId,
        /// Why, for the log.
        reason: &'a str,
    },
    /// A link brought a frame.
    Frame {
        /// The link.
        link: LinkId,
        /// The frame. The kernel keeps slices of it.
        frame: Bytes,
    },
    /// A datagram arrived beside a link.
    Datagram {
        /// The link.
        link: LinkId,
        /// The frame in it.
        frame: Bytes,
    },
    /// Datagrams beside a link can carry frames of at most `max` bytes. Best-effort messages use
    /// them from now on.
    DatagramSize {
        /// The link.
        link: LinkId,
        /// The limit in bytes; 0: datagrams no longer get through.
        max: usize,
    },
    /// A link is down, whichever end closed it. No later input names it. It need not be reported
    /// for a link that [`LinkOutput::Close`] named.
    Down {
        /// The link.
        link: LinkId,
        /// Why, for the log.
        reason: &'a str,
    },
    /// The counters of a link were read. Rates are computed from readings about a second apart.
    Counts {
        /// The link.
        link: LinkId,
        /// The link's activity so far.
        counts: LinkCounts,
    },
}

/// A request to the world about the links of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkOutput {
    /// Connect, and answer with [`LinkInput::Up`] or [`LinkInput::Failed`].
    Connect {
        /// The target to name in the answer.
        target: TargetId,
        /// The URL to connect to.
        url: String,
    },
    /// Close a link after writing the frames that were taken for it.
    Close {
        /// The link.
        link: LinkId,
        /// Why, for the log.
        reason: String,
    },
    /// Frames wait for this link: pull them whenever it can take one, until there are none. Not
    /// repeated until then.
    Ready(LinkId),
}

/// The links of a node.
#[derive(Default)]
pub(crate) struct Links {
    /// The traffic of each open link so far.
    open: BTreeMap<LinkId, LinkTraffic>,
    /// Neighbours that have a path for messages, and the path.
    paths: BTreeMap<NodeKey, Via>,
    /// The inverse of `paths`, for neighbours reached by a link.
    peers: BTreeMap<LinkId, NodeKey>,
    /// When the log last told of targets that cannot be connected to.
    warned: BTreeMap<TargetId, Moment>,
    /// Links whose other end has proven who it is.
    proven: BTreeSet<LinkId>,
    /// Links with datagrams beside them.
    datagrams: BTreeSet<LinkId>,
    ready: VecDeque<LinkId>,
    /// Links that are in `ready`, or were named and have not been drained since.
    awake: BTreeSet<LinkId>,
    /// Pending requests other than to send: never [`LinkOutput::Ready`].
    orders: VecDeque<LinkOutput>,
}

impl Links {
    /// Carries out the overlay's request for a link.
    pub(crate) fn connect(&mut self, target: TargetId, url: String) {
        self.orders.push_back(LinkOutput::Connect { target, url });
    }

    /// Carries out the overlay's request to close a link.
    pub(crate) fn close(&mut self, link: LinkId, reason: String) {
        if self.open.remove(&link).is_some() {
            self.forget(link);
            self.orders.push_back(LinkOutput::Close { link, reason });
        }
    }

    /// Closes all links of the node's previous incarnation.
    pub(crate) fn close_all_of(&mut self, earlier: &Self, reason: &str) {
        let closes = earlier.orders.iter().filter(|order| matches!(order, LinkOutput::Close { .. }));
        self.orders.extend(closes.cloned());
        let close = |&link: &LinkId| LinkOutput::Close { link, reason: reason.to_owned() };
        self.orders.extend(earlier.open.keys().map(close));
    }

    fn forget(&mut self, link: LinkId) {
        self.datagrams.remove(&link);
        self.proven.remove(&link);
        self.awake.remove(&link);
        if let Some(peer) = self.peers.remove(&link) {
            self.paths.remove(&peer);
        }
    }

    pub(crate) fn path_up(&mut self, neighbour: NodeKey, via: Via) {
        self.path_down(neighbour);
        self.paths.insert(neighbour, via);
        if let Via::Link(link) = via {
            self.peers.insert(link, neighbour);
        }
    }

    /// The path of a neighbour goes another way; its routers' clients stay.
    pub(crate) fn path_moved(&mut self, neighbour: NodeKey, via: Via) {
        self.path_up(neighbour, via);
        if let Via::Link(link) = via {
            self.wake(link);
        }
    }

    pub(crate) fn path_down(&mut self, neighbour: NodeKey) {
        if let Some(Via::Link(link)) = self.paths.remove(&neighbour) {
            self.peers.remove(&link);
        }
    }

    /// Whether the path to a neighbour is a link whose other end has proven who it is.
    pub(super) fn is_proven(&self, neighbour: NodeKey) -> bool {
        matches!(self.paths.get(&neighbour), Some(Via::Link(link)) if self.proven.contains(link))
    }

    /// Notes that a link has something to send.
    pub(crate) fn wake(&mut self, link: LinkId) {
        if self.open.contains_key(&link) && self.awake.insert(link) {
            self.ready.push_back(link);
        }
    }

    /// The traffic of all open links so far.
    pub(super) fn traffic(&self) -> &BTreeMap<LinkId, LinkTraffic> {
        &self.open
    }
}

impl Network {
    /// Logs that a node cannot be connected to: the first failure, and every ten seconds while it
    /// lasts.
    fn warn_of_failure(&mut self, now: Moment, target: TargetId, reason: &str) {
        const EVERY: Duration = Duration::from_secs(10);
        let last = self.links.warned.get(&target);
        if last.is_none_or(|last| now.since(*last) >= EVERY) {
            self.links.warned.insert(target, now);
            let url =
                self.overlay.targets().into_iter().find(|view| view.target == target).map(|view| view.url);
            let url = url.unwrap_or_default();
            tracing::warn!(url, reason, "cannot connect to this node; trying again");
        }
    }

    /// The nodes that this one cannot connect to, with the reasons, in parentheses; empty if there
    /// are none.
    pub(crate) fn failed_targets(&self) -> String {
        let targets = self.overlay.targets();
        let failed = targets.iter().filter(|target| target.state != TargetPhase::Linked);
        let failed =
            failed.filter_map(|target| Some(format!("{}: {}", target.url, target.last_error.as_ref()?)));
        let failed: Vec<String> = failed.collect();
        if failed.is_empty() { String::new() } else { format!(" ({})", failed.join("; ")) }
    }

    /// See [`Kernel::handle_link`](crate::Kernel::handle_link).
    pub(crate) fn handle_link(&mut self, now: Moment, input: LinkInput<'_>) {
        match input {
            LinkInput::Frame { link, frame } => self.link_frame(now, link, &frame, false),
            LinkInput::Datagram { link, frame } => self.link_frame(now, link, &frame, true),
            LinkInput::Addresses(urls) => self.set_addresses(now, urls),
            LinkInput::Up { link, target } => {
                self.links.open.insert(link, LinkTraffic::begin(now));
                self.overlay.handle_link_up(now, link, target);
            }
            LinkInput::Proven { link, names } => {
                if self.links.open.contains_key(&link) {
                    self.links.proven.insert(link);
                }
                self.overlay.handle_link_proven(link, names);
            }
            LinkInput::Failed { target, reason } => {
                self.warn_of_failure(now, target, reason);
                self.overlay.handle_link_failed(now, target, reason);
            }
            LinkInput::DatagramSize { link, max: 0 } => drop(self.links.datagrams.remove(&link)),
            LinkInput::DatagramSize { link, .. } => {
                if self.links.open.contains_key(&link) {
                    self.links.datagrams.insert(link);
                }
            }
            LinkInput::Down { link, reason } => {
                if self.links.open.remove(&link).is_some() {
                    self.overlay.handle_link_down(now, link, reason);
                    self.links.forget(link);
                }
            }
            LinkInput::Counts { link, counts } => {
                if let Some(traffic) = self.links.open.get_mut(&link) {
                    traffic.read(now, counts);
                }
            }
        }
    }

    /// Handles a frame that came over a link or, with `datagram`, beside it.
    fn link_frame(&mut self, now: Moment, link: LinkId, frame: &Bytes, datagram: bool) {
        if !self.links.open.contains_key(&link) {
            return;
        }
        let Some(&channel) = frame.first() else {
            return self.end_link(now, link, "an empty frame");
        };
        let frame = frame.slice(1..);
        if channel == OVERLAY {
            if !datagram {
                self.overlay.handle_frame(now, link, frame);
            }
            return;
        }
        self.overlay.handle_heard(now, link);
        self.overlay.count_traffic(now, link, frame.len());
        if let Some(neighbour) = self.channel_peer(link) {
            if channel == groups::CHANNEL {
                return self.handle_group_news(now, neighbour, frame);
            }
            self.frame(now, neighbour, channel, frame, datagram);
        }
    }

    /// The neighbour whose router frames come over a link. While its path moves, they may come by the
    /// link although those of this node go through the tunnel.
    fn channel_peer(&self, link: LinkId) -> Option<NodeKey> {
        let moving = |peer: &NodeKey| self.links.paths.get(peer) == Some(&Via::Tunnel);
        let by_tunnel = || self.overlay.channel_peer(link).filter(moving);
        self.links.peers.get(&link).copied().or_else(by_tunnel)
    }

    /// Handles a router frame of a neighbour.
    pub(super) fn frame(
        &mut self,
        now: Moment,
        neighbour: NodeKey,
        channel: u8,
        frame: Bytes,
        datagram: bool,
    ) {
        let Err(error) = self.routers.handle_frame(now, neighbour, channel, frame, datagram) else { return };
        match self.links.paths.get(&neighbour) {
            _ if datagram => tracing::debug!(%neighbour, %error, "a datagram is not understood"),
            Some(&Via::Link(link)) => {
                self.end_link(now, link, &format!("the peer breaks the protocol: {error}"));
            }
            _ => tracing::warn!(%neighbour, %error, "a frame that came through a tunnel is not understood"),
        }
    }

    fn end_link(&mut self, now: Moment, link: LinkId, why: &str) {
        tracing::warn!(%link, why, "link ended");
        self.overlay.handle_link_down(now, link, why);
        self.links.close(link, why.to_owned());
    }

    /// Makes frames that wait for a neighbour leave by its link or tunnel.
    pub(super) fn serve(&mut self, now: Moment, neighbour: NodeKey) {
        match self.links.paths.get(&neighbour) {
            Some(&Via::Link(link)) => self.links.wake(link),
            Some(Via::Tunnel) => self.fill_tunnel(now, neighbour),
            None => {}
        }
    }

    /// Wakes the link to a neighbour. Returns false when there is none.
    pub(super) fn wake_neighbour(&mut self, neighbour: NodeKey) -> bool {
        match self.links.paths.get(&neighbour) {
            Some(&Via::Link(link)) => {
                self.links.wake(link);
                true
            }
            _ => false,
        }
    }

    fn fill_tunnel(&mut self, now: Moment, neighbour: NodeKey) {
        while self.overlay.can_send_channel(neighbour) {
            let next = self.routers.poll_frame(now, neighbour, Fifos::ALL, usize::MAX);
            let Some((channel, frame)) = next else { return };
            if let Err(error) = self.overlay.send_channel(now, neighbour, channel, frame) {
                return tracing::warn!(%neighbour, %error, "a frame was not sent");
            }
        }
    }

    /// See [`Kernel::poll_link`](crate::Kernel::poll_link).
    pub(crate) fn poll_link(&mut self) -> Option<LinkOutput> {
        if let Some(order) = self.links.orders.pop_front() {
            return Some(order);
        }
        while let Some(link) = self.links.ready.pop_front() {
            if self.links.awake.contains(&link) {
                return Some(LinkOutput::Ready(link));
            }
        }
        None
    }

    /// The next frame for a link. Frames of the overlay go first, so that bulk never delays the
    /// messages that keep the network together.
    pub(crate) fn poll_link_frame(&mut self, now: Moment, link: LinkId) -> Option<Bytes> {
        if let Some(frame) = self.overlay.poll_frame(now, link) {
            return Some(on_channel(OVERLAY, &frame));
        }
        if let Some(news) = self.links.peers.get(&link).and_then(|peer| self.groups.take_news(*peer)) {
            return Some(on_channel(groups::CHANNEL, &news));
        }
        if let Some(message) =
            self.links.peers.get(&link).copied().and_then(|peer| self.poll_key_message(now, peer))
        {
            return Some(on_channel(groups::CHANNEL, &message));
        }
        let fifos = if self.links.datagrams.contains(&link) { Fifos::RELIABLE } else { Fifos::ALL };
        let next = self
            .links
            .peers
            .get(&link)
            .and_then(|&peer| self.routers.poll_frame(now, peer, fifos, usize::MAX));
        match &next {
            Some((_, frame)) => self.overlay.count_traffic(now, link, frame.len()),
            None => drop(self.links.awake.remove(&link)),
        }
        next.map(|(channel, frame)| on_channel(channel, &frame))
    }

    /// Router messages sent to the neighbour at the other end.
    pub(crate) fn link_sent(&self, link: LinkId) -> u64 {
        self.links.peers.get(&link).map_or(0, |peer| self.routers.sent_to(*peer))
    }

    /// The next datagram beside a link, of at most `max` bytes.
    pub(crate) fn poll_link_datagram(&mut self, now: Moment, link: LinkId, max: usize) -> Option<Bytes> {
        let peer = self.links.datagrams.get(&link).and_then(|link| self.links.peers.get(link)).copied()?;
        let (channel, frame) =
            self.routers.poll_frame(now, peer, Fifos::BEST_EFFORT, max.saturating_sub(1))?;
        self.overlay.count_traffic(now, link, frame.len());
        Some(on_channel(channel, &frame))
    }
}

fn on_channel(channel: u8, frame: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(1 + frame.len());
    out.put_u8(channel);
    out.put_slice(frame);
    out.freeze()
}
