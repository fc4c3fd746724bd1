//! Counts of generated messages and changes of state.

use std::time::Duration;

use crate::class::State;

/// Counts of the objects of a class up to a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages of mode 0 and mode 1.
    pub messages: [u64; 2],
    /// Octets of these messages.
    pub bytes: [u64; 2],
    /// Changes of state, by the old and the new state.
    pub changes: [[u64; 4]; 4],
    /// Time in each state, summed over all objects, in ns.
    pub time_ns: [u128; 4],
}

impl Counters {
    /// The number of changes of state.
    pub fn transitions(&self) -> u64 {
        self.changes.iter().flatten().sum()
    }

    /// Time in a state, summed over all objects, in seconds.
    pub fn seconds_in(&self, state: State) -> f64 {
        self.time_ns[state as usize] as f64 / 1e9
    }

    /// Adds the counts of another class.
    pub fn add(&mut self, other: &Self) {
        for mode in 0..2 {
            self.messages[mode] += other.messages[mode];
            self.bytes[mode] += other.bytes[mode];
        }
        for state in 0..4 {
            self.time_ns[state] += other.time_ns[state];
            for next in 0..4 {
                self.changes[state][next] += other.changes[state][next];
            }
        }
    }

    pub(crate) fn note_stay(&mut self, state: State, stay: Duration) {
        self.time_ns[state as usize] += stay.as_nanos();
    }
}
