//! The token bucket.

use super::super::Rate;
use base::Moment;
use std::time::Duration;

/// The bucket holds at least what the rate carries in this time.
const DEPTH: Duration = Duration::from_millis(20);
/// The longest debt that classes which do not wait for tokens may leave, as time at the rate.
const DEBT: Duration = Duration::from_millis(250);
/// Debt beyond this time at the rate is forgiven. Otherwise a burst or a falling rate would silence
/// mode 0 for a long time.
const DEBT_KEPT: Duration = Duration::from_secs(1);
/// The rounding error that sums of floats may have, in bits.
const ROUNDING: f64 = 1e-3;

/// The bits that may be sent now; negative after classes that do not wait.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: f64,
    depth_min: f64,
    bits: f64,
    at: Moment,
}

impl Bucket {
    /// Creates a full bucket that holds at least twice `datagram_bytes`.
    pub(super) fn new(rate: Rate, datagram_bytes: usize, now: Moment) -> Self {
        let mut bucket = Self { rate: 0.0, depth_min: 16.0 * datagram_bytes as f64, bits: 0.0, at: now };
        bucket.set_rate(now, rate);
        bucket.bits = bucket.depth();
        bucket
    }

    pub(super) fn set_rate(&mut self, now: Moment, rate: Rate) {
        self.refill(now);
        // An infinite rate would make the arithmetic meaningless.
        self.rate = rate.min(Rate::TEN_GIGABIT).bits_per_second();
        self.settle();
    }

    pub(super) fn refill(&mut self, now: Moment) {
        self.bits += self.rate * (now - self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.settle();
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.bits -= 8.0 * bytes as f64;
        self.settle();
    }

    pub(super) fn depth(&self) -> f64 {
        self.depth_min.max(self.rate * DEPTH.as_secs_f64())
    }

    /// The level needed by a class that may go into debt.
    pub(super) fn debt_level(&self) -> f64 {
        1.0 - self.rate * DEBT.as_secs_f64()
    }

    /// The level needed by a message that waits for its tokens. A message larger than the bucket
    /// needs a full one.
    pub(super) fn level_for(&self, bytes: usize) -> f64 {
        (8.0 * bytes as f64).min(self.depth())
    }

    pub(super) fn has(&self, level: f64) -> bool {
        self.bits + ROUNDING >= level
    }

    /// The bits that the rate carries in `time`.
    pub(super) fn rate_in(&self, time: Duration) -> f64 {
        self.rate * time.as_secs_f64()
    }

    /// The time at which the bucket reaches `level` if nothing is taken; `None` when it never does.
    pub(super) fn when(&self, level: f64) -> Option<Moment> {
        if self.has(level) {
            return Some(self.at);
        }
        let time = Duration::try_from_secs_f64((level - self.bits) / self.rate).ok()?;
        Some(self.at + time + Duration::from_nanos(1))
    }

    fn settle(&mut self) {
        let least = -self.rate * DEBT_KEPT.as_secs_f64();
        self.bits = self.bits.max(least).min(self.depth());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(bits_per_second: f64) -> Rate {
        Rate::new(bits_per_second).expect("a rate")
    }

    #[test]
    fn fills_to_its_depth_and_pays_debts() {
        let mut bucket = Bucket::new(rate(80_000.0), 1_000, Moment::ZERO);
        assert_eq!(bucket.depth(), 16_000.0);
        bucket.take(3_000);
        assert!(!bucket.has(0.0));
        assert!(bucket.has(bucket.debt_level()), "8000 of 20 000 bits of debt");
        // 24 000 bits less than full, and 1000 bytes requested: from -8000 to 8000.
        let at = bucket.when(bucket.level_for(1_000)).expect("some time");
        assert_eq!(at.as_nanos() / 1_000_000, 200);
        bucket.refill(at);
        assert!(bucket.has(8_000.0));
        bucket.take(1_000_000);
        bucket.refill(at + Duration::from_secs(1));
        assert!(bucket.has(0.0), "only a second's debt is kept");
    }

    #[test]
    fn at_rate_zero_nothing_is_ever_ready() {
        let mut bucket = Bucket::new(Rate::ZERO, 1_000, Moment::ZERO);
        bucket.take(2_000);
        assert_eq!(bucket.when(1.0), None);
        bucket.refill(Moment::MAX);
        assert!(!bucket.has(1.0));
    }

    proptest! {
        #[test]
        fn promised_data_is_there(
            bits_per_second in prop_oneof![1.0f64..1e4, 1e4..1e9, Just(f64::INFINITY)],
            steps in prop::collection::vec((0u64..100_000_000, 0usize..70_000), 1..50),
        ) {
            let mut bucket = Bucket::new(rate(bits_per_second), 1_454, Moment::ZERO);
            let mut now = Moment::ZERO;
            for (nanos, bytes) in steps {
                now += Duration::from_nanos(nanos);
                bucket.refill(now);
                let level = bucket.level_for(bytes);
                let at = bucket.when(level).expect("a rate above zero");
                now = now.max(at);
                bucket.refill(now);
                prop_assert!(bucket.has(level));
                bucket.take(bytes);
                prop_assert!(bucket.bits.is_finite());
            }
        }
    }
}
