//! The streams of a federation execution, as far as logical time depends on them.

use crate::control::{NodeId, PublishedClass};

/// The progress of this node with a stream of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// All messages up to this number have been delivered, or came before it was followed.
    Delivered(u64),
    /// It will be followed, or it is not known yet whether it will be.
    Coming,
    /// No federate here wants it.
    Unwanted,
    /// A federate wants it, but the other node does not publish it, as far as is known.
    Unpublished,
}

/// The streams of a federation execution, as far as logical time depends on them.
pub(crate) trait Streams {
    /// Changes of publications that the control plane has applied.
    fn version(&self) -> u64;
    /// Whether the control plane says of a publication of this node what the node says.
    fn is_settled(&self, class: PublishedClass) -> bool;
    /// The nodes that receive a stream of this node.
    fn followers(&self, class: PublishedClass) -> impl Iterator<Item = NodeId>;
    /// The progress with a stream of another node.
    fn progress(&self, class: PublishedClass, node: NodeId) -> Progress;
    /// The classes that federates here subscribe.
    fn covered(&self) -> impl Iterator<Item = PublishedClass>;
    /// Streams whose position or state has changed since the last call.
    fn take_moved(&mut self) -> Vec<(PublishedClass, NodeId)>;
}
