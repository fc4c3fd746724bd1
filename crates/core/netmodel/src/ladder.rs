//! A queue of pending events for many entries that are due far from now: a ladder queue (Tang, Goh
//! and Thng 2005).
//!
//! A heap of many entries touches one memory location per level for each entry that goes in or out,
//! and most of these are in no cache. Here an entry goes into the bucket of its time, which touches
//! only the end of the bucket. A bucket is sorted only when its time comes, so that the next events
//! lie in a short sorted list. A bucket of many entries is first spread over the finer buckets of
//! another rung. The order is that of a heap: by time, then by number.

use crate::chunks::{Bucket, Chunks};

/// A time and a number.
type Item = (u64, u32);

/// Buckets of at most this many entries are sorted, and the sorted list does not grow much longer.
const SORTED: usize = 128;
/// Desired number of entries in a bucket, and largest number of buckets in a rung.
const WANTED: usize = 48;
const BUCKETS: usize = 256;

/// Buckets of equal width, one after the other in time.
#[derive(Clone, Debug, Default)]
struct Rung {
    /// The first moment of the first bucket, and the last moment of the last bucket.
    begin: u64,
    last: u64,
    /// The width of a bucket is 2^`shift`.
    shift: u32,
    /// The first bucket that was not opened.
    next: usize,
    buckets: Vec<Bucket>,
}

/// Times with numbers, the least first; the number breaks ties. Entries may come in any order.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    /// Everything up to the moment `near_last`, with the least at the end.
    near: Vec<Item>,
    near_last: u64,
    /// From wide to narrow. Each rung spreads the bucket of the previous one that was opened last.
    rungs: Vec<Rung>,
    /// Entries later than all rungs.
    far: Bucket,
    chunks: Chunks,
    /// Unused rungs, and a list to spread from, kept for their memory.
    spare: Vec<Rung>,
    spreading: Vec<Item>,
    /// True if `near` was filled since the last call of [`Ladder::fresh`].
    fresh: bool,
}

impl Ladder {
    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<(u64, u32)> {
        self.near.last().copied()
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, item: (u64, u32)) {
        self.put(item);
        if self.near.is_empty() {
            self.refill();
        }
    }

    /// Replaces the first entry by another.
    #[inline]
    pub fn replace_first(&mut self, item: (u64, u32)) {
        self.near.pop();
        self.push(item);
    }

    /// Removes the first entry.
    #[inline]
    pub fn pop(&mut self) {
        self.near.pop();
        if self.near.is_empty() {
            self.refill();
        }
    }

    /// Those of the next entries that were sorted since the last call, the first one last, for
    /// looking ahead.
    pub fn fresh(&mut self) -> &[(u64, u32)] {
        if std::mem::take(&mut self.fresh) { &self.near } else { &[] }
    }

    /// Removes all entries; their memory is kept.
    pub fn clear(&mut self) {
        self.near.clear();
        self.near_last = 0;
        self.spare.append(&mut self.rungs);
        self.far = Bucket::default();
        self.chunks.clear();
    }

    #[inline]
    fn put(&mut self, item: Item) {
        let time = item.0;
        if time <= self.near_last {
            return self.put_near(item);
        }
        match self.rungs.iter_mut().rev().find(|rung| time <= rung.last) {
            Some(rung) => {
                let bucket = &mut rung.buckets[((time - rung.begin) >> rung.shift) as usize];
                self.chunks.put(bucket, item);
            }
            None => self.chunks.put(&mut self.far, item),
        }
    }

    #[inline]
    fn put_near(&mut self, item: Item) {
        let place = self.near.partition_point(|other| *other > item);
        self.near.insert(place, item);
        if self.near.len() > 2 * SORTED {
            self.thin_out();
        }
    }

    /// Turns the near entries into a rung, because so many are too expensive to keep sorted.
    #[cold]
    fn thin_out(&mut self) {
        let mut items = std::mem::take(&mut self.near);
        self.spread(&mut items, self.near_last);
        self.near = items;
        self.refill();
    }

