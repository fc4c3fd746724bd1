//! What the overlay tells its node.

use crate::error::Refusal;
use crate::{LinkId, TargetId};
use base::NodeKey;
use bytes::Bytes;

/// Over what channel frames go to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Its link: send and receive frames of channels there.
    Link(LinkId),
    /// Other nodes: [`Overlay::send_channel`](crate::Overlay::send_channel) and [`Event::Channel`].
    Tunnel,
}

/// Something that is worth a warning and stops nothing.
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

/// News, in the order in which they came about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Connect to the URL; answer with exactly one of `handle_link_up` and `handle_link_failed`.
    Connect {
        /// For which target.
        target: TargetId,
        /// Where to.
        url: String,
    },
    /// Close the link after the frames that were taken from it; it is gone for the overlay.
    Close {
        /// Which.
        link: LinkId,
        /// Why, for the log.
        reason: String,
    },
    /// A link is up and both ends accepted each other.
    NeighbourUp {
        /// The node at the other end.
        key: NodeKey,
        /// Its name.
        name: String,
        /// Over which link.
        link: LinkId,
        /// Did this node connect?
        initiator: bool,
        /// For which target; `None`: the other node connected.
        target: Option<TargetId>,
        /// The [terms](crate::Target::terms) of the initiator.
        terms: Bytes,
    },
    /// There is no link to the node any more.
    NeighbourDown {
        /// Which node.
        key: NodeKey,
        /// Why, for the log.
        why: String,
    },
    /// From now on channel frames go to the node, in order: make router clients. Both ends are told, and no frame of the
    /// other end comes before.
    PathUp {
        /// Which node.
        neighbour: NodeKey,
        /// Over what.
        via: Via,
        /// Is this node the initiator, as of the link?
        initiator: bool,
        /// The terms of the initiator.
        terms: Bytes,
    },
    /// Channel frames no longer go to the node: forget its router clients. Frames of a channel that still come from the link
    /// before the next `PathUp` are to be dropped.
    PathDown {
        /// Which node.
        neighbour: NodeKey,
    },
    /// A path leads to the node.
    Reachable {
        /// Which node.
        key: NodeKey,
        /// Its name.
        name: String,
    },
    /// No path leads to the node any more.
    Unreachable {
        /// Which node.
        key: NodeKey,
    },
    /// A message to this node.
    Received {
        /// Who sent it.
        from: NodeKey,
        /// What.
        body: Bytes,
    },
    /// A channel frame that came through a tunnel.
    Channel {
        /// Who sent it.
        from: NodeKey,
        /// The channel.
        channel: u8,
        /// The frame.
        frame: Bytes,
    },
    /// A tunnel that was full has room again.
    TunnelReady {
        /// To which node.
        neighbour: NodeKey,
    },
    /// This node was in no network, and now is.
    NetworkAdopted {
        /// Which.
        network: u64,
    },
    /// This node refuses a link. It is wrong here or there; the sentence says what to do.
    Refused {
        /// Which link.
        link: LinkId,
        /// For which target.
        target: Option<TargetId>,
        /// Who is there, when it has greeted.
        peer: Option<(NodeKey, String)>,
        /// Why.
        refusal: Refusal,
    },
    /// The other node refuses a link.
    RefusedByPeer {
        /// Which link.
        link: LinkId,
        /// For which target.
        target: Option<TargetId>,
        /// Who refuses.
        peer: NodeKey,
        /// The [code](Refusal::code) of the refusal.
        code: u8,
        /// Why, in the words of the peer.
        text: String,
    },
    /// Another node that joined at the same time has this node's name, and a smaller key: this node gives up its links.
    NameTaken {
        /// The node that has the name.
        holder: NodeKey,
    },
    /// Worth a line in the log.
    Warned {
        /// The node that it is about.
        key: NodeKey,
        /// What.
        warning: Warning,
    },
}
