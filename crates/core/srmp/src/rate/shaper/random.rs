//! Mode 0 as RFC 4410, section 4.7, recommends: messages are dropped at random until the rest fits.

use super::bucket::Bucket;
use super::{Discard, Dropped, ShaperConfig};
use base::{Moment, Rng};
use rand_core::RngCore;
use std::collections::VecDeque;
use std::time::Duration;

/// The interval at which the share that fits is computed.
const WINDOW: Duration = Duration::from_millis(100);

/// The messages that were not dropped, and the share of those that are.
#[derive(Clone, Debug)]
pub(super) struct Random<M> {
    rng: Rng,
    queue: VecDeque<(usize, M)>,
    queued_bits: f64,
    window: Window,
    drop_share: f64,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    start: Moment,
    offered_bits: f64,
    /// Bits that other classes sent.
    other_bits: f64,
}

impl Window {
    const fn new(start: Moment) -> Self {
        Self { start, offered_bits: 0.0, other_bits: 0.0 }
    }
}

impl<M> Random<M> {
    pub(super) fn new(rng: Rng, now: Moment) -> Self {
        Self { rng, queue: VecDeque::new(), queued_bits: 0.0, window: Window::new(now), drop_share: 0.0 }
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Counts bytes of another class, which reduce the rate left for this one.
    pub(super) fn note_other(&mut self, bytes: usize) {
        self.window.other_bits += 8.0 * bytes as f64;
    }

    pub(super) fn push(
        &mut self,
        now: Moment,
        config: &ShaperConfig,
        bucket: &Bucket,
        (bytes, message): (usize, M),
        dropped: &mut VecDeque<Dropped<M>>,
    ) {
        self.roll(now, bucket);
        self.window.offered_bits += 8.0 * bytes as f64;
        let draw = (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let why = match draw < self.drop_share {
            true => Discard::Random,
            false if self.queue.len() >= config.queue_max => Discard::Overflow,
            false => {
                self.queued_bits += 8.0 * bytes as f64;
                self.queue.push_back((bytes, message));
                return;
            }
        };
        dropped.push_back(Dropped { message, why });
    }

    /// The bytes of the next message.
    pub(super) fn bytes(&self) -> Option<usize> {
        self.queue.front().map(|&(bytes, _)| bytes)
    }

    pub(super) fn pop(&mut self) -> Option<(usize, M)> {
        let next = self.queue.pop_front()?;
        self.queued_bits = if self.queue.is_empty() { 0.0 } else { self.queued_bits - 8.0 * next.0 as f64 };
        Some(next)
    }

    /// Ends the window when its time is over. The share that fitted in it, less the waiting
    /// messages, determines the share dropped in the next one.
    fn roll(&mut self, now: Moment, bucket: &Bucket) {
        let elapsed = now - self.window.start;
        if elapsed < WINDOW {
            return;
        }
        let Window { offered_bits, other_bits, .. } = self.window;
        let available = (bucket.rate_in(elapsed) - other_bits - self.queued_bits).max(0.0);
        self.drop_share = if offered_bits > available { 1.0 - available / offered_bits } else { 0.0 };
        self.window = Window::new(now);
    }
}
