//! Instances of the management object model (clause 11), as far as they are object instances.
//!
//! Each node makes them by itself. Their home is no node ([`NodeId::RTI`]), so they are in no
//! stream, and no node's death concerns them. The RTI owns their attributes.

use super::encode;
use super::instance::{AttributeState, Instance};
use super::known::KnownBy;
use super::objects::Objects;
use super::update::part_in_scope;
use crate::control::NodeId;
use crate::control::management::{RTI, federate_instance, federate_of};
use crate::delivery::Arrival;
use crate::effect::{Effect, Effects, MomRequest};
use crate::wire::{Payload, RegionSet, Values};
use bytes::Bytes;
use hla::api::OrderType;
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

impl Objects {
    /// Adds an instance whose attributes the RTI owns, as far as it `knows` them. Subscribers
    /// discover it.
    pub(crate) fn add_managed(
        &mut self,
        effects: &mut Effects,
        (handle, class): (ObjectInstanceHandle, ObjectClassHandle),
        name: &str,
        knows: impl Fn(AttributeHandle) -> bool,
    ) {
        let attributes = self.class_of(class).attributes.iter().filter_map(|&at| self.model.attribute(at));
        let state = |attribute: &hla::fom::Attribute| {
            let is_known = attribute.handle == self.privilege || knows(attribute.handle);
            let owner = if is_known { RTI } else { FederateHandle::INVALID };
            AttributeState { owner, ..AttributeState::unowned(attribute) }
        };
        let states = attributes.map(state).collect::<Vec<_>>();
        let mut instance = Instance::new(handle, class, name, FederateHandle::INVALID, NodeId::RTI, states);
        // No federate has registered it.
        instance.known = KnownBy::default();
        self.instances.insert(instance);
        self.discover_at_all(effects, handle);
    }

    /// Removes such an instance, and tells the federates that know it.
    pub(crate) fn remove_managed(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        self.remove(effects, FederateHandle::INVALID, instance, &Bytes::new(), None);
    }

    /// Whether a federate here has an attribute of an instance in scope.
    pub(crate) fn is_seen(&self, instance: ObjectInstanceHandle, attribute: AttributeHandle) -> bool {
        let Some(object) = self.instances.get(instance) else { return false };
        object.known().iter().any(|known| {
            let federate = self.federates.get(&known.federate);
            federate.is_some_and(|federate| federate.subscription(known.class, attribute).is_some())
        })
    }

