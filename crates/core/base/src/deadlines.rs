//! A queue of deadlines with one entry per key.

use crate::Moment;
use std::collections::{BTreeMap, BTreeSet};

/// Deadlines by key. Setting a key again moves it. Equal deadlines fire in key order, so that a
/// run does not depend on the order of insertion.
///
/// Cost: O(log n) per change.
#[derive(Debug, Clone)]
pub struct Deadlines<K> {
    by_time: BTreeSet<(Moment, K)>,
    by_key: BTreeMap<K, Moment>,
}

impl<K> Default for Deadlines<K> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), by_key: BTreeMap::new() }
    }
}

impl<K: Ord + Copy> Deadlines<K> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets or moves the deadline of `key`.
    pub fn set(&mut self, key: K, at: Moment) {
        if let Some(old) = self.by_key.insert(key, at) {
            self.by_time.remove(&(old, key));
        }
        self.by_time.insert((at, key));
    }

    /// Removes the deadline of `key`. Returns whether there was one.
    pub fn clear(&mut self, key: K) -> bool {
        match self.by_key.remove(&key) {
            Some(at) => self.by_time.remove(&(at, key)),
            None => false,
        }
    }

    /// The deadline of `key`.
    pub fn get(&self, key: K) -> Option<Moment> {
        self.by_key.get(&key).copied()
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Moment> {
        self.by_time.first().map(|&(at, _)| at)
    }

    /// Takes one key whose deadline is at or before `now`, earliest first.
    pub fn pop_due(&mut self, now: Moment) -> Option<K> {
        let &(at, key) = self.by_time.first()?;
        if at > now {
            return None;
        }
        self.by_time.pop_first();
        self.by_key.remove(&key);
        Some(key)
    }

    /// The number of keys that have a deadline.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// True when no key has a deadline.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_in_time_then_key_order_and_only_when_due() {
        let mut d = Deadlines::new();
        d.set(3, Moment::from_secs(2));
        d.set(1, Moment::from_secs(2));
        d.set(2, Moment::from_secs(1));
        assert_eq!(d.next(), Some(Moment::from_secs(1)));
        assert_eq!(d.pop_due(Moment::ZERO), None);
        let now = Moment::from_secs(5);
        assert_eq!((d.pop_due(now), d.pop_due(now), d.pop_due(now)), (Some(2), Some(1), Some(3)));
        assert!(d.is_empty());
    }

    #[test]
    fn setting_again_moves_and_clearing_removes() {
        let mut d = Deadlines::new();
        d.set('a', Moment::from_secs(1));
        d.set('a', Moment::from_secs(9));
        assert_eq!((d.len(), d.get('a')), (1, Some(Moment::from_secs(9))));
        assert!(d.clear('a'));
        assert!(!d.clear('a'));
        assert_eq!(d.next(), None);
    }
}
