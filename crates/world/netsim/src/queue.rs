//! The event queue: earliest first, equal moments in the order of their insertion.

use base::Moment;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events in the order in which they happen. Events of the same moment come out as they went in, so
/// a run is a function of what was pushed and of nothing else.
///
/// Cost: O(log n) per event, no allocation but for the growth of one array. Events are moved about
/// inside it: keep `E` small (an index into a table rather than a message).
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    pushed: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Moment,
    number: u64,
    event: E,
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), pushed: 0 }
    }

    /// Adds `event` at moment `at`.
    pub fn push(&mut self, at: Moment, event: E) {
        self.heap.push(Entry { at, number: self.pushed, event });
        self.pushed += 1;
    }

    /// Takes the first event that happens at or before `until`.
    pub fn pop_until(&mut self, until: Moment) -> Option<(Moment, E)> {
        if self.next()? > until {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// When the first event happens.
    pub fn next(&self) -> Option<Moment> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True when no event waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// How many events were ever added.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Entry<E> {
    fn key(&self) -> (Moment, u64) {
        (self.at, self.number)
    }
}

/// Reversed: `BinaryHeap` gives the greatest first.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_comes_before_its_moment() {
        let mut queue = EventQueue::new();
        queue.push(Moment::from_nanos(5), 'a');
        assert_eq!(queue.pop_until(Moment::from_nanos(4)), None);
        assert_eq!(queue.pop_until(Moment::from_nanos(5)), Some((Moment::from_nanos(5), 'a')));
        assert!(queue.is_empty());
    }

    proptest! {
        #[test]
        fn comes_out_as_a_stable_sort_by_moment(times in prop::collection::vec(0u64..8, 0..200)) {
            let mut queue = EventQueue::new();
            let mut expected: Vec<_> = times.iter().map(|&t| Moment::from_nanos(t)).zip(0..).collect();
            for &(at, i) in &expected {
                queue.push(at, i);
            }
            expected.sort_by_key(|&(at, _)| at);
            let out: Vec<(Moment, i32)> = std::iter::from_fn(|| queue.pop_until(Moment::MAX)).collect();
            prop_assert_eq!(out, expected);
        }
    }
}
