//! Requests between nodes: to the home of an instance, or to the node of a federate.

use super::class_request::RequestedClass;
use super::objects::Objects;
use crate::control::management::is_managed;
use crate::control::{Federation, NodeId};
use crate::effect::{Change, Effect, Effects, MomRequest};
use crate::wire::ObjectMessage;
use bytes::Bytes;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectInstanceHandle, TransportationTypeHandle,
};
use router::WireError;
use std::collections::BTreeSet;

impl Objects {
    /// Handles a message of another node about federates or instances.
    ///
    /// # Errors
    /// It does not fit the state here.
    pub(crate) fn handle_message(
        &mut self,
        effects: &mut Effects,
        from: NodeId,
        message: ObjectMessage,
        federation: Option<&Federation>,
    ) -> Result<(), WireError> {
        match message {
            ObjectMessage::Declare(declaration) => {
                let joined = |federate| federation.is_some_and(|f| f.member(federate).is_some());
                if joined(declaration.federate()) {
                    self.declared(effects, from, declaration);
                }
            }
            ObjectMessage::Provide { requester, instance, attributes, tag } => {
                let attributes = attributes.into_iter().collect();
                if is_managed(instance) {
                    self.request_for_node(effects, (requester, from), instance, attributes);
                } else {
                    self.provide(effects, requester, instance, &attributes, &tag);
                }
            }
            ObjectMessage::ProvideClass { requester, class, attributes, tag, regions } => {
                let requested =
                    RequestedClass { class, attributes: attributes.into_iter().collect(), regions };
                if let Err(error) = self.provide_class(effects, requester, requested, tag) {
                    tracing::warn!(%from, %requester, %error, "a request for values is dropped");
                }
            }
            ObjectMessage::QueryTransportation { asker, federate, class } => {
                self.answer_transportation(effects, from, asker, federate, class);
            }
            ObjectMessage::ReportTransportation { asker, federate, class, transportation } => {
                self.report_transportation(effects, asker, federate, class, transportation);
            }
            ObjectMessage::Adopt { class, gone, delivered, records } => {
                let names = federation.map(|f| &f.names);
                return self.adopt(effects, (from, gone), (class, delivered), records, names);
            }
            ObjectMessage::Adopted { gone } => self.adopted(effects, from, gone),
            ObjectMessage::Own(request) => {
                // A federate that has left owns nothing and wants nothing.
                let member = federation.and_then(|f| f.member(request.federate));
                if member.is_some_and(|member| member.node == from) {
                    self.requested(effects, *request);
                }
            }
            ObjectMessage::Regions { federate, instance, regions } => {
                let member = federation.and_then(|f| f.member(federate));
                if member.is_some_and(|member| member.node == from) {
                    self.regions_requested(effects, from, (federate, instance), regions);
                }
            }
            ObjectMessage::Ask { asked, target: _ } => {
                let request = MomRequest::Asked { asked, from: Some(from) };
                effects.push(Effect::Manage(self.id, Box::new(request)));
            }
            ObjectMessage::Report { class, values } => self.receive_managed(effects, class, values),
            ObjectMessage::Managed { requester, federate, values } => {
                self.managed_elsewhere(effects, requester, federate, values);
            }
            ObjectMessage::Removed { instances } => self.removed_elsewhere(effects, instances),
        }
        Ok(())
    }

    /// Requests values of an instance from an owner at another node.
    pub(super) fn ask_owner_elsewhere(
        &self,
        effects: &mut Effects,
        (requester, owner): (FederateHandle, FederateHandle),
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
    ) {
        if self.replicated {
            let (attributes, tag) = (attributes.iter().copied().collect(), tag.clone());
            let message = ObjectMessage::Provide { requester, instance, attributes, tag };
            effects.replicate(Change::SendToFederate { federate: owner, message });
        }
    }

    /// Requests values from all nodes that have instances of a class or of one below it.
    pub(super) fn ask_publishers(
        &self,
        effects: &mut Effects,
        requester: FederateHandle,
        requested: RequestedClass,
        tag: &Bytes,
    ) {
        if self.replicated {
            let RequestedClass { class, attributes, regions } = requested;
            let (attributes, tag) = (attributes.into_iter().collect(), tag.clone());
            let message = ObjectMessage::ProvideClass { requester, class, attributes, tag, regions };
            effects.replicate(Change::SendToPublishers { class, message });
        }
    }

    /// Handles the request of another node's federate for values of an instance.
    fn provide(
        &self,
        effects: &mut Effects,
        requester: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
    ) {
        let is_here = |owner| self.federates.contains_key(&owner);
        self.ask_owners(effects, requester, instance, attributes, tag, is_here);
    }

    /// Asks another node about the transportation of interactions of a class sent by its federate.
    pub(crate) fn ask_transportation(
        &self,
        effects: &mut Effects,
        node: NodeId,
        asker: FederateHandle,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        effects.send(node, ObjectMessage::QueryTransportation { asker, federate, class });
    }

    /// Answers another node about the transportation of interactions of a class sent by a federate
    /// here.
    fn answer_transportation(
        &self,
        effects: &mut Effects,
        node: NodeId,
        asker: FederateHandle,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        // There is no answer for a federate that has resigned since: 6.32 requires it to be joined.
        let joined = self.federates.contains_key(&federate);
        let Some(known) = self.model.interaction_class(class).filter(|_| joined) else { return };
        let transportation = self.interaction_transportation(federate, known);
        effects.send(node, ObjectMessage::ReportTransportation { asker, federate, class, transportation });
    }

    /// Reports to a federate here the transportation of another federate's interactions of a class
    /// (6.33).
    pub(super) fn report_transportation(
        &self,
        effects: &mut Effects,
        asker: FederateHandle,
        federate: FederateHandle,
        class: InteractionClassHandle,
        transportation: TransportationTypeHandle,
    ) {
        let report = api::ReportInteractionTransportationType {
            federate: Some(federate),
            interaction_class: Some(class),
            transportation_type: Some(transportation),
        };
        self.notify(effects, asker, Callback::ReportInteractionTransportationType(report));
    }
}
