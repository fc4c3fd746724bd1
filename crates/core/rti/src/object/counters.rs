//! Counts of the messages of a federate since it joined, for the management object model (clause
//! 11).
//!
//! The counters are always kept, since anybody may ask for them later. Most cost one addition.

use hla::handle::{InteractionClassHandle, ObjectClassHandle, TransportationTypeHandle};
use serde::{Deserialize, Serialize};

/// Numbers by class and transportation type.
///
/// A federate uses few classes, and most of its messages are of the class of the one before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Sorted.
    entries: Vec<(Key, u32)>,
    /// The entry that was counted last.
    last: usize,
}

type Key = (u32, TransportationTypeHandle);

impl Counts {
    #[inline]
    fn add(&mut self, key: Key) {
        match self.entries.get_mut(self.last) {
            Some((last, count)) if *last == key => *count = count.saturating_add(1),
            _ => self.add_other(key),
        }
    }

    fn add_other(&mut self, key: Key) {
        match self.entries.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => {
                self.last = at;
                self.add(key);
            }
            Err(at) => {
                self.last = at;
                self.entries.insert(at, (key, 1));
            }
        }
    }

    /// The sum of all.
    pub(crate) fn sum(&self) -> u32 {
        self.entries.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The numbers for one transportation type, by class handle.
    pub(crate) fn of(&self, transportation: TransportationTypeHandle) -> impl Iterator<Item = (u32, u32)> {
        let of_it = self.entries.iter().filter(move |((_, of), _)| *of == transportation);
        of_it.map(|((class, _), count)| (*class, *count))
    }
}

/// The counters of one federate.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// Calls of Update Attribute Values.
    pub(crate) update_calls: u32,
    /// Passels of these calls, by registered class.
    pub(crate) updates_sent: Counts,
    /// By known class.
    pub(crate) reflections_received: Counts,
    pub(crate) interactions_sent: Counts,
    pub(crate) interactions_received: Counts,
    pub(crate) directed_sent: Counts,
    pub(crate) directed_received: Counts,
    /// Instances that the federate has updated, by registered class.
    pub(crate) instances_updated: Counts,
    /// Instances of which it has received an update, by known class.
    pub(crate) instances_reflected: Counts,
    pub(crate) registered: u32,
    pub(crate) discovered: u32,
    pub(crate) deleted: u32,
    pub(crate) removed: u32,
}

/// Instances are counted without regard to transportation types.
const ANY: TransportationTypeHandle = TransportationTypeHandle::INVALID;

impl Counters {
    pub(super) fn count_update(
        &mut self,
        class: ObjectClassHandle,
        transportation: TransportationTypeHandle,
    ) {
        self.updates_sent.add((class.0, transportation));
    }

    pub(super) fn count_updated(&mut self, class: ObjectClassHandle) {
        self.instances_updated.add((class.0, ANY));
    }

    #[inline]
    pub(super) fn count_reflect(
        &mut self,
        class: ObjectClassHandle,
        transportation: TransportationTypeHandle,
    ) {
        self.reflections_received.add((class.0, transportation));
    }

    pub(super) fn count_reflected(&mut self, class: ObjectClassHandle) {
        self.instances_reflected.add((class.0, ANY));
    }

    pub(super) fn count_sent(
        &mut self,
        class: InteractionClassHandle,
        transportation: TransportationTypeHandle,
        is_directed: bool,
    ) {
        let counts = if is_directed { &mut self.directed_sent } else { &mut self.interactions_sent };
        counts.add((class.0, transportation));
    }

    pub(super) fn count_received(
        &mut self,
        class: InteractionClassHandle,
        transportation: TransportationTypeHandle,
        is_directed: bool,
    ) {
        let counts = if is_directed { &mut self.directed_received } else { &mut self.interactions_received };
        counts.add((class.0, transportation));
    }

    /// The number of instances updated, or reflected, by class handle.
    pub(crate) fn instances(counts: &Counts) -> impl Iterator<Item = (u32, u32)> {
        counts.of(ANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn counts_are_those_of_a_map(keys in proptest::collection::vec((0..6_u32, 1..3_u32), 0..100)) {
            let mut counts = Counts::default();
            let mut expected: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            for (class, transportation) in keys {
                counts.add((class, TransportationTypeHandle(transportation)));
                *expected.entry((transportation, class)).or_default() += 1;
            }
            for transportation in 1..3 {
                let got: Vec<_> = counts.of(TransportationTypeHandle(transportation)).collect();
                let of_it = expected.iter().filter(|((of, _), _)| *of == transportation);
                prop_assert_eq!(got, of_it.map(|((_, class), count)| (*class, *count)).collect::<Vec<_>>());
            }
            prop_assert_eq!(counts.sum(), expected.values().sum::<u32>());
        }
    }
}
