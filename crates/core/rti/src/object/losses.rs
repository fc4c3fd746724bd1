//! Lost nodes: attributes owned by their federates are deleted or divested, and the remaining
//! instances get a new home.
//!
//! A node may have been the home of a million instances. Every other node processes them in slices,
//! in the order of the instances. Each instance goes from its old state to its final one in one
//! step: its lost owners delete or divest it, and then it gets its new home. From the first slice
//! on, no event of a lost node's streams is applied. An instance that has not been reached yet
//! still exists. Its new home may be faster, and announces the same result that this node would
//! have reached by itself.

use super::instance::Cursor;
use super::objects::Objects;
use super::resign::Plan;
use crate::control::{NameTable, NodeId};
use crate::effect::{Change, Effect, Effects};
use crate::wire::ObjectMessage;
use bytes::Bytes;
use hla::api::ResignAction;
use hla::handle::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Approximate number of instances visited in one slice.
const VISITED_PER_SLICE: usize = 10_000;
/// Approximate number of instances deleted, divested or moved in one slice.
const CHANGED_PER_SLICE: usize = 1_000;
/// Number of instances visited between two checks of these limits.
const BATCH: usize = 500;

/// A node that is gone, and the new home of its instances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rehoming {
    pub(crate) gone: NodeId,
    /// The lowest live node.
    pub(crate) new_home: NodeId,
    /// Approximate size, in bytes, of one message to it.
    pub(crate) part_bytes: usize,
}

/// A federate that is lost with its node.
#[derive(Debug)]
struct LostOwner {
    directive: ResignAction,
    /// Number of instances of which it owned attributes.
    instances: usize,
}

/// Federates that are lost together, and their node.
#[derive(Debug, Default)]
struct Loss {
    owners: BTreeMap<FederateHandle, LostOwner>,
    rehoming: Option<Rehoming>,
    /// How far the streams of the node were delivered here, by class.
    delivered: BTreeMap<ObjectClassHandle, u64>,
    /// `None` before the first slice.
    cursor: Option<Cursor>,
}

/// Losses that are not processed completely, in the order of the control plane.
#[derive(Debug, Default)]
pub(crate) struct Losses(VecDeque<Loss>);

impl Losses {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The loss to which the next event belongs: the last one, as long as its node has not been
    /// named.
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
    /// Notes that a federate is lost with its node. [`lose_node`](Self::lose_node) processes its
    /// instances, or [`begin_losses`](Self::begin_losses) if its node is not part of a network.
    pub(super) fn lose_federate(&mut self, federate: FederateHandle, directive: ResignAction) {
        self.losses.open().insert(federate, directive);
    }

    /// Ends the acquisitions of a federate that has left. Attributes that it has acquired since it
    /// requested to leave are disposed of in slices.
    pub(super) fn end_acquisitions(&mut self, federate: FederateHandle, action: ResignAction) {
        if self.forget_acquirer(federate) {
            let mut loss = Loss { cursor: Some(self.instances.cursor()), ..Loss::default() };
            loss.insert(federate, action);
            self.losses.0.push_back(loss);
        }
    }

    /// Notes that a node is out of the network. Instances that its departed federates still own are
    /// disposed of by the federates' actions or directives, because the messages that report this
    /// no longer arrive. `others`: the other nodes with federates; `delivered`: how far the streams
    /// of the node were delivered here.
    pub(crate) fn lose_node(
        &mut self,
        effects: &mut Effects,
        gone: NodeId,
        rehoming: Option<Rehoming>,
        (others, delivered): (BTreeSet<NodeId>, BTreeMap<ObjectClassHandle, u64>),
        names: Option<&NameTable>,
    ) {
        self.adoptions.remove_node(gone);
        let departed = self.departures.take(gone);
        let loss = self.losses.open();
        departed.into_iter().for_each(|(federate, action)| loss.insert(federate, action));
        loss.rehoming = rehoming;
        loss.delivered.clone_from(&delivered);
        self.adoptions.note_view(gone, &delivered);
        if let Some(Rehoming { new_home, .. }) = rehoming {
            self.send_tombstones(effects, gone, new_home);
            if new_home == self.node {
                self.adoptions.begin(gone, others, delivered);
            }
        }
        self.begin_losses(effects, names);
        self.review_adoptions(effects);
    }

    /// Processes the first slice, unless an earlier loss comes first.
    pub(crate) fn begin_losses(&mut self, effects: &mut Effects, names: Option<&NameTable>) {
        if self.losses.0.front().is_some_and(|loss| loss.cursor.is_none()) {
            self.continue_losses(effects, names);
        }
    }

