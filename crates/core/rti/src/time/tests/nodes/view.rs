//! The streams as one node of the simulation sees them.

use super::super::super::TimedMessage;
use super::super::super::streams::{Progress, Streams};
use crate::control::{NodeId, PublishedClass};
use hla::handle::MessageRetractionHandle;
use hla::time::LogicalTime;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An event of a stream.
#[derive(Clone)]
pub(super) enum Event {
    Message(TimedMessage),
    Retracted(MessageRetractionHandle, LogicalTime),
}

/// An event, and its number in the stream of its sender.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) number: u64,
    pub(super) event: Event,
}

/// An entry of the log.
#[derive(Clone, Copy)]
pub(super) enum Entry {
    Published(PublishedClass, NodeId),
    Removed(NodeId),
}

#[derive(Default)]
pub(super) struct View {
    pub(super) node: NodeId,
    /// Entries of the log that the node has applied.
    pub(super) applied: usize,
    /// Publications that the node has learned of.
    known: BTreeSet<(PublishedClass, NodeId)>,
    delivered: BTreeMap<(PublishedClass, NodeId), u64>,
    /// Events of streams whose publication is not known yet.
    early: BTreeMap<(PublishedClass, NodeId), VecDeque<Sent>>,
    moved: BTreeSet<(PublishedClass, NodeId)>,
    covered: Vec<PublishedClass>,
    pub(super) others: BTreeSet<NodeId>,
}

impl View {
    pub(super) fn new(node: NodeId, covered: Vec<PublishedClass>, others: BTreeSet<NodeId>) -> Self {
        Self { node, covered, others, ..Self::default() }
    }

    /// Learns of a publication.
    pub(super) fn learn(&mut self, stream: (PublishedClass, NodeId)) {
        if stream.1 != self.node && !self.others.contains(&stream.1) {
            return;
        }
        self.known.insert(stream);
        if stream.1 != self.node {
            self.moved.insert(stream);
        }
    }

    /// Forgets the streams of a node that was removed.
    pub(super) fn forget(&mut self, gone: NodeId) {
        self.others.remove(&gone);
        self.known.retain(|&(_, node)| node != gone);
        self.early.retain(|&(_, node), _| node != gone);
    }

    /// An event has arrived.
    pub(super) fn arrived(&mut self, stream: (PublishedClass, NodeId), sent: Sent) {
        self.early.entry(stream).or_default().push_back(sent);
    }

    /// The next event of a stream that can be delivered.
    pub(super) fn deliver(&mut self, stream: (PublishedClass, NodeId)) -> Option<Event> {
        let known = self.known.contains(&stream);
        let sent = self.early.get_mut(&stream).filter(|_| known)?.pop_front()?;
        self.delivered.insert(stream, sent.number);
        self.moved.insert(stream);
        Some(sent.event)
    }
}

impl Streams for View {
    fn version(&self) -> u64 {
        self.applied as u64
    }

    fn is_settled(&self, class: PublishedClass) -> bool {
        self.known.contains(&(class, self.node))
    }

    fn followers(&self, class: PublishedClass) -> impl Iterator<Item = NodeId> {
        let known = self.known.contains(&(class, self.node));
        self.others.iter().copied().filter(move |_| known)
    }

    fn progress(&self, class: PublishedClass, node: NodeId) -> Progress {
        match self.known.contains(&(class, node)) {
            true => Progress::Delivered(self.delivered.get(&(class, node)).copied().unwrap_or(0)),
            false => Progress::Unpublished,
        }
    }

    fn covered(&self) -> impl Iterator<Item = PublishedClass> {
        self.covered.iter().copied()
    }

    fn take_moved(&mut self) -> Vec<(PublishedClass, NodeId)> {
        std::mem::take(&mut self.moved).into_iter().collect()
    }
}
