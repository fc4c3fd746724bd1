//! The surroundings that the methods of a replication work with.

use super::peers::Peers;
use crate::control::{ExecutionId, NodeId};
use crate::object::objects::Objects;
use crate::wire::StreamId;
use base::{Deadlines, Moment};
use hla::handle::FederateHandle;

/// The subject of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    /// A message to this node, or an acknowledgement, is due.
    Peer(NodeId),
    /// A gap in this stream of that node may have to be repaired, or a refused request to follow it
    /// may be repeated.
    Follow(StreamId, NodeId),
    /// The routers have had the time to follow a switchover of this stream of that node.
    Switchover(StreamId, NodeId),
    /// Followers of this stream may subscribe where regions are of which they have lost sight.
    Review(StreamId),
    /// The high-water mark of this stream is to be announced.
    HighWater(StreamId),
    /// The beginning of this stream need not be kept any longer.
    Beginning(StreamId),
    /// Old messages may be forgotten.
    History,
    /// Names of instances that died with their node are to be freed.
    Names(ExecutionId),
    /// Attributes that the management object model updates from time to time are due, for this
    /// federate.
    Report(ExecutionId, FederateHandle),
}

/// The surroundings of a replication: the connection to other nodes, the timers, and read access to
/// the objects.
pub(crate) struct Context<'a> {
    pub(crate) now: Moment,
    pub(crate) peers: &'a mut Peers,
    pub(crate) timers: &'a mut Deadlines<Timer>,
    pub(crate) objects: &'a Objects,
}
