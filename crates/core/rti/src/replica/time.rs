//! The streams as time management sees them.

use super::replication::Replication;
use super::state::Phase;
use crate::control::{Federation, NodeId, PublishedClass};
use crate::object::objects::Objects;
use crate::time::{Progress, Streams};

/// The streams of a federation execution, with their surroundings.
pub(crate) struct TimeStreams<'a> {
    pub(crate) replication: &'a mut Replication,
    pub(crate) objects: &'a Objects,
    pub(crate) federation: &'a Federation,
}

impl Replication {
    /// Whether streams have moved since time management looked at them.
    pub(crate) fn has_moved(&self) -> bool {
        !self.moved.is_empty()
    }
}

impl TimeStreams<'_> {
    fn publishes(&self, class: PublishedClass, node: NodeId) -> bool {
        self.federation.publishers(class).any(|publisher| publisher == node)
    }

    fn needs(&self, class: PublishedClass, node: NodeId) -> bool {
        self.objects.interest.covers(class)
            || matches!(class, PublishedClass::Objects(class) if self.objects.instances.knows_any(class, node))
    }
}

impl Streams for TimeStreams<'_> {
    fn version(&self) -> u64 {
        self.federation.publication_changes()
    }

    fn is_settled(&self, class: PublishedClass) -> bool {
        let (open, proposed) =
            self.replication.outbound.get(&class).map_or((false, 0), |out| (out.open, out.proposed));
        let node = self.objects.node;
        // The control plane may say the same by accident: the proposals that end the publication
        // and begin it again can both be on their way.
        open == self.publishes(class, node) && proposed <= self.federation.publication_commands(node)
    }

    fn followers(&self, class: PublishedClass) -> impl Iterator<Item = NodeId> {
        self.replication.outbound.get(&class).into_iter().flat_map(|out| &out.followers).copied()
    }

    fn progress(&self, class: PublishedClass, node: NodeId) -> Progress {
        let following = self.replication.followed.get(&(class, node));
        match following.map(|following| (&following.phase, following.inbound.delivered())) {
            Some((Phase::Live, number)) => Progress::Delivered(number),
            Some((Phase::Asked | Phase::Snapshot { .. }, _)) => Progress::Coming,
            Some((Phase::Refused { .. } | Phase::Leaving { .. }, _)) | None => {
                match (self.needs(class, node), self.publishes(class, node)) {
                    (false, _) => Progress::Unwanted,
                    (true, true) => Progress::Coming,
                    (true, false) => Progress::Unpublished,
                }
            }
        }
    }

    fn covered(&self) -> impl Iterator<Item = PublishedClass> {
        self.objects.interest.covered()
    }

    fn take_moved(&mut self) -> Vec<(PublishedClass, NodeId)> {
        std::mem::take(&mut self.replication.moved).into_iter().collect()
    }
}
