//! The table of instances: by handle, without a moment at which all of them move.
//!
//! A hash table that grows moves all that it holds. With half a million instances that took 40 ms, and with twice as many
//! 80 ms, during which everybody waits. The instances are therefore in pages of consecutive handles, each a small hash
//! table: growing one moves 14,336 instances at most, in a millisecond. Smaller pages made look-ups among a million instances
//! slower, presumably since the system maps memory in larger pieces where a table is large.

use super::instance::Instance;
use base::HandleMap;
use hla::handle::ObjectInstanceHandle;

/// Handles of one page. A hash table takes 7/8 of a power of two without growing: a page of which no handle is missing is
/// as full as it can be.
const PAGE_HANDLES: u64 = 28_672;
/// A page that is less than a quarter full, but could hold so many, gives memory back.
const SHRUNK_FROM: usize = 64;

type Page = HandleMap<ObjectInstanceHandle, Instance>;

/// See the module.
#[derive(Default)]
pub(super) struct Table {
    pages: HandleMap<u64, Page>,
}

fn page_of(handle: ObjectInstanceHandle) -> u64 {
    handle.0 / PAGE_HANDLES
}

impl Table {
    pub(super) fn get(&self, handle: ObjectInstanceHandle) -> Option<&Instance> {
        self.pages.get(&page_of(handle))?.get(&handle)
    }

    pub(super) fn get_mut(&mut self, handle: ObjectInstanceHandle) -> Option<&mut Instance> {
        self.pages.get_mut(&page_of(handle))?.get_mut(&handle)
    }

    pub(super) fn insert(&mut self, instance: Instance) {
        let page = self.pages.entry(page_of(instance.handle)).or_default();
        page.insert(instance.handle, instance);
    }

    pub(super) fn remove(&mut self, handle: ObjectInstanceHandle) -> Option<Instance> {
        let page = self.pages.get_mut(&page_of(handle))?;
        let instance = page.remove(&handle)?;
        if page.is_empty() {
            self.pages.remove(&page_of(handle));
        } else if page.capacity() >= SHRUNK_FROM && page.len() < page.capacity() / 4 {
            // Twice as many still fit, so that it does not grow at once again.
            page.shrink_to(page.len() * 2);
        }
        Some(instance)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.pages.values().map(Page::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::NodeId;
    use hla::handle::{FederateHandle, ObjectClassHandle};

    fn instance(number: u64) -> Instance {
        let handle = ObjectInstanceHandle(1 << 32 | number);
        Instance::new(handle, ObjectClassHandle(1), "x", FederateHandle(1), NodeId(1), Vec::new())
    }

    #[test]
    fn no_growth_moves_more_than_a_page_and_memory_is_given_back() {
        let mut table = Table::default();
        for number in 0..100_000 {
            table.insert(instance(number));
        }
        table.insert(instance(7));
        assert_eq!(table.len(), 100_000);
        let largest = table.pages.values().map(Page::capacity).max();
        assert_eq!(largest, Some(PAGE_HANDLES as usize), "a page is full when no handle is missing");
        // One of a thousand stays.
        for number in (0..100_000).filter(|number| number % 1_000 != 0) {
            assert!(table.remove(instance(number).handle).is_some());
        }
        assert_eq!(table.len(), 100);
        let room: usize = table.pages.values().map(Page::capacity).sum();
        assert!(room < 1_000, "room for {room}");
        assert!(table.get(instance(1_000).handle).is_some() && table.get(instance(1_001).handle).is_none());
        for number in (0..100_000).step_by(1_000) {
            assert!(table.get_mut(instance(number).handle).is_some());
            table.remove(instance(number).handle);
        }
        assert!(table.pages.is_empty() && table.len() == 0);
    }
}
