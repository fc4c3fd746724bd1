//! The update regions of an instance (9.6), and the subscriptions of federates here that they narrow.

use super::super::federate::{ClassSubscription, Federate, Rate, Subscription};
use super::super::instance::Instance;
use super::super::objects::Objects;
use super::RegionsOfAttributes;
use super::subscription::applicable;
use crate::wire::{HandleValue, RegionSet};
use hla::fom::Fdd;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use serde::{Deserialize, Serialize};

/// Attributes whose applicable subscriptions differ from the union of all subscriptions, with those
/// that apply. `None`: the attribute is out of scope.
pub(crate) type Narrowed = Vec<(AttributeHandle, Option<Subscription>)>;

/// The update regions of an instance, and the narrowed subscriptions of the federates here that know
/// it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct UpdateRegions {
    /// Attributes with update regions, sorted. All others have the default region.
    of: RegionsOfAttributes,
    /// Sorted by federate. A federate whose subscriptions all apply is absent.
    narrowed: Vec<(FederateHandle, Narrowed)>,
}

impl UpdateRegions {
    /// An estimate of their memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let narrowed = self.narrowed.iter().map(|(_, narrowed)| 48 + 16 * narrowed.len());
        // The ranges of most regions fit into the region.
        let regions = self.of.iter().map(|(_, regions)| 32 + 64 * regions.iter().len());
        // With the entry in the index of their class.
        160 + regions.sum::<usize>() + narrowed.sum::<usize>()
    }
}

/// Sets the value of a key in a sorted list. An empty value (`None`) removes the key.
fn put<K: Ord + Copy, V>(list: &mut Vec<(K, V)>, key: K, value: Option<V>) {
    let at = list.binary_search_by_key(&key, |(of, _)| *of);
    match (at, value) {
        (Ok(at), None) => drop(list.remove(at)),
        (Ok(at), Some(value)) => {
            if let Some((_, before)) = list.get_mut(at) {
                *before = value;
            }
        }
        (Err(at), Some(value)) => list.insert(at, (key, value)),
        (Err(_), None) => {}
    }
}

/// The value of a key in a sorted list.
pub(super) fn find<K: Ord + Copy, V>(list: &[(K, V)], key: K) -> Option<&V> {
    let at = list.binary_search_by_key(&key, |(of, _)| *of).ok()?;
    list.get(at).map(|(_, value)| value)
}

/// The subscriptions of an attribute that apply, of all that are `subscribed`, of which some may be
/// narrowed.
pub(crate) fn applicable_in(
    subscribed: &ClassSubscription,
    narrowed: Option<&Narrowed>,
    attribute: AttributeHandle,
) -> Option<Subscription> {
    let narrowed = narrowed.and_then(|all| all.iter().find(|(of, _)| *of == attribute));
    narrowed.map_or_else(|| subscribed.get(&attribute).copied(), |(_, how)| *how)
}

impl Instance {
    /// The update regions of an attribute.
    pub(crate) fn regions_of(&self, attribute: AttributeHandle) -> &RegionSet {
        find(self.all_regions(), attribute).unwrap_or(RegionSet::DEFAULT)
    }

    /// All attributes with update regions.
    pub(crate) fn all_regions(&self) -> &[(AttributeHandle, RegionSet)] {
        self.update_regions.as_ref().map_or(&[][..], |regions| &regions.of)
    }

    /// An estimate of the memory of its update regions, in bytes; `None`: it has none.
    pub(crate) fn region_bytes(&self) -> Option<usize> {
        self.update_regions.as_ref().map(|regions| regions.bytes())
    }

    /// The narrowed subscriptions of a federate that knows the instance; `None`: all of them apply.
    pub(crate) fn narrowed(&self, federate: FederateHandle) -> Option<&Narrowed> {
        find(&self.update_regions.as_ref()?.narrowed, federate)
    }

    /// The subscriptions of `attribute` that apply to this instance, of a federate that knows it and
    /// has these subscriptions at the known class.
    pub(crate) fn applicable(
        &self,
        federate: FederateHandle,
        subscribed: &ClassSubscription,
        attribute: AttributeHandle,
    ) -> Option<Subscription> {
        applicable_in(subscribed, self.narrowed(federate), attribute)
    }

