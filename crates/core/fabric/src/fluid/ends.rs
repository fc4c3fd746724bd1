//! When messages end, as far as is known: each has one end, which may change.
//!
//! In a ladder queue, into which a change puts another entry; the one before is stale then, and is dropped when its time comes. When most
//! are stale all are dropped at once, so that there are never many.

use super::MessageId;
use crate::ladder::Ladder;

/// So many entries may be stale, whatever the number of messages.
const STALE: usize = 64;

/// The ends of messages, the earliest first, and of equal ones that of the message with the lowest number.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    queue: Ladder,
    /// Entries of `queue`, of which the first is not stale.
    queued: usize,
    /// By message.
    at: Vec<Option<u64>>,
    /// Messages that have an end.
    known: usize,
}

impl Ends {
    /// The first end, and whose it is.
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, MessageId)> {
        self.queue.first()
    }

    /// Messages that have an end.
    pub(super) fn len(&self) -> usize {
        self.known
    }

    /// A message ends then, whether or not another end of it was known.
    #[inline]
    pub(super) fn set(&mut self, id: MessageId, time: u64) {
        if self.at.len() <= id as usize {
            self.at.resize(id as usize + 1, None);
        }
        let before = self.at[id as usize].replace(time);
        if before == Some(time) {
            return;
        }
        self.known += usize::from(before.is_none());
        self.queue.push((time, id));
        self.queued += 1;
        if before.is_some() {
            self.drop_stale();
        }
        if self.queued > 2 * self.at.len() + STALE {
            self.drop_all_stale();
        }
    }

    /// The end of a message is no longer wanted.
    #[inline]
    pub(super) fn remove(&mut self, id: MessageId) {
        let before = self.at.get_mut(id as usize).and_then(Option::take);
        self.known -= usize::from(before.is_some());
        self.drop_stale();
    }

    /// Those of the next ends that were sorted since this was last called, to look ahead. Some may be stale.
    #[inline]
    pub(super) fn fresh(&mut self) -> &[(u64, MessageId)] {
        self.queue.fresh()
    }

    /// Drops stale entries until the first one is not.
    fn drop_stale(&mut self) {
        while let Some((time, id)) = self.queue.first()
            && self.at[id as usize] != Some(time)
        {
            self.queue.pop();
            self.queued -= 1;
        }
    }

    #[cold]
    fn drop_all_stale(&mut self) {
        self.queue.clear();
        for (time, id) in self.at.iter().zip(0..).filter_map(|(time, id)| Some(((*time)?, id))) {
            self.queue.push((time, id));
        }
        self.queued = self.known;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_first_end_is_that_of_a_sorted_set(actions in prop::collection::vec((0u32..9, prop::option::of(0u64..60)), 1..600)) {
            let (mut ends, mut model) = (Ends::default(), vec![None; 9]);
            for (id, time) in actions {
                match time {
                    Some(time) => ends.set(id, time),
                    None => ends.remove(id),
                }
                model[id as usize] = time;
                let known = model.iter().zip(0u32..).filter_map(|(time, id)| time.map(|time| (time, id)));
                let sorted: BTreeSet<(u64, u32)> = known.collect();
                prop_assert_eq!(ends.first(), sorted.first().copied());
                prop_assert_eq!(ends.len(), sorted.len());
                prop_assert!(ends.queued <= 2 * 9 + STALE);
            }
        }
    }
}
