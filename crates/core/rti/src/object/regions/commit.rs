//! The consequences of changed regions: for those who know the instance, for those who now discover
//! it, and for owners.

use super::super::federate::ClassSubscription;
use super::super::instance::Known;
use super::super::objects::Objects;
use super::overlap::Usage;
use super::table::Subscriber;
use super::update_regions::{Narrowed, applicable_in};
use crate::effect::Effects;
use crate::wire::{Region, RegionSet, Specification};
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, RegionHandle};
use router::ClientId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

/// Maximum number of instances whose update regions one slice changes. Each may be a message to
/// other nodes and several discoveries.
const MOVED_PER_SLICE: usize = 1_000;

/// Instances with regions that their owners have moved. Those after the first slice follow between
/// the events of other federates. Updates do not wait for them: each carries its own regions.
#[derive(Debug, Default)]
pub(crate) struct MovedRegions(VecDeque<(FederateHandle, ObjectInstanceHandle, BTreeSet<AttributeHandle>)>);

impl MovedRegions {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Maximum number of instances that one slice reviews. Each may be a discovery of some microseconds.
const REVIEWED_PER_SLICE: usize = 1_000;
/// Regions of subscriptions that one slice compares with those of instances. Each takes some
/// nanoseconds for each update region.
const COMPARED_PER_SLICE: usize = 100_000;

/// Instances that a federate's subscription regions may have reached or left when they moved, by the
/// class of the subscription. Those after the first slice follow as the federate takes its callbacks.
#[derive(Debug, Default)]
pub(crate) struct RegionReviews {
    pending: BTreeMap<(FederateHandle, ObjectClassHandle), BTreeSet<ObjectInstanceHandle>>,
    /// The one that was continued last.
    last: (FederateHandle, ObjectClassHandle),
}

impl RegionReviews {
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(crate) fn remove_federate(&mut self, federate: FederateHandle) {
        self.pending.retain(|(of, _), _| *of != federate);
    }

    fn add(&mut self, key: (FederateHandle, ObjectClassHandle), instances: BTreeSet<ObjectInstanceHandle>) {
        if !instances.is_empty() {
            self.pending.entry(key).or_default().extend(instances);
        }
    }

    /// The next instance to review.
    fn pop(&mut self, key: (FederateHandle, ObjectClassHandle)) -> Option<ObjectInstanceHandle> {
        let instances = self.pending.get_mut(&key)?;
        let next = instances.pop_first();
        if instances.is_empty() {
            self.pending.remove(&key);
        }
        next
    }

    /// The one whose turn is next among those whose federate is `ready`.
    fn next(&self, ready: impl Fn(FederateHandle) -> bool) -> Option<(FederateHandle, ObjectClassHandle)> {
        let after = (Bound::Excluded(self.last), Bound::Unbounded);
        let mut keys = self.pending.range(after).chain(&self.pending).map(|(&key, _)| key);
        keys.find(|&(federate, _)| ready(federate))
    }
}

/// The attributes whose applicable subscriptions have changed.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// No subscription applied before.
    pub(crate) gained: BTreeSet<AttributeHandle>,
    /// No subscription applies now.
    pub(crate) lost: BTreeSet<AttributeHandle>,
    /// All that have changed, in whatever way.
    pub(crate) changed: BTreeSet<AttributeHandle>,
}

impl Difference {
    pub(crate) fn between(before: &Narrowed, now: &Narrowed, union: &ClassSubscription) -> Self {
        let mut difference = Self::default();
        for (attribute, _) in before.iter().chain(now) {
            let of = |narrowed| applicable_in(union, Some(narrowed), *attribute);
            let (old, new) = (of(before), of(now));
            if old != new {
                difference.changed.insert(*attribute);
            }
            if old.is_none() && new.is_some() {
                difference.gained.insert(*attribute);
            }
            if old.is_some() && new.is_none() {
                difference.lost.insert(*attribute);
            }
        }
        difference
    }
}

impl Objects {
    /// `federate` has moved regions that it has created (9.3).
    pub(super) fn regions_moved(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        moved: &[(RegionHandle, Option<Specification>)],
    ) {
        let distribution = &mut self.federate_mut(federate).distribution;
        let mut instances: BTreeMap<ObjectInstanceHandle, BTreeSet<AttributeHandle>> = BTreeMap::new();
        let mut interactions = BTreeSet::new();
        // Where regions of subscriptions were, and where they are now.
        let mut subscribed: BTreeMap<ObjectClassHandle, Vec<(AttributeHandle, Region)>> = BTreeMap::new();
        for (handle, before) in moved {
            let Some(region) = distribution.region(*handle) else { continue };
            for &(instance, attribute) in &region.associated {
                instances.entry(instance).or_default().insert(attribute);
            }
            for subscriber in &region.subscribers {
                let (class, attribute) = match *subscriber {
                    Subscriber::Attribute(class, attribute) => (class, attribute),
                    Subscriber::Interaction(class) => {
                        interactions.insert(class);
                        continue;
                    }
                };
                for ranges in before.iter().chain(&region.specification) {
                    let region = Region { handle: *handle, ranges: ranges.clone() };
                    subscribed.entry(class).or_default().push((attribute, region));
                }
            }
        }
        let mut sets = BTreeMap::new();
        for (instance, attributes) in &instances {
            distribution.respecify(*instance, attributes, &mut sets);
        }
        for (place, (instance, attributes)) in instances.into_iter().enumerate() {
            match place < MOVED_PER_SLICE {
                true => self.push_regions(effects, federate, instance, attributes),
                false => self.moved_regions.0.push_back((federate, instance, attributes)),
            }
        }
        for class in interactions {
            if self.replicated && self.move_summary(federate, class) {
                self.announce_interaction_subscription(effects, federate, class);
            }
        }
        for (class, regions) in subscribed {
            if self.replicated && self.move_summaries(federate, class) {
                self.announce_subscription(effects, federate, class);
            }
            let regions = regions.iter().map(|(attribute, region)| (*attribute, region));
            let found = self.find_instances(class, regions);
            self.region_reviews.add((federate, class), found);
            self.review_slice(effects, (federate, class));
        }
    }