    /// The numbers of instances here that a federate may delete, by class, without zeros.
    pub(crate) fn deletable_by(&self, federate: FederateHandle) -> Vec<(u32, u32)> {
        let owned = |class: ObjectClassHandle| {
            let slot = self.class_of(class).slot(self.privilege);
            let of_class = self.instances.of_class(class).filter_map(|handle| self.instances.get(handle));
            of_class
                .filter(|object| slot.is_some_and(|slot| object.attribute(slot).owner == federate))
                .count()
        };
        let counts =
            self.instances.classes().map(|class| (class.0, u32::try_from(owned(class)).unwrap_or(u32::MAX)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// The attributes of an instance that a federate owns.
    pub(crate) fn attributes_of(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> Vec<AttributeHandle> {
        self.owned_by(federate, instance).collect()
    }

    /// Delivers an interaction of the RTI to the federates of this node that subscribe it.
    pub(crate) fn receive_managed(
        &mut self,
        effects: &mut Effects,
        class: InteractionClassHandle,
        values: Values,
    ) {
        self.receive(effects, class, &of_rti(values));
    }

    /// Updates attributes of such an instance, at the federate `to` alone or at all of this node.
    pub(crate) fn reflect_managed(
        &mut self,
        effects: &mut Effects,
        to: Option<FederateHandle>,
        instance: ObjectInstanceHandle,
        values: Values,
    ) {
        if values.is_empty() {
            return;
        }
        let payload = of_rti(values);
        let Some(to) = to else { return self.reflect(effects, instance, &payload) };
        let Some(federate) = self.federates.get(&to) else { return };
        let Some(object) = self.instances.get(instance) else { return };
        let Some(class) = object.known_class(to) else { return };
        let Some(subscribed) = federate.subscriptions.get(&class) else { return };
        let Some(part) = part_in_scope(subscribed, object.narrowed(to), &payload.values) else { return };
        let select = |at| part >> at & 1 == 1;
        let body = encode::reflect(instance, &payload, (OrderType::Receive, None), select);
        let arrival = Arrival::receive_order(body, false);
        effects.push(Effect::Deliver { to: federate.client, arrival });
        if let Some(federate) = self.federates.get_mut(&to) {
            federate.counters.count_reflect(class, payload.transportation);
        }
        self.note_reflected(instance, to);
    }

    /// Federates have gained attributes of such an instance.
    pub(super) fn provide_managed(
        &self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        gained: &[(FederateHandle, BTreeSet<AttributeHandle>)],
    ) {
        for (federate, attributes) in gained.iter().filter(|(_, attributes)| !attributes.is_empty()) {
            let provide = MomRequest::Provide {
                requester: *federate,
                node: None,
                instance,
                attributes: attributes.clone(),
                requested: false,
            };
            effects.push(Effect::Manage(self.id, Box::new(provide)));
        }
    }

    /// A federate requests values of such an instance. If it is at another node, that node answers.
    pub(super) fn request_managed(
        &self,
        effects: &mut Effects,
        requester: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: BTreeSet<AttributeHandle>,
    ) {
        if self.federates.contains_key(&requester) {
            let provide =
                MomRequest::Provide { requester, node: None, instance, attributes, requested: true };
            effects.push(Effect::Manage(self.id, Box::new(provide)));
        }
    }

    /// Another node's federate needs what this node knows of a federate here.
    pub(super) fn request_for_node(
        &self,
        effects: &mut Effects,
        (requester, node): (FederateHandle, NodeId),
        instance: ObjectInstanceHandle,
        attributes: BTreeSet<AttributeHandle>,
    ) {
        if federate_of(instance).is_some_and(|federate| self.federates.contains_key(&federate)) {
            let node = Some(node);
            let provide = MomRequest::Provide { requester, node, instance, attributes, requested: true };
            effects.push(Effect::Manage(self.id, Box::new(provide)));
        }
    }

    /// Another node has told what it knows of a federate there.
    pub(super) fn managed_elsewhere(
        &mut self,
        effects: &mut Effects,
        requester: Option<FederateHandle>,
        federate: FederateHandle,
        values: Values,
    ) {
        if requester.is_none() {
            let told = MomRequest::Told { federate, values: values.clone() };
            effects.push(Effect::Manage(self.id, Box::new(told)));
        }
        self.reflect_managed(effects, requester, federate_instance(federate), values);
    }

    /// The RTI alone registers instances of the classes of the MIM.
    ///
    /// # Errors
    /// `RTIinternalError`.
    pub(super) fn check_not_managed(&self, class: ObjectClassHandle) -> Result<(), RtiError> {
        let name = &self.class_of(class).name;
        let of_rti = ["HLAfederate", "HLAfederation"];
        let is_managed =
            name.strip_prefix("HLAobjectRoot.HLAmanager.").is_some_and(|at| of_rti.contains(&at));
        match is_managed {
            true => Err(RtiError::new(
                Exception::RTIinternalError,
                format!("registerObjectInstance: the RTI alone registers instances of `{name}` (clause 11)"),
            )),
            false => Ok(()),
        }
    }
}

/// A message of the RTI.
fn of_rti(values: Values) -> Payload {
    Payload {
        producer: FederateHandle::INVALID,
        transportation: TransportationTypeHandle::RELIABLE,
        tag: Bytes::new(),
        stamp: None,
        regions: RegionSet::default(),
        values,
    }
}
