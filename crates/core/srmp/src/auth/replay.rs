//! The window of datagram numbers received.

use crate::model::Seq;

/// The distance behind the newest datagram within which a late one can be told from a replay.
pub const REPLAY_WINDOW: u32 = 1024;

const WORDS: usize = (REPLAY_WINDOW / 64) as usize;

/// The newest numbers of one epoch of a sender. Numbers only grow within an epoch, so that nothing
/// wraps.
#[derive(Clone, Debug)]
pub(super) struct ReplayWindow {
    newest: u32,
    /// Bit `n mod 1024` is set when `n`, at most 1023 below the newest number, was received.
    heard: [u64; WORDS],
}

impl ReplayWindow {
    /// Creates a window that has received one number.
    pub(super) fn new(first: Seq) -> Self {
        let mut window = Self { newest: first.0, heard: [0; WORDS] };
        window.set(first.0);
        window
    }

    /// Creates a window that accepts nothing up to `newest`.
    pub(super) fn closed_to(newest: Seq) -> Self {
        Self { newest: newest.0, heard: [u64::MAX; WORDS] }
    }

    pub(super) fn newest(&self) -> Seq {
        Seq(self.newest)
    }

    /// Whether the number is certainly new.
    pub(super) fn is_fresh(&self, seq: Seq) -> bool {
        let (word, bit) = position(seq.0);
        match self.newest.checked_sub(seq.0) {
            None => true,
            Some(behind) => behind < REPLAY_WINDOW && self.heard[word] & bit == 0,
        }
    }

    /// Marks a fresh number as received.
    pub(super) fn mark(&mut self, seq: Seq) {
        if seq.0 > self.newest {
            if seq.0 - self.newest >= REPLAY_WINDOW {
                self.heard = [0; WORDS];
            } else {
                (self.newest + 1..seq.0).for_each(|skipped| self.clear(skipped));
            }
            self.newest = seq.0;
        }
        self.set(seq.0);
    }

    fn set(&mut self, number: u32) {
        let (word, bit) = position(number);
        self.heard[word] |= bit;
    }

    fn clear(&mut self, number: u32) {
        let (word, bit) = position(number);
        self.heard[word] &= !bit;
    }
}

/// The position of a number's bit.
const fn position(number: u32) -> (usize, u64) {
    let index = number % REPLAY_WINDOW;
    ((index / 64) as usize, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn forgets_what_is_too_old() {
        let mut window = ReplayWindow::new(Seq(5));
        assert!(!window.is_fresh(Seq(5)) && window.is_fresh(Seq(4)) && window.is_fresh(Seq(6)));
        window.mark(Seq(u32::MAX));
        assert!(!window.is_fresh(Seq(u32::MAX)) && !window.is_fresh(Seq(6)));
        assert!(window.is_fresh(Seq(u32::MAX - 1023)) && !window.is_fresh(Seq(u32::MAX - 1024)));
        let closed = ReplayWindow::closed_to(Seq(100));
        assert!((0..=100).all(|seq| !closed.is_fresh(Seq(seq))) && closed.is_fresh(Seq(101)));
    }

    proptest! {
        /// Compares with the set of all numbers received.
        #[test]
        fn nothing_is_heard_twice(start: u32, steps in proptest::collection::vec(-1100i64..1100, 1..400)) {
            let first = Seq(start);
            let (mut window, mut heard) = (ReplayWindow::new(first), BTreeSet::from([start]));
            let mut at = i64::from(start);
            for step in steps {
                at = (at + step).clamp(0, u32::MAX.into());
                let number = u32::try_from(at).expect("clamped");
                let newest = *heard.last().expect("one was heard");
                let near = i64::from(newest) - at < i64::from(REPLAY_WINDOW);
                let fresh = near && !heard.contains(&number);
                prop_assert_eq!(window.is_fresh(Seq(number)), fresh, "{} with newest {}", number, newest);
                if fresh {
                    window.mark(Seq(number));
                    heard.insert(number);
                }
                prop_assert_eq!(window.newest().0, *heard.last().expect("one was heard"));
            }
        }
    }
}
