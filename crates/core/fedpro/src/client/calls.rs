//! Calls that wait for their answer.

use base::Serial31;
use std::collections::VecDeque;

/// Queues longer than this give memory back when they have emptied.
const KEPT_CAPACITY: usize = 256;

/// Numbers of calls, in rising order, struck off as answers come in any order.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// The number, and whether it is answered. The first one never is.
    queue: VecDeque<(Serial31, bool)>,
    waiting: usize,
}

impl Calls {
    /// Adds `number`, which is after all others.
    pub(crate) fn push(&mut self, number: Serial31) {
        self.queue.push_back((number, false));
        self.waiting += 1;
    }

    /// Strikes `number`; false when it does not wait. O(log n), O(1) in order.
    pub(crate) fn answer(&mut self, number: Serial31) -> bool {
        let Some(&(first, _)) = self.queue.front() else { return false };
        if number != first {
            let distance = number.distance_from(first);
            let index = self.queue.partition_point(|&(n, _)| n.distance_from(first) < distance);
            return match self.queue.get_mut(index) {
                Some((n, answered)) if *n == number && !*answered => {
                    *answered = true;
                    self.waiting -= 1;
                    true
                }
                _ => false,
            };
        }
        self.queue.pop_front();
        self.waiting -= 1;
        while self.queue.front().is_some_and(|&(_, answered)| answered) {
            self.queue.pop_front();
        }
        if self.queue.is_empty() && self.queue.capacity() > KEPT_CAPACITY {
            self.queue = VecDeque::new();
        }
        true
    }

    /// How many wait.
    pub(crate) const fn len(&self) -> usize {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: u32) -> Serial31 {
        Serial31::new(value & 0x7fff_ffff).unwrap()
    }

    #[test]
    fn answers_in_any_order_count_once_across_the_wrap() {
        let mut calls = Calls::default();
        assert!(!calls.answer(n(1)));
        let start = 0x7fff_fffe;
        for i in [0, 1, 3, 4] {
            calls.push(n(start + i));
        }
        assert!(calls.answer(n(start + 3)));
        assert!(!calls.answer(n(start + 3)), "twice");
        assert!(!calls.answer(n(start + 2)), "not a call");
        assert!(calls.answer(n(start)));
        assert!(!calls.answer(n(start)));
        assert!(calls.answer(n(start + 1)));
        assert_eq!(calls.len(), 1);
        assert!(calls.answer(n(start + 4)));
        assert_eq!((calls.len(), calls.queue.len()), (0, 0));
    }
}
