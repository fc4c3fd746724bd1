//! The management object model (clause 11) of a federation execution: what it tells comes from all
//! machines of the execution and from the control plane.
//!
//! A node with subscribers *watches* the others, by a command in the log. From then on each node
//! tells it of changes of its own federates. Values that are only sent on request, or from time to
//! time, are requested from the federate's node.

use super::Rti;
use super::execution::Execution;
use super::shared::Shared;
use crate::control::management::{FEDERATION_INSTANCE, federate_instance, federate_of};
use crate::control::{Command, ExecutionId, Federation, NodeId, PublishedClass};
use crate::effect::{Change, MomRequest};
use crate::mom::{
    FederateValue, FederationValue, Item, Local, Policy, Reportable, of_federation, recorded, resign_action,
};
use crate::proposal::Proposal;
use crate::wire::{HandleValue, ObjectMessage, Values};
use hla::api::ResignAction;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use std::collections::BTreeSet;

/// The attributes whose values only a federate's node knows.
pub(super) type OfNode = Vec<(AttributeHandle, FederateValue)>;

/// A request for values of an instance.
struct Provide {
    requester: FederateHandle,
    node: Option<NodeId>,
    attributes: BTreeSet<AttributeHandle>,
    requested: bool,
}

impl Rti {
    /// Updates the attributes of a federate whose period has ended.
    pub(super) fn report_period(&mut self, id: ExecutionId, federate: FederateHandle) {
        if let (Some(execution), Some(federation)) =
            (self.executions.get_mut(&id), self.control.execution(id))
        {
            execution.report_period(&mut self.shared, federation, federate);
            execution.settle(&mut self.shared);
        }
    }

    /// Serves all requests to the management object model.
    pub(super) fn settle_managed(&mut self) {
        while let Some((id, request)) = self.shared.managed.pop_front() {
            let is_network = self.control.is_network();
            if let (Some(execution), Some(federation)) =
                (self.executions.get_mut(&id), self.control.execution(id))
            {
                execution.manage(&mut self.shared, (federation, is_network), request);
                execution.settle(&mut self.shared);
            }
            self.call_on_behalf();
        }
    }
}

fn value(attribute: AttributeHandle, value: bytes::Bytes) -> HandleValue {
    HandleValue { handle: attribute.0, value }
}

impl Execution {
    fn manage(
        &mut self,
        shared: &mut Shared,
        (federation, is_network): (&Federation, bool),
        request: MomRequest,
    ) {
        match request {
            MomRequest::Covered(PublishedClass::Interactions(class)) => {
                let wants = self.objects.interest.covers(PublishedClass::Interactions(class));
                let watched = &mut self.mom.reports_watched;
                let changes = if wants { watched.insert(class) } else { watched.remove(&class) };
                if is_network && changes {
                    self.watch(shared, PublishedClass::Interactions(class), wants);
                }
            }
            MomRequest::Covered(_) => self.managed_covered(shared, federation, is_network),
            MomRequest::Provide { requester, node, instance, attributes, requested } => {
                let provide = Provide { requester, node, attributes, requested };
                if instance == FEDERATION_INSTANCE {
                    self.provide_of_federation(shared, federation, &provide);
                } else if let Some(federate) = federate_of(instance) {
                    self.provide_of_federate(shared, federation, federate, &provide);
                }
            }
            MomRequest::Changed(federate) => self.tell_changes(shared, federation, federate),
            MomRequest::Asked { asked, from } => self.asked(shared, federation, &asked, from),
            MomRequest::Invoked(invocation) => {
                let report = crate::mom::invocation(&invocation, federation.model.edition());
                self.send_report(shared, federation, report, None);
            }
            MomRequest::Raised { federate, service, text } => {
                self.report_exception(shared, federation, (federate, service), &text);
            }
            MomRequest::Lost { federate, time } => {
                if let Some(member) = federation.member(federate) {
                    self.report_lost(shared, Some(federation), (federate, &member.name), Some(time));
                }
            }
            MomRequest::Told { federate, values } => {
                if self.mom.watches && federation.member(federate).is_some() {
                    let known = self.mom.elsewhere.entry(federate).or_default();
                    known.extend(values.into_iter().map(|value| (value.handle, value.value)));
                }
            }
        }
    }

