//! The update regions of an instance (9.6), and the exceptions that they make: subscriptions of
//! federates here that do not all apply.

use super::super::federate::{ClassSubscription, Federate, Rate, Subscription};
use super::super::instance::Instance;
use super::super::objects::Objects;
use super::RegionsOfAttributes;
use super::subscription::applicable;
use crate::wire::{HandleValue, RegionSet};
use hla::fom::Fdd;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};

/// Attributes whose applicable subscriptions differ from the union of all subscriptions, with those
/// that apply. `None`: the attribute is out of scope.
pub(crate) type Exceptions = Vec<(AttributeHandle, Option<Subscription>)>;

/// The update regions of an instance, and the exceptions for the federates here that know it.
#[derive(Debug, Default)]
pub(crate) struct UpdateRegions {
    /// Attributes with update regions, sorted. All others have the default region.
    of: RegionsOfAttributes,
    /// Sorted by federate. A federate without exceptions is absent.
    exceptions: Vec<(FederateHandle, Exceptions)>,
}

impl UpdateRegions {
    /// An estimate of their memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let exceptions = self.exceptions.iter().map(|(_, exceptions)| 48 + 16 * exceptions.len());
        // The ranges of most regions fit into the region.
        let regions = self.of.iter().map(|(_, regions)| 32 + 64 * regions.iter().len());
        // With the entry in the index of their class.
        160 + regions.sum::<usize>() + exceptions.sum::<usize>()
    }

    fn set(&mut self, attribute: AttributeHandle, regions: RegionSet) {
        let at = self.of.binary_search_by_key(&attribute, |(of, _)| *of);
        match (at, regions.is_empty()) {
            (Ok(at), true) => drop(self.of.remove(at)),
            (Ok(at), false) => {
                if let Some((_, before)) = self.of.get_mut(at) {
                    *before = regions;
                }
            }
            (Err(at), false) => self.of.insert(at, (attribute, regions)),
            (Err(_), true) => {}
        }
    }

    fn set_exceptions(&mut self, federate: FederateHandle, exceptions: Exceptions) {
        let at = self.exceptions.binary_search_by_key(&federate, |(of, _)| *of);
        match (at, exceptions.is_empty()) {
            (Ok(at), true) => drop(self.exceptions.remove(at)),
            (Ok(at), false) => {
                if let Some((_, before)) = self.exceptions.get_mut(at) {
                    *before = exceptions;
                }
            }
            (Err(at), false) => self.exceptions.insert(at, (federate, exceptions)),
            (Err(_), true) => {}
        }
    }
}

/// The exception for an attribute, if there is one.
pub(crate) fn exception(exceptions: &Exceptions, attribute: AttributeHandle) -> Option<Option<Subscription>> {
    exceptions.iter().find(|(of, _)| *of == attribute).map(|(_, how)| *how)
}

impl Instance {
    /// The update regions of an attribute.
    pub(crate) fn regions_of(&self, attribute: AttributeHandle) -> &RegionSet {
        let of = self.all_regions();
        let at = of.binary_search_by_key(&attribute, |(of, _)| *of).ok();
        at.and_then(|at| of.get(at)).map_or(RegionSet::DEFAULT, |(_, regions)| regions)
    }

    /// All attributes with update regions.
    pub(crate) fn all_regions(&self) -> &[(AttributeHandle, RegionSet)] {
        self.update_regions.as_ref().map_or(&[][..], |regions| &regions.of)
    }

    /// An estimate of the memory of its update regions, in bytes; `None`: it has none.
    pub(crate) fn region_bytes(&self) -> Option<usize> {
        self.update_regions.as_ref().map(|regions| regions.bytes())
    }

    /// The exceptions for a federate that knows the instance; `None`: there are none.
    pub(crate) fn exceptions(&self, federate: FederateHandle) -> Option<&Exceptions> {
        let all = &self.update_regions.as_ref()?.exceptions;
        let at = all.binary_search_by_key(&federate, |(of, _)| *of).ok()?;
        all.get(at).map(|(_, exceptions)| exceptions)
    }

    /// The subscriptions of `attribute` that apply to this instance, of a federate that knows it and
    /// has these subscriptions at the known class.
    pub(crate) fn applicable(
        &self,
        federate: FederateHandle,
        subscribed: &ClassSubscription,
        attribute: AttributeHandle,
    ) -> Option<Subscription> {
        let exception = self.exceptions(federate).and_then(|all| exception(all, attribute));
        exception.unwrap_or_else(|| subscribed.get(&attribute).copied())
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
        changed.iter().for_each(|(attribute, set)| regions.set(*attribute, set.clone()));
        self.update_regions = (!regions.of.is_empty()).then_some(regions);
    }

    pub(crate) fn set_exceptions(&mut self, federate: FederateHandle, exceptions: Exceptions) {
        if let Some(regions) = &mut self.update_regions {
            regions.set_exceptions(federate, exceptions);
        }
    }
}

impl Objects {
    /// The exceptions for a federate that knows `object` at `class`.
    pub(crate) fn exceptions_for(
        &self,
        object: &Instance,
        federate: &Federate,
        class: ObjectClassHandle,
    ) -> Exceptions {
        if !federate.distribution.subscribes(class) {
            return Exceptions::new();
        }
        let exceptions = object.all_regions().iter().filter_map(|(attribute, regions)| {
            let classes = (class, object.class);
            let how = applicable((&self.model, &self.rates), federate, classes, *attribute, regions);
            (how != federate.subscription(class, *attribute)).then_some((*attribute, how))
        });
        exceptions.collect()
    }

    /// Updates the exceptions for a federate that knows the instance. Returns the former ones and
    /// the present ones.
    pub(crate) fn refresh_exceptions(
        &mut self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) -> (Exceptions, Exceptions) {
        let nothing = || (Exceptions::new(), Exceptions::new());
        let Some(object) = self.instances.get(instance) else { return nothing() };
        let Some(class) = object.known_class(federate) else { return nothing() };
        let Some(receiver) = self.federates.get(&federate) else { return nothing() };
        let before = object.exceptions(federate).cloned().unwrap_or_default();
        let now = self.exceptions_for(object, receiver, class);
        if before != now {
            self.instances.change(instance, |object| object.set_exceptions(federate, now.clone()));
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

/// The exceptions for a message that was sent with other regions than the update regions that
/// the instance has now: as of sending, its own regions decide.
pub(crate) fn exceptions_as_sent(
    (model, rates): (&Fdd, &[Rate]),
    object: &Instance,
    (federate, class): (&Federate, ObjectClassHandle),
    (regions, values): (&RegionSet, &[HandleValue]),
) -> Exceptions {
    let attributes = values.iter().map(|value| AttributeHandle(value.handle));
    let all = attributes.map(|attribute| {
        let classes = (class, object.class);
        (attribute, applicable((model, rates), federate, classes, attribute, regions))
    });
    all.collect()
}
