//! Nodes that are lost: what their federates owned is deleted or divested, and the rest finds a new home.
//!
//! A node may have been the home of a million instances. Every other node deals with them in slices, in the order of the
//! instances, so that each instance goes from its old state to its last one in one step: its lost owners delete or divest
//! it, and then it has its new home. Nothing of a lost node's streams is taken from the first slice on. An instance that is
//! not reached yet still exists; its new home may be faster, and says of it what this node would have done by itself.

use super::instance::Cursor;
use super::objects::Objects;
use super::resign::Plan;
use crate::control::{NameTable, NodeId};
use crate::effect::{Change, Effect, Effects};
use bytes::Bytes;
use hla::api::ResignAction;
use hla::handle::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Instances looked at in one slice, about.
const VISITED_PER_SLICE: usize = 10_000;
/// Instances deleted, divested or moved in one slice, about.
const CHANGED_PER_SLICE: usize = 1_000;
/// Instances looked at between two looks at these limits.
const BATCH: usize = 500;

/// A node that is gone, and where its instances go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rehoming {
    pub(crate) gone: NodeId,
    /// The lowest node that lives.
    pub(crate) new_home: NodeId,
    /// Bytes of one message to it, about.
    pub(crate) part_bytes: usize,
}

/// A federate that is lost with its node.
#[derive(Debug)]
struct LostOwner {
    directive: ResignAction,
    /// Instances of which it owned attributes.
    instances: usize,
}

/// Federates that are lost together, and their node.
#[derive(Debug, Default)]
struct Loss {
    owners: BTreeMap<FederateHandle, LostOwner>,
    rehoming: Option<Rehoming>,
    /// `None` before the first slice.
    cursor: Option<Cursor>,
}

/// Losses that are not dealt with to the end, in the order of the control plane.
#[derive(Debug, Default)]
pub(crate) struct Losses(VecDeque<Loss>);

impl Losses {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The loss that takes in what comes next: the last one, while its node is still to come.
    fn open(&mut self) -> &mut Loss {
        if self.0.back().is_none_or(|loss| loss.rehoming.is_some() || loss.cursor.is_some()) {
            self.0.push_back(Loss::default());
        }
        self.0.back_mut().expect("one was pushed if there was none")
    }
}

impl Loss {
    fn insert(&mut self, federate: FederateHandle, directive: ResignAction) {
        self.owners.entry(federate).or_insert(LostOwner { directive, instances: 0 });
    }
}

impl Objects {
    /// A federate is lost with its node. Its instances are dealt with by [`lose_node`](Self::lose_node), or by
    /// [`begin_losses`](Self::begin_losses) if its node is not one of the network.
    pub(super) fn lose_federate(&mut self, federate: FederateHandle, directive: ResignAction) {
        self.losses.open().insert(federate, directive);
    }

    /// A node is out of the network. Instances that its departed federates still own are dealt with as the federates or
    /// their directives said: the messages that say so no longer arrive.
    pub(crate) fn lose_node(
        &mut self,
        effects: &mut Effects,
        gone: NodeId,
        rehoming: Option<Rehoming>,
        names: Option<&NameTable>,
    ) {
        let departed = self.departures.take(gone);
        let loss = self.losses.open();
        departed.into_iter().for_each(|(federate, action)| loss.insert(federate, action));
        loss.rehoming = rehoming;
        if let Some(Rehoming { new_home, .. }) = rehoming {
            self.send_tombstones(effects, gone, new_home);
        }
        self.begin_losses(effects, names);
    }

    /// Does the first slice, unless an earlier loss comes first.
    pub(crate) fn begin_losses(&mut self, effects: &mut Effects, names: Option<&NameTable>) {
        if self.losses.0.front().is_some_and(|loss| loss.cursor.is_none()) {
            self.continue_losses(effects, names);
        }
    }