    /// Makes the instances for the first subscriber, and watches other nodes for as long as there
    /// are any of HLAfederate.
    fn managed_covered(&mut self, shared: &mut Shared, federation: &Federation, is_network: bool) {
        let (federate, whole) = (self.mom.attributes.federate, self.mom.attributes.federation);
        let covers = |class| self.objects.interest.covers(PublishedClass::Objects(class));
        let wants = covers(federate);
        if !self.mom.is_present && (wants || covers(whole)) {
            self.begin_telling();
            self.mom.is_present = true;
            self.add_managed(shared, FEDERATION_INSTANCE);
            for (member, _) in federation.members() {
                self.add_managed(shared, federate_instance(member));
            }
        }
        if is_network && wants != self.mom.watches {
            self.mom.watches = wants;
            if !wants {
                self.mom.elsewhere.clear();
            }
            self.watch(shared, PublishedClass::Objects(federate), wants);
        }
    }

    fn watch(&self, shared: &mut Shared, class: PublishedClass, on: bool) {
        let (execution, node) = (self.id(), self.objects.node);
        shared.proposals.push_back(Proposal::new(Command::Watch { execution, node, class, on }));
    }

    /// Adds the instance for a federate, or for the federation.
    fn add_managed(&mut self, shared: &mut Shared, instance: ObjectInstanceHandle) {
        let attributes = &self.mom.attributes;
        let (class, name) = match federate_of(instance) {
            Some(federate) => (attributes.federate, format!("HLAfederate_{}", federate.0)),
            None => (attributes.federation, "HLAfederation".to_owned()),
        };
        let knows = |attribute| attributes.item(attribute).is_some();
        self.objects.add_managed(&mut shared.effects, (instance, class), &name, knows);
        self.settle(shared);
    }

    /// Notes the states of the federates here, since somebody is to be told of changes.
    fn begin_telling(&mut self) {
        if !self.mom.tells() {
            self.note_states();
        }
    }

    /// Notes the states of the federates here as told.
    pub(super) fn note_states(&mut self) {
        let Self { objects, time, mom, .. } = self;
        let states = objects.federates.values();
        mom.told = states.map(|f| (f.handle, Reportable::of(f, time.state(f.handle)))).collect();
    }

    fn provide_of_federation(&mut self, shared: &mut Shared, federation: &Federation, provide: &Provide) {
        let wanted = provide.attributes.iter().filter_map(|&at| Some((at, self.mom.attributes.item(at)?)));
        let values: Values = wanted
            .filter_map(|(attribute, (item, _))| match item {
                Item::Federation(of) => Some(value(attribute, of_federation(of, federation))),
                Item::Federate(_) => None,
            })
            .collect();
        let to = Some(provide.requester);
        self.objects.reflect_managed(&mut shared.effects, to, FEDERATION_INSTANCE, values);
    }

    fn provide_of_federate(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        federate: FederateHandle,
        provide: &Provide,
    ) {
        let &Provide { requester, node, ref attributes, requested } = provide;
        let Some(member) = federation.member(federate) else { return };
        let (mut values, mut of_node) = (Values::new(), OfNode::new());
        for &attribute in attributes {
            let Some((Item::Federate(of), policy)) = self.mom.attributes.item(attribute) else { continue };
            if !requested && policy == Policy::Periodic {
                continue;
            }
            match recorded(of, (federate, member), federation) {
                Some(recorded) => values.push(value(attribute, recorded)),
                None => of_node.push((attribute, of)),
            }
        }
        if self.objects.federates.contains_key(&federate) {
            values.extend(self.values_here(shared, federate, of_node));
        } else if node.is_none() {
            self.provide_of_elsewhere(shared, federate, (requester, requested), of_node, &mut values);
        }
        match node {
            None => {
                let instance = federate_instance(federate);
                self.objects.reflect_managed(&mut shared.effects, Some(requester), instance, values);
            }
            Some(node) => {
                let requester = Some(requester);
                let message = ObjectMessage::Managed { requester, federate, values };
                shared.effects.send(node, message);
            }
        }
    }

