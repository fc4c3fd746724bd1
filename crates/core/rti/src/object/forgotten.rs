//! Forgetting replicas whose stream is no longer followed and that no federate here knows.
//!
//! There may be a million of them, so it is done in slices. Until it is finished, the stream is not
//! followed again, and nobody discovers such a replica, because this node does not know whether the
//! instance still exists.

use super::instance::Cursor;
use super::objects::Objects;
use crate::control::{NodeId, PublishedClass};
use crate::effect::{Change, Effects};
use hla::handle::{ObjectClassHandle, ObjectInstanceHandle};
use std::collections::BTreeMap;

/// Instances looked at in one slice.
const VISITED_PER_SLICE: usize = 5_000;

/// Classes and homes whose replicas are being forgotten, with the progress.
#[derive(Debug, Default)]
pub(crate) struct Forgotten(BTreeMap<(ObjectClassHandle, NodeId), Cursor>);

impl Forgotten {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, class: ObjectClassHandle, home: NodeId) -> bool {
        !self.0.is_empty() && self.0.contains_key(&(class, home))
    }
}

impl Objects {
    /// Begins to forget the replicas of instances of a class whose home is `node`.
    /// [`Change::Forgotten`] follows when all are forgotten.
    pub(crate) fn forget_replicas(&mut self, effects: &mut Effects, class: PublishedClass, node: NodeId) {
        let PublishedClass::Objects(of) = class else {
            return effects.replicate(Change::Forgotten { class, node });
        };
        let cursor = Cursor::before(of, ObjectInstanceHandle::INVALID);
        self.forget_slice_of(effects, (of, node), cursor);
    }

    /// Does one slice.
    pub(super) fn continue_forgetting(&mut self, effects: &mut Effects) {
        if let Some((key, cursor)) = self.forgotten.0.pop_first() {
            self.forget_slice_of(effects, key, cursor);
        }
    }

    fn forget_slice_of(
        &mut self,
        effects: &mut Effects,
        (class, node): (ObjectClassHandle, NodeId),
        mut cursor: Cursor,
    ) {
        for handle in cursor.advance(&self.instances, VISITED_PER_SLICE) {
            if self.instances.get(handle).is_some_and(|object| object.home == node) {
                self.instances.remove(handle);
                self.offers.replace(handle, &[]);
                self.deletions.remove(&handle);
            }
        }
        match cursor.is_done() {
            true => effects.replicate(Change::Forgotten { class: PublishedClass::Objects(class), node }),
            false => drop(self.forgotten.0.insert((class, node), cursor)),
        }
    }
}
