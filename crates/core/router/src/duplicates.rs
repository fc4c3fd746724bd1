//! Suppression of messages that arrive a second time, over another path.

use crate::config::{DUPLICATE_WINDOW, ORIGINS_MAX};
use crate::message::{MessageId, Origin};
use base::HandleState;
use indexmap::IndexMap;

const WORDS: usize = (DUPLICATE_WINDOW / 64) as usize;

/// The newest number seen, and which of the [`DUPLICATE_WINDOW`] numbers up to it were seen.
#[derive(Clone, Debug)]
struct Window {
    newest: u64,
    /// Bit `n % DUPLICATE_WINDOW` stands for number `n`.
    seen: [u64; WORDS],
}

impl Window {
    fn starting_at(sequence: u64) -> Self {
        let mut window = Self { newest: sequence, seen: [0; WORDS] };
        window.mark(sequence);
        window
    }

    fn position(sequence: u64) -> (usize, u64) {
        let bit = sequence % DUPLICATE_WINDOW;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    fn mark(&mut self, sequence: u64) {
        let (word, bit) = Self::position(sequence);
        self.seen[word] |= bit;
    }

    /// True the first time. Numbers older than the window count as seen: messages of one kind
    /// arrive in order over each path, so these are repetitions on a path that is slower than
    /// another.
    fn first(&mut self, sequence: u64) -> bool {
        if sequence > self.newest {
            if sequence - self.newest >= DUPLICATE_WINDOW {
                self.seen = [0; WORDS];
            } else {
                for skipped in self.newest + 1..sequence {
                    let (word, bit) = Self::position(skipped);
                    self.seen[word] &= !bit;
                }
            }
            self.newest = sequence;
            self.mark(sequence);
            return true;
        }
        if self.newest - sequence >= DUPLICATE_WINDOW {
            return false;
        }
        let (word, bit) = Self::position(sequence);
        let first = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        first
    }
}

/// The windows of all origins and [kinds](crate::message::kind_of) heard of, at most
/// [`ORIGINS_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    windows: IndexMap<(Origin, usize), Window, HandleState>,
}

impl Duplicates {
    /// True when the message is here for the first time.
    pub(crate) fn first(&mut self, id: MessageId, kind: usize) -> bool {
        if let Some(window) = self.windows.get_mut(&(id.origin, kind)) {
            return window.first(id.sequence);
        }
        if self.windows.len() >= ORIGINS_MAX {
            self.windows.swap_remove_index(0);
        }
        self.windows.insert((id.origin, kind), Window::starting_at(id.sequence));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RouterId;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn id(sequence: u64) -> MessageId {
        MessageId { origin: Origin { router: RouterId(1), epoch: 0 }, sequence }
    }

    #[test]
    fn kinds_and_starts_of_a_router_count_apart() {
        let mut d = Duplicates::default();
        assert!(d.first(id(5), 4));
        assert!(d.first(id(5), 5));
        assert!(!d.first(id(5), 4));
        let restarted = MessageId { origin: Origin { router: RouterId(1), epoch: 1 }, sequence: 5 };
        assert!(d.first(restarted, 4));
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(steps in prop::collection::vec((0u64..40, prop::bool::ANY, 0u64..2500), 1..400)) {
            let mut d = Duplicates::default();
            let (mut seen, mut newest) = (BTreeSet::new(), 0u64);
            for (step, forward, back) in steps {
                let n = if forward { newest + step * step } else { newest.saturating_sub(back) };
                let expected = if !seen.is_empty() && newest >= n && newest - n >= DUPLICATE_WINDOW {
                    false
                } else {
                    seen.insert(n)
                };
                prop_assert_eq!(d.first(id(n), 4), expected);
                newest = newest.max(n);
            }
        }
    }
}
