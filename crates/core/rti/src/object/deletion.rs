//! Deletion in time-stamp order (6.16 with a time).
//!
//! From its call on, the deleter no longer knows the instance, and nobody owns it. Every other
//! federate knows it until the deletion is delivered to it. The deletion can be retracted (8.22)
//! while its time stamp is in the deleter's future. The instance is then as it was before. It
//! therefore stays until all federates have forgotten it and the deletion is final.

use super::instance::{AttributeState, Relevance};
use super::lifecycle::removal;
use super::objects::Objects;
use crate::control::PublishedClass;
use crate::effect::{Effect, Effects};
use crate::stamp::Stamp;
use crate::time::{Subject, TimeInput, TimedMessage};
use crate::wire::StreamEvent;
use bytes::Bytes;
use hla::api::OrderType;
use hla::handle::{
    AttributeHandle, FederateHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use hla::time::LogicalTime;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A deletion that is not over yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Deletion {
    /// The former owners, by slot.
    owners: Box<[FederateHandle]>,
    /// Federates that have forgotten the instance because of the deletion, with the class at which
    /// they knew it.
    forgotten: Vec<(FederateHandle, ObjectClassHandle)>,
    /// It can no longer be retracted.
    is_final: bool,
    retraction: MessageRetractionHandle,
}

/// The deletions that are not over yet, by instance.
pub(super) type Deletions = BTreeMap<ObjectInstanceHandle, Deletion>;

impl Objects {
    /// Deletes an instance in time-stamp order. `is_final`: the deletion cannot be retracted.
    pub(super) fn delete_in_time(
        &mut self,
        effects: &mut Effects,
        deleter: FederateHandle,
        instance: ObjectInstanceHandle,
        tag: &Bytes,
        stamp: Stamp,
        is_final: bool,
    ) {
        let Some(object) = self.instances.get_mut(instance) else { return };
        let (owners, slots): (Vec<_>, Vec<_>) =
            object.attributes().map(|(slot, state)| (state.owner, slot)).unzip();
        for slot in slots {
            let state = object.attribute_mut(slot);
            *state = AttributeState { owner: FederateHandle::INVALID, relevance: Relevance::OFF, ..*state };
        }
        let known = object.known().to_vec();
        let (class, home) = (object.class, object.home);
        let retraction = stamp.retraction;
        let deletion = Deletion { owners: owners.into(), forgotten: Vec::new(), is_final, retraction };
        self.deletions.insert(instance, deletion);
        if self.replicated && home == self.node {
            let class = PublishedClass::Objects(class);
            let (producer, tag, stamp) = (deleter, tag.clone(), Some(stamp));
            effects.append(class, StreamEvent::Removed { instance, producer, tag, stamp });
            if is_final {
                effects.append(class, StreamEvent::RemovalFinal(instance));
            }
        }
        self.end_negotiations(effects, instance);
        self.review_owned_elsewhere(effects, instance);
        self.forget_deleted(deleter, instance);
        for receiver in known.into_iter().map(|known| known.federate).filter(|&to| to != deleter) {
            let Some(federate) = self.federates.get_mut(&receiver) else { continue };
            let Ok(time) = self.time.decode_time(&stamp.time) else { continue };
            if federate.constrained {
                let body = removal(instance, deleter, tag, Some(stamp), OrderType::Timestamp);
                let (retraction, subject) = (stamp.retraction, Subject::Removal(instance));
                let transportation = TransportationTypeHandle::RELIABLE;
                let message =
                    TimedMessage { time, sender: deleter, retraction, subject, transportation, body };
                let message = Box::new(message);
                effects.push(Effect::Time(TimeInput::Queue { to: receiver, message }));
            } else {
                let body = removal(instance, deleter, tag, Some(stamp), OrderType::Receive);
                effects.deliver(federate.client, body);
                federate.counters.removed += 1;
                let retraction = stamp.retraction;
                effects.push(Effect::Time(TimeInput::Early { to: receiver, retraction, time }));
                self.forget_deleted(receiver, instance);
            }
        }
        self.end_deletion(effects, instance);
    }

    /// Lets a federate forget an instance because its deletion has reached the federate. Returns
    /// false if the federate did not know it.
    pub(super) fn forget_deleted(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> bool {
        let known = self.instances.get(instance).and_then(|object| object.known_class(federate));
        let Some(class) = known else { return false };
        self.instances.become_unknown(instance, federate);
        self.forget_instance(federate, instance);
        if let Some(deletion) = self.deletions.get_mut(&instance)
            && !deletion.is_final
        {
            deletion.forgotten.push((federate, class));
        }
        true
    }

    /// The deletion of an instance can no longer be retracted.
    pub(crate) fn deletion_is_final(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        if let Some(deletion) = self.deletions.get_mut(&instance)
            && !deletion.is_final
        {
            deletion.is_final = true;
            deletion.forgotten = Vec::new();
            self.append_if_home(effects, instance, StreamEvent::RemovalFinal(instance));
            // The home no longer has the instance, and does not answer.
            if !self.is_at_home(instance) {
                self.end_negotiations(effects, instance);
            }
        }
        self.end_deletion(effects, instance);
    }

    /// Whether the home of an instance, another node, has removed it, although federates here have not
    /// come to the time of the deletion.
    pub(super) fn is_gone_at_home(&self, instance: ObjectInstanceHandle) -> bool {
        self.deletions.get(&instance).is_some_and(|deletion| deletion.is_final) && !self.is_at_home(instance)
    }

    /// Removes a deleted instance once its deletion is final and all federates have forgotten it.
    pub(super) fn end_deletion(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        let over = |deletion: &Deletion| {
            deletion.is_final && self.instances.get(instance).is_none_or(|object| object.known().is_empty())
        };
        if self.deletions.get(&instance).is_some_and(over) {
            self.deletions.remove(&instance);
            if let Some(object) = self.instances.remove(instance)
                && object.home == self.node
            {
                self.refresh_publication(effects, PublishedClass::Objects(object.class));
                self.free_name(effects, &object);
            }
        }
    }

    fn append_if_home(&self, effects: &mut Effects, instance: ObjectInstanceHandle, event: StreamEvent) {
        if let Some(object) = self.instances.get(instance)
            && self.replicated
            && object.home == self.node
        {
            effects.append(PublishedClass::Objects(object.class), event);
        }
    }

    /// Handles a retraction by a federate of another node.
    pub(super) fn retracted_elsewhere(
        &mut self,
        effects: &mut Effects,
        instance: Option<ObjectInstanceHandle>,
        retraction: MessageRetractionHandle,
        time: LogicalTime,
    ) {
        effects.push(Effect::Time(TimeInput::Retracted { retraction, time }));
        if let Some(instance) = instance
            && self.deletions.get(&instance).is_some_and(|deletion| deletion.retraction == retraction)
        {
            self.tombstones.remove(instance);
            self.reinstate(effects, instance);
        }
    }

    /// Reinstates an instance whose deletion was retracted: its former owners own it, and the
    /// federates that had forgotten it know it again.
    pub(crate) fn reinstate(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        let Some(deletion) = self.deletions.remove(&instance) else { return };
        let Some(object) = self.instances.get_mut(instance) else { return };
        for (slot, &owner) in deletion.owners.iter().enumerate() {
            if self.federates.contains_key(&owner) || object.home != self.node {
                object.attribute_mut(slot).owner = owner;
            }
        }
        let class = object.class;
        let owners: BTreeSet<FederateHandle> = deletion.owners.iter().copied().collect();
        owners.into_iter().for_each(|owner| self.begin_ownership(effects, owner, instance));
        for (federate, class) in deletion.forgotten {
            if self.federates.contains_key(&federate) {
                self.instances.become_known(instance, federate, class);
                self.refresh_narrowed(instance, federate);
            }
        }
        if let Some(object) = self.instances.get(instance).filter(|object| object.home == self.node) {
            self.append_registered(effects, object.handle);
        }
        self.discover_at_all(effects, instance);
        let attributes: BTreeSet<AttributeHandle> = self.class_of(class).attributes.iter().copied().collect();
        self.refresh_relevance(effects, instance, &attributes);
    }
}
