//! A sorted set with cheap operations at both ends.

use std::collections::VecDeque;

/// Sorted values without duplicates. The value served longest ago leaves at the front, and a value
/// that was just served returns at the end. Both cost a search and move hardly anything. Nothing is
/// allocated once the set has reached its largest size.
#[derive(Clone, Debug)]
pub(super) struct Sorted<T> {
    values: VecDeque<T>,
}

impl<T: Ord> Sorted<T> {
    pub(super) const fn new() -> Self {
        Self { values: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.values.front()
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.values.back()
    }

    pub(super) fn insert(&mut self, value: T) {
        if self.values.back().is_none_or(|last| *last < value) {
            return self.values.push_back(value);
        }
        if let Err(position) = self.values.binary_search(&value) {
            self.values.insert(position, value);
        }
    }

    pub(super) fn remove(&mut self, value: &T) {
        if self.values.front() == Some(value) {
            self.values.pop_front();
        } else if let Ok(position) = self.values.binary_search(value) {
            self.values.remove(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_set(steps in proptest::collection::vec((any::<bool>(), 0u8..40), 0..200)) {
            let mut sorted = Sorted::new();
            let mut set = std::collections::BTreeSet::new();
            for (adds, value) in steps {
                if adds {
                    sorted.insert(value);
                    set.insert(value);
                } else {
                    sorted.remove(&value);
                    set.remove(&value);
                }
                prop_assert_eq!((sorted.first(), sorted.last()), (set.first(), set.last()));
                prop_assert_eq!(sorted.len(), set.len());
            }
        }
    }
}