    /// Sorts the next entries, if there are any.
    fn refill(&mut self) {
        while self.near.is_empty() {
            let (mut bucket, last) = match self.rungs.last_mut() {
                None if self.far.is_empty() => return,
                None => (std::mem::take(&mut self.far), u64::MAX),
                Some(rung) => match rung.open() {
                    Some(opened) => opened,
                    None => {
                        self.spare.extend(self.rungs.pop());
                        continue;
                    }
                },
            };
            let mut items = std::mem::take(&mut self.spreading);
            self.chunks.empty(&mut bucket, &mut items);
            // The list of far entries has no last moment. The latest of its entries is used, so
            // that later ones stay far.
            let last = if self.rungs.is_empty() { latest(&items) } else { last };
            if items.len() <= SORTED || items.iter().all(|item| item.0 == items[0].0) {
                items.sort_unstable_by(|a, b| b.cmp(a));
                std::mem::swap(&mut self.near, &mut items);
                (self.near_last, self.fresh) = (last, true);
            } else {
                self.spread(&mut items, last);
            }
            self.spreading = items;
        }
    }

    /// Spreads entries over a rung up to the moment `last`.
    fn spread(&mut self, items: &mut Vec<Item>, last: u64) {
        let begin = items.iter().map(|item| item.0).min().unwrap_or(last);
        let mut rung = self.spare.pop().unwrap_or_default();
        let wanted = (items.len() / WANTED).next_power_of_two().clamp(2, BUCKETS);
        // The smallest width that does not need more buckets.
        rung.shift = (u64::BITS - (last - begin).leading_zeros()).saturating_sub(wanted.ilog2());
        (rung.begin, rung.last, rung.next) = (begin, last, 0);
        rung.buckets.clear();
        rung.buckets.resize(((last - begin) >> rung.shift) as usize + 1, Bucket::default());
        for item in items.drain(..) {
            self.chunks.put(&mut rung.buckets[((item.0 - begin) >> rung.shift) as usize], item);
        }
        self.rungs.push(rung);
    }
}

impl Rung {
    /// The next bucket that is not empty, and its last moment.
    fn open(&mut self) -> Option<(Bucket, u64)> {
        let empty = self.buckets[self.next..].iter().take_while(|bucket| bucket.is_empty()).count();
        let at = self.next + empty;
        let bucket = std::mem::take(self.buckets.get_mut(at)?);
        self.next = at + 1;
        let first = self.begin + ((at as u64) << self.shift);
        Some((bucket, first.saturating_add((1 << self.shift) - 1).min(self.last)))
    }
}

fn latest(items: &[Item]) -> u64 {
    items.iter().map(|item| item.0).max().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Gaps of all orders of magnitude, so that rungs nest and entries come everywhere.
    fn later() -> impl Strategy<Value = u64> {
        (0u32..64, any::<u64>()).prop_map(|(shift, random)| random >> shift)
    }

    proptest! {
        #[test]
        fn comes_out_in_order(actions in prop::collection::vec((0u8..8, later(), any::<u32>()), 1..3000), crowd: bool) {
            let (mut ladder, mut model) = (Ladder::default(), BTreeSet::new());
            for (what, gap, number) in actions {
                let now = model.first().map_or(0, |first: &(u64, u32)| first.0);
                let item = (if crowd { now.saturating_add(gap % 1000) } else { now.saturating_add(gap) }, number);
                match what {
                    _ if model.contains(&item) => {}
                    0 if !model.is_empty() => {
                        ladder.pop();
                        model.pop_first();
                    }
                    1..=3 if !model.is_empty() => {
                        ladder.replace_first(item);
                        model.pop_first();
                        model.insert(item);
                    }
                    // Earlier than the first entry.
                    4 => {
                        let early = (item.0 / 2, number);
                        if model.insert(early) {
                            ladder.push(early);
                        }
                    }
                    _ => {
                        ladder.push(item);
                        model.insert(item);
                    }
                }
                prop_assert_eq!(ladder.first(), model.first().copied());
            }
            while let Some(first) = model.pop_first() {
                prop_assert_eq!(ladder.first(), Some(first));
                ladder.pop();
            }
            prop_assert_eq!(ladder.first(), None);
        }
    }
}
