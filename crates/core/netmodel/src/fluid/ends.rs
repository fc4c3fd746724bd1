//! The known ends of messages. Each message has at most one end, which may change.
//!
//! They are in a ladder queue. A change adds another entry, so that the earlier one is stale and is
//! dropped when its time comes. When most entries are stale all stale ones are dropped at once, so
//! that there are never many.

use super::MessageId;
use crate::ladder::Ladder;

/// Number of stale entries allowed whatever the number of messages.
const STALE: usize = 64;

/// The ends of messages, the earliest first; of equal ones that of the message with the lowest
/// number.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    queue: Ladder,
    /// Number of entries in `queue`. The first is never stale.
    queued: usize,
    /// By message.
    at: Vec<Option<u64>>,
    /// Number of messages that have an end.
    known: usize,
}

impl Ends {
    /// The first end, and its message.
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, MessageId)> {
        self.queue.first()
    }

    /// Number of messages that have an end.
    pub(super) fn len(&self) -> usize {
        self.known
    }

    /// Sets the end of a message, whether or not it had one.
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

    /// Removes the end of a message.
    #[inline]
    pub(super) fn remove(&mut self, id: MessageId) {
        let before = self.at.get_mut(id as usize).and_then(Option::take);
        self.known -= usize::from(before.is_some());
        self.drop_stale();
    }

    /// Those of the next ends that were sorted since the last call, for looking ahead. Some may be
    /// stale.
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
