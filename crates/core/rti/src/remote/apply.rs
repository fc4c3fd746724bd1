//! What is said elsewhere becomes callbacks here.

use super::wire::{Load, Record, RecordedAttribute, Saying, Spoken};
use crate::control::{NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::object::instance::{AttributeState, Instance, Relevance};
use crate::object::update::PASSEL_VALUES_MAX;
use crate::plane::Plane;
use crate::time::Stamp;
use bytes::Bytes;
use hla::fom::ObjectClass;
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
};
use router::WireError;
use std::collections::BTreeSet;

impl Execution {
    /// Takes a message of a stream whose turn it is.
    pub(super) fn apply(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
        spoken: Spoken,
    ) -> Result<(), WireError> {
        match (what, spoken.saying) {
            (PublishedClass::Objects(class), Saying::Registered(record)) => {
                self.take_record(plane, class, from, &record)
            }
            (PublishedClass::Objects(_), Saying::Updated { instance, load }) => {
                self.take_update(plane, from, instance, &load);
                Ok(())
            }
            (PublishedClass::Objects(_), saying) => self.apply_change(plane, what, from, saying),
            (PublishedClass::Interactions(class), Saying::Sent(load)) => {
                self.take_interaction(plane, class, &load)
            }
            (PublishedClass::Directed, Saying::Directed { interaction, instance, load, .. }) => {
                self.take_directed(plane, interaction, instance, &load)
            }
            (_, Saying::Ended) => {
                self.ended(plane, what, from);
                Ok(())
            }
            (what, saying) => Err(WireError(format!("{saying:?} is nothing to say about {what:?}"))),
        }
    }

    /// Changes of an instance whose home is `from`.
    fn apply_change(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
        saying: Saying,
    ) -> Result<(), WireError> {
        match saying {
            Saying::Removed { instance, producer, tag, time } => {
                let stamp = time.map(|octets| Stamp::from_octets(self.time, octets)).transpose()?;
                if self.is_at_home(instance, from) {
                    self.bury(plane, instance);
                    self.remove(plane, producer, instance, &tag, stamp.as_ref());
                    self.loosen();
                }
            }
            Saying::Disowned { instance, owner, attributes } => {
                if self.is_at_home(instance, from) {
                    let gone: BTreeSet<AttributeHandle> = attributes.into_iter().collect();
                    self.divest(plane, owner, instance, |attribute| gone.contains(&attribute));
                }
            }
            Saying::Transported { instance, attributes, transportation } => {
                if self.model.transportation(transportation).is_none() {
                    return Err(WireError(format!("{transportation:?} is no transportation type")));
                }
                if self.is_at_home(instance, from) {
                    let attributes = attributes.into_iter().collect();
                    self.for_each_attribute(instance, &attributes, |state| {
                        state.transportation = transportation;
                    });
                }
            }
            Saying::Ordered { instance, attributes, time_stamped } => {
                if self.is_at_home(instance, from) {
                    let attributes = attributes.into_iter().collect();
                    self.for_each_attribute(instance, &attributes, |state| state.time_stamped = time_stamped);
                }
            }
            Saying::Ended => self.ended(plane, what, from),
            other => return Err(WireError(format!("{other:?} is nothing to say about {what:?}"))),
        }
        Ok(())
    }

    fn is_at_home(&self, instance: ObjectInstanceHandle, node: NodeId) -> bool {
        self.instances.get(instance).is_some_and(|object| object.home == node)
    }

    /// A federate of this node may have been the last one here that knew an instance.
    pub(crate) fn loosen(&mut self) {
        if let Some(remote) = self.remote.as_deref_mut() {
            remote.loosened = true;
        }
    }

    /// An instance whose home is `home`: new here, or as it is by now.
    pub(super) fn take_record(
        &mut self,
        plane: &mut Plane,
        class: ObjectClassHandle,
        home: NodeId,
        record: &Record,
    ) -> Result<(), WireError> {
        let known = self.model.object_class(class);
        let known = known.ok_or_else(|| WireError(format!("{class:?} is no object class")))?;
        if record.attributes.len() > known.attributes.len() {
            let text = format!("{} attributes at `{}`", record.attributes.len(), known.name);
            return Err(WireError(text));
        }
        if NodeId::of_instance(record.instance) == self.node {
            return Err(WireError(format!("{:?} was registered at this very node", record.instance)));
        }
        let states = self.states(known, &record.attributes)?;
        match self.instances.get(record.instance) {
            Some(object) if object.class != class => {
                Err(WireError(format!("{:?} is of another class than {class:?}", record.instance)))
            }
            Some(object) if object.home != home && object.home == self.node => {
                Err(WireError(format!("the home of {:?} is here", record.instance)))
            }
            Some(_) => {
                self.change_record(plane, home, record.instance, &states);
                Ok(())
            }
            None => {
                let handle = record.instance;
                let instance = Instance::replica(handle, class, &record.name, record.producer, home, states);
                self.instances.insert(instance);
                self.discover_at_all(plane, handle);
                Ok(())
            }
        }
    }

