//! Records: instances as nodes describe them to each other.

use super::instance::{AttributeState, Instance};
use super::objects::Objects;
use crate::control::PublishedClass;
use crate::effect::Effects;
use crate::wire::{Record, RecordedAttribute, StreamEvent};
use hla::fom::ObjectClass;
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};
use router::WireError;

/// Maximum number of instances that are looked at for one part of a snapshot. Most of a class may be
/// at home at other nodes.
const VISITED_PER_PART: usize = 10_000;

/// Approximate memory of a record in transit, in addition to its name and attributes.
const RECORD_BYTES: usize = 16;

impl Objects {
    /// The record of an instance.
    pub(super) fn record(&self, object: &Instance) -> Record {
        let attribute = |(_, state): (usize, &AttributeState)| RecordedAttribute {
            owner: state.owner,
            transportation: state.transportation,
            time_stamped: state.time_stamped,
            is_offered: state.is_offered,
        };
        Record {
            instance: object.handle,
            registrar: object.registrar,
            producer: object.producer,
            name: object.name.to_string(),
            attributes: object.attributes().map(attribute).collect(),
            tags: self
                .offers
                .tags_of(object.handle)
                .map(|(attribute, tag)| (attribute, tag.clone()))
                .collect(),
            view: self.adoptions.view(self.node, object),
            regions: object.all_regions().to_vec(),
        }
    }

    /// Records of the instances after `after` that are at home here, about as many as fit into
    /// `bytes_max`, and, if more may follow, the last instance that was looked at.
    pub(crate) fn records_after(
        &self,
        class: ObjectClassHandle,
        after: ObjectInstanceHandle,
        bytes_max: usize,
    ) -> (Vec<Record>, Option<ObjectInstanceHandle>) {
        let (mut records, mut bytes, mut last) = (Vec::<Record>::new(), 0, after);
        if !self.instances.any_at_home(class, self.node) {
            return (records, None);
        }
        for (visited, handle) in self.instances.of_class_after(class, after).enumerate() {
            if bytes > bytes_max || visited == VISITED_PER_PART {
                return (records, Some(last));
            }
            last = handle;
            // A deleted instance comes back if its deletion is retracted.
            let exists =
                |object: &&Instance| object.home == self.node && !self.deletions.contains_key(&handle);
            if let Some(object) = self.instances.get(handle).filter(exists) {
                let record = self.record(object);
                bytes += record_bytes(&record);
                records.push(record);
            }
        }
        (records, None)
    }

    /// Appends the event that an instance was registered here, or found its new home here.
    pub(super) fn append_registered(&self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        if !self.replicated {
            return;
        }
        let Some(object) = self.instances.get(instance) else { return };
        let class = PublishedClass::Objects(object.class);
        effects.append(class, StreamEvent::Registered(Box::new(self.record(object))));
    }

    /// Appends a change of an instance, if this node decides it and other nodes may follow.
    pub(super) fn append_change(
        &self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        event: impl FnOnce() -> StreamEvent,
    ) {
        if self.replicated
            && let Some(class) = self.stream_of(instance)
        {
            effects.append(class, event());
        }
    }

    /// The attributes of a class as recorded. Attributes that the recorder does not know yet are
    /// unowned.
    pub(super) fn states(
        &self,
        class: &ObjectClass,
        recorded: &[RecordedAttribute],
    ) -> Result<Vec<AttributeState>, WireError> {
        let state = |(index, &attribute): (usize, &AttributeHandle)| {
            let model = self.model.attribute(attribute).expect("a class lists attributes of its model");
            let mut state = AttributeState::unowned(model);
            if let Some(recorded) = recorded.get(index) {
                if self.model.transportation(recorded.transportation).is_none() {
                    let text = format!("{:?} is no transportation type", recorded.transportation);
                    return Err(WireError(text));
                }
                state.owner = recorded.owner;
                state.transportation = recorded.transportation;
                state.time_stamped = recorded.time_stamped;
                state.is_offered = recorded.is_offered;
            }
            Ok(state)
        };
        class.attributes.iter().enumerate().map(state).collect()
    }
}

/// Approximate octets of a record in transit.
pub(super) fn record_bytes(record: &Record) -> usize {
    let tags: usize = record.tags.iter().map(|(_, tag)| 4 + tag.len()).sum();
    let regions: usize = record.regions.iter().map(|(_, regions)| regions.wire_bytes_max()).sum();
    RECORD_BYTES + record.name.len() + 4 * record.attributes.len() + tags + regions
}
