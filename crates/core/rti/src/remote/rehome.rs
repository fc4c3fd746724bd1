//! Nodes that die: their federates' instances are dealt with by the automatic resign directives, and those that stay find a
//! new home.

use super::net::Timer;
use super::wire::{Letter, Record};
use crate::control::{Command, ControlPlane, Federation, NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::plane::Plane;
use hla::api::ResignAction;
use hla::handle::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use router::WireError;
use std::collections::BTreeMap;

/// What names that the RTI makes start with; they are in no table.
const MADE: &str = "HLA";

impl Execution {
    /// A federate of another node is no longer joined. With `lost`, its node died, and the instances that it owned are
    /// dealt with at every node that knows them.
    pub(crate) fn resigned_elsewhere(
        &mut self,
        plane: &mut Plane,
        federate: FederateHandle,
        lost: Option<ResignAction>,
    ) {
        if self.remote.is_none() || self.federates.contains_key(&federate) {
            return;
        }
        if let Some(directive) = lost {
            self.resign_objects_of_gone(plane, federate, directive);
            self.loosen();
        }
        self.forget_elsewhere(plane, federate);
    }

    /// A node is gone for good, its federates resigned: what had its home there moves to `new`, the lowest node.
    pub(crate) fn node_removed(
        &mut self,
        plane: &mut Plane,
        gone: NodeId,
        new: Option<NodeId>,
        federation: Option<&Federation>,
    ) {
        let Some(remote) = self.remote.as_deref_mut() else { return };
        let publishes = |nodes: &mut std::collections::BTreeSet<NodeId>| nodes.remove(&gone);
        remote.publishers.values_mut().for_each(|nodes| {
            publishes(nodes);
        });
        remote.publishers.retain(|_, nodes| !nodes.is_empty());
        let followed: Vec<PublishedClass> =
            remote.followed.keys().filter(|(_, node)| *node == gone).map(|(what, _)| *what).collect();
        let spoken: Vec<PublishedClass> = remote.spoken.keys().copied().collect();
        let declared: Vec<FederateHandle> =
            remote.declared.iter().filter(|(_, f)| f.node == gone).map(|(&federate, _)| federate).collect();
        for &what in &spoken {
            if let Some(out) = self.remote.as_deref_mut().and_then(|remote| remote.spoken.get_mut(&what)) {
                out.followers.remove(&gone);
            }
            self.rest(plane, what);
        }
        for federate in declared {
            self.forget_elsewhere(plane, federate);
        }
        self.move_instances(plane, gone, new, federation);
        for what in followed {
            if let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) {
                net.timers.clear(Timer::Follow(remote.topic(what), gone));
                remote.followed.remove(&(what, gone));
            }
            self.refresh_following(plane, what, true);
        }
        if new == Some(self.node)
            && let Some(net) = plane.net.as_deref_mut()
        {
            net.timers.set(Timer::Names(self.id), plane.now + net.limits.adoption_wait);
        }
    }

    fn move_instances(
        &mut self,
        plane: &mut Plane,
        gone: NodeId,
        new: Option<NodeId>,
        federation: Option<&Federation>,
    ) {
        let mut moved: BTreeMap<ObjectClassHandle, Vec<ObjectInstanceHandle>> = BTreeMap::new();
        let mut deleted = Vec::new();
        for handle in self.instances.handles().collect::<Vec<_>>() {
            let buried = self.is_buried(handle);
            let Some(object) = self.instances.get_mut(handle).filter(|object| object.home == gone) else {
                continue;
            };
            if let Some(new) = new {
                object.home = new;
                match buried {
                    true => deleted.push(handle),
                    false => moved.entry(object.class).or_default().push(handle),
                }
            }
        }
        let Some(new) = new else { return };
        for handle in deleted {
            self.remove_buried(plane, handle);
        }
        self.tell_buried(plane, gone, new);
        for (class, handles) in moved {
            if new == self.node {
                self.take_home(plane, class, &handles, federation);
            } else {
                self.write_records(plane, new, class, &handles);
            }
            self.refresh_following(plane, PublishedClass::Objects(class), false);
        }
    }

    /// Instances of a class have their home here from now on.
    fn take_home(
        &mut self,
        plane: &mut Plane,
        class: ObjectClassHandle,
        handles: &[ObjectInstanceHandle],
        federation: Option<&Federation>,
    ) {
        // Nearly all names are in the table; those are not, which the node that died was about to put there.
        let is_listed = |name: &str, instance| {
            federation.is_some_and(|federation| federation.names.instance(name) == Some(instance))
        };
        self.refresh_publication(plane, PublishedClass::Objects(class));
        for &instance in handles {
            self.say_registered(plane, instance);
            let Some(object) = self.instances.get(instance) else { continue };
            if !object.name.starts_with(MADE) && !is_listed(&object.name, instance) {
                let (execution, name) = (self.id, object.name.to_string());
                plane.propose(Command::UseName { execution, name, instance });
            }
        }
    }

    /// Sends what is here of instances to their new home.
    fn write_records(
        &self,
        plane: &mut Plane,
        to: NodeId,
        class: ObjectClassHandle,
        handles: &[ObjectInstanceHandle],
    ) {
        let Some(part_bytes) = plane.net.as_deref().map(|net| net.limits.part_bytes) else { return };
        let (mut records, mut bytes) = (Vec::new(), 0);
        for object in handles.iter().filter_map(|&handle| self.instances.get(handle)) {
            let record: Record = self.record(object);
            bytes += 16 + record.name.len() + 4 * record.attributes.len();
            records.push(record);
            if bytes > part_bytes {
                let records = std::mem::take(&mut records);
                self.write(plane, to, &Letter::Adopt { execution: self.id, class, records });
                bytes = 0;
            }
        }
        if !records.is_empty() {
            self.write(plane, to, &Letter::Adopt { execution: self.id, class, records });
        }
    }

    /// Another node has instances whose home is gone, and this node is to be their home.
    pub(super) fn adopt(
        &mut self,
        plane: &mut Plane,
        from: NodeId,
        class: ObjectClassHandle,
        records: Vec<Record>,
        federation: Option<&Federation>,
    ) -> Result<(), WireError> {
        let (mut adopted, mut deleted, mut result) = (Vec::new(), Vec::new(), Ok(()));
        for record in records {
            let handle = record.instance;
            if self.instances.get(handle).is_some_and(|object| object.home == self.node) {
                continue;
            }
            if self.is_buried(handle) {
                deleted.push(handle);
                continue;
            }
            match self.take_record(plane, class, self.node, &record) {
                Ok(()) => adopted.push(handle),
                Err(error) => result = Err(error),
            }
        }
        self.write_buried(plane, from, deleted);
        self.take_home(plane, class, &adopted, federation);
        result
    }

    /// Frees the names of instances whose node is gone and that nobody had.
    pub(crate) fn free_names(&mut self, plane: &mut Plane, control: &ControlPlane, federation: &Federation) {
        if control.lowest_live_node() != Some(self.node) {
            return;
        }
        for (name, instance) in federation.names.used() {
            let registered = NodeId::of_instance(instance);
            if control.node(registered).is_none() && self.instances.get(instance).is_none() {
                let (execution, name) = (self.id, name.to_owned());
                plane.propose(Command::FreeName { execution, name, instance });
            }
        }
    }
}
