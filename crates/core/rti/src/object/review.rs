//! Reviews: the consequences of a changed subscription for existing instances.
//!
//! A federation may have a million instances, and no one else may wait while one federate discovers
//! them. A review therefore visits instances in slices. The first slice belongs to the call that
//! changed the subscription. The others follow between the events of other federates, and only as
//! fast as the federate takes its callbacks.
//!
//! To a federate, an instance that has not been visited is one that it has not discovered yet. If
//! it discovers the instance in another way, its reviews skip the instance, because the discovery
//! already used the present subscriptions.

use super::federate::ClassSubscription;
use super::instance::Cursor;
use super::objects::Objects;
use super::regions::Difference;
use crate::effect::Effects;
use base::HandleState;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ops::Bound;

/// Maximum number of instances that one slice visits. Each may be a discovery of some microseconds.
const VISITED_PER_SLICE: usize = 1_000;

/// One change of the subscription of one class.
#[derive(Debug)]
struct Review {
    /// Attributes that the federate has subscribed by the change.
    gained: BTreeSet<AttributeHandle>,
    /// Attributes that it no longer subscribes, or subscribes in another way.
    changed: BTreeSet<AttributeHandle>,
    cursor: Cursor,
    /// Instances that were discovered in the meantime.
    settled: HashSet<ObjectInstanceHandle, HandleState>,
}

/// Unfinished reviews. Those of one federate and class are done in order. Those of different
/// classes concern different instances, or skip instances that another review has settled.
#[derive(Debug, Default)]
pub(crate) struct Reviews {
    pending: BTreeMap<(FederateHandle, ObjectClassHandle), VecDeque<Review>>,
    /// The federate whose review was continued last.
    last: FederateHandle,
}

impl Reviews {
    /// Notes that `federate` has discovered `instance`.
    pub(super) fn settle(&mut self, federate: FederateHandle, instance: ObjectInstanceHandle) {
        if self.pending.is_empty() {
            return;
        }
        let all = (federate, ObjectClassHandle(0))..=(federate, ObjectClassHandle(u32::MAX));
        for review in self.pending.range_mut(all).flat_map(|(_, reviews)| reviews) {
            review.settled.insert(instance);
        }
    }

    pub(super) fn remove_federate(&mut self, federate: FederateHandle) {
        self.pending.retain(|(of, _), _| *of != federate);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The federate whose turn is next among those that are `ready`.
    pub(super) fn next(&self, ready: impl Fn(FederateHandle) -> bool) -> Option<FederateHandle> {
        let after_last = (Bound::Excluded((self.last, ObjectClassHandle(u32::MAX))), Bound::Unbounded);
        let keys = self.pending.range(after_last).chain(&self.pending);
        keys.map(|(&(federate, _), _)| federate).find(|&federate| ready(federate))
    }

    fn push(&mut self, key: (FederateHandle, ObjectClassHandle), review: Review) {
        self.pending.entry(key).or_default().push_back(review);
    }

    /// The next review of `federate`.
    fn pop(&mut self, federate: FederateHandle) -> Option<(ObjectClassHandle, Review)> {
        let from = (federate, ObjectClassHandle(0));
        let (&key, reviews) = self.pending.range_mut(from..).next().filter(|(key, _)| key.0 == federate)?;
        let review = reviews.pop_front()?;
        if reviews.is_empty() {
            self.pending.remove(&key);
        }
        self.last = federate;
        Some((key.1, review))
    }

    /// Puts back an unfinished review, which stays the first of its class.
    fn put_back(&mut self, key: (FederateHandle, ObjectClassHandle), review: Review) {
        self.pending.entry(key).or_default().push_front(review);
    }
}

impl Objects {
    /// The subscription of `federate` at `class` has changed from `before`: causes discoveries,
    /// changes of scope, and advisories to publishers and owners.
    pub(crate) fn subscription_changed(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: ObjectClassHandle,
        before: &ClassSubscription,
    ) {
        self.declare_objects(effects, federate, class);
        self.refresh_registrations_below(effects, class);
        let now = self.federate(federate).subscriptions.get(&class).cloned().unwrap_or_default();
        let lost = before.keys().filter(|a| !now.contains_key(a)).copied();
        let altered = now.iter().filter(|(a, how)| before.get(a).is_some_and(|old| old != *how));
        let mut review = Review {
            gained: now.keys().filter(|a| !before.contains_key(a)).copied().collect(),
            // 2025, 10.1.3: no attributesOutOfScope for attributes that the federate itself
            // unsubscribed.
            changed: lost.chain(altered.map(|(&a, _)| a)).collect(),
            cursor: self.instances.cursor_below(&self.model, class),
            settled: HashSet::default(),
        };
        let key = (federate, class);
        if self.reviews.pending.contains_key(&key) {
            return self.reviews.push(key, review);
        }
        self.visit_slice(effects, key, &mut review);
        if !review.cursor.is_done() {
            self.reviews.push(key, review);
        }
    }

