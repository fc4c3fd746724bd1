//! Turns events of other nodes into callbacks for the federates here.

use super::instance::{AttributeState, Instance};
use super::objects::Objects;
use super::update::PASSEL_VALUES_MAX;
use crate::control::{NodeId, PublishedClass};
use crate::effect::Effects;
use crate::wire::{Delivery, OwnedAttribute, OwnershipDecision, Payload, Record, RegionSet, StreamEvent};
use bytes::Bytes;
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
};
use router::{ClientId, WireError};
use std::collections::{BTreeMap, BTreeSet};

/// A part of a snapshot: the instances of a class whose home is `from`, after `after` and up to
/// `end`.
#[derive(Debug)]
pub(crate) struct SnapshotRange {
    pub(crate) class: ObjectClassHandle,
    pub(crate) from: NodeId,
    pub(crate) after: ObjectInstanceHandle,
    pub(crate) end: ObjectInstanceHandle,
}

impl Objects {
    /// Applies an event of another node's stream whose turn has come. Returns false if it came too
    /// early or too late for the state here, which only happens to best-effort events.
    ///
    /// # Errors
    /// The event does not fit the stream or the object model.
    pub(crate) fn apply(
        &mut self,
        effects: &mut Effects,
        class: PublishedClass,
        from: NodeId,
        event: StreamEvent,
    ) -> Result<bool, WireError> {
        match (class, event) {
            (PublishedClass::Objects(_), StreamEvent::Updated { instance, payload }) => {
                self.apply_update(effects, instance, &payload)
            }
            (PublishedClass::Interactions(class), StreamEvent::Sent(payload)) => {
                self.check_interaction(class, &payload)?;
                self.receive(effects, class, &payload);
                Ok(true)
            }
            (PublishedClass::Directed, StreamEvent::Directed { interaction, instance, payload }) => {
                self.check_interaction(interaction, &payload)?;
                self.receive_directed(effects, interaction, instance, &payload);
                Ok(true)
            }
            (_, StreamEvent::Retracted { instance, retraction, time }) => {
                let time = self.time.decode_time(&time);
                let time = time.map_err(|error| WireError(error.details.into_owned()))?;
                self.retracted_elsewhere(effects, instance, retraction, time);
                Ok(true)
            }
            (PublishedClass::Objects(class), StreamEvent::Registered(record)) => {
                self.apply_record(effects, class, from, &record, &BTreeSet::new()).map(|()| true)
            }
            (PublishedClass::Objects(_), event) => self.apply_change(effects, from, event),
            (class, event) => Err(WireError(format!("{event:?} does not belong to {class:?}"))),
        }
    }

    /// Applies changes of an instance whose home is `from`.
    fn apply_change(
        &mut self,
        effects: &mut Effects,
        from: NodeId,
        event: StreamEvent,
    ) -> Result<bool, WireError> {
        let instance = event.instance().unwrap_or_default();
        let at_home = self.instances.get(instance).is_some_and(|object| object.home == from);
        match event {
            StreamEvent::Removed { producer, tag, stamp, .. } => {
                stamp.map_or(Ok(()), |stamp| stamp.check(self.time))?;
                if at_home {
                    self.add_tombstone(effects.now, instance);
                    match stamp.filter(|stamp| stamp.is_in_time()) {
                        Some(stamp) => {
                            self.delete_in_time(effects, producer, instance, &tag, stamp, false);
                        }
                        None => self.remove(effects, producer, instance, &tag, stamp),
                    }
                    effects.review_following();
                }
            }
            StreamEvent::Ownership { decision, .. } => {
                self.check_decision(&decision)?;
                if at_home {
                    self.apply_decision(effects, instance, *decision);
                }
            }
            StreamEvent::Transported { attributes, transportation, .. } => {
                if self.model.transportation(transportation).is_none() {
                    return Err(WireError(format!("{transportation:?} is no transportation type")));
                }
                if at_home {
                    let attributes = self.owned_elsewhere(instance, attributes);
                    self.for_each_attribute(instance, &attributes, |state| {
                        state.transportation = transportation;
                    });
                }
            }
            StreamEvent::Ordered { attributes, time_stamped, .. } => {
                if at_home {
                    let attributes = self.owned_elsewhere(instance, attributes);
                    self.for_each_attribute(instance, &attributes, |state| state.time_stamped = time_stamped);
                }
            }
            StreamEvent::Regions { mut regions, is_away, .. } => {
                if at_home {
                    if is_away {
                        self.lose_sight(instance, &mut regions);
                    }
                    self.apply_regions(effects, instance, &regions);
                }
            }
            StreamEvent::RemovalFinal(instance) => {
                if at_home {
                    self.deletion_is_final(effects, instance);
                    effects.review_following();
                }
            }
            event @ (StreamEvent::Registered(_)
            | StreamEvent::Retracted { .. }
            | StreamEvent::Updated { .. }
            | StreamEvent::Sent(_)
            | StreamEvent::Directed { .. }
            | StreamEvent::Ended) => {
                return Err(WireError(format!("{event:?} is no change of an instance")));
            }
        }
        Ok(true)
    }

