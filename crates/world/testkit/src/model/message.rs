//! Updates, interactions and directed interactions (6.10 to 6.15).

use super::{Effects, Federation, Served, refuse_if};
use crate::request::regions;
use bytes::Bytes;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::{
    self, AttributeHandleValue, ParameterHandleValue, ParameterHandleValueMap,
    callback_request::CallbackRequest as Callback,
};
use hla::handle::{
    FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, RegionHandle,
    TransportationTypeHandle,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The values of one passel have their transportation type and the set of their regions in common.
type Kind = (TransportationTypeHandle, BTreeSet<RegionHandle>);

impl Federation {
    /// Executes a call that sends a message. `None`: it is another call.
    pub(super) fn send(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        fx: &mut Effects,
    ) -> Option<Served> {
        Some(match request {
            Call::UpdateAttributeValuesRequest(r) => self.update(federate, r, fx),
            Call::SendInteractionRequest(r) => {
                let class = r.interaction_class.unwrap_or_default();
                self.send_interaction(federate, (class, &[]), &r.parameter_values, &r.user_supplied_tag, fx)
            }
            Call::SendInteractionWithRegionsRequest(r) => {
                let to = (r.interaction_class.unwrap_or_default(), regions(&r.regions));
                self.send_interaction(federate, to, &r.parameter_values, &r.user_supplied_tag, fx)
            }
            Call::SendDirectedInteractionRequest(r) => self.send_directed(federate, r, fx),
            _ => return None,
        })
    }

    fn update(
        &mut self,
        federate: FederateHandle,
        r: &api::UpdateAttributeValuesRequest,
        fx: &mut Effects,
    ) -> Served {
        let handle = r.object_instance.unwrap_or_default();
        let Some(class) = self.known_class(federate, handle) else {
            return Err(vec![Exception::ObjectInstanceNotKnown]);
        };
        let pairs = last_of_each(r.attribute_values.as_ref());
        let available = self.available(class);
        let instance = &self.instances[&handle];
        let mut faults = Vec::new();
        for attribute in pairs.iter().filter_map(|pair| pair.attribute_handle) {
            if !available.contains(&attribute) {
                faults.push(Exception::AttributeNotDefined);
            } else if instance.owners.get(&attribute) != Some(&federate) {
                faults.push(Exception::AttributeNotOwned);
            }
        }
        refuse_if(faults)?;
        // There is one passel for each transportation type and set of regions.
        let mut passels: BTreeMap<Kind, Vec<AttributeHandleValue>> = BTreeMap::new();
        for pair in pairs {
            let attribute = pair.attribute_handle.unwrap_or_default();
            let kind = (instance.transportation[&attribute], self.update_regions(handle, attribute));
            passels.entry(kind).or_default().push(pair);
        }
        for (kind, passel) in passels {
            for receiver in self.federates.keys().copied().collect::<Vec<_>>() {
                self.reflect((federate, receiver), handle, (&kind, &passel), &r.user_supplied_tag, fx);
            }
        }
        Ok(None)
    }

    /// The part of a passel that is in the receiver's scope, without values that come sooner than
    /// the receiver's update rate allows.
    fn reflect(
        &mut self,
        (caller, receiver): (FederateHandle, FederateHandle),
        handle: ObjectInstanceHandle,
        ((transportation, regions), passel): (&Kind, &[AttributeHandleValue]),
        tag: &Bytes,
        fx: &mut Effects,
    ) {
        let Some(class) = self.known_class(receiver, handle).filter(|_| receiver != caller) else { return };
        let (now, best_effort) = (self.now, !self.is_reliable(*transportation));
        let mut part = Vec::new();
        for pair in passel {
            let attribute = pair.attribute_handle.unwrap_or_default();
            let Some(how) = self.applicable(receiver, (class, attribute), handle) else { continue };
            let federate = self.me(receiver);
            if let Some((_, hertz)) = how.rate.filter(|_| best_effort) {
                let interval = Duration::from_secs_f64(1.0 / hertz);
                let last = federate.reflected.get(&(handle, attribute));
                if last.is_some_and(|&last| now < last + interval) {
                    continue;
                }
                federate.reflected.insert((handle, attribute), now);
            }
            part.push(pair.clone());
        }
        if part.is_empty() {
            return;
        }
        let reflect = api::ReflectAttributeValues {
            object_instance: Some(handle),
            attribute_values: Some(api::AttributeHandleValueMap { attribute_handle_value: part }),
            user_supplied_tag: tag.clone(),
            transportation_type: Some(*transportation),
            producing_federate: Some(caller),
            optional_sent_regions: self.conveyed(receiver, regions),
        };
        self.notify_as(fx, receiver, Callback::ReflectAttributeValues(reflect), best_effort);
    }

    /// Each receiver gets the interaction once, at the most specific class that it subscribes, in a
    /// region that overlaps if it was sent with regions (6.13, 9.12).
    fn send_interaction(
        &self,
        caller: FederateHandle,
        (class, regions): (InteractionClassHandle, &[RegionHandle]),
        values: &Option<ParameterHandleValueMap>,
        tag: &Bytes,
        fx: &mut Effects,
    ) -> Served {
        let mut faults = self.check_parameters(class, values.as_ref());
        faults.extend(self.check_interaction_regions(caller, class, regions));
        if !self.federates[&caller].publishes_interactions.contains(&class) {
            faults.push(Exception::InteractionClassNotPublished);
        }
        refuse_if(faults)?;
        let transportation = self.transportation_of(caller, class);
        let best_effort = !self.is_reliable(transportation);
        let regions: BTreeSet<_> = regions.iter().copied().collect();
        for (&receiver, federate) in self.federates.iter().filter(|(receiver, _)| **receiver != caller) {
            let wants =
                |at: &InteractionClassHandle| self.wants_interaction_at(federate, *at, (class, &regions));
            let Some(at) = self.interaction_lineage(class).into_iter().find(wants) else { continue };
            let receive = api::ReceiveInteraction {
                interaction_class: Some(at),
                parameter_values: Some(self.parameters_at(at, values.as_ref())),
                user_supplied_tag: tag.clone(),
                transportation_type: Some(transportation),
                producing_federate: Some(caller),
                optional_sent_regions: self.conveyed(receiver, &regions),
            };
            self.notify_as(fx, receiver, Callback::ReceiveInteraction(receive), best_effort);
        }
        Ok(None)
    }

    /// Receivers are the federates that know the instance and subscribe the class universally, or
    /// own some attribute of the instance (6.15).
    fn send_directed(
        &self,
        caller: FederateHandle,
        r: &api::SendDirectedInteractionRequest,
        fx: &mut Effects,
    ) -> Served {
        let sent = r.interaction_class.unwrap_or_default();
        let handle = r.object_instance.unwrap_or_default();
        let mut faults = self.check_parameters(sent, r.parameter_values.as_ref());
        if self.known_class(caller, handle).is_none() {
            faults.push(Exception::ObjectInstanceNotKnown);
            return Err(faults);
        }
        let instance = &self.instances[&handle];
        let lineage = self.lineage(instance.class);
        let published = &self.federates[&caller].publishes_directed;
        if !lineage.iter().any(|&at| published.contains(&(at, sent))) {
            faults.push(Exception::InteractionClassNotPublished);
        }
        refuse_if(faults)?;
        let transportation = self.transportation_of(caller, sent);
        let best_effort = !self.is_reliable(transportation);
        for (&receiver, federate) in self.federates.iter().filter(|(receiver, _)| **receiver != caller) {
            if !instance.known.contains_key(&receiver) {
                continue;
            }
            let owns = instance.owners.values().any(|&owner| owner == receiver);
            let subscribes = |class: ObjectClassHandle, at: InteractionClassHandle| {
                federate.subscribes_directed.get(&(class, at)).is_some_and(|&universally| universally || owns)
            };
            let wanted = |at: &InteractionClassHandle| lineage.iter().any(|&class| subscribes(class, *at));
            let Some(at) = self.interaction_lineage(sent).into_iter().find(wanted) else { continue };
            let receive = api::ReceiveDirectedInteraction {
                interaction_class: Some(at),
                object_instance: Some(handle),
                parameter_values: Some(self.parameters_at(at, r.parameter_values.as_ref())),
                user_supplied_tag: r.user_supplied_tag.clone(),
                transportation_type: Some(transportation),
                producing_federate: Some(caller),
            };
            self.notify_as(fx, receiver, Callback::ReceiveDirectedInteraction(receive), best_effort);
        }
        Ok(None)
    }

    fn check_parameters(
        &self,
        class: InteractionClassHandle,
        values: Option<&ParameterHandleValueMap>,
    ) -> Vec<Exception> {
        let Some(class) = self.model.interaction_class(class) else {
            return vec![Exception::InteractionClassNotDefined];
        };
        let values = values.map(|map| map.parameter_handle_value.as_slice()).unwrap_or_default();
        let known = |pair: &ParameterHandleValue| {
            pair.parameter_handle.is_some_and(|parameter| class.parameters.contains(&parameter))
        };
        match values.iter().all(known) {
            true => Vec::new(),
            false => vec![Exception::InteractionParameterNotDefined],
        }
    }

    fn parameters_at(
        &self,
        class: InteractionClassHandle,
        values: Option<&ParameterHandleValueMap>,
    ) -> ParameterHandleValueMap {
        let available = self.model.interaction_class(class).map(|class| class.parameters.clone());
        let available = available.unwrap_or_default();
        let pairs = values.iter().flat_map(|map| &map.parameter_handle_value);
        // A handle that occurs twice in one call keeps its last value.
        let last: BTreeMap<_, _> = pairs.map(|pair| (pair.parameter_handle, pair.clone())).collect();
        let wanted = last
            .into_values()
            .filter(|pair| pair.parameter_handle.is_some_and(|parameter| available.contains(&parameter)));
        ParameterHandleValueMap { parameter_handle_value: wanted.collect() }
    }

    /// The transportation type of interactions of `class` that `who` sends.
    pub(super) fn transportation_of(
        &self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) -> TransportationTypeHandle {
        let own =
            self.federates.get(&federate).and_then(|f| f.interaction_transportation.get(&class)).copied();
        own.or_else(|| self.model.interaction_class(class).map(|class| class.transportation))
            .unwrap_or_default()
    }

    fn is_reliable(&self, transportation: TransportationTypeHandle) -> bool {
        self.model.transportation(transportation).is_none_or(|transportation| transportation.reliable)
    }

    pub(super) fn known_class(
        &self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
    ) -> Option<ObjectClassHandle> {
        self.instances.get(&handle)?.known.get(&federate).copied()
    }
}

/// A handle that occurs twice in one call keeps its last value.
fn last_of_each(values: Option<&api::AttributeHandleValueMap>) -> Vec<AttributeHandleValue> {
    let pairs = values.iter().flat_map(|map| &map.attribute_handle_value);
    let last: BTreeMap<_, _> = pairs.map(|pair| (pair.attribute_handle, pair.clone())).collect();
    last.into_values().collect()
}
