//! The advice that every federate should have, as a pure function of the state, and the callbacks
//! for the difference between two moments.

use super::managed::is_managed;
use super::unit::{in_scope, out_of_scope, single};
use super::{Effects, Federation};
use bytes::Bytes;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// The advice for an owner about the interest in an attribute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Interest {
    /// No federate wants updates.
    None,
    /// Some federate wants all updates.
    All,
    /// All federates that want updates gave a rate; this is the highest.
    Rate(&'static str),
}

/// The facts that advisories report.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Advice {
    /// Federates that should register instances of these classes.
    registration: BTreeSet<(FederateHandle, ObjectClassHandle)>,
    /// Federates that should send interactions of these classes.
    interactions: BTreeSet<(FederateHandle, InteractionClassHandle)>,
    /// Federates with these attributes in scope.
    scope: BTreeSet<(FederateHandle, ObjectInstanceHandle, AttributeHandle)>,
    /// The advice for the owner of each attribute.
    interest: BTreeMap<(FederateHandle, ObjectInstanceHandle, AttributeHandle), Interest>,
}

impl Federation {
    pub(super) fn advice(&self) -> Advice {
        let mut advice = Advice::default();
        for (&caller, federate) in &self.federates {
            let classes: BTreeSet<_> = federate.publishes.iter().map(|&(class, _)| class).collect();
            let wanted = classes.into_iter().filter(|&class| self.wants_registration(caller, class));
            advice.registration.extend(wanted.map(|class| (caller, class)));
            let sent = federate.publishes_interactions.iter().copied();
            let wanted = sent.filter(|&class| self.wants_interaction(caller, class));
            advice.interactions.extend(wanted.map(|class| (caller, class)));
        }
        for (&handle, instance) in &self.instances {
            for (&caller, &class) in &instance.known {
                let others = instance.owners.iter().filter(|&(_, &owner)| owner != caller);
                let seen = others.filter(|&(&at, _)| self.applicable(caller, (class, at), handle).is_some());
                advice.scope.extend(seen.map(|(&attribute, _)| (caller, handle, attribute)));
            }
            // The RTI gets no advisories.
            let owners = instance.owners.iter().filter(|_| !is_managed(handle));
            for (&attribute, &owner) in owners {
                advice.interest.insert((owner, handle, attribute), self.interest(handle, attribute, owner));
            }
        }
        advice
    }

    fn others(&self, caller: FederateHandle) -> impl Iterator<Item = &super::Federate> {
        self.federates.iter().filter(move |(other, _)| **other != caller).map(|(_, federate)| federate)
    }

    /// Whether another federate actively subscribes, at the class or above, an attribute published
    /// there, in whatever region (5.14).
    fn wants_registration(&self, federate: FederateHandle, class: ObjectClassHandle) -> bool {
        let lineage = self.lineage(class);
        let published = |attribute| self.federates[&federate].publishes.contains(&(class, attribute));
        self.others(federate).any(|other| {
            let regional = other.regions.subscribes.iter();
            let regional = regional.map(|(&(at, attribute, _), how)| (at, attribute, how));
            let plain = other.subscribes.iter().map(|(&(at, attribute), how)| (at, attribute, how));
            plain
                .chain(regional)
                .any(|(at, attribute, how)| how.active && lineage.contains(&at) && published(attribute))
        })
    }

    /// Whether another federate actively subscribes the class or a superclass, in whatever region
    /// (5.16).
    fn wants_interaction(&self, federate: FederateHandle, class: InteractionClassHandle) -> bool {
        let lineage = self.interaction_lineage(class);
        self.others(federate).any(|other| {
            let regional = other.regions.subscribes_interactions.iter();
            let regional = regional.map(|(&(at, _), &active)| (at, active));
            let plain = other.subscribes_interactions.iter().map(|(&at, &active)| (at, active));
            plain.chain(regional).any(|(at, active)| active && lineage.contains(&at))
        })
    }

    /// The interest of the federates that actively subscribe the attribute at their known class
    /// (6.23).
    fn interest(
        &self,
        handle: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owner: FederateHandle,
    ) -> Interest {
        let mut rates = Vec::new();
        for (caller, &class) in self.instances[&handle].known.iter().filter(|(caller, _)| **caller != owner) {
            match self.applicable(*caller, (class, attribute), handle) {
                Some(how) if how.active => match how.rate {
                    Some(rate) => rates.push(rate),
                    None => return Interest::All,
                },
                _ => {}
            }
        }
        rates.sort_by(|a, b| a.1.total_cmp(&b.1));
        rates.last().map_or(Interest::None, |(name, _)| Interest::Rate(name))
    }

    /// Tells all federates except owners the changes since `before` that `caller` caused. Returns
    /// the current advice.
    pub(super) fn notify_changes(&self, before: &Advice, caller: FederateHandle, fx: &mut Effects) -> Advice {
        let now = self.advice();
        self.notify_registration(before, &now, fx);
        self.notify_interactions(before, &now, fx);
        self.notify_scope(before, &now, caller, fx);
        now
    }

    fn notify_registration(&self, before: &Advice, now: &Advice, fx: &mut Effects) {
        let listens =
            |caller| self.federates.get(&caller).is_some_and(|federate| federate.registration_advisory);
        for &(caller, class) in
            now.registration.difference(&before.registration).filter(|(caller, _)| listens(*caller))
        {
            let start = api::StartRegistrationForObjectClass { object_class: Some(class) };
            self.notify(fx, caller, Callback::StartRegistrationForObjectClass(start));
        }
        for &(caller, class) in
            before.registration.difference(&now.registration).filter(|(caller, _)| listens(*caller))
        {
            let mut published = self.federates[&caller].publishes.iter();
            if published.any(|&(at, _)| at == class) {
                let stop = api::StopRegistrationForObjectClass { object_class: Some(class) };
                self.notify(fx, caller, Callback::StopRegistrationForObjectClass(stop));
            }
        }
    }

