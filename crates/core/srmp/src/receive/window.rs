//! The window of bundles received.

use crate::model::{Seq, SeqSpace};

/// Bundle numbers that are remembered.
const WINDOW: usize = 1024;
/// A jump by more than this, in either direction, is a restart or a long outage.
const JUMP_MAX: i64 = 2048;
/// This many repeats in a row are a restart. In a duplicated flow every other bundle is new, so
/// that it never reaches this number.
const REPEATS_MAX: u32 = 32;

/// The relation of a number to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Not seen before.
    Fresh,
    /// Seen before, or too old to tell.
    Repeat,
    /// Too far from the others: the window restarts with it.
    Jump,
}

/// The newest 1024 numbers of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    newest: Seq,
    /// Bit `n mod 1024` is set when number `n` of the window was seen.
    seen: [u64; WINDOW / 64],
    repeats: u32,
}

impl Window {
    /// Creates a window that has seen one number.
    pub(crate) fn new(first: Seq) -> Self {
        let mut window = Self { newest: first, seen: [0; WINDOW / 64], repeats: 0 };
        window.mark(first);
        window
    }

    /// Classifies a number, and marks it as seen.
    pub(crate) fn accept(&mut self, space: SeqSpace, seq: Seq) -> Verdict {
        let ahead = space.offset(seq, self.newest);
        if ahead.abs() > JUMP_MAX || (ahead <= 0 && self.repeats >= REPEATS_MAX) {
            *self = Self::new(seq);
            return Verdict::Jump;
        }
        if ahead > 0 {
            self.advance(space, seq, ahead);
        } else if ahead <= -(WINDOW as i64) || self.is_marked(seq) {
            self.repeats += 1;
            return Verdict::Repeat;
        }
        self.mark(seq);
        self.repeats = 0;
        Verdict::Fresh
    }

    fn advance(&mut self, space: SeqSpace, seq: Seq, ahead: i64) {
        if ahead >= WINDOW as i64 {
            self.seen = [0; WINDOW / 64];
        } else {
            let mut next = self.newest;
            for _ in 0..ahead {
                next = space.next(next);
                let (word, bit) = position(next);
                self.seen[word] &= !bit;
            }
        }
        self.newest = seq;
    }

    fn mark(&mut self, seq: Seq) {
        let (word, bit) = position(seq);
        self.seen[word] |= bit;
    }

    fn is_marked(&self, seq: Seq) -> bool {
        let (word, bit) = position(seq);
        self.seen[word] & bit != 0
    }
}

const fn position(seq: Seq) -> (usize, u64) {
    let index = seq.0 as usize % WINDOW;
    (index / 64, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V2: SeqSpace = SeqSpace::V2;

    #[test]
    fn repeats_are_told_across_the_wrap() {
        let mut window = Window::new(Seq(65_530));
        assert_eq!(window.accept(V2, Seq(65_530)), Verdict::Repeat);
        assert_eq!(window.accept(V2, Seq(3)), Verdict::Fresh);
        assert_eq!(window.accept(V2, Seq(65_535)), Verdict::Fresh);
        assert_eq!(window.accept(V2, Seq(65_535)), Verdict::Repeat);
        assert_eq!(window.accept(V2, Seq(3)), Verdict::Repeat);
        assert_eq!(window.accept(V2, Seq(2_000)), Verdict::Fresh);
        assert_eq!(window.accept(V2, Seq(4)), Verdict::Repeat, "too old to tell");
    }

    #[test]
    fn far_numbers_begin_again() {
        let mut window = Window::new(Seq(10));
        assert_eq!(window.accept(V2, Seq(10 + 2_049)), Verdict::Jump);
        assert_eq!(window.accept(V2, Seq(10)), Verdict::Jump);
        assert_eq!(window.accept(V2, Seq(11)), Verdict::Fresh);
    }

    #[test]
    fn a_sender_that_begins_near_its_old_numbers_is_heard_in_the_end() {
        let mut window = Window::new(Seq(0));
        (1..500).for_each(|seq| assert_eq!(window.accept(V2, Seq(seq)), Verdict::Fresh));
        let deaf = (0..).take_while(|seq| window.accept(V2, Seq(*seq)) == Verdict::Repeat).count();
        assert_eq!(deaf, REPEATS_MAX as usize);
        assert_eq!(window.accept(V2, Seq(deaf as u32 + 1)), Verdict::Fresh);
    }

    #[test]
    fn a_doubled_flow_is_halved() {
        let mut window = Window::new(Seq(0));
        for seq in 1..5_000 {
            assert_eq!(window.accept(V2, Seq(seq)), Verdict::Fresh);
            assert_eq!(window.accept(V2, Seq(seq)), Verdict::Repeat);
        }
    }

    proptest! {
        /// Compares with the set of all numbers seen, as long as no number is farther than the
        /// window from the newest.
        #[test]
        fn agrees_with_a_set(start: u16, steps in proptest::collection::vec(-900i64..100, 0..300)) {
            let mut newest = i64::from(start);
            let mut window = Window::new(Seq(u32::from(start)));
            let mut seen = std::collections::BTreeSet::from([newest]);
            for step in steps {
                let number = newest + step;
                let fresh = seen.insert(number);
                newest = newest.max(number);
                // Many repeats in a row would be a restart, so here a new number follows each one.
                let verdict = window.accept(V2, Seq(number.rem_euclid(65_536) as u32));
                prop_assert_eq!(verdict, if fresh { Verdict::Fresh } else { Verdict::Repeat });
                newest += 1;
                seen.insert(newest);
                prop_assert_eq!(window.accept(V2, Seq(newest.rem_euclid(65_536) as u32)), Verdict::Fresh);
            }
        }
    }
}
