//! Processor time of messages.

use std::time::Duration;

/// Processor time of a message: a fixed part and a part for each byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Fixed part, regardless of the length.
    pub per_message: Duration,
    /// Part for each byte, in picoseconds (1,000 are a nanosecond per byte, or a second per
    /// gigabyte).
    pub per_byte_ps: u64,
}

impl Cost {
    /// The time for a message of `bytes` bytes, rounded up to a nanosecond.
    pub fn of(&self, bytes: usize) -> Duration {
        let picos = bytes as u128 * u128::from(self.per_byte_ps);
        let nanos = u64::try_from(picos.div_ceil(1_000)).unwrap_or(u64::MAX);
        self.per_message.saturating_add(Duration::from_nanos(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_part_and_a_part_for_each_byte() {
        let cost = Cost { per_message: Duration::from_micros(15), per_byte_ps: 1_500 };
        assert_eq!(cost.of(0), Duration::from_micros(15));
        assert_eq!(cost.of(1), Duration::from_nanos(15_002));
        assert_eq!(cost.of(1_000), Duration::from_nanos(16_500));
        assert!(
            Cost { per_byte_ps: u64::MAX, ..cost }.of(usize::MAX) > cost.of(usize::MAX / 2),
            "it saturates"
        );
    }
}