    fn notify_interactions(&self, before: &Advice, now: &Advice, fx: &mut Effects) {
        let listens =
            |caller| self.federates.get(&caller).is_some_and(|federate| federate.interaction_advisory);
        for &(caller, class) in
            now.interactions.difference(&before.interactions).filter(|(caller, _)| listens(*caller))
        {
            let on = api::TurnInteractionsOn { interaction_class: Some(class) };
            self.notify(fx, caller, Callback::TurnInteractionsOn(on));
        }
        for &(caller, class) in
            before.interactions.difference(&now.interactions).filter(|(caller, _)| listens(*caller))
        {
            if self.federates[&caller].publishes_interactions.contains(&class) {
                let off = api::TurnInteractionsOff { interaction_class: Some(class) };
                self.notify(fx, caller, Callback::TurnInteractionsOff(off));
            }
        }
    }

    /// Reports attributes that come into scope and, with auto-provide, asks for their values.
    /// Reports attributes that leave scope, unless the federate itself caused that or no longer
    /// knows the instance (10.1.3).
    fn notify_scope(&self, before: &Advice, now: &Advice, caller: FederateHandle, fx: &mut Effects) {
        let listens = |handle| self.federates.get(&handle).is_some_and(|federate| federate.scope_advisory);
        for &(handle, instance, attribute) in now.scope.difference(&before.scope) {
            if listens(handle) {
                self.notify(fx, handle, in_scope(instance, attribute));
            }
            if self.model.switches().auto_provide {
                self.ask_owner(handle, instance, attribute, &Bytes::new(), fx);
            }
        }
        for &(handle, instance, attribute) in before.scope.difference(&now.scope) {
            let still =
                self.instances.get(&instance).is_some_and(|object| object.known.contains_key(&handle));
            if handle != caller && still && listens(handle) {
                self.notify(fx, handle, out_of_scope(instance, attribute));
            }
        }
    }

    /// Tells owners the changes of interest in their attributes that a service has caused, once all
    /// of it is done.
    pub(super) fn notify_interest(&self, before: &Advice, fx: &mut Effects) {
        for (&(owner, instance, attribute), &interest) in &self.advice().interest {
            let earlier = before.interest.get(&(owner, instance, attribute)).copied();
            let listens = self.federates.get(&owner).is_some_and(|federate| federate.update_advisory);
            if listens && interest != earlier.unwrap_or(Interest::None) {
                self.notify(fx, owner, advise(instance, attribute, interest));
            }
        }
    }

    /// Asks the owner of an attribute for its value on behalf of `who`, if the owner is another
    /// federate.
    pub(super) fn ask_owner(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        tag: &Bytes,
        fx: &mut Effects,
    ) {
        let owner = self.instances.get(&instance).and_then(|object| object.owners.get(&attribute));
        if let Some(&owner) = owner.filter(|&&owner| owner != federate) {
            let provide = api::ProvideAttributeValueUpdate {
                object_instance: Some(instance),
                attributes: Some(single(attribute)),
                user_supplied_tag: tag.clone(),
            };
            self.notify(fx, owner, Callback::ProvideAttributeValueUpdate(provide));
        }
    }

    /// The most specific class, from the registered one upwards, at which `who` subscribes an
    /// attribute that another federate owns (6.9).
    fn discovery_class(
        &self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
    ) -> Option<ObjectClassHandle> {
        let instance = &self.instances[&handle];
        let subscribes = |at, attribute| self.applicable(federate, (at, attribute), handle).is_some();
        self.lineage(instance.class).into_iter().find(|&at| {
            let mut owned = instance.owners.iter();
            owned.any(|(&attribute, &owner)| owner != federate && subscribes(at, attribute))
        })
    }

    /// Makes all federates discover their instances, one after the other, and reports the
    /// consequences.
    pub(super) fn discover_all(&mut self, mut before: Advice, caller: FederateHandle, fx: &mut Effects) {
        let federates: Vec<_> = self.federates.keys().copied().collect();
        let instances: Vec<_> = self.instances.keys().copied().collect();
        for handle in instances {
            for &federate in &federates {
                if self.instances[&handle].known.contains_key(&federate) {
                    continue;
                }
                let Some(class) = self.discovery_class(federate, handle) else { continue };
                let instance = self.instances.get_mut(&handle).expect("listed above");
                instance.known.insert(federate, class);
                let discover = api::DiscoverObjectInstance {
                    object_instance: Some(handle),
                    object_class: Some(class),
                    object_instance_name: instance.name.clone(),
                    producing_federate: Some(instance.producer),
                };
                self.notify(fx, federate, Callback::DiscoverObjectInstance(discover));
                before = self.notify_changes(&before, caller, fx);
            }
        }
    }
}

fn advise(instance: ObjectInstanceHandle, attribute: AttributeHandle, interest: Interest) -> Callback {
    let (object_instance, attributes) = (Some(instance), Some(single(attribute)));
    match interest {
        Interest::None => Callback::TurnUpdatesOffForObjectInstance(api::TurnUpdatesOffForObjectInstance {
            object_instance,
            attributes,
        }),
        Interest::All => Callback::TurnUpdatesOnForObjectInstance(api::TurnUpdatesOnForObjectInstance {
            object_instance,
            attributes,
        }),
        Interest::Rate(rate) => {
            Callback::TurnUpdatesOnForObjectInstanceWithRate(api::TurnUpdatesOnForObjectInstanceWithRate {
                object_instance,
                attributes,
                update_rate_designator: rate.to_owned(),
            })
        }
    }
}
