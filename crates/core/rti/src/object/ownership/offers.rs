//! Attributes that are offered to all federates that publish them (7.4): unowned ones, and those in
//! a negotiated divestiture. Every node knows the offers of all instances that it knows, because a
//! federate may become eligible later.

use super::super::instance::{AttributeState, Cursor};
use super::super::objects::Objects;
use super::super::scope::handle_set;
use crate::effect::Effects;
use bytes::Bytes;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use router::ClientId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Approximate memory of a tag's entry, in bytes, without the tag.
const TAG_BYTES: usize = 120;
/// Maximum number of instances that are looked at in one slice. Each may be a callback.
const VISITED_PER_SLICE: usize = 1_000;

/// An attribute of an instance.
type Key = (ObjectInstanceHandle, AttributeHandle);

/// A federate that publishes attributes from now on, and may be offered some.
#[derive(Debug)]
struct Eligible {
    federate: FederateHandle,
    class: ObjectClassHandle,
    /// The attributes that it did not publish before.
    attributes: BTreeSet<AttributeHandle>,
    cursor: Cursor,
}

/// Tags of offers, and federates that have become eligible. Whether an attribute is offered is a
/// part of its state ([`AttributeState::is_offered`]): a federate that is lost may leave a million
/// offers.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    /// The tags that are not empty.
    tags: BTreeMap<Key, Bytes>,
    /// Whether anything was ever offered here.
    is_used: bool,
    /// Federates that were not told of all offers yet.
    eligible: VecDeque<Eligible>,
    bytes: usize,
}

/// The image of offers in a saved federation execution. No federate has to be told of any.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OffersImage {
    tags: BTreeMap<Key, Bytes>,
    is_used: bool,
}

impl Offers {
    pub(crate) fn image(&self) -> OffersImage {
        OffersImage { tags: self.tags.clone(), is_used: self.is_used }
    }

    pub(crate) fn take_image(&mut self, image: &OffersImage) {
        image.tags.iter().for_each(|(&key, tag)| self.set_tag(key, tag));
        self.is_used = image.is_used;
    }

    /// An estimate of their memory, in bytes. Cost: O(1).
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a federate has become eligible and was not told of all offers yet.
    pub(crate) fn has_work(&self) -> bool {
        !self.eligible.is_empty()
    }

    /// The tag of an offer.
    pub(crate) fn tag(&self, key: Key) -> Bytes {
        self.tags.get(&key).cloned().unwrap_or_default()
    }

    /// The tags of the offers of an instance, except empty ones.
    pub(crate) fn tags_of(
        &self,
        instance: ObjectInstanceHandle,
    ) -> impl Iterator<Item = (AttributeHandle, &Bytes)> {
        let all = (instance, AttributeHandle(0))..=(instance, AttributeHandle(u32::MAX));
        self.tags.range(all).map(|(&(_, attribute), tag)| (attribute, tag))
    }

    pub(super) fn set_tag(&mut self, key: Key, tag: &Bytes) {
        self.is_used = true;
        self.remove_tag(key);
        if !tag.is_empty() {
            self.bytes += TAG_BYTES + tag.len();
            self.tags.insert(key, tag.clone());
        }
    }

    pub(super) fn remove_tag(&mut self, key: Key) {
        if !self.tags.is_empty()
            && let Some(tag) = self.tags.remove(&key)
        {
            self.bytes -= TAG_BYTES + tag.len();
        }
    }

    /// Replaces the tags of an instance.
    pub(crate) fn replace(&mut self, instance: ObjectInstanceHandle, tags: &[(AttributeHandle, Bytes)]) {
        let old: Vec<_> = self.tags_of(instance).map(|(attribute, _)| attribute).collect();
        old.into_iter().for_each(|attribute| self.remove_tag((instance, attribute)));
        tags.iter().for_each(|(attribute, tag)| self.set_tag((instance, *attribute), tag));
    }

    /// Forgets a federate that has left.
    pub(crate) fn remove_federate(&mut self, federate: FederateHandle) {
        self.eligible.retain(|eligible| eligible.federate != federate);
    }
}

