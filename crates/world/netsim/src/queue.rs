//! The event queue: earliest event first, simultaneous events in the order of insertion.

use base::Moment;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events in the order of their moments. Simultaneous events leave in the order of insertion, so
/// that a run depends only on the pushed events.
///
/// Cost: O(log n) per event, without allocation except for the growth of one array. The heap moves
/// its events: keep `E` small (an index into a table rather than a message).
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

    /// Moment of the first event.
    pub fn next(&self) -> Option<Moment> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Number of waiting events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if no event waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Number of events ever added.
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

/// Reversed, since `BinaryHeap` returns the greatest element first.
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
