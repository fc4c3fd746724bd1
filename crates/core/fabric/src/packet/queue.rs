//! The queue of events: a 4-ary heap with one entry per link that has something under way.

/// Children of a place.
const ARITY: usize = 4;

/// Times with the numbers of links, the least first; the number breaks ties.
#[derive(Clone, Debug, Default)]
pub(super) struct EventHeap {
    items: Vec<(u64, u32)>,
}

impl EventHeap {
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, u32)> {
        self.items.first().copied()
    }

    /// Adds an entry.
    #[inline]
    pub(super) fn push(&mut self, item: (u64, u32)) {
        let mut place = self.items.len();
        self.items.push(item);
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.items[parent] <= item {
                break;
            }
            self.items[place] = self.items[parent];
            place = parent;
        }
        self.items[place] = item;
    }

    /// Puts an entry in the place of the first one.
    #[inline]
    pub(super) fn replace_first(&mut self, item: (u64, u32)) {
        let mut place = 0;
        loop {
            let first = place * ARITY + 1;
            let children = self.items.get(first..(first + ARITY).min(self.items.len())).unwrap_or(&[]);
            let Some((at, least)) = children.iter().copied().enumerate().min_by_key(|(_, child)| *child)
            else {
                break;
            };
            if item <= least {
                break;
            }
            self.items[place] = least;
            place = first + at;
        }
        self.items[place] = item;
    }

    /// Removes the first entry.
    #[inline]
    pub(super) fn pop(&mut self) {
        let last = self.items.pop();
        if let Some(last) = last.filter(|_| !self.items.is_empty()) {
            self.replace_first(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_out_in_order(actions in prop::collection::vec((0u8..3, 0u64..50, 0u32..9), 1..300)) {
            let (mut heap, mut model) = (EventHeap::default(), Vec::new());
            for (what, time, link) in actions {
                match what {
                    _ if model.is_empty() => heap.push((time, link)),
                    0 => heap.push((time, link)),
                    1 => heap.replace_first((time, link)),
                    _ => heap.pop(),
                }
                if what > 0 && !model.is_empty() {
                    model.remove(0);
                    if what == 1 {
                        model.push((time, link));
                    }
                } else {
                    model.push((time, link));
                }
                model.sort_unstable();
                prop_assert_eq!(heap.first(), model.first().copied());
            }
        }
    }
}
