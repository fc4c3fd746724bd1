//! Credit: the limit on bytes of the classes below `Control` that are under way over a link.
//!
//! The receiver announces its window in the greeting, and grants credit again for the bytes that it
//! has taken in and passed on. So the sender's remaining credit, the bytes under way and the bytes
//! that wait at the receiver add up to at most the window (and one record, by which a sender may
//! overdraw), whatever happens behind the receiver.

use crate::PipeConfig;
use crate::config::{CREDIT_BYTES_MAX, CREDIT_BYTES_MIN, FRAME_BYTES_MAX};

/// The sender's half: the credit that is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// `None`: unlimited.
    left: Option<i64>,
}

impl Allowance {
    /// The state before the peer has greeted. A pipe that grants credit itself expects to be
    /// granted some.
    pub(crate) fn new(config: &PipeConfig) -> Self {
        Self { left: config.credit_bytes.map(|_| 0) }
    }

    pub(crate) fn is_open(self) -> bool {
        self.left.is_none_or(|left| left > 0)
    }

    /// Starts with the credit of the peer's greeting: 0 for no limit.
    pub(crate) fn begin(&mut self, credit: u32) {
        self.left = (credit > 0).then_some(i64::from(credit));
    }

    pub(crate) fn grant(&mut self, credit: u32) {
        self.left = self.left.map(|left| left.saturating_add(i64::from(credit)));
    }

    /// Uses up credit; true when none is left for the first time.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        let Some(left) = self.left.as_mut() else { return false };
        let was_open = *left > 0;
        *left = left.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
        was_open && *left <= 0
    }
}

/// The receiver's half: the bytes taken in and not yet granted again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// `None`: the sender is not limited.
    size: Option<usize>,
    taken: usize,
}

impl Window {
    pub(crate) fn new(config: &PipeConfig) -> Self {
        let size = config.credit_bytes.map(|bytes| bytes.clamp(CREDIT_BYTES_MIN, CREDIT_BYTES_MAX));
        Self { size, taken: 0 }
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.size.is_some()
    }

    /// Restarts. Returns the window for the greeting: 0 for no limit.
    pub(crate) fn begin(&mut self) -> u32 {
        self.taken = 0;
        self.size.map_or(0, word)
    }

    /// Counts received bytes.
    ///
    /// # Errors
    /// The bytes by which the sender overdrew its credit, if more than one frame's worth.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), usize> {
        let Some(size) = self.size else { return Ok(()) };
        self.taken += bytes;
        match self.taken.saturating_sub(size) {
            // The record that overdraws fits into a frame.
            over if over > FRAME_BYTES_MAX => Err(over),
            _ => Ok(()),
        }
    }

    /// A quarter of the window: grants smaller than that are not worth a record.
    fn batch(&self) -> usize {
        self.size.map_or(0, |size| size / 4)
    }

    pub(crate) fn is_due(&self) -> bool {
        self.size.is_some() && self.taken >= self.batch()
    }

    /// Grants everything that can be granted.
    pub(crate) fn grant(&mut self) -> u32 {
        word(std::mem::take(&mut self.taken))
    }

    /// Grants at most a quarter of the window.
    pub(crate) fn trickle(&mut self) -> u32 {
        let bytes = self.taken.min(self.batch());
        self.taken -= bytes;
        word(bytes)
    }
}

fn word(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_a_window_there_is_no_limit() {
        let config = PipeConfig::default();
        let (mut sender, mut receiver) = (Allowance::new(&config), Window::new(&config));
        assert!(sender.is_open() && !receiver.is_limited());
        sender.begin(receiver.begin());
        assert!(!sender.spend(1 << 40) && sender.is_open());
        assert_eq!(receiver.take(1 << 40), Ok(()));
        assert!(!receiver.is_due());
    }

    #[test]
    fn a_sender_that_expects_credit_waits_for_the_greeting() {
        let config = PipeConfig { credit_bytes: Some(4_096), ..PipeConfig::default() };
        let mut sender = Allowance::new(&config);
        assert!(!sender.is_open());
        sender.begin(0);
        assert!(sender.is_open(), "the peer does not limit");
        sender.begin(10);
        assert!(sender.spend(11) && !sender.is_open());
        assert!(!sender.spend(1), "it was used up before");
        sender.grant(3);
        assert!(sender.is_open());
    }

    proptest! {
        /// Whatever the sizes and delays: the sender never overdraws by more than a record, nothing
        /// is granted twice, and the sender can send once everything is taken in and granted.
        #[test]
        fn messages_under_way_are_bounded(
            window in 1usize..20_000,
            steps in prop::collection::vec((1usize..3_000, 0usize..4), 1..200),
        ) {
            let config = PipeConfig { credit_bytes: Some(window), ..PipeConfig::default() };
            let (mut sender, mut receiver) = (Allowance::new(&config), Window::new(&config));
            let window = window.max(CREDIT_BYTES_MIN);
            sender.begin(receiver.begin());
            let (mut flying, mut granted) = (std::collections::VecDeque::new(), std::collections::VecDeque::new());
            let mut waiting = 0;
            for (bytes, what) in steps {
                match what {
                    0 | 1 if sender.is_open() => {
                        sender.spend(bytes);
                        flying.push_back(bytes);
                    }
                    2 => if let Some(bytes) = flying.pop_front() {
                        prop_assert_eq!(receiver.take(bytes), Ok(()));
                        waiting += bytes;
                        if receiver.is_due() {
                            granted.push_back(receiver.grant());
                            waiting = 0;
                        }
                    },
                    _ => if let Some(more) = granted.pop_front() {
                        sender.grant(more);
                    },
                }
                let back: u32 = granted.iter().sum();
                prop_assert!(flying.iter().sum::<usize>() + waiting + back as usize <= window + 3_000);
            }
            for bytes in flying {
                prop_assert_eq!(receiver.take(bytes), Ok(()));
                if receiver.is_due() {
                    granted.push_back(receiver.grant());
                }
            }
            granted.into_iter().for_each(|more| sender.grant(more));
            prop_assert!(sender.is_open(), "at most a quarter is kept back");
        }
    }
}