    /// Processes one slice of the reviews of `federate`.
    pub(super) fn continue_review(&mut self, effects: &mut Effects, federate: FederateHandle) {
        let Some((class, mut review)) = self.reviews.pop(federate) else { return };
        self.visit_slice(effects, (federate, class), &mut review);
        if !review.cursor.is_done() {
            self.reviews.put_back((federate, class), review);
        }
    }

    /// Makes `federate` discover `instance` in a later slice, if it then should.
    pub(super) fn review_later(&mut self, federate: FederateHandle, instance: ObjectInstanceHandle) {
        let Some(class) = self.instances.get(instance).map(|object| object.class) else { return };
        let key = (federate, class);
        let mut pending = self.reviews.pending.get(&key).into_iter().flatten();
        if pending.any(|review| review.cursor.is_before(class, instance)) {
            return;
        }
        let (gained, changed, settled) = (BTreeSet::new(), BTreeSet::new(), HashSet::default());
        let cursor = Cursor::before(class, instance);
        self.reviews.push(key, Review { gained, changed, cursor, settled });
    }

    fn visit_slice(
        &mut self,
        effects: &mut Effects,
        (federate, class): (FederateHandle, ObjectClassHandle),
        review: &mut Review,
    ) {
        let visited = VISITED_PER_SLICE.min(self.reviewed_per_slice(federate, class));
        for instance in review.cursor.advance(&self.instances, visited) {
            if review.settled.contains(&instance) {
                continue;
            }
            match self.instances.get(instance).and_then(|object| object.known_class(federate)) {
                None => self.try_discover(effects, federate, instance),
                Some(known) if known == class => {
                    self.change_scope(effects, federate, class, instance, review);
                }
                Some(_) => {}
            }
        }
    }

    /// Updates the scope of an instance that `handle` already knows, at `class`.
    fn change_scope(
        &mut self,
        effects: &mut Effects,
        handle: FederateHandle,
        class: ObjectClassHandle,
        instance: ObjectInstanceHandle,
        review: &Review,
    ) {
        let new = self.new_attributes((handle, class), &review.gained);
        let mut difference = self.applicable_difference(handle, class, instance, &new);
        // 2025, 10.1.3: a federate is not told what its own call takes out of its scope.
        difference.lost.clear();
        // Some may have been unsubscribed since, by a call whose own review is still to come.
        let subscribed = self.federates.get(&handle).and_then(|federate| federate.subscriptions.get(&class));
        if let Some(object) = self.instances.get(instance)
            && let Some(subscribed) = subscribed
        {
            let applies = |&attribute: &_| object.applicable(handle, subscribed, attribute).is_some();
            difference.gained.extend(review.gained.iter().copied().filter(applies));
        }
        difference.changed.extend(&review.changed);
        let gained = self.notify_difference(effects, handle, instance, &difference);
        self.scope_changed(effects, instance, &[(handle, gained)], &difference.changed);
    }

    /// Updates the scope of an instance that `handle` already knows, at `class`, after regions have
    /// moved.
    pub(super) fn review_applicable(
        &mut self,
        effects: &mut Effects,
        handle: FederateHandle,
        class: ObjectClassHandle,
        instance: ObjectInstanceHandle,
    ) {
        let new = self.new_attributes((handle, class), &BTreeSet::new());
        let difference = self.applicable_difference(handle, class, instance, &new);
        let gained = self.notify_difference(effects, handle, instance, &difference);
        self.scope_changed(effects, instance, &[(handle, gained)], &difference.changed);
    }

    /// Attributes that a federate has first subscribed by a call whose review is not finished. For
    /// them there is no earlier scope to compare with.
    fn new_attributes(
        &self,
        key: (FederateHandle, ObjectClassHandle),
        gained: &BTreeSet<AttributeHandle>,
    ) -> BTreeSet<AttributeHandle> {
        let pending = self.reviews.pending.get(&key).into_iter().flatten();
        pending.flat_map(|review| &review.gained).chain(gained).copied().collect()
    }

    /// Compares the subscriptions of a federate at `class` that apply to an instance with those that
    /// applied when they were last compared, apart from `new` attributes.
    fn applicable_difference(
        &mut self,
        handle: FederateHandle,
        class: ObjectClassHandle,
        instance: ObjectInstanceHandle,
        new: &BTreeSet<AttributeHandle>,
    ) -> Difference {
        let (before, now) = self.refresh_narrowed(instance, handle);
        let none = ClassSubscription::new();
        let subscribed = self.federates.get(&handle).and_then(|federate| federate.subscriptions.get(&class));
        let mut difference = Difference::between(&before, &now, subscribed.unwrap_or(&none));
        difference.gained.retain(|attribute| !new.contains(attribute));
        difference.lost.retain(|attribute| !new.contains(attribute));
        difference
    }
}
