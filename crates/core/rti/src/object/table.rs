//! The table of instances by handle. It grows without moving all instances at once.
//!
//! A hash table that grows moves all of its entries. With a million instances this took 100 ms,
//! during which everybody waited. A large table that is full is therefore put aside, and its
//! instances move to a new one a few at a time. Only during that time does a look-up search two
//! tables.

use super::instance::Instance;
use base::HandleMap;
use hla::handle::ObjectInstanceHandle;

/// A full table of at least this many instances is put aside. Moving that many at once takes a
/// millisecond.
const LARGE: usize = 14_000;

/// The table of instances. See the module.
#[derive(Default)]
pub(super) struct Table {
    instances: HandleMap<ObjectInstanceHandle, Instance>,
    /// Instances that have not moved yet.
    aside: Option<HandleMap<ObjectInstanceHandle, Instance>>,
}

impl Table {
    #[inline]
    pub(super) fn get(&self, handle: ObjectInstanceHandle) -> Option<&Instance> {
        match self.instances.get(&handle) {
            None => self.aside.as_ref()?.get(&handle),
            found => found,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: ObjectInstanceHandle) -> Option<&mut Instance> {
        match self.instances.get_mut(&handle) {
            None => self.aside.as_mut()?.get_mut(&handle),
            found => found,
        }
    }

    /// Returns the instance that had the handle before.
    pub(super) fn insert(&mut self, instance: Instance) -> Option<Instance> {
        let aside = self.aside.as_mut().and_then(|aside| aside.remove(&instance.handle));
        self.instances.insert(instance.handle, instance).or(aside)
    }

    pub(super) fn remove(&mut self, handle: ObjectInstanceHandle) -> Option<Instance> {
        let removed = self.instances.remove(&handle);
        removed.or_else(|| self.aside.as_mut()?.remove(&handle))
    }

    /// Puts a large table aside if the next instance would make it grow. Returns true if it did.
    /// Then the caller must [move](Self::move_over) every instance and call
    /// [`end_move`](Self::end_move).
    pub(super) fn begin_move(&mut self) -> bool {
        let len = self.instances.len();
        if len < LARGE || len < self.instances.capacity() || self.aside.is_some() {
            return false;
        }
        let room = HandleMap::with_capacity_and_hasher(len * 2, Default::default());
        self.aside = Some(std::mem::replace(&mut self.instances, room));
        true
    }

    /// Moves an instance, if it has not moved yet.
    pub(super) fn move_over(&mut self, handle: ObjectInstanceHandle) {
        if let Some(instance) = self.aside.as_mut().and_then(|aside| aside.remove(&handle)) {
            self.instances.insert(handle, instance);
        }
    }

    /// Ends the move after all instances have moved.
    pub(super) fn end_move(&mut self) {
        let left = self.aside.take();
        debug_assert!(left.is_none_or(|left| left.is_empty()), "every instance was moved");
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.instances.len() + self.aside.as_ref().map_or(0, HandleMap::len)
    }

    /// Whether a look-up searches two tables.
    #[cfg(test)]
    pub(super) fn is_moving(&self) -> bool {
        self.aside.is_some()
    }
}