    fn states(
        &self,
        class: &ObjectClass,
        recorded: &[RecordedAttribute],
    ) -> Result<Vec<AttributeState>, WireError> {
        let state = |(place, &attribute): (usize, &AttributeHandle)| {
            let model = self.model.attribute(attribute).expect("a class lists attributes of its model");
            let mut state = AttributeState::unowned(model);
            if let Some(recorded) = recorded.get(place) {
                if self.model.transportation(recorded.transportation).is_none() {
                    let text = format!("{:?} is no transportation type", recorded.transportation);
                    return Err(WireError(text));
                }
                state.owner = recorded.owner;
                state.transportation = recorded.transportation;
                state.time_stamped = recorded.time_stamped;
            }
            Ok(state)
        };
        class.attributes.iter().enumerate().map(state).collect()
    }

    /// An instance that is here already is as `states` say, and at `home`.
    fn change_record(
        &mut self,
        plane: &mut Plane,
        home: NodeId,
        handle: ObjectInstanceHandle,
        states: &[AttributeState],
    ) {
        let Some(object) = self.instances.get_mut(handle) else { return };
        object.home = home;
        let owners = object.attributes().map(|(_, state)| state.owner).collect::<Vec<_>>();
        let mut lost: Vec<(FederateHandle, usize)> = Vec::new();
        for (slot, (new, owner)) in states.iter().zip(owners).enumerate() {
            if owner != new.owner && owner.is_valid() {
                lost.push((owner, slot));
            }
        }
        let losers: BTreeSet<_> = lost.iter().map(|&(owner, _)| owner).collect();
        let class = self.instances.get(handle).map(|object| object.class).unwrap_or_default();
        for loser in losers {
            let slots = lost.iter().filter(|(owner, _)| *owner == loser);
            let class = self.class_of(class);
            let gone: BTreeSet<_> = slots.map(|&(_, slot)| class.attributes[slot]).collect();
            self.divest(plane, loser, handle, |attribute| gone.contains(&attribute));
        }
        let Some(object) = self.instances.get_mut(handle) else { return };
        for (slot, &new) in states.iter().enumerate() {
            let relevance = object.attribute(slot).relevance;
            *object.attribute_mut(slot) = AttributeState { relevance, ..new };
            if !new.owner.is_valid() {
                object.attribute_mut(slot).relevance = Relevance::OFF;
            }
        }
        self.discover_at_all(plane, handle);
    }

    /// Values of an instance; those that nobody here knows yet, or no more, were said too early or too late.
    pub(super) fn take_update(
        &mut self,
        plane: &mut Plane,
        from: NodeId,
        instance: ObjectInstanceHandle,
        load: &Load,
    ) -> bool {
        let here = self.is_at_home(instance, from);
        if here && let Some(network) = plane.network_client() {
            for passel in load.values.chunks(PASSEL_VALUES_MAX) {
                self.reflect(plane, network, instance, passel, &load.envelope());
            }
        }
        here
    }

    /// An interaction that was sent elsewhere.
    pub(super) fn take_interaction(
        &mut self,
        plane: &mut Plane,
        class: InteractionClassHandle,
        load: &Load,
    ) -> Result<(), WireError> {
        if self.model.interaction_class(class).is_none() {
            return Err(WireError(format!("{class:?} is no interaction class")));
        }
        if let Some(network) = plane.network_client() {
            self.receive(plane, network, class, &load.values, &load.envelope());
        }
        Ok(())
    }

    /// A directed interaction that was sent elsewhere.
    pub(super) fn take_directed(
        &mut self,
        plane: &mut Plane,
        class: InteractionClassHandle,
        instance: ObjectInstanceHandle,
        load: &Load,
    ) -> Result<(), WireError> {
        if self.model.interaction_class(class).is_none() {
            return Err(WireError(format!("{class:?} is no interaction class")));
        }
        if let Some(network) = plane.network_client() {
            self.receive_directed(plane, network, class, instance, &load.values, &load.envelope());
        }
        Ok(())
    }

    /// A best-effort message. False when it came too early or too late for what is here.
    pub(super) fn take_loose(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
        after: u64,
        body: Bytes,
    ) -> Result<bool, WireError> {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return Ok(false);
        };
        let following = remote.followed.get_mut(&(what, from)).filter(|following| following.takes());
        let Some(following) = following else { return Ok(false) };
        let spoken = Spoken::decode(body)?;
        following.inbound.tail(plane.now, after, net.limits.patience());
        let behind = !remote.is_ready(spoken.head);
        self.watch_gap(plane, what, from);
        if behind {
            return Ok(false);
        }
        match (what, spoken.saying) {
            (PublishedClass::Objects(_), Saying::Updated { instance, load }) => {
                Ok(self.take_update(plane, from, instance, &load))
            }
            (PublishedClass::Interactions(class), Saying::Sent(load)) => {
                self.take_interaction(plane, class, &load).map(|()| true)
            }
            (PublishedClass::Directed, Saying::Directed { interaction, instance, load, .. }) => {
                self.take_directed(plane, interaction, instance, &load).map(|()| true)
            }
            (what, saying) => Err(WireError(format!("{saying:?} is nothing to send about {what:?}"))),
        }
    }
}