    /// Those of these attributes that no federate here owns. How an attribute is delivered is known best
    /// where its owner is: it may have changed that again.
    fn owned_elsewhere(
        &self,
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
    ) -> BTreeSet<AttributeHandle> {
        let Some(object) = self.instances.get(instance) else { return BTreeSet::new() };
        let class = self.class_of(object.class);
        let owned_here = |attribute: &AttributeHandle| {
            let slot = class.slot(*attribute);
            slot.is_some_and(|slot| self.federates.contains_key(&object.attribute(slot).owner))
        };
        attributes.into_iter().filter(|attribute| !owned_here(attribute)).collect()
    }

    /// Applies values of an instance. They come from the node of the owner, no matter which node is
    /// the instance's home. Values of an instance that is not here came too early or too late.
    fn apply_update(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        payload: &Payload,
    ) -> Result<bool, WireError> {
        if payload.values.len() > PASSEL_VALUES_MAX {
            let text = format!("{} values in one passel ({PASSEL_VALUES_MAX} at most)", payload.values.len());
            return Err(WireError(text));
        }
        payload.stamp.map_or(Ok(()), |stamp| stamp.check(self.time))?;
        let here = self.instances.get(instance).is_some();
        self.reflect(effects, instance, payload);
        Ok(here)
    }

    /// A decision must not name a transportation type that the object model does not have.
    fn check_decision(&self, decision: &OwnershipDecision) -> Result<(), WireError> {
        let OwnershipDecision::Acquired { attributes, .. } = decision else { return Ok(()) };
        let mut transportations = attributes.iter().map(|owned| owned.delivery.transportation);
        match transportations.find(|&transportation| self.model.transportation(transportation).is_none()) {
            Some(unknown) => Err(WireError(format!("{unknown:?} is no transportation type"))),
            None => Ok(()),
        }
    }

    fn check_interaction(&self, class: InteractionClassHandle, payload: &Payload) -> Result<(), WireError> {
        if self.model.interaction_class(class).is_none() {
            return Err(WireError(format!("{class:?} is no interaction class")));
        }
        payload.stamp.map_or(Ok(()), |stamp| stamp.check(self.time))
    }

    /// Applies a part of a snapshot: these records are all instances that their home has in this
    /// range. `congested` federates discover them later.
    ///
    /// # Errors
    /// That of the first record that is invalid. The others were applied.
    pub(crate) fn apply_snapshot(
        &mut self,
        effects: &mut Effects,
        range: &SnapshotRange,
        records: &[Record],
        congested: impl Fn(ClientId) -> bool,
    ) -> Result<(), WireError> {
        let later = self.federates.values().filter(|federate| congested(federate.client));
        let later: BTreeSet<FederateHandle> = later.map(|federate| federate.handle).collect();
        let mut result = Ok(());
        for record in records {
            result = result.and(self.apply_record(effects, range.class, range.from, record, &later));
        }
        let here: BTreeSet<_> = records.iter().map(|record| record.instance).collect();
        self.remove_vanished(effects, range, &here);
        result
    }

    /// Removes instances that the other node no longer has, although it is their home.
    fn remove_vanished(
        &mut self,
        effects: &mut Effects,
        range: &SnapshotRange,
        here: &BTreeSet<ObjectInstanceHandle>,
    ) {
        // An instance that a third node registered may be on its way to this home, which does not
        // know it yet. Only instances that `from` registered are looked at: others may be a
        // million.
        let (first, last) = range.from.instances();
        let before_first = ObjectInstanceHandle(first.0 - 1);
        let handles = self.instances.of_class_after(range.class, range.after.max(before_first));
        let vanished = handles
            .take_while(|&handle| handle <= range.end.min(last))
            .filter_map(|handle| self.instances.get(handle))
            .filter(|object| object.home == range.from && object.registrar == range.from)
            .filter(|object| !here.contains(&object.handle) && !self.deletions.contains_key(&object.handle));
        let vanished: Vec<_> = vanished.map(|object| (object.handle, object.producer)).collect();
        for (handle, producer) in vanished {
            self.remove(effects, producer, handle, &Bytes::new(), None);
        }
    }