impl Objects {
    /// Notes that attributes are offered from now on.
    pub(super) fn open_offer(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
    ) {
        attributes.iter().for_each(|&attribute| self.offers.set_tag((instance, attribute), tag));
        self.for_each_attribute(instance, attributes, |state| state.is_offered = true);
    }

    /// Offers attributes of an instance from now on, and to all federates here but their former
    /// owner.
    pub(crate) fn offer(
        &mut self,
        effects: &mut Effects,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
    ) {
        self.open_offer(instance, attributes, tag);
        self.offer_to_all(effects, owner, instance, attributes);
    }

    /// Offers attributes of an instance to all federates here but one.
    pub(crate) fn offer_to_all(
        &mut self,
        effects: &mut Effects,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        self.offers.is_used = true;
        let Some(object) = self.instances.get(instance) else { return };
        for known in object.known().iter().filter(|known| known.federate != owner) {
            self.offer_to(effects, known.federate, instance, |attribute| attributes.contains(&attribute));
        }
    }

    /// Offers attributes of an instance to a federate that publishes them, except those that it
    /// owns.
    pub(crate) fn offer_to(
        &self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        is_concerned: impl Fn(AttributeHandle) -> bool,
    ) {
        if !self.offers.is_used {
            return;
        }
        let Some(object) = self.instances.get(instance) else { return };
        let (Some(class), Some(offered)) = (object.known_class(federate), self.federates.get(&federate))
        else {
            return;
        };
        let Some(published) = offered.publications.get(&class) else { return };
        let registered = self.class_of(object.class);
        let is_offered = |(_, state): &(usize, &AttributeState)| state.is_offered && state.owner != federate;
        let mut by_tag: BTreeMap<Bytes, BTreeSet<AttributeHandle>> = BTreeMap::new();
        for (slot, _) in object.attributes().filter(is_offered) {
            let attribute = registered.attributes[slot];
            if published.contains(&attribute) && is_concerned(attribute) {
                by_tag.entry(self.offers.tag((instance, attribute))).or_default().insert(attribute);
            }
        }
        for (user_supplied_tag, attributes) in by_tag {
            let offer = api::RequestAttributeOwnershipAssumption {
                object_instance: Some(instance),
                offered_attributes: handle_set(&attributes),
                user_supplied_tag,
            };
            self.notify(effects, federate, Callback::RequestAttributeOwnershipAssumption(offer));
        }
    }

    /// Offers what is open to a federate that publishes more attributes of a class from now on.
    pub(crate) fn offer_open(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attributes: BTreeSet<AttributeHandle>,
    ) {
        if !self.offers.is_used || attributes.is_empty() {
            return;
        }
        let cursor = self.instances.cursor_below(&self.model, class);
        let mut eligible = Eligible { federate, class, attributes, cursor };
        self.offer_slice(effects, &mut eligible);
        if !eligible.cursor.is_done() {
            self.offers.eligible.push_back(eligible);
        }
    }

    /// Whether a federate can be told of further offers.
    pub(crate) fn can_continue_offers(&self, congested: impl Fn(ClientId) -> bool) -> bool {
        self.offers.eligible.iter().any(|eligible| !self.is_congested(eligible.federate, &congested))
    }

    /// Processes one slice for a federate that has become eligible.
    pub(crate) fn continue_offers(&mut self, effects: &mut Effects, congested: impl Fn(ClientId) -> bool) {
        let ready = |eligible: &Eligible| !self.is_congested(eligible.federate, &congested);
        let next = self.offers.eligible.iter().position(ready);
        let Some(mut eligible) = next.and_then(|at| self.offers.eligible.remove(at)) else { return };
        self.offer_slice(effects, &mut eligible);
        if !eligible.cursor.is_done() {
            self.offers.eligible.push_back(eligible);
        }
    }

    fn offer_slice(&self, effects: &mut Effects, eligible: &mut Eligible) {
        let Eligible { federate, class, attributes, cursor } = eligible;
        for instance in cursor.advance(&self.instances, VISITED_PER_SLICE) {
            let known = self.instances.get(instance).and_then(|object| object.known_class(*federate));
            if known == Some(*class) {
                self.offer_to(effects, *federate, instance, |attribute| attributes.contains(&attribute));
            }
        }
    }
}
