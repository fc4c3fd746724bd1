//! Scope: which attributes of an instance are in scope at a federate (6.19, 6.20).
//!
//! An attribute is in scope at a federate that knows the instance if it is available at the known
//! class, subscribed there by a subscription that applies, and owned by another federate. A
//! subscription with regions applies if one of them overlaps an update region of the attribute.

use super::objects::Objects;
use crate::control::management::is_managed;
use crate::effect::Effects;
use bytes::Bytes;
use hla::api::{self, AttributeHandleSet, callback_request::CallbackRequest as Callback};
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use std::collections::BTreeSet;

/// A set of attributes in the form that callbacks carry.
pub(crate) fn handle_set(attributes: &BTreeSet<AttributeHandle>) -> Option<AttributeHandleSet> {
    Some(AttributeHandleSet { attribute_handle: attributes.iter().copied().collect() })
}

impl Objects {
    /// The attributes of `instance` that are in scope at `federate`.
    pub(crate) fn in_scope(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> BTreeSet<AttributeHandle> {
        let none = BTreeSet::new;
        let Some(object) = self.instances.get(instance) else { return none() };
        let Some(class) = object.known_class(federate) else { return none() };
        let Some(subscribed) = self.federates.get(&federate).and_then(|f| f.subscriptions.get(&class)) else {
            return none();
        };
        let attributes = subscribed.keys().copied();
        match object.narrowed(federate) {
            None => self.owned_by_others(federate, instance, attributes),
            Some(_) => {
                let applies = |&attribute: &_| object.applicable(federate, subscribed, attribute).is_some();
                self.owned_by_others(federate, instance, attributes.filter(applies))
            }
        }
    }

    /// Those of `attributes` that a federate other than `federate` owns.
    pub(super) fn owned_by_others(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: impl Iterator<Item = AttributeHandle>,
    ) -> BTreeSet<AttributeHandle> {
        let Some(object) = self.instances.get(instance) else { return BTreeSet::new() };
        let class = self.class_of(object.class);
        attributes
            .filter(|&attribute| {
                let owner = class.slot(attribute).map(|slot| object.attribute(slot).owner);
                owner.is_some_and(|owner| owner.is_valid() && owner != federate)
            })
            .collect()
    }

    /// Tells `federate` that attributes came into its scope (6.19).
    pub(crate) fn notify_in_scope(
        &self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        if !attributes.is_empty() && self.federate(federate).switches.attribute_scope {
            let in_scope = api::AttributesInScope {
                object_instance: Some(instance),
                attributes: handle_set(attributes),
            };
            self.notify(effects, federate, Callback::AttributesInScope(in_scope));
        }
    }

    /// Tells `federate` that attributes left its scope (6.20).
    pub(super) fn notify_out_of_scope(
        &self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        let listens = |federate| self.federates.get(&federate).is_some_and(|f| f.switches.attribute_scope);
        if !attributes.is_empty() && listens(federate) {
            let out = api::AttributesOutOfScope {
                object_instance: Some(instance),
                attributes: handle_set(attributes),
            };
            self.notify(effects, federate, Callback::AttributesOutOfScope(out));
        }
    }

    /// Handles the consequences for owners once a service has made all its changes to an instance.
    /// Federates have `gained` attributes; `changed` ones are seen by other federates or at other
    /// rates. Owners are advised once of the outcome, and asked for values where the model requires
    /// it.
    pub(crate) fn scope_changed(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        gained: &[(FederateHandle, BTreeSet<AttributeHandle>)],
        changed: &BTreeSet<AttributeHandle>,
    ) {
        let mut concerned = changed.clone();
        concerned.extend(gained.iter().flat_map(|(_, attributes)| attributes));
        if concerned.is_empty() {
            return;
        }
        if is_managed(instance) {
            return self.provide_managed(effects, instance, gained);
        }
        self.refresh_relevance(effects, instance, &concerned);
        if self.auto_provide {
            for (federate, attributes) in gained {
                self.ask_owners(effects, *federate, instance, attributes, &Bytes::new(), |_| true);
            }
        }
    }

    /// Reports that attributes left scope at every federate that had them in scope, because they
    /// lost their owner.
    pub(crate) fn scope_lost_at_all(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        owner: FederateHandle,
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        for known in object.known() {
            let Some(federate) = self.federates.get(&known.federate) else { continue };
            if federate.handle == owner || !federate.switches.attribute_scope {
                continue;
            }
            let Some(subscribed) = federate.subscriptions.get(&known.class) else { continue };
            let lost = attributes.iter().copied();
            let lost = lost.filter(|&a| object.applicable(known.federate, subscribed, a).is_some());
            let lost: BTreeSet<_> = lost.collect();
            self.notify_out_of_scope(effects, federate.handle, instance, &lost);
        }
    }
}
