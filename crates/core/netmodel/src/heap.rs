//! A priority queue of pending events, by time and then by number, whose entries can be changed.

/// The position of an entry that is not in the queue.
const NOWHERE: u32 = u32::MAX;
/// Children of a node. Four halve the depth of a binary heap, and lie together in memory.
const ARITY: usize = 4;

/// A 4-ary heap of numbered entries. The number breaks ties, so that the order never depends on
/// history.
#[derive(Clone, Debug, Default)]
pub struct IndexedHeap {
    items: Vec<Item>,
    places: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Item {
    key: u64,
    id: u32,
}

impl IndexedHeap {
    /// The entry that is first, with its key.
    #[inline]
    pub fn first(&self) -> Option<(u64, u32)> {
        self.items.first().map(|item| (item.key, item.id))
    }

    /// The upper entries. The first three are among them, and most of those that follow soon.
    #[inline]
    pub fn upper(&self) -> impl Iterator<Item = u32> + '_ {
        self.items.iter().take(1 + ARITY + ARITY * ARITY).map(|item| item.id)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Puts entry `id` at `key`, whether or not it is there already.
    pub fn set(&mut self, id: u32, key: u64) {
        if self.places.len() <= id as usize {
            self.places.resize(id as usize + 1, NOWHERE);
        }
        let item = Item { key, id };
        let place = self.places[id as usize];
        if place == NOWHERE {
            self.items.push(item);
            self.rise(self.items.len() - 1, item);
        } else {
            self.settle(place as usize, item);
        }
    }

    /// Removes entry `id`, if it is there.
    pub fn remove(&mut self, id: u32) {
        let Some(&place) = self.places.get(id as usize).filter(|place| **place != NOWHERE) else { return };
        self.places[id as usize] = NOWHERE;
        let last = self.items.pop().expect("an entry with a place is in the heap");
        if (place as usize) < self.items.len() {
            self.settle(place as usize, last);
        }
    }

    /// Puts `item` into `place`, whose content is no longer needed.
    fn settle(&mut self, place: usize, item: Item) {
        if place > 0 && item < self.items[(place - 1) / ARITY] {
            self.rise(place, item);
        } else {
            self.sink(place, item);
        }
    }

    fn rise(&mut self, mut place: usize, item: Item) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.items[parent] <= item {
                break;
            }
            self.put(place, self.items[parent]);
            place = parent;
        }
        self.put(place, item);
    }

    fn sink(&mut self, mut place: usize, item: Item) {
        while let Some((child, least)) = least_child(&self.items, place)
            && item > least
        {
            self.put(place, least);
            place = child;
        }
        self.put(place, item);
    }

    #[inline]
    fn put(&mut self, place: usize, item: Item) {
        self.items[place] = item;
        self.places[item.id as usize] = place as u32; // a place per id, which is a u32
    }
}

/// The least of the children of a node, and its position.
#[inline]
fn least_child<T: Copy + Ord>(items: &[T], place: usize) -> Option<(usize, T)> {
    let first = place * ARITY + 1;
    let children = items.get(first..(first + ARITY).min(items.len()))?;
    let (at, least) = children.iter().copied().enumerate().min_by_key(|(_, child)| *child)?;
    Some((first + at, least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_sorted_set(actions in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 1..300)) {
            let (mut heap, mut model) = (IndexedHeap::default(), vec![None; 20]);
            for (id, key) in actions {
                match key {
                    Some(key) => heap.set(id, key),
                    None => heap.remove(id),
                }
                model[id as usize] = key;
                let entries = model.iter().zip(0u32..).filter_map(|(key, id)| key.map(|key| (key, id)));
                let sorted: BTreeSet<(u64, u32)> = entries.collect();
                prop_assert_eq!(heap.first(), sorted.first().copied());
                prop_assert_eq!((heap.len(), heap.is_empty()), (sorted.len(), sorted.is_empty()));
            }
        }
    }
}
