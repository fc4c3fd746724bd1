//! Tombstones: the instances that other nodes deleted most recently.
//!
//! If such a node dies at once, some nodes may never learn of the deletion. The nodes that did
//! learn of it tell the new home of its instances, so that no node keeps an instance that is
//! deleted for others.

use super::objects::Objects;
use crate::control::{NodeId, PublishedClass};
use crate::effect::Effects;
use crate::wire::ObjectMessage;
use base::Moment;
use bytes::Bytes;
use hla::handle::{ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Number of tombstones that are remembered: as many as a node deletes within a few seconds, in 160
/// KiB.
const REMEMBERED: usize = 4_096;
/// A node whose view of others is older than this has been removed from the network.
const BEHIND_MAX: Duration = Duration::from_secs(10);
/// How long after a death nodes may begin to follow the new home of the instances because of it.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// `None`: the home has died.
    home: Option<NodeId>,
    /// `None`: the instance never was here.
    class: Option<ObjectClassHandle>,
    /// When this node learned of the deletion, or when the home died.
    at: Moment,
}

/// The remembered tombstones. See the module.
#[derive(Debug, Default)]
pub(crate) struct Tombstones {
    instances: BTreeMap<ObjectInstanceHandle, Entry>,
    order: VecDeque<ObjectInstanceHandle>,
}

impl Tombstones {
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

    /// The deletion of an instance was retracted.
    pub(super) fn remove(&mut self, instance: ObjectInstanceHandle) {
        if self.instances.remove(&instance).is_some() {
            self.order.retain(|&other| other != instance);
        }
    }

    pub(super) fn contains(&self, instance: ObjectInstanceHandle) -> bool {
        self.instances.contains_key(&instance)
    }

    /// Marks a node as dead. Returns the instances that it had deleted recently.
    fn of_dead(&mut self, now: Moment, gone: NodeId) -> Vec<ObjectInstanceHandle> {
        let of_gone = self.instances.iter_mut().filter(|(_, entry)| entry.home == Some(gone));
        let fresh = of_gone.filter(|(_, entry)| now.since(entry.at) < BEHIND_MAX);
        let mark = |(&instance, entry): (&ObjectInstanceHandle, &mut Entry)| {
            (entry.home, entry.at) = (None, now);
            instance
        };
        fresh.map(mark).collect()
    }

    /// Instances of a class that were deleted by nodes which have died since, for as long as some
    /// node may not know of it.
    fn of_class(&self, now: Moment, class: ObjectClassHandle) -> Vec<ObjectInstanceHandle> {
        let wanted = |entry: &Entry| {
            entry.home.is_none()
                && entry.class.is_none_or(|of| of == class)
                && now.since(entry.at) < FOLLOWED_WITHIN
        };
        self.instances.iter().filter(|(_, entry)| wanted(entry)).map(|(&instance, _)| instance).collect()
    }
}

impl Objects {
    /// Notes that the home of an instance has deleted it.
    pub(super) fn add_tombstone(&mut self, now: Moment, instance: ObjectInstanceHandle) {
        let Some(object) = self.instances.get(instance) else { return };
        let entry = Entry { home: Some(object.home), class: Some(object.class), at: now };
        self.tombstones.insert(instance, entry);
    }

    /// Tells the new home of a dead node's instances which ones the dead node `gone` had deleted.
    pub(super) fn send_tombstones(&mut self, effects: &mut Effects, gone: NodeId, new_home: NodeId) {
        let instances = self.tombstones.of_dead(effects.now, gone);
        if new_home != self.node {
            send_removed(effects, new_home, instances);
        }
    }

    /// Tells another node that begins to follow a class here about deleted instances that it may
    /// still have.
    pub(crate) fn send_tombstones_of(&self, effects: &mut Effects, to: NodeId, class: PublishedClass) {
        if let PublishedClass::Objects(class) = class {
            send_removed(effects, to, self.tombstones.of_class(effects.now, class));
        }
    }

    /// Handles another node's report of deleted instances whose home, a third node, has died.
    pub(super) fn removed_elsewhere(&mut self, effects: &mut Effects, instances: Vec<ObjectInstanceHandle>) {
        for instance in instances {
            let object = self.instances.get(instance);
            if object.is_some_and(|object| object.registrar == self.node) {
                continue;
            }
            let class = object.map(|object| object.class);
            self.tombstones.insert(instance, Entry { home: None, class, at: effects.now });
            self.remove_deleted(effects, instance);
        }
    }

    /// Removes an instance that is still here although it is deleted.
    pub(super) fn remove_deleted(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        let Some(producer) = self.instances.get(instance).map(|object| object.producer) else { return };
        self.remove(effects, producer, instance, &Bytes::new(), None);
        effects.review_following();
    }
}

/// Tells a node that instances are deleted.
pub(super) fn send_removed(effects: &mut Effects, to: NodeId, instances: Vec<ObjectInstanceHandle>) {
    if !instances.is_empty() {
        effects.send(to, ObjectMessage::Removed { instances });
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
        let mut tombstones = Tombstones::default();
        for number in 0..REMEMBERED as u64 + 10 {
            tombstones.insert(ObjectInstanceHandle(number), entry(0));
            tombstones.insert(ObjectInstanceHandle(number), entry(0));
        }
        assert!(
            !tombstones.contains(ObjectInstanceHandle(9)) && tombstones.contains(ObjectInstanceHandle(10))
        );
        assert_eq!(tombstones.instances.len(), REMEMBERED);
    }

    #[test]
    fn recent_deletions_of_a_dead_node_are_told_for_a_while() {
        let mut tombstones = Tombstones::default();
        let (old, new) = (ObjectInstanceHandle(1), ObjectInstanceHandle(2));
        tombstones.insert(old, entry(10));
        tombstones.insert(new, entry(25));
        let now = Moment::from_secs(30);
        assert_eq!(tombstones.of_class(now, CLASS), [], "its home lives");
        assert_eq!(tombstones.of_dead(now, NodeId(4)), []);
        assert_eq!(tombstones.of_dead(now, HOME), [new]);
        assert_eq!(tombstones.of_class(now, CLASS), [new]);
        assert_eq!(tombstones.of_class(now, ObjectClassHandle(8)), []);
        assert_eq!(tombstones.of_class(Moment::from_secs(60), CLASS), []);
    }
}
