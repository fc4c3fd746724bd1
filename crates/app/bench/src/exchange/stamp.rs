//! The time stamp in a message, and the time that the measuring code itself takes.

use std::time::{Duration, Instant};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use console::rounds::Rounds;

/// Length of a time stamp, as long as a `timeval` of a system with 64 bits.
pub(crate) const STAMP_BYTES: usize = 16;

/// When a message was sent, and which one it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    /// Nanoseconds since the asking federate began.
    pub(super) nanos: u64,
    /// Its number.
    pub(super) number: u64,
}

impl Stamp {
    pub(super) fn new(begun: Instant, at: Instant, number: u64) -> Self {
        let nanos = u64::try_from(at.saturating_duration_since(begun).as_nanos()).unwrap_or(u64::MAX);
        Self { nanos, number }
    }

    pub(super) fn encoded(self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(STAMP_BYTES);
        bytes.put_u64(self.nanos);
        bytes.put_u64(self.number);
        bytes.freeze()
    }

    /// `None` for bytes that are no time stamp.
    pub(super) fn decoded(mut bytes: Bytes) -> Option<Self> {
        let (nanos, number) = (bytes.try_get_u64().ok()?, bytes.try_get_u64().ok()?);
        bytes.is_empty().then_some(Self { nanos, number })
    }

    /// The time since the message was sent.
    pub(super) fn age(self, begun: Instant, now: Instant) -> Duration {
        now.saturating_duration_since(begun).saturating_sub(Duration::from_nanos(self.nanos))
    }
}

/// Microseconds that the measuring code itself takes for a round trip: to make a message of `size`
/// bytes, to stamp it, to check the answer and to keep its time. It is part of each round trip, and
/// none of the server's doing.
pub fn harness_us(size: usize) -> f64 {
    // The processes of the run may still be ending. They disturb some of the batches.
    const BATCHES: usize = 20;
    const ROUNDS: u64 = 1_000;
    let data = vec![1; size];
    let batches = (0..BATCHES).map(|_| batch(&data, ROUNDS).as_secs_f64() * 1e6 / ROUNDS as f64);
    base::stats::median(batches.collect()).unwrap_or_default()
}

/// The time that the measuring code takes for so many round trips of `data`.
fn batch(data: &[u8], count: u64) -> Duration {
    let (begun, mut rounds) = (Instant::now(), Rounds::new(data.len()));
    let mut under_way = super::load::UnderWay::default();
    for number in 0..count {
        let stamp = Stamp::new(begun, Instant::now(), number);
        under_way.sent(number, 1);
        let message = std::hint::black_box((Bytes::copy_from_slice(data), stamp.encoded()));
        let stamp = Stamp::decoded(message.1).expect("it was encoded here");
        let is_expected = under_way.answered(stamp.number) == Some(0) && message.0.len() == data.len();
        if std::hint::black_box(is_expected) {
            rounds.record(stamp.age(begun, Instant::now()));
        }
    }
    std::hint::black_box(&rounds);
    begun.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_survives_the_way_and_nothing_else_is_one() {
        let begun = Instant::now();
        let stamp = Stamp::new(begun, begun + Duration::from_micros(7), 3);
        assert_eq!(stamp, Stamp { nanos: 7_000, number: 3 });
        assert_eq!(stamp.encoded().len(), STAMP_BYTES);
        assert_eq!(Stamp::decoded(stamp.encoded()), Some(stamp));
        assert_eq!(stamp.age(begun, begun + Duration::from_micros(9)), Duration::from_micros(2));
        for wrong in [0, 8, 15, 17] {
            assert_eq!(Stamp::decoded(vec![1; wrong].into()), None, "{wrong} bytes");
        }
    }

    #[test]
    fn the_harness_takes_some_time() {
        assert!(harness_us(128) > 0.0);
    }
}