    /// Processes one slice of the first loss.
    pub(super) fn continue_losses(&mut self, effects: &mut Effects, names: Option<&NameTable>) {
        let Some(mut loss) = self.losses.0.pop_front() else { return };
        let mut cursor = loss.cursor.take().unwrap_or_else(|| self.instances.cursor());
        let (mut visited, mut changed) = (0, 0);
        let mut moved = BTreeMap::<ObjectClassHandle, Vec<ObjectInstanceHandle>>::new();
        while !cursor.is_done() && visited < VISITED_PER_SLICE && changed < CHANGED_PER_SLICE {
            let batch = cursor.advance(&self.instances, BATCH);
            visited += batch.len();
            for instance in batch {
                let disposed = self.dispose_lost(effects, &mut loss, instance);
                let class = loss.rehoming.and_then(|rehoming| self.rehome(effects, rehoming, instance));
                changed += usize::from(disposed || class.is_some());
                if let Some(class) = class {
                    moved.entry(class).or_default().push(instance);
                }
            }
        }
        if let Some(rehoming) = loss.rehoming {
            self.notify_moved(effects, rehoming, &loss.delivered, moved, names);
        }
        match cursor.is_done() {
            true => self.end_loss(effects, &loss),
            false => self.losses.0.push_front(Loss { cursor: Some(cursor), ..loss }),
        }
    }

    /// Deletes or divests the attributes of an instance that lost federates own. Returns false if
    /// they own none.
    fn dispose_lost(
        &mut self,
        effects: &mut Effects,
        loss: &mut Loss,
        instance: ObjectInstanceHandle,
    ) -> bool {
        let Some(object) = self.instances.get(instance) else { return false };
        let gone = loss.rehoming.map(|rehoming| rehoming.gone);
        let (is_at_home, is_orphan) = (object.home == self.node, Some(object.home) == gone);
        if !is_at_home && !is_orphan {
            // Its home decides, and announces it: it may have given the attributes to others.
            return false;
        }
        let owners = &mut loss.owners;
        let privilege = self.class_of(object.class).slot(self.privilege);
        let deleter = privilege.map(|slot| object.attribute(slot).owner);
        let mut lost = BTreeSet::new();
        let mut last = FederateHandle::INVALID;
        for (_, attribute) in object.attributes() {
            // Consecutive attributes mostly have the same owner.
            if attribute.owner != last && owners.contains_key(&attribute.owner) {
                lost.insert(attribute.owner);
            }
            last = attribute.owner;
        }
        for &federate in &lost {
            let Some(owner) = owners.get_mut(&federate) else { continue };
            owner.instances += 1;
            if Plan::from(owner.directive).delete && deleter == Some(federate) {
                self.remove(effects, federate, instance, &Bytes::new(), None);
                break;
            }
            if is_at_home {
                self.divest(effects, federate, instance, |_| true);
                continue;
            }
            let attributes: BTreeSet<_> = self.owned_by(federate, instance).collect();
            self.disown(effects, federate, instance, &attributes);
            if loss.rehoming.is_some_and(|rehoming| rehoming.new_home == self.node) {
                // The others learn of the offer with the new home.
                self.offer(effects, federate, instance, &attributes, &Bytes::new());
            }
        }
        if !lost.is_empty() {
            effects.review_following();
        }
        !lost.is_empty()
    }

    /// Moves an instance to its new home if the old one is gone, and returns its class. An instance
    /// that the old home had deleted is removed.
    fn rehome(
        &mut self,
        effects: &mut Effects,
        rehoming: Rehoming,
        instance: ObjectInstanceHandle,
    ) -> Option<ObjectClassHandle> {
        let object = self.instances.get(instance).filter(|object| object.home == rehoming.gone)?;
        let class = object.class;
        if self.deletions.contains_key(&instance) {
            // Its deleter is lost with its home. Its removal is still delivered in time.
            self.deletion_is_final(effects, instance);
            return None;
        }
        if self.forgotten.contains(class, rehoming.gone) {
            self.instances.remove(instance);
            self.end_negotiations(effects, instance);
            return None;
        }
        self.instances.set_home(instance, rehoming.new_home);
        self.count_unowned(instance);
        self.review_owned_elsewhere(effects, instance);
        self.repeat_requests(effects, instance);
        if self.tombstones.contains(instance) {
            self.remove_deleted(effects, instance);
            return None;
        }
        Some(class)
    }

    /// Informs the new home of the instances that a slice has moved, or the other nodes if it is
    /// this node.
    fn notify_moved(
        &mut self,
        effects: &mut Effects,
        rehoming: Rehoming,
        delivered: &BTreeMap<ObjectClassHandle, u64>,
        moved: BTreeMap<ObjectClassHandle, Vec<ObjectInstanceHandle>>,
        names: Option<&NameTable>,
    ) {
        for (class, handles) in moved {
            if rehoming.new_home == self.node {
                self.take_home(effects, class, &handles, names);
            } else {
                let delivered = delivered.get(&class).copied().unwrap_or_default();
                self.send_records(effects, rehoming, delivered, class, &handles);
            }
            effects.replicate(Change::Rehomed { class });
        }
    }

    fn end_loss(&mut self, effects: &mut Effects, loss: &Loss) {
        for (&federate, owner) in &loss.owners {
            if owner.directive == ResignAction::NoAction {
                self.note_abandoned(federate, owner.instances);
            }
        }
        if let Some(Rehoming { gone, new_home, .. }) = loss.rehoming {
            match new_home == self.node {
                true => self.visited_all(effects, gone),
                false => effects.send(new_home, ObjectMessage::Adopted { gone }),
            }
        }
        // Not earlier: while an instance is here, its name is in use.
        if loss.rehoming.is_some_and(|rehoming| rehoming.new_home == self.node) {
            effects.push(Effect::FreeNames { execution: self.id });
        }
    }
}