    /// Whether these regions, with which a message was sent, are the update regions of all its
    /// values. Nearly always they are.
    pub(crate) fn has_update_regions(&self, regions: &RegionSet, values: &[HandleValue]) -> bool {
        match &self.update_regions {
            None => regions.is_empty(),
            Some(_) => values.iter().all(|value| self.regions_of(AttributeHandle(value.handle)) == regions),
        }
    }

    pub(crate) fn set_update_regions(&mut self, changed: &[(AttributeHandle, RegionSet)]) {
        let mut regions = self.update_regions.take().unwrap_or_default();
        for (attribute, set) in changed {
            put(&mut regions.of, *attribute, (!set.is_empty()).then(|| set.clone()));
        }
        self.update_regions = (!regions.of.is_empty()).then_some(regions);
    }

    pub(crate) fn set_narrowed(&mut self, federate: FederateHandle, narrowed: Narrowed) {
        if let Some(regions) = &mut self.update_regions {
            put(&mut regions.narrowed, federate, (!narrowed.is_empty()).then_some(narrowed));
        }
    }
}

impl Objects {
    /// Changes the update regions of an instance, and its place in the index of its class.
    pub(super) fn set_update_regions(
        &mut self,
        instance: ObjectInstanceHandle,
        changed: &[(AttributeHandle, RegionSet)],
    ) {
        self.instances.change(instance, |object| object.set_update_regions(changed));
        self.index_regions(instance);
    }

    /// The narrowed subscriptions of a federate that knows `object` at `class`.
    pub(crate) fn narrowed_for(
        &self,
        object: &Instance,
        federate: &Federate,
        class: ObjectClassHandle,
    ) -> Narrowed {
        if !federate.distribution.subscribes(class) {
            return Narrowed::new();
        }
        let narrowed = object.all_regions().iter().filter_map(|(attribute, regions)| {
            let classes = (class, object.class);
            let how = applicable((&self.model, &self.rates), federate, classes, *attribute, regions);
            (how != federate.subscription(class, *attribute)).then_some((*attribute, how))
        });
        narrowed.collect()
    }

    /// Updates the narrowed subscriptions of a federate that knows the instance. Returns the former
    /// ones and the present ones.
    pub(crate) fn refresh_narrowed(
        &mut self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) -> (Narrowed, Narrowed) {
        let nothing = || (Narrowed::new(), Narrowed::new());
        let Some(object) = self.instances.get(instance) else { return nothing() };
        let Some(class) = object.known_class(federate) else { return nothing() };
        let Some(receiver) = self.federates.get(&federate) else { return nothing() };
        let before = object.narrowed(federate).cloned().unwrap_or_default();
        let now = self.narrowed_for(object, receiver, class);
        if before != now {
            self.instances.change(instance, |object| object.set_narrowed(federate, now.clone()));
        }
        (before, now)
    }

    /// Whether an attribute of an instance that `federate` does not know yet would be in its scope
    /// if it knew the instance at `class`, apart from who owns it.
    pub(crate) fn would_apply(
        &self,
        federate: &Federate,
        class: ObjectClassHandle,
        object: &Instance,
        attribute: AttributeHandle,
    ) -> bool {
        let regions = object.regions_of(attribute);
        let classes = (class, object.class);
        applicable((&self.model, &self.rates), federate, classes, attribute, regions).is_some()
    }
}

/// The narrowed subscriptions for a message that was sent with other regions than the update regions that
/// the instance has now: as of sending, its own regions decide.
pub(crate) fn narrowed_as_sent(
    (model, rates): (&Fdd, &[Rate]),
    object: &Instance,
    (federate, class): (&Federate, ObjectClassHandle),
    (regions, values): (&RegionSet, &[HandleValue]),
) -> Narrowed {
    let attributes = values.iter().map(|value| AttributeHandle(value.handle));
    let all = attributes.map(|attribute| {
        let classes = (class, object.class);
        (attribute, applicable((model, rates), federate, classes, attribute, regions))
    });
    all.collect()
}
