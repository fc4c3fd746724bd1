//! Lines that lose and lines that queue.

use base::{Moment, Rng, Seed};
use rand_core::RngCore;
use std::time::Duration;

/// The losses of bundles on the way to one receiver.
pub(crate) enum Losses {
    None,
    /// One in every so many.
    Every(u64, u64),
    /// Each with this probability.
    Random(f64, Box<Rng>),
}

impl Losses {
    pub(crate) fn every(bundles: u64) -> Self {
        Self::Every(bundles, 0)
    }

    pub(crate) fn random(probability: f64, seed: u64) -> Self {
        Self::Random(probability, Box::new(Seed(seed).rng()))
    }

    /// Whether the next bundle is lost.
    pub(crate) fn next(&mut self) -> bool {
        match self {
            Self::None => false,
            Self::Every(bundles, count) => {
                *count += 1;
                *count % *bundles == 0
            }
            Self::Random(probability, rng) => {
                ((rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64) < *probability
            }
        }
    }
}

/// A line with a capacity and a drop-tail queue.
pub(crate) struct Line {
    /// In bit/s.
    capacity: f64,
    queue_bytes: f64,
    free_at: Moment,
}

impl Line {
    pub(crate) fn new(capacity: f64, queue_bytes: usize) -> Self {
        Self { capacity, queue_bytes: queue_bytes as f64, free_at: Moment::ZERO }
    }

    /// The time at which a packet that arrives now has left; `None` when the queue is full.
    pub(crate) fn pass(&mut self, now: Moment, bytes: usize) -> Option<Moment> {
        if self.waiting(now) + bytes as f64 > self.queue_bytes {
            return None;
        }
        self.free_at = self.free_at.max(now) + Duration::from_secs_f64(8.0 * bytes as f64 / self.capacity);
        Some(self.free_at)
    }

    /// Changes the rate of the line. The waiting packets leave at the new rate.
    pub(crate) fn set_capacity(&mut self, now: Moment, capacity: f64) {
        let waiting = self.waiting(now);
        self.capacity = capacity;
        self.free_at = now + Duration::from_secs_f64(8.0 * waiting / capacity);
    }

    fn waiting(&self, now: Moment) -> f64 {
        (self.free_at - now).as_secs_f64() * self.capacity / 8.0
    }
}
