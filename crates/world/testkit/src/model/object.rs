//! Instance names, registration, deletion, requests and transportation types (clause 6).

use super::{Effects, Federation, Instance, Name, Served, answer, refuse_if};
use crate::request::{Pair, attributes as listed, singles};
use bytes::Bytes;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{
    AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, TransportationTypeHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// The home node of all instances of a run.
const NODE: u64 = 1;

impl Federation {
    /// Executes calls about instances and their names. `None`: it is another call.
    pub(super) fn handle_objects(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        fx: &mut Effects,
    ) -> Option<Served> {
        Some(match request {
            Call::ReserveObjectInstanceNameRequest(r) => {
                self.reserve(federate, std::slice::from_ref(&r.object_instance_name), false, fx)
            }
            Call::ReserveMultipleObjectInstanceNamesRequest(r) => {
                self.reserve(federate, &r.object_instance_names, true, fx)
            }
            Call::ReleaseObjectInstanceNameRequest(r) => {
                self.release(federate, std::slice::from_ref(&r.object_instance_name))
            }
            Call::ReleaseMultipleObjectInstanceNamesRequest(r) => {
                self.release(federate, &r.object_instance_names)
            }
            Call::RegisterObjectInstanceRequest(r) => {
                let handle = self.register(federate, r.object_class.unwrap_or_default(), None, &[], fx);
                handle.and_then(|handle| answer!(RegisterObjectInstanceResponse, handle))
            }
            Call::RegisterObjectInstanceWithNameRequest(r) => {
                let name = Some(r.object_instance_name.as_str());
                let handle = self.register(federate, r.object_class.unwrap_or_default(), name, &[], fx);
                handle.and_then(|handle| answer!(RegisterObjectInstanceWithNameResponse, handle))
            }
            Call::DeleteObjectInstanceRequest(r) => {
                self.delete(federate, r.object_instance.unwrap_or_default(), &r.user_supplied_tag, fx)
            }
            Call::LocalDeleteObjectInstanceRequest(r) => {
                self.local_delete(federate, r.object_instance.unwrap_or_default(), fx)
            }
            Call::RequestInstanceAttributeValueUpdateRequest(r) => self.request_instance(federate, r, fx),
            Call::RequestClassAttributeValueUpdateRequest(r) => self.request_class(federate, r, fx),
            _ => return self.transport(federate, request, fx),
        })
    }

    /// Reserves all names or none (6.2, 6.5).
    fn reserve(
        &mut self,
        federate: FederateHandle,
        names: &[String],
        several: bool,
        fx: &mut Effects,
    ) -> Served {
        let mut faults = Vec::new();
        if names.is_empty() {
            faults.push(Exception::NameSetWasEmpty);
        }
        if names.iter().any(|name| name.is_empty() || name.starts_with("HLA")) {
            faults.push(Exception::IllegalName);
        }
        refuse_if(faults)?;
        let object_instance_names: Vec<_> =
            names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let object_instance_name = object_instance_names[0].clone();
        let granted = names.iter().all(|name| !self.names.contains_key(name));
        if granted {
            self.names.extend(names.iter().map(|name| (name.clone(), Name::Reserved(federate))));
        }
        let callback = match (several, granted) {
            (false, true) => Callback::ObjectInstanceNameReservationSucceeded(
                api::ObjectInstanceNameReservationSucceeded { object_instance_name },
            ),
            (false, false) => {
                Callback::ObjectInstanceNameReservationFailed(api::ObjectInstanceNameReservationFailed {
                    object_instance_name,
                })
            }
            (true, true) => Callback::MultipleObjectInstanceNameReservationSucceeded(
                api::MultipleObjectInstanceNameReservationSucceeded { object_instance_names },
            ),
            (true, false) => Callback::MultipleObjectInstanceNameReservationFailed(
                api::MultipleObjectInstanceNameReservationFailed { object_instance_names },
            ),
        };
        self.notify(fx, federate, callback);
        Ok(None)
    }

    fn release(&mut self, federate: FederateHandle, names: &[String]) -> Served {
        if names.iter().any(|name| self.names.get(name) != Some(&Name::Reserved(federate))) {
            return Err(vec![Exception::ObjectInstanceNameNotReserved]);
        }
        self.names.retain(|name, _| !names.contains(name));
        Ok(None)
    }

    /// The registrant owns the attributes that it publishes. It may associate some of them with
    /// regions, before anybody discovers the instance. Names by the RTI have node and number.
    pub(super) fn register(
        &mut self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        name: Option<&str>,
        pairs: &[Pair<'_>],
        fx: &mut Effects,
    ) -> Result<ObjectInstanceHandle, Vec<Exception>> {
        let mut faults = Vec::new();
        let publishes = self.federates[&federate].publishes.iter();
        let published: Vec<_> =
            publishes.filter(|(at, _)| *at == class).map(|&(_, attribute)| attribute).collect();
        if self.model.object_class(class).is_none() {
            faults.push(Exception::ObjectClassNotDefined);
        } else if published.is_empty() {
            faults.push(Exception::ObjectClassNotPublished);
        } else if self.is_for_rti(class) {
            faults.push(Exception::RTIinternalError);
        }
        let available = self.available(class);
        let unpublished = |at: &AttributeHandle| available.contains(at) && !published.contains(at);
        if pairs.iter().flat_map(|(attributes, _)| *attributes).any(unpublished) {
            faults.push(Exception::AttributeNotPublished);
        }
        faults.extend(self.check_pairs(federate, class, pairs, Exception::ObjectClassNotDefined));
        match name.map(|name| self.names.get(name)) {
            Some(Some(Name::Used)) => faults.push(Exception::ObjectInstanceNameInUse),
            Some(reserved) if reserved != Some(&Name::Reserved(federate)) => {
                faults.push(Exception::ObjectInstanceNameNotReserved);
            }
            _ => {}
        }
        refuse_if(faults)?;
        let before = self.advice();
        self.instances_ever += 1;
        let handle = ObjectInstanceHandle(NODE << 32 | u64::from(self.instances_ever));
        let label = name.map_or_else(|| format!("HLAobj_{NODE}_{}", self.instances_ever), str::to_owned);
        if let Some(name) = name {
            self.names.insert(name.to_owned(), Name::Used);
        }
        let instance = Instance {
            class,
            name: label,
            producer: federate,
            owners: published.into_iter().map(|attribute| (attribute, federate)).collect(),
            transportation: self.initial_transportation(federate, class),
            known: BTreeMap::from([(federate, class)]),
        };
        self.instances.insert(handle, instance);
        let associations = singles(pairs).map(|(attribute, region)| (handle, attribute, region));
        self.me(federate).regions.updates.extend(associations);
        let now = self.notify_changes(&before, federate, fx);
        self.discover_all(now, federate, fx);
        self.notify_interest(&before, fx);
        Ok(handle)
    }

    fn initial_transportation(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> BTreeMap<AttributeHandle, TransportationTypeHandle> {
        let default = &self.federates[&federate].default_transportation;
        let of = |attribute| {
            let model = self.model.attribute(attribute).map(|attribute| attribute.transportation);
            let own = default.get(&(class, attribute)).copied();
            (attribute, own.or(model).unwrap_or_default())
        };
        self.available(class).into_iter().map(of).collect()
    }

    fn delete(
        &mut self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
        tag: &Bytes,
        fx: &mut Effects,
    ) -> Served {
        if self.known_class(federate, handle).is_none() {
            return Err(vec![Exception::ObjectInstanceNotKnown]);
        }
        if self.instances[&handle].owners.get(&self.privilege) != Some(&federate) {
            return Err(vec![Exception::DeletePrivilegeNotHeld]);
        }
        self.remove(federate, handle, tag, fx);
        Ok(None)
    }

    /// Removes the instance at all federates that know it except `who` (6.16, 6.17).
    pub(super) fn remove(
        &mut self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
        tag: &Bytes,
        fx: &mut Effects,
    ) {
        let Some(instance) = self.instances.remove(&handle) else { return };
        for &receiver in instance.known.keys().filter(|&&receiver| receiver != federate) {
            let remove = api::RemoveObjectInstance {
                object_instance: Some(handle),
                user_supplied_tag: tag.clone(),
                producing_federate: Some(federate),
            };
            self.notify(fx, receiver, Callback::RemoveObjectInstance(remove));
        }
        self.names.remove(&instance.name);
        self.forget_reflections(handle, None);
        self.drop_associations(handle, None);
    }

    fn forget_reflections(&mut self, handle: ObjectInstanceHandle, of: Option<FederateHandle>) {
        for (&caller, federate) in &mut self.federates {
            if of.is_none_or(|of| of == caller) {
                federate.reflected.retain(|&(instance, _), _| instance != handle);
            }
        }
    }

    /// The instance becomes unknown until it is discovered again, which may be at once (6.18).
    fn local_delete(
        &mut self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
        fx: &mut Effects,
    ) -> Served {
        if self.known_class(federate, handle).is_none() {
            return Err(vec![Exception::ObjectInstanceNotKnown]);
        }
        if self.instances[&handle].owners.values().any(|&owner| owner == federate) {
            return Err(vec![Exception::FederateOwnsAttributes]);
        }
        let before = self.advice();
        self.instances.get_mut(&handle).expect("known").known.remove(&federate);
        self.forget_reflections(handle, Some(federate));
        self.drop_associations(handle, Some(federate));
        let now = self.notify_changes(&before, federate, fx);
        self.discover_all(now, federate, fx);
        self.notify_interest(&before, fx);
        Ok(None)
    }

    /// Asks the owners, except the requesting federate, for their values (6.21, 6.22).
    fn request_instance(
        &self,
        federate: FederateHandle,
        r: &api::RequestInstanceAttributeValueUpdateRequest,
        fx: &mut Effects,
    ) -> Served {
        let handle = r.object_instance.unwrap_or_default();
        let Some(class) = self.known_class(federate, handle) else {
            return Err(vec![Exception::ObjectInstanceNotKnown]);
        };
        let attributes: BTreeSet<_> = listed(&r.attributes).iter().copied().collect();
        let all: Vec<_> = attributes.iter().copied().collect();
        refuse_if(self.check_attributes(class, &all, Exception::ObjectInstanceNotKnown))?;
        for attribute in attributes {
            self.ask_owner(federate, handle, attribute, &r.user_supplied_tag, fx);
        }
        Ok(None)
    }

    fn request_class(
        &self,
        federate: FederateHandle,
        r: &api::RequestClassAttributeValueUpdateRequest,
        fx: &mut Effects,
    ) -> Served {
        let class = r.object_class.unwrap_or_default();
        let attributes: BTreeSet<_> = listed(&r.attributes).iter().copied().collect();
        let all: Vec<_> = attributes.iter().copied().collect();
        refuse_if(self.check_attributes(class, &all, Exception::ObjectClassNotDefined))?;
        for (&handle, _) in
            self.instances.iter().filter(|(_, object)| self.lineage(object.class).contains(&class))
        {
            for &attribute in &attributes {
                self.ask_owner(federate, handle, attribute, &r.user_supplied_tag, fx);
            }
        }
        Ok(None)
    }

    /// Executes calls about transportation types (6.25 to 6.33).
    fn transport(&mut self, caller: FederateHandle, request: &Call, fx: &mut Effects) -> Option<Served> {
        Some(match request {
            Call::RequestAttributeTransportationTypeChangeRequest(r) => {
                self.change_transportation(caller, r, fx)
            }
            Call::ChangeDefaultAttributeTransportationTypeRequest(r) => {
                let class = r.object_class.unwrap_or_default();
                let attributes = listed(&r.attributes);
                let mut faults = self.check_attributes(class, attributes, Exception::ObjectClassNotDefined);
                faults.extend(self.check_transportation(r.transportation_type));
                if faults.is_empty() {
                    let to = r.transportation_type.unwrap_or_default();
                    let pairs = attributes.iter().map(|&attribute| ((class, attribute), to));
                    self.me(caller).default_transportation.extend(pairs);
                }
                refuse_if(faults).map(|()| None)
            }
            Call::QueryAttributeTransportationTypeRequest(r) => self.query_transportation(caller, r, fx),
            Call::RequestInteractionTransportationTypeChangeRequest(r) => {
                self.change_interaction_transportation(caller, r, fx)
            }
            Call::QueryInteractionTransportationTypeRequest(r) => {
                let (federate, class) =
                    (r.federate.unwrap_or_default(), r.interaction_class.unwrap_or_default());
                let mut faults = Vec::new();
                if !self.federates.contains_key(&federate) {
                    faults.push(Exception::FederateNotExecutionMember);
                }
                if self.model.interaction_class(class).is_none() {
                    faults.push(Exception::InteractionClassNotDefined);
                }
                if faults.is_empty() {
                    let report = api::ReportInteractionTransportationType {
                        federate: r.federate,
                        interaction_class: r.interaction_class,
                        transportation_type: Some(self.transportation_of(federate, class)),
                    };
                    self.notify(fx, caller, Callback::ReportInteractionTransportationType(report));
                }
                refuse_if(faults).map(|()| None)
            }
            _ => return None,
        })
    }

    fn check_transportation(&self, to: Option<TransportationTypeHandle>) -> Option<Exception> {
        let known = self.model.transportation(to.unwrap_or_default()).is_some();
        (!known).then_some(Exception::InvalidTransportationTypeHandle)
    }

    fn change_transportation(
        &mut self,
        federate: FederateHandle,
        r: &api::RequestAttributeTransportationTypeChangeRequest,
        fx: &mut Effects,
    ) -> Served {
        let handle = r.object_instance.unwrap_or_default();
        let Some(class) = self.known_class(federate, handle) else {
            return Err(vec![Exception::ObjectInstanceNotKnown]);
        };
        let attributes = listed(&r.attributes);
        let mut faults = self.check_attributes(class, attributes, Exception::ObjectInstanceNotKnown);
        let owners = &self.instances[&handle].owners;
        if attributes.iter().any(|attribute| owners.get(attribute) != Some(&federate)) {
            faults.push(Exception::AttributeNotOwned);
        }
        faults.extend(self.check_transportation(r.transportation_type));
        refuse_if(faults)?;
        let to = r.transportation_type.unwrap_or_default();
        let instance = self.instances.get_mut(&handle).expect("known");
        instance.transportation.extend(attributes.iter().map(|&attribute| (attribute, to)));
        let attributes: BTreeSet<_> = attributes.iter().copied().collect();
        let confirm = api::ConfirmAttributeTransportationTypeChange {
            object_instance: Some(handle),
            attributes: Some(api::AttributeHandleSet { attribute_handle: attributes.into_iter().collect() }),
            transportation_type: Some(to),
        };
        self.notify(fx, federate, Callback::ConfirmAttributeTransportationTypeChange(confirm));
        Ok(None)
    }

    fn query_transportation(
        &self,
        federate: FederateHandle,
        r: &api::QueryAttributeTransportationTypeRequest,
        fx: &mut Effects,
    ) -> Served {
        let handle = r.object_instance.unwrap_or_default();
        let Some(class) = self.known_class(federate, handle) else {
            return Err(vec![Exception::ObjectInstanceNotKnown]);
        };
        let attribute = r.attribute.unwrap_or_default();
        refuse_if(self.check_attributes(class, &[attribute], Exception::ObjectInstanceNotKnown))?;
        let report = api::ReportAttributeTransportationType {
            object_instance: Some(handle),
            attribute: Some(attribute),
            transportation_type: self.instances[&handle].transportation.get(&attribute).copied(),
        };
        self.notify(fx, federate, Callback::ReportAttributeTransportationType(report));
        Ok(None)
    }

    fn change_interaction_transportation(
        &mut self,
        federate: FederateHandle,
        r: &api::RequestInteractionTransportationTypeChangeRequest,
        fx: &mut Effects,
    ) -> Served {
        let class = r.interaction_class.unwrap_or_default();
        let mut faults = Vec::new();
        if self.model.interaction_class(class).is_none() {
            faults.push(Exception::InteractionClassNotDefined);
        } else if !self.federates[&federate].publishes_interactions.contains(&class) {
            faults.push(Exception::InteractionClassNotPublished);
        }
        faults.extend(self.check_transportation(r.transportation_type));
        refuse_if(faults)?;
        let to = r.transportation_type.unwrap_or_default();
        self.me(federate).interaction_transportation.insert(class, to);
        let confirm = api::ConfirmInteractionTransportationTypeChange {
            interaction_class: r.interaction_class,
            transportation_type: r.transportation_type,
        };
        self.notify(fx, federate, Callback::ConfirmInteractionTransportationTypeChange(confirm));
        Ok(None)
    }
}
