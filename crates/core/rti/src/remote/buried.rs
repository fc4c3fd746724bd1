//! Instances whose deletion another node has told, the latest ones.
//!
//! Should that node die at once, others may never have heard of it. Who is to be the new home of its instances learns from
//! those who have, and nobody keeps what is deleted for some.

use super::wire::Letter;
use crate::control::{NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::plane::Plane;
use base::Moment;
use bytes::Bytes;
use hla::handle::{ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How many are remembered.
const REMEMBERED: usize = 4_096;
/// A node that is further behind with what others say is no member any more.
const BEHIND_MAX: Duration = Duration::from_secs(10);
/// For so long after a node is dead others may begin to follow the heir of its instances because of that.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// `None`: it is dead.
    home: Option<NodeId>,
    /// `None`: it never was here.
    class: Option<ObjectClassHandle>,
    /// When its deletion was told here, or its home was dead.
    at: Moment,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Buried {
    instances: BTreeMap<ObjectInstanceHandle, Entry>,
    order: VecDeque<ObjectInstanceHandle>,
}

impl Buried {
    fn insert(&mut self, instance: ObjectInstanceHandle, entry: Entry) {
        if self.instances.insert(instance, entry).is_none() {
            self.order.push_back(instance);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.instances.remove(&oldest);
        }
    }

    fn contains(&self, instance: ObjectInstanceHandle) -> bool {
        self.instances.contains_key(&instance)
    }

    /// The node is dead: what it has lately said to be deleted.
    fn of_dead(&mut self, now: Moment, gone: NodeId) -> Vec<ObjectInstanceHandle> {
        let of_gone = self.instances.iter_mut().filter(|(_, entry)| entry.home == Some(gone));
        let fresh = of_gone.filter(|(_, entry)| now.since(entry.at) < BEHIND_MAX);
        let mark = |(&instance, entry): (&ObjectInstanceHandle, &mut Entry)| {
            (entry.home, entry.at) = (None, now);
            instance
        };
        fresh.map(mark).collect()
    }

    /// What nodes that are dead by now said to be deleted of a class, as long as somebody may not know.
    fn of_class(&self, now: Moment, class: ObjectClassHandle) -> Vec<ObjectInstanceHandle> {
        let wanted = |entry: &Entry| {
            entry.home.is_none()
                && entry.class.is_none_or(|of| of == class)
                && now.since(entry.at) < FOLLOWED_WITHIN
        };
        self.instances.iter().filter(|(_, entry)| wanted(entry)).map(|(&instance, _)| instance).collect()
    }
}

impl Execution {
    /// The home of an instance has said that it is deleted.
    pub(super) fn bury(&mut self, plane: &Plane, instance: ObjectInstanceHandle) {
        let Some(object) = self.instances.get(instance) else { return };
        let entry = Entry { home: Some(object.home), class: Some(object.class), at: plane.now };
        if let Some(remote) = self.remote.as_deref_mut() {
            remote.buried.insert(instance, entry);
        }
    }

    pub(super) fn is_buried(&self, instance: ObjectInstanceHandle) -> bool {
        self.remote.as_deref().is_some_and(|remote| remote.buried.contains(instance))
    }

    /// The node `gone` is dead: the heir of its instances learns what it said to be deleted.
    pub(super) fn tell_buried(&mut self, plane: &mut Plane, gone: NodeId, heir: NodeId) {
        let Some(remote) = self.remote.as_deref_mut() else { return };
        let instances = remote.buried.of_dead(plane.now, gone);
        if heir != self.node {
            self.write_buried(plane, heir, instances);
        }
    }

    /// Another node begins to follow what is said here of a class: it may have instances that are no more.
    pub(super) fn tell_buried_of(&self, plane: &mut Plane, to: NodeId, what: PublishedClass) {
        if let (Some(remote), PublishedClass::Objects(class)) = (self.remote.as_deref(), what) {
            self.write_buried(plane, to, remote.buried.of_class(plane.now, class));
        }
    }

    pub(super) fn write_buried(&self, plane: &mut Plane, to: NodeId, instances: Vec<ObjectInstanceHandle>) {
        if !instances.is_empty() {
            self.write(plane, to, &Letter::Removed { execution: self.id, instances });
        }
    }

    /// Another node has heard that instances are deleted whose home, another one than this, is dead.
    pub(super) fn buried_elsewhere(&mut self, plane: &mut Plane, instances: Vec<ObjectInstanceHandle>) {
        let own = self.node;
        for instance in instances.into_iter().filter(|&instance| NodeId::of_instance(instance) != own) {
            let class = self.instances.get(instance).map(|object| object.class);
            if let Some(remote) = self.remote.as_deref_mut() {
                remote.buried.insert(instance, Entry { home: None, class, at: plane.now });
            }
            self.remove_buried(plane, instance);
        }
    }

    /// Removes an instance that is here although it is deleted.
    pub(super) fn remove_buried(&mut self, plane: &mut Plane, instance: ObjectInstanceHandle) {
        let Some(producer) = self.instances.get(instance).map(|object| object.producer) else { return };
        self.remove(plane, producer, instance, &Bytes::new(), None);
        self.loosen();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: NodeId = NodeId(3);
    const CLASS: ObjectClassHandle = ObjectClassHandle(7);

    fn entry(at: u64) -> Entry {
        Entry { home: Some(HOME), class: Some(CLASS), at: Moment::from_secs(at) }
    }

    #[test]
    fn the_latest_are_remembered() {
        let mut buried = Buried::default();
        for number in 0..REMEMBERED as u64 + 10 {
            buried.insert(ObjectInstanceHandle(number), entry(0));
            buried.insert(ObjectInstanceHandle(number), entry(0));
        }
        assert!(!buried.contains(ObjectInstanceHandle(9)) && buried.contains(ObjectInstanceHandle(10)));
        assert_eq!(buried.instances.len(), REMEMBERED);
    }

    #[test]
    fn what_a_dead_node_has_lately_deleted_is_told_for_a_while() {
        let mut buried = Buried::default();
        let (old, new) = (ObjectInstanceHandle(1), ObjectInstanceHandle(2));
        buried.insert(old, entry(10));
        buried.insert(new, entry(25));
        let now = Moment::from_secs(30);
        assert_eq!(buried.of_class(now, CLASS), [], "its home lives");
        assert_eq!(buried.of_dead(now, NodeId(4)), []);
        assert_eq!(buried.of_dead(now, HOME), [new]);
        assert_eq!(buried.of_class(now, CLASS), [new]);
        assert_eq!(buried.of_class(now, ObjectClassHandle(8)), []);
        assert_eq!(buried.of_class(Moment::from_secs(60), CLASS), []);
    }
}
