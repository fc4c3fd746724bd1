//! Reviews of relevance: the advisories of an owner on very many instances.
//!
//! Two events concern all instances of an owner at once: it turns its advisory switch on, or a
//! federate of another node changes a subscription. The instances are visited in slices. Those
//! after the first follow between the events of other federates.

use super::instance::Cursor;
use super::objects::Objects;
use crate::effect::{Effect, Effects};
use crate::proposal::Completion;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use router::ClientId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Maximum number of instances that one slice visits. Each may be a callback of a microsecond.
const VISITED_PER_SLICE: usize = 1_000;

/// A changed subscription of another node: the advisories to one owner about instances of one class
/// and below.
#[derive(Debug)]
struct RelevanceReview {
    cursor: Cursor,
    /// Whether the subscriptions have changed again since it began, so that it must be repeated.
    again: bool,
}

/// The unfinished reviews of relevance.
#[derive(Debug, Default)]
pub(crate) struct RelevanceReviews {
    pending: BTreeMap<(FederateHandle, ObjectClassHandle), RelevanceReview>,
    /// The review that was continued last.
    last: (FederateHandle, ObjectClassHandle),
    /// Owners that have turned their switch on, and the calls that wait until all of their
    /// instances have been visited.
    starting: BTreeMap<FederateHandle, (Cursor, Completion)>,
}

impl RelevanceReviews {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a federate waits for its switch to be on.
    pub(super) fn is_starting(&self) -> bool {
        !self.starting.is_empty()
    }

    pub(super) fn remove_federate(&mut self, federate: FederateHandle) {
        self.starting.remove(&federate);
        self.pending.retain(|(owner, _), _| *owner != federate);
    }

    /// Whether the present state of an instance of `class` is still to be noted for its owner, which
    /// has turned the switch on. Until then a change is no news.
    pub(super) fn is_unvisited(
        &self,
        owner: FederateHandle,
        class: ObjectClassHandle,
        instance: ObjectInstanceHandle,
    ) -> bool {
        self.starting.get(&owner).is_some_and(|(cursor, _)| cursor.is_before(class, instance))
    }

    /// The next review, after the last one, whose owner takes callbacks.
    fn next(
        &self,
        congested: impl Fn(FederateHandle) -> bool,
    ) -> Option<(FederateHandle, ObjectClassHandle)> {
        let after_last = self.pending.range((Bound::Excluded(self.last), Bound::Unbounded));
        after_last.chain(&self.pending).map(|(&key, _)| key).find(|&(owner, _)| !congested(owner))
    }
}

impl Objects {
    /// `federate` has turned its attribute relevance advisory on. From now on it is told of changes
    /// relative to the present state of its attributes. Returns true if all of them have been
    /// visited; if not, `completion` follows with the last slice.
    pub(crate) fn start_relevance(&mut self, federate: FederateHandle, completion: Completion) -> bool {
        let mut cursor = self.instances.cursor();
        let is_done = self.note_relevance(federate, &mut cursor);
        if !is_done {
            self.relevance_reviews.starting.insert(federate, (cursor, completion));
        }
        is_done
    }

    /// Notes the present state of some instances. Returns true if they were the last.
    fn note_relevance(&mut self, federate: FederateHandle, cursor: &mut Cursor) -> bool {
        for instance in cursor.advance(&self.instances, VISITED_PER_SLICE) {
            let attributes = self.owned_attributes(federate, instance);
            if !attributes.is_empty() {
                self.update_relevance(instance, &attributes);
            }
        }
        cursor.is_done()
    }

    /// Processes one slice for one owner that has turned its switch on.
    pub(super) fn continue_starting_relevance(&mut self, effects: &mut Effects) {
        let first = self.relevance_reviews.starting.pop_first();
        let Some((federate, (mut cursor, completion))) = first else { return };
        // Instances that this slice visits count as visited from its beginning.
        if self.note_relevance(federate, &mut cursor) {
            effects.push(Effect::Complete(Box::new(completion)));
        } else {
            self.relevance_reviews.starting.insert(federate, (cursor, completion));
        }
    }

    /// Subscriptions of other nodes' federates at `class` have changed: tells owners here which of
    /// their attributes at the class and below are relevant now.
    pub(super) fn review_relevance_below(&mut self, effects: &mut Effects, class: ObjectClassHandle) {
        let listening = self.federates.values().filter(|federate| federate.switches.attribute_relevance);
        let owners: Vec<_> = listening.map(|federate| federate.handle).collect();
        for owner in owners {
            if let Some(pending) = self.relevance_reviews.pending.get_mut(&(owner, class)) {
                pending.again = true;
                continue;
            }
            let cursor = self.instances.cursor_below(&self.model, class);
            let review = RelevanceReview { cursor, again: false };
            self.visit_relevant(effects, (owner, class), review);
        }
    }

    /// Whether a review of relevance can be continued.
    pub(super) fn can_continue_relevance(&self, congested: impl Fn(ClientId) -> bool) -> bool {
        self.relevance_reviews.next(|owner| self.is_congested(owner, &congested)).is_some()
    }

    /// Processes one slice of one review of relevance.
    pub(super) fn continue_relevance(&mut self, effects: &mut Effects, congested: impl Fn(ClientId) -> bool) {
        let next = self.relevance_reviews.next(|owner| self.is_congested(owner, &congested));
        let Some(key) = next else { return };
        self.relevance_reviews.last = key;
        if let Some(review) = self.relevance_reviews.pending.remove(&key) {
            self.visit_relevant(effects, key, review);
        }
    }

    fn visit_relevant(
        &mut self,
        effects: &mut Effects,
        (owner, class): (FederateHandle, ObjectClassHandle),
        mut review: RelevanceReview,
    ) {
        for instance in review.cursor.advance(&self.instances, VISITED_PER_SLICE) {
            // An instance discovered at another class now has other attributes in scope as well.
            let attributes = self.owned_attributes(owner, instance);
            self.refresh_relevance(effects, instance, &attributes);
        }
        if review.cursor.is_done() && std::mem::take(&mut review.again) {
            review.cursor = self.instances.cursor_below(&self.model, class);
        }
        if !review.cursor.is_done() {
            self.relevance_reviews.pending.insert((owner, class), review);
        }
    }

    fn owned_attributes(
        &self,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> BTreeSet<AttributeHandle> {
        let Some(object) = self.instances.get(instance) else { return BTreeSet::new() };
        let class = self.class_of(object.class);
        let owned = object.attributes().filter(|(_, attribute)| attribute.owner == owner);
        owned.map(|(slot, _)| class.attributes[slot]).collect()
    }
}
