//! The network as one node sees it, and counters.

use crate::{LinkId, TargetId};
use base::{Moment, NodeKey};
use bytes::Bytes;
use std::time::Duration;

/// The whole network, as the node that was asked knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkMap {
    /// Nodes in order of their keys: this one, and also those that are gone and not yet forgotten.
    pub nodes: Vec<NodeView>,
    /// Links that at least one end reports, in order of their ends.
    pub links: Vec<LinkView>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Its identity.
    pub key: NodeKey,
    /// Its name.
    pub name: String,
    /// Where others may connect to it.
    pub urls: Vec<String>,
    /// The information blob of its application.
    pub info: Bytes,
    /// When the node that was asked received this information.
    pub info_received: Moment,
    /// Whether a path leads there. True for the node that was asked.
    pub reachable: bool,
    /// The node has announced that it leaves.
    pub leaving: bool,
    /// Number of links on the shortest path; 0 for the node that was asked and for nodes out of
    /// reach.
    pub hops: u32,
    /// The neighbour through which the path leads.
    pub through: Option<NodeKey>,
}

/// A link between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// The end with the smaller key.
    pub a: NodeKey,
    /// The end with the larger key.
    pub b: NodeKey,
    /// Both ends report the link; otherwise one of them is out of reach or has given it up.
    pub confirmed: bool,
    /// The link is up but carries no channel frames, since other links do.
    pub standby: bool,
    /// Round trip, as the ends report it.
    pub rtt: Duration,
}

/// A link of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnLink {
    /// The link.
    pub link: LinkId,
    /// The target that it was made for; `None`: the other end connected.
    pub target: Option<TargetId>,
    /// The node at the other end, when it has greeted.
    pub peer: Option<(NodeKey, String)>,
    /// Its stage.
    pub state: LinkState,
    /// The shortest of the last round trips.
    pub rtt: Duration,
    /// Bytes of urgent unicasts that wait for the link.
    pub urgent_bytes: usize,
    /// Bytes of other unicasts that wait for the link.
    pub bulk_bytes: usize,
    /// Frames of the overlay that were handed to the link.
    pub sent_frames: u64,
    /// Frames of the overlay that came from the link.
    pub received_frames: u64,
}

/// The stage of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Greetings are being exchanged.
    Greeting,
    /// The link is up and carries channel frames.
    Active,
    /// The link is up and carries no channel frames.
    Standby,
    /// The link is being closed.
    Closing,
}

/// A target of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetView {
    /// The target.
    pub target: TargetId,
    /// Its URL.
    pub url: String,
    /// The node that is or was there.
    pub peer: Option<NodeKey>,
    /// Whether the overlay made the target for a node that it learned of.
    pub learned: bool,
    /// Its phase.
    pub state: TargetPhase,
    /// Attempts since its link was last up for
    /// [`Timing::steady_after`](crate::Timing::steady_after).
    pub attempts: u32,
    /// The reason why the last attempt failed or the link ended.
    pub last_error: Option<String>,
}

/// The phase of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPhase {
    /// The next attempt follows after a wait.
    Waiting,
    /// The world is connecting.
    Connecting,
    /// There is a link.
    Linked,
    /// Another link leads to the same node.
    Covered,
}

/// Counters, all since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverlayStats {
    /// Frames handed to links.
    pub sent_frames: u64,
    /// Keep-alives among these.
    pub sent_keep_alives: u64,
    /// Bytes of the frames handed to links.
    pub sent_bytes: u64,
    /// Frames received from links.
    pub received_frames: u64,
    /// Bytes of these frames.
    pub received_bytes: u64,
    /// Entries of the map handed to links.
    pub sent_entries: u64,
    /// Entries received that were news.
    pub new_entries: u64,
    /// Entries for which the map had no room.
    pub entries_without_room: u64,
    /// Times that a neighbour's map differed from this node's for long enough to be compared.
    pub repairs: u64,
    /// Announcements of this node.
    pub announcements: u64,
    /// Computations of routes and the spanning tree.
    pub computations: u64,
    /// Messages that this node sent.
    pub sent_messages: u64,
    /// Messages that came for this node.
    pub received_messages: u64,
    /// Pieces passed on for others.
    pub relayed_pieces: u64,
    /// Pieces to which no path led on.
    pub undeliverable_pieces: u64,
    /// Pieces that were relayed too often.
    pub hops_exceeded: u64,
    /// Urgent pieces dropped because a queue was full.
    pub dropped_urgent: u64,
    /// Other pieces dropped because a queue was full.
    pub dropped_bulk: u64,
    /// Messages that stayed incomplete or were too long to be reassembled.
    pub lost_messages: u64,
    /// Malformed messages of tunnels.
    pub bad_tunnel_messages: u64,
    /// Paths that moved between a tunnel and a link.
    pub moved_paths: u64,
    /// Links that this node refused.
    pub refused_links: u64,
    /// Links that broke the protocol.
    pub hostile_links: u64,
    /// Links given up after silence.
    pub silent_links: u64,
}

impl OverlayStats {
    /// Calls `f` with the name and value of every counter.
    pub fn each(&self, mut f: impl FnMut(&'static str, u64)) {
        f("sent_frames", self.sent_frames);
        f("sent_keep_alives", self.sent_keep_alives);
        f("sent_bytes", self.sent_bytes);
        f("received_frames", self.received_frames);
        f("received_bytes", self.received_bytes);
        f("sent_entries", self.sent_entries);
        f("new_entries", self.new_entries);
        f("entries_without_room", self.entries_without_room);
        f("repairs", self.repairs);
        f("announcements", self.announcements);
        f("computations", self.computations);
        f("sent_messages", self.sent_messages);
        f("received_messages", self.received_messages);
        f("relayed_pieces", self.relayed_pieces);
        f("undeliverable_pieces", self.undeliverable_pieces);
        f("hops_exceeded", self.hops_exceeded);
        f("dropped_urgent", self.dropped_urgent);
        f("dropped_bulk", self.dropped_bulk);
        f("lost_messages", self.lost_messages);
        f("bad_tunnel_messages", self.bad_tunnel_messages);
        f("moved_paths", self.moved_paths);
        f("refused_links", self.refused_links);
        f("hostile_links", self.hostile_links);
        f("silent_links", self.silent_links);
    }
}
