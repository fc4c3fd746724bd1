//! Numbers of datagrams, as seen by their receiver: which ones are missing, late, or repeated.

use super::LinkCounts;

/// Number of sequence numbers below the highest one that are remembered.
const WINDOW: u64 = 1024;

/// Counters of one direction of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct SequenceCounters {
    /// Datagrams received, without repetitions.
    pub(crate) received: u64,
    /// Numbers that were skipped and have not been received since.
    pub(crate) lost: u64,
    /// Datagrams received after one with a higher number.
    pub(crate) reordered: u64,
    /// Datagrams received again, or too late to tell. They are dropped.
    pub(crate) repeated: u64,
}

/// The numbers that were received, from 1 on.
pub(crate) struct Sequence {
    highest: u64,
    /// Bit `n % WINDOW` tells whether number `n` of the last [`WINDOW`] was received.
    seen: Box<[u64; (WINDOW / 64) as usize]>,
    counters: SequenceCounters,
}

impl Sequence {
    pub(crate) fn new() -> Self {
        Self {
            highest: 0,
            seen: Box::new([0; (WINDOW / 64) as usize]),
            counters: SequenceCounters::default(),
        }
    }

    /// Notes `number`. Returns false if its datagram must be dropped.
    pub(crate) fn take(&mut self, number: u64) -> bool {
        if number > self.highest {
            let skipped = number - self.highest - 1;
            self.counters.lost += skipped;
            for forgotten in 0..(skipped + 1).min(WINDOW) {
                self.mark(number - forgotten, false);
            }
            self.highest = number;
        } else {
            if number == 0 || self.highest - number >= WINDOW || self.is_seen(number) {
                self.counters.repeated += 1;
                return false;
            }
            self.counters.lost -= 1;
            self.counters.reordered += 1;
        }
        self.mark(number, true);
        self.counters.received += 1;
        true
    }

    /// Notes a datagram that came again, as was known without its number.
    pub(crate) fn refuse(&mut self) {
        self.counters.repeated += 1;
    }

    /// Copies the counters into those of a link.
    pub(crate) fn write(&self, counts: &mut LinkCounts) {
        let SequenceCounters { received, lost, reordered, repeated } = self.counters;
        counts.received_datagrams = received;
        counts.lost_datagrams = lost;
        counts.late_datagrams = reordered;
        counts.duplicate_datagrams = repeated;
    }

    fn is_seen(&self, number: u64) -> bool {
        let bit = number % WINDOW;
        self.seen[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    fn mark(&mut self, number: u64, came: bool) {
        let bit = number % WINDOW;
        let word = &mut self.seen[(bit / 64) as usize];
        *word = *word & !(1 << (bit % 64)) | u64::from(came) << (bit % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_latecomers_and_repetitions_are_told_apart() {
        let mut sequence = Sequence::new();
        let verdicts: Vec<bool> = [1, 2, 5, 4, 4, 6, 0, 3, 3].map(|number| sequence.take(number)).into();
        assert_eq!(verdicts, [true, true, true, true, false, true, false, true, false]);
        let expected = SequenceCounters { received: 6, lost: 0, reordered: 2, repeated: 3 };
        assert_eq!(sequence.counters, expected);
        assert!(sequence.take(10_000));
        assert!(!sequence.take(6), "too old to tell");
        assert!(sequence.take(9_999) && !sequence.take(9_999));
        assert_eq!(sequence.counters.lost, 10_000 - 6 - 2);
    }

    #[test]
    fn a_hostile_number_costs_no_time() {
        let mut sequence = Sequence::new();
        assert!(sequence.take(u64::MAX));
        assert!(!sequence.take(1));
        assert_eq!(sequence.counters.lost, u64::MAX - 1);
    }
}
