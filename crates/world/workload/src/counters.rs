//! What was generated.

use std::time::Duration;

use crate::class::State;

/// What the objects of a class did so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages of mode 0 and mode 1.
    pub messages: [u64; 2],
    /// Their octets.
    pub bytes: [u64; 2],
    /// Changes of state, by the state that was left and the one that was entered.
    pub changes: [[u64; 4]; 4],
    /// Time in each state, of all objects together, in ns.
    pub time_ns: [u128; 4],
}

impl Counters {
    /// All changes of state.
    pub fn transitions(&self) -> u64 {
        self.changes.iter().flatten().sum()
    }

    /// Time in a state, of all objects together, in seconds.
    pub fn seconds_in(&self, state: State) -> f64 {
        self.time_ns[state as usize] as f64 / 1e9
    }

    /// Adds what another class did.
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