    /// Does one slice of the loss that is first.
    pub(super) fn continue_losses(&mut self, effects: &mut Effects, names: Option<&NameTable>) {
        let Some(mut loss) = self.losses.0.pop_front() else { return };
        let mut cursor = loss.cursor.take().unwrap_or_else(|| self.instances.cursor());
        let (mut visited, mut changed) = (0, 0);
        let mut moved = BTreeMap::<ObjectClassHandle, Vec<ObjectInstanceHandle>>::new();
        while !cursor.is_done() && visited < VISITED_PER_SLICE && changed < CHANGED_PER_SLICE {
            let batch = cursor.advance(&self.instances, BATCH);
            visited += batch.len();
            for instance in batch {
                let disposed = self.dispose_lost(effects, &mut loss.owners, instance);
                let class = loss.rehoming.and_then(|rehoming| self.rehome(effects, rehoming, instance));
                changed += usize::from(disposed || class.is_some());
                if let Some(class) = class {
                    moved.entry(class).or_default().push(instance);
                }
            }
        }
        if let Some(rehoming) = loss.rehoming {
            self.tell_moved(effects, rehoming, moved, names);
        }
        match cursor.is_done() {
            true => self.end_loss(effects, &loss),
            false => self.losses.0.push_front(Loss { cursor: Some(cursor), ..loss }),
        }
    }

    /// Deletes or divests what lost federates own of an instance; false if they own nothing.
    fn dispose_lost(
        &mut self,
        effects: &mut Effects,
        owners: &mut BTreeMap<FederateHandle, LostOwner>,
        instance: ObjectInstanceHandle,
    ) -> bool {
        let Some(object) = self.instances.get(instance) else { return false };
        let privilege = self.class_of(object.class).slot(self.privilege);
        let deleter = privilege.map(|slot| object.attribute(slot).owner);
        let mut lost = BTreeSet::new();
        let mut last = FederateHandle::INVALID;
        for (_, attribute) in object.attributes() {
            // Most instances have one owner.
            if attribute.owner != last && owners.contains_key(&attribute.owner) {
                lost.insert(attribute.owner);
            }
            last = attribute.owner;
        }
        for &who in &lost {
            let Some(owner) = owners.get_mut(&who) else { continue };
            owner.instances += 1;
            if Plan::from(owner.directive).delete && deleter == Some(who) {
                self.remove(effects, who, instance, &Bytes::new(), None);
                break;
            }
            self.divest(effects, who, instance, |_| true);
        }
        if !lost.is_empty() {
            effects.review_following();
        }
        !lost.is_empty()
    }

    /// Gives an instance its new home, if the old one is gone: its class then. One that the old home had deleted is removed.
    fn rehome(
        &mut self,
        effects: &mut Effects,
        rehoming: Rehoming,
        instance: ObjectInstanceHandle,
    ) -> Option<ObjectClassHandle> {
        let object = self.instances.get(instance).filter(|object| object.home == rehoming.gone)?;
        let class = object.class;
        if self.forgotten.contains(class, rehoming.gone) {
            self.instances.remove(instance);
            return None;
        }
        self.instances.set_home(instance, rehoming.new_home);
        self.count_unowned(instance);
        if self.tombstones.contains(instance) {
            self.remove_deleted(effects, instance);
            return None;
        }
        Some(class)
    }

    /// Tells the new home of the instances that a slice has moved, or the others if it is this node.
    fn tell_moved(
        &mut self,
        effects: &mut Effects,
        rehoming: Rehoming,
        moved: BTreeMap<ObjectClassHandle, Vec<ObjectInstanceHandle>>,
        names: Option<&NameTable>,
    ) {
        for (class, handles) in moved {
            if rehoming.new_home == self.node {
                self.take_home(effects, class, &handles, names);
            } else {
                self.send_records(effects, rehoming.new_home, class, &handles, rehoming.part_bytes);
            }
            effects.replicate(Change::Rehomed { class });
        }
    }

    fn end_loss(&mut self, effects: &mut Effects, loss: &Loss) {
        for (&who, owner) in &loss.owners {
            if owner.directive == ResignAction::NoAction {
                self.note_abandoned(who, owner.instances);
            }
        }
        // Not before: while an instance is here, its name is in use.
        if loss.rehoming.is_some_and(|rehoming| rehoming.new_home == self.node) {
            effects.push(Effect::FreeNames { execution: self.id });
        }
    }
}
