//! Mirrors: instances that the gateway registers for those of the other side.

use bytes::Bytes;
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::BTreeMap;

use crate::Side;

/// An instance that passes.
#[derive(Debug)]
pub(super) struct Mirror {
    /// The side where it was discovered.
    pub(super) from: Side,
    /// Its handle there.
    pub(super) source: ObjectInstanceHandle,
    /// Its class there.
    pub(super) class: ObjectClassHandle,
    pub(super) name: String,
    pub(super) state: State,
    pub(super) waiting: Waiting,
}

/// How far a mirror has come.
#[derive(Debug)]
pub(super) enum State {
    /// Its name is being reserved.
    Reserving,
    /// It is being registered. `removed`: the instance is gone, with this tag, and so must the mirror be.
    Registering { removed: Option<Bytes> },
    /// It is there.
    Registered { target: ObjectInstanceHandle },
}

/// Values that wait until the mirror is registered: the latest of each attribute, by its handle on the
/// mirror's side.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    values: BTreeMap<AttributeHandle, Bytes>,
    tag: Bytes,
}

impl Waiting {
    /// Keeps values, unless more than `limit` bytes would wait in all.
    pub(super) fn put(
        &mut self,
        values: Vec<(AttributeHandle, Bytes)>,
        tag: Bytes,
        total: &mut usize,
        limit: usize,
    ) {
        for (attribute, value) in values {
            if *total + value.len() > limit {
                continue;
            }
            *total += value.len();
            if let Some(before) = self.values.insert(attribute, value) {
                *total -= before.len();
            }
        }
        self.tag = tag;
    }

    /// The values, with the tag of the last update.
    pub(super) fn take(&mut self, total: &mut usize) -> (Vec<(AttributeHandle, Bytes)>, Bytes) {
        let values: Vec<_> = std::mem::take(&mut self.values).into_iter().collect();
        *total -= values.iter().map(|(_, value)| value.len()).sum::<usize>();
        (values, std::mem::take(&mut self.tag))
    }
}
