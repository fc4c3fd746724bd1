//! Nodes that die: what is left of the instances of their federates, once those are dealt with, finds a new home.

use super::objects::Objects;
use super::record::record_bytes;
use super::tombstones::send_removed;
use crate::control::{Command, ControlPlane, NameTable, NodeId, PublishedClass};
use crate::effect::{Change, Effects};
use crate::wire::{ObjectMessage, Record};
use hla::handle::{ObjectClassHandle, ObjectInstanceHandle};
use router::WireError;
use std::collections::{BTreeMap, BTreeSet};

/// Prefix of the names that the RTI makes; they are in no table.
const MADE: &str = "HLA";

impl Objects {
    /// The instances whose home was `gone`, which has died, move to `new_home`, the lowest node that lives.
    pub(crate) fn move_instances(
        &mut self,
        effects: &mut Effects,
        gone: NodeId,
        new_home: NodeId,
        names: Option<&NameTable>,
        part_bytes: usize,
    ) {
        let mut moved: BTreeMap<ObjectClassHandle, Vec<ObjectInstanceHandle>> = BTreeMap::new();
        let mut deleted = Vec::new();
        for handle in self.instances.handles().collect::<Vec<_>>() {
            let is_deleted = self.tombstones.contains(handle);
            let Some(object) = self.instances.get_mut(handle).filter(|object| object.home == gone) else {
                continue;
            };
            object.home = new_home;
            match is_deleted {
                true => deleted.push(handle),
                false => moved.entry(object.class).or_default().push(handle),
            }
        }
        for handle in deleted {
            self.remove_deleted(effects, handle);
        }
        self.send_tombstones(effects, gone, new_home);
        for (class, handles) in moved {
            if new_home == self.node {
                self.take_home(effects, class, &handles, names);
            } else {
                self.send_records(effects, new_home, class, &handles, part_bytes);
            }
            effects.replicate(Change::Rehomed { class });
        }
    }

    /// Instances of a class have their home here from now on.
    fn take_home(
        &mut self,
        effects: &mut Effects,
        class: ObjectClassHandle,
        handles: &[ObjectInstanceHandle],
        names: Option<&NameTable>,
    ) {
        // Nearly all names are in the table. The node that died may have been about to enter the others.
        let is_listed =
            |name: &str, instance| names.is_some_and(|names| names.instance(name) == Some(instance));
        self.refresh_publication(effects, PublishedClass::Objects(class));
        for &instance in handles {
            self.append_registered(effects, instance);
            let Some(object) = self.instances.get(instance) else { continue };
            if !object.name.starts_with(MADE) && !is_listed(&object.name, instance) {
                let (execution, name) = (self.id, object.name.to_string());
                effects.propose(Command::UseName { execution, name, instance });
            }
        }
    }

    /// Sends what is here of instances to their new home, in messages of about `part_bytes`.
    fn send_records(
        &self,
        effects: &mut Effects,
        to: NodeId,
        class: ObjectClassHandle,
        handles: &[ObjectInstanceHandle],
        part_bytes: usize,
    ) {
        let (mut records, mut bytes) = (Vec::new(), 0);
        for object in handles.iter().filter_map(|&handle| self.instances.get(handle)) {
            let record = self.record(object);
            bytes += record_bytes(&record);
            records.push(record);
            if bytes > part_bytes {
                effects.send(to, ObjectMessage::Adopt { class, records: std::mem::take(&mut records) });
                bytes = 0;
            }
        }
        if !records.is_empty() {
            effects.send(to, ObjectMessage::Adopt { class, records });
        }
    }

    /// Another node has instances whose home is gone, and this node is to be their home.
    pub(super) fn adopt(
        &mut self,
        effects: &mut Effects,
        from: NodeId,
        class: ObjectClassHandle,
        records: Vec<Record>,
        names: Option<&NameTable>,
    ) -> Result<(), WireError> {
        let (mut adopted, mut deleted, mut result) = (Vec::new(), Vec::new(), Ok(()));
        for record in records {
            let handle = record.instance;
            if self.instances.get(handle).is_some_and(|object| object.home == self.node) {
                continue;
            }
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

    /// Frees the names of instances whose node is gone and that nobody had.
    pub(crate) fn free_names(&self, effects: &mut Effects, control: &ControlPlane, names: &NameTable) {
        if control.lowest_live_node() != Some(self.node) {
            return;
        }
        for (name, instance) in names.used() {
            let registrar = NodeId::of_instance(instance);
            if control.node(registrar).is_none() && self.instances.get(instance).is_none() {
                let (execution, name) = (self.id, name.to_owned());
                effects.propose(Command::FreeName { execution, name, instance });
            }
        }
    }
}