    /// The replicas here of instances of a class whose home is `node`.
    pub(crate) fn replicas(&self, class: PublishedClass, node: NodeId) -> Vec<ObjectInstanceHandle> {
        let PublishedClass::Objects(class) = class else { return Vec::new() };
        let of_class = self.instances.of_class(class);
        of_class.filter(|&handle| self.instances.get(handle).is_some_and(|o| o.home == node)).collect()
    }

    /// Applies the record of an instance whose home is `home`. The instance is new here or has
    /// changed. The federates of `later` discover a new one later.
    pub(super) fn apply_record(
        &mut self,
        effects: &mut Effects,
        class: ObjectClassHandle,
        home: NodeId,
        record: &Record,
        later: &BTreeSet<FederateHandle>,
    ) -> Result<(), WireError> {
        let known = self.model.object_class(class);
        let known = known.ok_or_else(|| WireError(format!("{class:?} is no object class")))?;
        if record.attributes.len() > known.attributes.len() {
            let text = format!("{} attributes at `{}`", record.attributes.len(), known.name);
            return Err(WireError(text));
        }
        if record.registrar == self.node {
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
            Some(_) if record.view.is_some_and(|view| self.adoptions.knows_more(class, view)) => {
                self.instances.set_home(record.instance, home);
                self.push_differing_regions(effects, record.instance);
                Ok(())
            }
            Some(_) => {
                self.offers.replace(record.instance, &record.tags);
                self.change_record(effects, home, record.instance, &states);
                self.change_recorded_regions(effects, record);
                Ok(())
            }
            None => {
                self.instances.insert(Instance::replica(record, class, home, states));
                self.index_regions(record.instance);
                self.offers.replace(record.instance, &record.tags);
                self.discover_at_all_but(effects, record.instance, later);
                Ok(())
            }
        }
    }

    /// Changes the update regions of an instance that is here already to those of its record.
    fn change_recorded_regions(&mut self, effects: &mut Effects, record: &Record) {
        let Some(object) = self.instances.get(record.instance) else { return };
        let before = object.all_regions().iter().map(|(attribute, _)| (*attribute, RegionSet::default()));
        let mut changed: BTreeMap<_, _> = before.collect();
        changed.extend(record.regions.iter().cloned());
        changed.retain(|attribute, regions| object.regions_of(*attribute) != regions);
        if !changed.is_empty() {
            let changed: Vec<_> = changed.into_iter().collect();
            self.apply_regions(effects, record.instance, &changed);
        }
        // The home may be a new one, which has not heard what federates here have associated.
        self.push_differing_regions(effects, record.instance);
    }

    /// Changes an instance that is here already to `states` and to the home `home`.
    fn change_record(
        &mut self,
        effects: &mut Effects,
        home: NodeId,
        handle: ObjectInstanceHandle,
        states: &[AttributeState],
    ) {
        self.instances.set_home(handle, home);
        self.review_owned_elsewhere(effects, handle);
        let Some(object) = self.instances.get(handle) else { return };
        let class = self.class_of(object.class);
        // Attributes by their former and their new owner.
        let mut changed: BTreeMap<(FederateHandle, FederateHandle), Vec<OwnedAttribute>> = BTreeMap::new();
        for ((slot, old), new) in object.attributes().zip(states) {
            if old.owner != new.owner {
                let AttributeState { transportation, time_stamped, .. } = *new;
                let delivery = Delivery { transportation, time_stamped };
                let owned = OwnedAttribute { attribute: class.attributes[slot], delivery };
                changed.entry((old.owner, new.owner)).or_default().push(owned);
            }
        }
        for ((from, to), attributes) in changed {
            if to.is_valid() {
                self.change_owner(effects, handle, (from, to), &attributes, &Bytes::new());
            } else {
                let attributes = attributes.iter().map(|owned| owned.attribute).collect();
                self.disown(effects, from, handle, &attributes);
            }
        }
        let Self { instances, model, .. } = self;
        let Some(object) = instances.get_mut(handle) else { return };
        let class = model.object_class(object.class);
        let mut offered = BTreeSet::new();
        for (slot, &new) in states.iter().enumerate() {
            let old = object.attribute(slot);
            *object.attribute_mut(slot) = AttributeState { relevance: old.relevance, ..new };
            if new.is_offered && !old.is_offered {
                offered.extend(class.and_then(|class| class.attributes.get(slot)));
            }
        }
        self.count_unowned(handle);
        if !offered.is_empty() {
            self.offer_to_all(effects, FederateHandle::INVALID, handle, &offered);
        }
        self.discover_at_all(effects, handle);
    }
}