    /// Values of another node's federate: what that node has told, or what it is asked for.
    fn provide_of_elsewhere(
        &self,
        shared: &mut Shared,
        federate: FederateHandle,
        (requester, requested): (FederateHandle, bool),
        of_node: OfNode,
        values: &mut Values,
    ) {
        if of_node.is_empty() {
            return;
        }
        match self.mom.elsewhere.get(&federate).filter(|_| !requested) {
            Some(told) => {
                let known = of_node.iter().filter_map(|(at, _)| Some(value(*at, told.get(&at.0)?.clone())));
                values.extend(known);
            }
            None if requested || self.mom.is_told => {
                let attributes = of_node.into_iter().map(|(attribute, _)| attribute).collect();
                let (instance, tag) = (federate_instance(federate), bytes::Bytes::new());
                let message = ObjectMessage::Provide { requester, instance, attributes, tag };
                shared.effects.replicate(Change::SendToFederate { federate, message });
            }
            None => {}
        }
    }

    /// Values that this node alone knows of a federate here.
    fn values_here(&mut self, shared: &Shared, federate: FederateHandle, of_node: OfNode) -> Values {
        let Self { objects, time, .. } = self;
        let Some(known) = objects.federates.get(&federate) else { return Values::new() };
        let deletable =
            || objects.deletable_by(federate).iter().map(|(_, count)| *count as usize).sum::<usize>();
        let waiting = shared.delivery.waiting(known.client);
        let mut here = Local { federate: known, time, waiting, deletable: &deletable };
        of_node.into_iter().filter_map(|(at, of)| Some(value(at, here.value(of)?))).collect()
    }

