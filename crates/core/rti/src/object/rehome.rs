//! New homes: the work of the node that becomes the home of a lost node's instances, and of the
//! nodes that have replicas of them.

use super::losses::Rehoming;
use super::objects::Objects;
use super::record::record_bytes;
use super::tombstones::send_removed;
use crate::control::{Command, ControlPlane, NameTable, NodeId, PublishedClass};
use crate::effect::Effects;
use crate::wire::{ObjectMessage, Record};
use hla::handle::{ObjectClassHandle, ObjectInstanceHandle};
use router::WireError;
use std::collections::BTreeSet;

/// Prefix of the names that the RTI makes. They are in no table.
const MADE: &str = "HLA";
/// Maximum number of names examined in one slice.
const NAMES_PER_SLICE: usize = 10_000;
/// Maximum number of names freed in one slice. Each is a command for all nodes.
const FREED_PER_SLICE: usize = 1_000;

impl Objects {
    /// Makes this node the home of instances of a class.
    pub(super) fn take_home(
        &mut self,
        effects: &mut Effects,
        class: ObjectClassHandle,
        handles: &[ObjectInstanceHandle],
        names: Option<&NameTable>,
    ) {
        // Nearly all names are in the table. The node that died may have been about to enter the
        // others.
        let is_listed =
            |name: &str, instance| names.is_some_and(|names| names.instance(name) == Some(instance));
        self.refresh_publication(effects, PublishedClass::Objects(class));
        for &instance in handles {
            self.count_unowned(instance);
            self.note_owners(instance);
            self.append_registered(effects, instance);
            // The former home may not have heard what federates here have associated.
            self.push_differing_regions(effects, instance);
            let Some(object) = self.instances.get(instance) else { continue };
            if !object.name.starts_with(MADE) && !is_listed(&object.name, instance) {
                let (execution, name) = (self.id, object.name.to_string());
                effects.propose(Command::UseName { execution, name, instance });
            }
        }
    }

    /// Sends the records of instances to their new home. The stream of the former one was delivered
    /// here up to the number `delivered`.
    pub(super) fn send_records(
        &self,
        effects: &mut Effects,
        rehoming: Rehoming,
        delivered: u64,
        class: ObjectClassHandle,
        handles: &[ObjectInstanceHandle],
    ) {
        let Rehoming { gone, new_home: to, part_bytes } = rehoming;
        let adopt = |records| ObjectMessage::Adopt { class, gone, delivered, records };
        let (mut records, mut bytes) = (Vec::new(), 0);
        for object in handles.iter().filter_map(|&handle| self.instances.get(handle)) {
            let record = self.record(object);
            bytes += record_bytes(&record);
            records.push(record);
            if bytes > part_bytes {
                effects.send(to, adopt(std::mem::take(&mut records)));
                bytes = 0;
            }
        }
        if !records.is_empty() {
            effects.send(to, adopt(records));
        }
    }

    /// Handles the records of another node for instances whose home is gone and whose new home is
    /// this node.
    pub(super) fn adopt(
        &mut self,
        effects: &mut Effects,
        (from, gone): (NodeId, NodeId),
        (class, delivered): (ObjectClassHandle, u64),
        records: Vec<Record>,
        names: Option<&NameTable>,
    ) -> Result<(), WireError> {
        let (mut adopted, mut deleted, mut result) = (Vec::new(), Vec::new(), Ok(()));
        let is_longer = self.adoptions.is_longer(gone, class, delivered);
        for record in records {
            let handle = record.instance;
            if let Some(object) = self.instances.get(handle).filter(|object| object.home == self.node) {
                let own = self.record(object);
                let is_same = own.attributes == record.attributes
                    && own.tags == record.tags
                    && own.regions == record.regions;
                if !is_longer || is_same {
                    continue;
                }
            }
            self.adoptions.corrected(gone, handle, delivered);
            if self.tombstones.contains(handle) {
                deleted.push(handle);
                continue;
            }
            match self.apply_record(effects, class, self.node, &record, &BTreeSet::new()) {
                Ok(()) => adopted.push(handle),
                Err(error) => result = Err(error),
            }
        }
        send_removed(effects, from, deleted);
        self.take_home(effects, class, &adopted, names);
        result
    }

    /// Begins to free the names of instances that no node has after the loss of their node.
    pub(crate) fn free_names(&mut self, effects: &mut Effects, control: &ControlPlane) {
        self.names_after = Some(String::new());
        self.continue_names(effects, control);
    }

    /// Processes one slice of it.
    pub(super) fn continue_names(&mut self, effects: &mut Effects, control: &ControlPlane) {
        let Some(after) = self.names_after.take() else { return };
        // Another node that has become the lowest since repeats the whole task.
        let federation = control.execution(self.id).filter(|_| control.lowest_live_node() == Some(self.node));
        let Some(federation) = federation else { return };
        let mut freed = 0;
        for (visited, (name, instance)) in federation.names.used_after(&after).enumerate() {
            let registrar = NodeId::of_instance(instance);
            // The node that a restored handle names is one of the network that was saved.
            let is_restored = NodeId::number_of(instance) <= federation.last_instance(registrar);
            if control.node(registrar).is_none() && !is_restored && self.instances.get(instance).is_none() {
                let (execution, name) = (self.id, name.to_owned());
                effects.propose(Command::FreeName { execution, name, instance });
                freed += 1;
            }
            if visited + 1 >= NAMES_PER_SLICE || freed >= FREED_PER_SLICE {
                self.names_after = Some(name.to_owned());
                return;
            }
        }
    }
}
