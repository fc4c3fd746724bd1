//! Events of the overlay for its node.

use crate::error::Refusal;
use crate::{LinkId, TargetId};
use base::NodeKey;
use bytes::Bytes;

/// How channel frames reach a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Over the link: send and receive frames of channels there.
    Link(LinkId),
    /// Over other nodes: [`Overlay::send_channel`](crate::Overlay::send_channel) and
    /// [`Event::Channel`].
    Tunnel,
}

/// A condition that deserves a warning but stops nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The clocks of two nodes differ.
    #[error(
        "the clock of node {name} is {} ms {} that of this node: set both by a time service; nothing depends on \
         them but the times in logs",
        ahead_millis.unsigned_abs(), if *ahead_millis < 0 { "behind" } else { "ahead of" }
    )]
    Clock {
        /// The node.
        name: String,
        /// How far its clock is ahead, in milliseconds.
        ahead_millis: i64,
    },
    /// Two nodes have different topology files.
    #[error("node {name} has another topology file than this node: give all nodes the same")]
    TopologyFile {
        /// The node.
        name: String,
    },
}

/// Events, in the order in which they occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Connect to the URL, and answer with exactly one call of `handle_link_up` or
    /// `handle_link_failed`.
    Connect {
        /// The target.
        target: TargetId,
        /// The URL.
        url: String,
    },
    /// Close the link after sending the frames taken for it. The overlay has already forgotten it.
    Close {
        /// The link.
        link: LinkId,
        /// The reason, for the log.
        reason: String,
    },
    /// A link is up and both ends accepted each other.
    NeighbourUp {
        /// The node at the other end.
        key: NodeKey,
        /// Its name.
        name: String,
        /// The link.
        link: LinkId,
        /// Whether this node connected.
        initiator: bool,
        /// The target; `None`: the other node connected.
        target: Option<TargetId>,
        /// The [terms](crate::Target::terms) of the initiator.
        terms: Bytes,
    },
    /// There is no longer a link to the node.
    NeighbourDown {
        /// The node.
        key: NodeKey,
        /// The reason, for the log.
        why: String,
    },
    /// From now on channel frames go to the node, in order: make router clients. Both ends get this
    /// event, and no channel frame of the other end comes before it.
    PathUp {
        /// The node.
        neighbour: NodeKey,
        /// How the frames reach it.
        via: Via,
        /// Whether this node is the initiator of the link.
        initiator: bool,
        /// The terms of the initiator.
        terms: Bytes,
    },
    /// Channel frames no longer go to the node: forget its router clients. Drop channel frames that
    /// still come from the link before the next `PathUp`.
    PathDown {
        /// The node.
        neighbour: NodeKey,
    },
    /// The path of the node goes another way from now on. Its router clients stay, and nothing is
    /// lost: take what still arrives the old way, and send the new way alone.
    PathMoved {
        /// The node.
        neighbour: NodeKey,
        /// How the frames reach it from now on.
        via: Via,
    },
    /// A path leads to the node.
    Reachable {
        /// The node.
        key: NodeKey,
        /// Its name.
        name: String,
    },
    /// No path leads to the node any longer.
    Unreachable {
        /// The node.
        key: NodeKey,
    },
    /// A link somewhere in the network is gone, and routes avoid it. Messages that were on their way
    /// over it may be lost.
    RoutesChanged,
    /// A message to this node.
    Received {
        /// The sender.
        from: NodeKey,
        /// The message.
        body: Bytes,
    },
    /// A channel frame that came through a tunnel.
    Channel {
        /// The sender.
        from: NodeKey,
        /// The channel.
        channel: u8,
        /// The frame.
        frame: Bytes,
    },
    /// A tunnel that was full has room again.
    TunnelReady {
        /// The node at its other end.
        neighbour: NodeKey,
    },
    /// This node has joined a network; before, it was in none.
    NetworkAdopted {
        /// The network.
        network: u64,
    },
    /// This node refuses a link. The fault may be at either end; the sentence names the remedy.
    Refused {
        /// The link.
        link: LinkId,
        /// The target, if this node connected.
        target: Option<TargetId>,
        /// Key and name of the other end, if it has greeted.
        peer: Option<(NodeKey, String)>,
        /// The reason.
        refusal: Refusal,
    },
    /// The other node refuses a link.
    RefusedByPeer {
        /// The link.
        link: LinkId,
        /// The target, if this node connected.
        target: Option<TargetId>,
        /// The node that refuses.
        peer: NodeKey,
        /// The [code](Refusal::code) of the refusal.
        code: u8,
        /// The reason, in the words of the peer.
        text: String,
    },
    /// Another node that joined at the same time has the same name and a smaller key: this node
    /// gives up its links.
    NameTaken {
        /// The node that has the name.
        holder: NodeKey,
    },
    /// A condition worth a line in the log.
    Warned {
        /// The node that the warning concerns.
        key: NodeKey,
        /// The warning.
        warning: Warning,
    },
}