    /// The other nodes that watch HLAfederate.
    fn watchers<'a>(&self, federation: &'a Federation) -> impl Iterator<Item = NodeId> + use<'a> {
        let own = self.objects.node;
        let class = PublishedClass::Objects(self.mom.attributes.federate);
        federation.watchers(class).filter(move |&node| node != own)
    }

    /// Tells subscribers here and other nodes what has changed of a federate here.
    fn tell_changes(&mut self, shared: &mut Shared, federation: &Federation, federate: FederateHandle) {
        let Some(known) = self.objects.federates.get(&federate) else { return };
        let now = Reportable::of(known, self.time.state(federate));
        let Some(before) = self.mom.told.insert(federate, now).filter(|before| *before != now) else {
            return;
        };
        let attributes = &self.mom.attributes;
        let changed = now.changes(before).filter_map(|of| Some((attributes.of_federate(of)?, of))).collect();
        self.tell(shared, federation, federate, changed);
    }

    /// Updates attributes of a federate here, as far as anybody sees them.
    pub(super) fn tell(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        federate: FederateHandle,
        mut attributes: OfNode,
    ) {
        let instance = federate_instance(federate);
        if self.watchers(federation).next().is_none() {
            attributes.retain(|(attribute, _)| self.objects.is_seen(instance, *attribute));
        }
        if attributes.is_empty() {
            return;
        }
        let values = self.values_here(shared, federate, attributes);
        for node in self.watchers(federation) {
            let message = ObjectMessage::Managed { requester: None, federate, values: values.clone() };
            shared.effects.send(node, message);
        }
        self.objects.reflect_managed(&mut shared.effects, None, instance, values);
    }

    /// Tells another node all that it is told at once of a federate here.
    fn tell_all(&mut self, shared: &mut Shared, node: NodeId, federate: FederateHandle) {
        let all = self.mom.attributes.with_policy(Policy::Conditional).collect();
        let values = self.values_here(shared, federate, all);
        let message = ObjectMessage::Managed { requester: None, federate, values };
        shared.effects.send(node, message);
    }

    /// A federate has joined.
    pub(super) fn managed_joined(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        federate: FederateHandle,
    ) {
        if !self.mom.tells() {
            return;
        }
        if let Some(known) = self.objects.federates.get(&federate) {
            self.mom.told.insert(federate, Reportable::of(known, self.time.state(federate)));
            for node in self.watchers(federation).collect::<Vec<_>>() {
                self.tell_all(shared, node, federate);
            }
        }
        if self.mom.is_present {
            self.add_managed(shared, federate_instance(federate));
            self.update_federation(shared, federation, &[FederationValue::Federates]);
        }
        self.settle(shared);
    }

    /// A federate has resigned or was lost.
    pub(super) fn managed_resigned(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        federate: FederateHandle,
    ) {
        self.mom.told.remove(&federate);
        self.mom.elsewhere.remove(&federate);
        self.mom.periods.remove(&federate);
        self.mom.resigned.remove(&federate);
        if self.mom.is_present {
            self.objects.remove_managed(&mut shared.effects, federate_instance(federate));
            self.update_federation(shared, federation, &[FederationValue::Federates]);
            self.settle(shared);
        }
    }

    /// The switch autoProvide has another value.
    pub(super) fn managed_switched(&mut self, shared: &mut Shared, federation: &Federation) {
        self.update_federation(shared, federation, &[FederationValue::AutoProvide]);
        self.settle(shared);
    }

    /// The object model was extended.
    pub(super) fn managed_extended(&mut self, shared: &mut Shared, federation: &Federation) {
        self.update_federation(shared, federation, &[FederationValue::Modules, FederationValue::CurrentFdd]);
        self.settle(shared);
    }

    /// The automatic resign directive of a federate has changed.
    pub(super) fn managed_directive(
        &mut self,
        shared: &mut Shared,
        federate: FederateHandle,
        directive: ResignAction,
    ) {
        let attribute = self.mom.attributes.of_federate(FederateValue::AutomaticResignAction);
        if let Some(attribute) = attribute.filter(|_| self.mom.is_present) {
            let action = resign_action(directive, self.objects.model.edition());
            let values = Values::from_iter([value(attribute, action)]);
            self.objects.reflect_managed(&mut shared.effects, None, federate_instance(federate), values);
            self.settle(shared);
        }
    }

    /// A value of a federate that every node knows has changed.
    pub(super) fn managed_recorded(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        federate: FederateHandle,
        of: FederateValue,
    ) {
        let attribute = self.mom.attributes.of_federate(of).filter(|_| self.mom.is_present);
        let Some((attribute, member)) = attribute.zip(federation.member(federate)) else { return };
        let values = recorded(of, (federate, member), federation);
        let values = values.map(|recorded| value(attribute, recorded));
        let instance = federate_instance(federate);
        self.objects.reflect_managed(&mut shared.effects, None, instance, Values::from_iter(values));
        self.settle(shared);
    }

    /// A node watches a class, or no longer does.
    pub(super) fn managed_watched(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        (class, node): (PublishedClass, NodeId),
        on: bool,
    ) {
        if class != PublishedClass::Objects(self.mom.attributes.federate) {
            return;
        }
        if node == self.objects.node {
            self.mom.is_told = on;
            return;
        }
        self.begin_telling();
        self.mom.is_watched = self.watchers(federation).next().is_some();
        if on {
            for federate in self.objects.federates.keys().copied().collect::<Vec<_>>() {
                self.tell_all(shared, node, federate);
            }
            self.settle(shared);
        }
    }

    /// Updates attributes of HLAfederation for those who subscribe them.
    pub(super) fn update_federation(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        changed: &[FederationValue],
    ) {
        let attributes = &self.mom.attributes;
        let changed = changed.iter().filter_map(|&of| Some((attributes.of_federation(of)?, of)));
        let seen = changed.filter(|(attribute, _)| self.objects.is_seen(FEDERATION_INSTANCE, *attribute));
        let values: Values = seen.map(|(at, of)| value(at, of_federation(of, federation))).collect();
        self.objects.reflect_managed(&mut shared.effects, None, FEDERATION_INSTANCE, values);
    }
}
