//! The record of received HLA messages, by which repetitions are recognized.

use base::Serial31;

/// Half of the number space. A number less than this behind the last one is "before" it; every
/// other one is "after" it.
const HALF: u32 = 1 << 30;

/// The last HLA message received, and a guard against repetition after a resume.
///
/// A peer's numbers may have gaps, and with clients that never resume they may even repeat. They
/// are therefore checked only after a resume, and only until the first new message: a peer repeats
/// the end of its history in order, and then continues.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    last: Option<Serial31>,
    guarded: bool,
}

impl Inbox {
    /// Number of the last HLA message received.
    pub(crate) const fn last(&self) -> Option<Serial31> {
        self.last
    }

    /// The peer continues after a resume and may repeat messages that have been received.
    pub(crate) const fn guard(&mut self) {
        self.guarded = self.last.is_some();
    }

    /// Notes an HLA message. Returns false for one that was received before the resume.
    pub(crate) const fn admit(&mut self, number: Serial31) -> bool {
        if self.guarded {
            if let Some(last) = self.last
                && last.distance_from(number) < HALF
            {
                return false;
            }
            self.guarded = false;
        }
        self.last = Some(number);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: u32) -> Serial31 {
        Serial31::new(value & 0x7fff_ffff).unwrap()
    }

    #[test]
    fn without_a_resume_every_number_is_admitted() {
        let mut inbox = Inbox::default();
        inbox.guard();
        for number in [5, 5, 3, 900, 0] {
            assert!(inbox.admit(n(number)));
        }
        assert_eq!(inbox.last(), Some(n(0)));
    }

    #[test]
    fn after_a_resume_repetitions_are_dropped_until_something_new_comes() {
        for start in [10, 0x7fff_ffff] {
            let mut inbox = Inbox::default();
            assert!(inbox.admit(n(start)));
            assert!(inbox.admit(n(start + 2)));
            inbox.guard();
            assert!(!inbox.admit(n(start)));
            assert!(!inbox.admit(n(start + 2)));
            assert_eq!(inbox.last(), Some(n(start + 2)));
            assert!(inbox.admit(n(start + 3)));
            assert!(inbox.admit(n(start)));
        }
    }
}
