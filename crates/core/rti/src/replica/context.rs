//! The surroundings that the methods of a replication work with.

use super::peers::Peers;
use crate::control::{ExecutionId, NodeId};
use crate::object::objects::Objects;
use crate::wire::StreamId;
use base::{Deadlines, Moment};

/// The subject of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    /// A message to this node, or an acknowledgement, is due.
    Peer(NodeId),
    /// Something may be missing in this stream of that node, or the node is to be asked again to be followed.
    Follow(StreamId, NodeId),
    /// The high-water mark of this stream is to be announced.
    HighWater(StreamId),
    /// The beginning of this stream need no longer be kept.
    Beginning(StreamId),
    /// Old messages may be forgotten.
    History,
    /// Names of instances that died with their node are to be freed.
    Names(ExecutionId),
}

/// The surroundings of a replication: the way to other nodes, timers, and the objects, to look at.
pub(crate) struct Context<'a> {
    pub(crate) now: Moment,
    pub(crate) peers: &'a mut Peers,
    pub(crate) timers: &'a mut Deadlines<Timer>,
    pub(crate) objects: &'a Objects,
}
