//! The federates that know an instance.

use hla::handle::{FederateHandle, ObjectClassHandle};
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// A federate that knows an instance, with the class at which it knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) federate: FederateHandle,
    pub(crate) class: ObjectClassHandle,
    /// Whether it has updated the instance.
    has_updated: bool,
    /// Whether it has received an update of the instance.
    pub(crate) has_reflected: bool,
}

impl Known {
    fn new(federate: FederateHandle, class: ObjectClassHandle) -> Self {
        Self { federate, class, has_updated: false, has_reflected: false }
    }
}

/// The federates of this node that know an instance, sorted.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct KnownBy(SmallVec<[Known; 4]>);

impl KnownBy {
    pub(super) fn one(federate: FederateHandle, class: ObjectClassHandle) -> Self {
        Self(smallvec![Known::new(federate, class)])
    }

    pub(super) fn all(&self) -> &[Known] {
        &self.0
    }

    fn find(&self, federate: FederateHandle) -> Result<usize, usize> {
        self.0.binary_search_by_key(&federate, |known| known.federate)
    }

    pub(super) fn get(&self, federate: FederateHandle) -> Option<&Known> {
        self.0.get(self.find(federate).ok()?)
    }

    fn get_mut(&mut self, federate: FederateHandle) -> Option<&mut Known> {
        let at = self.find(federate).ok()?;
        self.0.get_mut(at)
    }

    pub(super) fn insert(&mut self, federate: FederateHandle, class: ObjectClassHandle) {
        if let Err(at) = self.find(federate) {
            self.0.insert(at, Known::new(federate, class));
        }
    }

    /// Returns false if the federate was not among them.
    pub(super) fn remove(&mut self, federate: FederateHandle) -> bool {
        let found = self.find(federate);
        if let Ok(at) = found {
            self.0.remove(at);
        }
        found.is_ok()
    }

    /// Whether a federate is among them and has never updated the instance.
    pub(super) fn is_first_update(&self, federate: FederateHandle) -> bool {
        self.get(federate).is_some_and(|known| !known.has_updated)
    }

    /// Notes that a federate has updated the instance.
    pub(super) fn note_updated(&mut self, federate: FederateHandle) {
        if let Some(known) = self.get_mut(federate) {
            known.has_updated = true;
        }
    }

    /// Notes that a federate has received an update of the instance. Returns the class at which it
    /// knows the instance, if it is the first one.
    pub(super) fn note_reflected(&mut self, federate: FederateHandle) -> Option<ObjectClassHandle> {
        let known = self.get_mut(federate)?;
        (!std::mem::replace(&mut known.has_reflected, true)).then_some(known.class)
    }
}
