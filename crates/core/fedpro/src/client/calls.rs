//! Calls that wait for their response.

use base::Serial31;
use std::collections::VecDeque;

/// A queue that has grown beyond this capacity releases its memory when it is empty.
const KEPT_CAPACITY: usize = 256;

/// Numbers of outstanding calls, in rising order. Responses may strike them off in any order.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Each call's number, and whether it has been answered. The first entry never has.
    queue: VecDeque<(Serial31, bool)>,
    waiting: usize,
}

impl Calls {
    /// Adds `number`, which must be greater than all others.
    pub(crate) fn push(&mut self, number: Serial31) {
        self.queue.push_back((number, false));
        self.waiting += 1;
    }

    /// Strikes off `number`. Returns false when it is not outstanding. O(log n), or O(1) for
    /// responses in the order of the calls.
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

    /// The number of outstanding calls.
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