    /// Whether a review of moved regions can go on.
    pub(crate) fn can_review_regions(&self, congested: impl Fn(ClientId) -> bool) -> bool {
        self.next_region_review(congested).is_some()
    }

    /// Continues one review of moved regions.
    pub(crate) fn continue_region_reviews(
        &mut self,
        effects: &mut Effects,
        congested: impl Fn(ClientId) -> bool,
    ) {
        if let Some(key) = self.next_region_review(congested) {
            self.review_slice(effects, key);
        }
    }

    fn next_region_review(
        &self,
        congested: impl Fn(ClientId) -> bool,
    ) -> Option<(FederateHandle, ObjectClassHandle)> {
        let ready = |federate| self.federates.get(&federate).is_some_and(|f| !congested(f.client));
        self.region_reviews.next(ready)
    }

    /// The number of instances that one slice may review for a federate that subscribes at `class`.
    pub(crate) fn reviewed_per_slice(&self, federate: FederateHandle, class: ObjectClassHandle) -> usize {
        let federate = self.federates.get(&federate);
        let regions = federate.map_or(0, |federate| federate.distribution.regions_at(class));
        (COMPARED_PER_SLICE / regions.max(1)).clamp(1, REVIEWED_PER_SLICE)
    }

    /// Reviews the next instances for a federate that has moved regions of subscriptions at `class`.
    fn review_slice(
        &mut self,
        effects: &mut Effects,
        (federate, class): (FederateHandle, ObjectClassHandle),
    ) {
        self.region_reviews.last = (federate, class);
        for _ in 0..self.reviewed_per_slice(federate, class) {
            let Some(instance) = self.region_reviews.pop((federate, class)) else { break };
            match self.instances.get(instance).and_then(|object| object.known_class(federate)) {
                None => self.try_discover(effects, federate, instance),
                Some(known) if known == class => self.review_applicable(effects, federate, class, instance),
                Some(_) => {}
            }
        }
    }

    /// Processes one slice of the instances with moved regions.
    pub(crate) fn continue_moved_regions(&mut self, effects: &mut Effects) {
        for _ in 0..MOVED_PER_SLICE {
            let Some((federate, instance, attributes)) = self.moved_regions.0.pop_front() else { return };
            self.push_regions(effects, federate, instance, attributes);
        }
    }

    /// Replaces update regions of attributes of a class whose place is not known here any longer by
    /// regions that overlap no other.
    pub(crate) fn lose_sight(
        &self,
        instance: ObjectInstanceHandle,
        regions: &mut [(AttributeHandle, RegionSet)],
    ) {
        let Some(class) = self.instances.get(instance).map(|object| object.class) else { return };
        for (attribute, regions) in regions {
            let ranges = Usage::of_attribute(&self.model, class, *attribute).nowhere();
            if !ranges.is_empty() {
                *regions = RegionSet::from_iter([Region { handle: RegionHandle::INVALID, ranges }]);
            }
        }
    }

    /// Changes the update regions of an instance, as its home has decided.
    pub(crate) fn apply_regions(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        changed: &[(AttributeHandle, RegionSet)],
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        // Only subscriptions with regions are concerned.
        let concerned = object.known().iter().filter(|known| {
            let federate = self.federates.get(&known.federate);
            federate.is_some_and(|federate| federate.distribution.subscribes(known.class))
        });
        let before = |&known: &Known| (known, object.narrowed(known.federate).cloned().unwrap_or_default());
        let before: Vec<_> = concerned.map(before).collect();
        self.set_update_regions(instance, changed);
        let mut gained = Vec::new();
        let mut all = BTreeSet::new();
        for (known, before) in before {
            let (_, now) = self.refresh_narrowed(instance, known.federate);
            let union = self.subscriptions_at(known.federate, known.class);
            let difference = Difference::between(&before, &now, &union);
            gained.push((
                known.federate,
                self.notify_difference(effects, known.federate, instance, &difference),
            ));
            all.extend(difference.changed);
        }
        let with_regions = self.federates.values().filter(|federate| federate.distribution.subscribes_any());
        for federate in with_regions.map(|federate| federate.handle).collect::<Vec<_>>() {
            gained.push((federate, self.discover(effects, federate, instance)));
        }
        gained.retain(|(_, gained)| !gained.is_empty());
        // Federates of other nodes may now have these in scope, or no longer.
        if self.replicated && self.federates.values().any(|federate| federate.switches.attribute_relevance) {
            all.extend(changed.iter().map(|&(attribute, _)| attribute));
        }
        self.scope_changed(effects, instance, &gained, &all);
    }

    /// Tells a federate which attributes of an instance have come into its scope or left it. Returns
    /// those that have come.
    pub(crate) fn notify_difference(
        &self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        difference: &Difference,
    ) -> BTreeSet<AttributeHandle> {
        let lost = self.owned_by_others(federate, instance, difference.lost.iter().copied());
        self.notify_out_of_scope(effects, federate, instance, &lost);
        let gained = self.owned_by_others(federate, instance, difference.gained.iter().copied());
        self.notify_in_scope(effects, federate, instance, &gained);
        gained
    }
}
