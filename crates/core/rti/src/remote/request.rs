//! What is asked of the home of an instance, or of the node of a federate.

use super::wire::Letter;
use crate::control::{NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::plane::Plane;
use bytes::Bytes;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use std::collections::BTreeSet;

impl Execution {
    /// Asks the home of an instance to have its owners provide values.
    pub(crate) fn ask_home(
        &self,
        plane: &mut Plane,
        requester: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
    ) {
        let home = self.instances.get(instance).map(|object| object.home);
        let Some(home) = home.filter(|&home| home != self.node) else { return };
        let letter = Letter::Provide {
            execution: self.id,
            requester,
            instance,
            attributes: attributes.iter().copied().collect(),
            tag: tag.clone(),
        };
        self.write(plane, home, &letter);
    }

    /// Asks all nodes that have instances of a class, or of one below it, for values of them.
    pub(crate) fn ask_publishers(
        &self,
        plane: &mut Plane,
        requester: FederateHandle,
        class: ObjectClassHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
    ) {
        let Some(remote) = self.remote.as_deref() else { return };
        let below = remote.publishers.iter().filter(|(what, _)| match what {
            PublishedClass::Objects(published) => self.model.is_subclass(*published, class),
            _ => false,
        });
        let nodes: BTreeSet<NodeId> =
            below.flat_map(|(_, nodes)| nodes).copied().filter(|&node| node != self.node).collect();
        let letter = Letter::ProvideClass {
            execution: self.id,
            requester,
            class,
            attributes: attributes.iter().copied().collect(),
            tag: tag.clone(),
        };
        for node in nodes {
            self.write(plane, node, &letter);
        }
    }

    /// A federate of another node wants values of an instance whose home is here.
    pub(super) fn provide(
        &self,
        plane: &mut Plane,
        requester: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
    ) {
        if self.instances.get(instance).is_some_and(|object| object.home == self.node) {
            self.ask_owners(plane, requester, instance, attributes, tag);
        }
    }

    /// The same of all instances of a class and below.
    pub(super) fn provide_class(
        &self,
        plane: &mut Plane,
        requester: FederateHandle,
        class: ObjectClassHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
    ) {
        for instance in self.instances.of_class_or_below(&self.model, class) {
            self.provide(plane, requester, instance, attributes, tag);
        }
    }

    /// Asks another node how its federate sends interactions of a class.
    pub(crate) fn ask_transportation(
        &self,
        plane: &mut Plane,
        node: NodeId,
        asker: FederateHandle,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        self.write(plane, node, &Letter::Query { execution: self.id, asker, federate, class });
    }

    /// Answers another node how a federate of this one sends interactions of a class.
    pub(super) fn tell_transportation(
        &self,
        plane: &mut Plane,
        node: NodeId,
        asker: FederateHandle,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        // One that has resigned by now is not answered for, as in 6.32 the federate must be joined.
        let Some(known) =
            self.model.interaction_class(class).filter(|_| self.federates.contains_key(&federate))
        else {
            return;
        };
        let transportation = self.interaction_transportation(federate, known);
        let letter = Letter::Report { execution: self.id, asker, federate, class, transportation };
        self.write(plane, node, &letter);
    }

    /// Another node answered.
    pub(super) fn report_transportation(
        &self,
        plane: &mut Plane,
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
        self.tell(plane, asker, Callback::ReportInteractionTransportationType(report));
    }

    pub(super) fn write(&self, plane: &mut Plane, to: NodeId, letter: &Letter) {
        if let (Some(remote), Some(net)) = (self.remote.as_deref(), plane.net.as_deref_mut()) {
            net.write(to, remote.model, letter);
        }
    }
}
