//! Drawing from a seed.

use base::{Rng, Seed};
use rand_core::RngCore;
use std::time::Duration;

/// A source of choices; the same seed makes the same choices.
#[derive(Clone, Debug)]
pub struct Draw(Rng);

impl Draw {
    /// The choices of the part `label` of a run.
    pub fn new(seed: Seed, label: &str) -> Self {
        Self(seed.split(label).rng())
    }

    /// A number from 0 to `n` − 1; 0 for `n` = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`; `None` if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u64) as usize)
    }

    /// Each of `items` with a chance of one half.
    pub fn some<T: Copy>(&mut self, items: &[T]) -> Vec<T> {
        items.iter().copied().filter(|_| self.chance(50)).collect()
    }

    /// A duration from the range, in microseconds.
    pub fn micros(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.between(low, high))
    }

    /// A duration from the range, in milliseconds, to the microsecond.
    pub fn millis(&mut self, low: u64, high: u64) -> Duration {
        self.micros(low * 1_000, high * 1_000)
    }
}
