//! Which HLA messages have been received.

use base::Serial31;

/// Half of the numbers: closer than this behind the last one is "before", everything else "after".
const HALF: u32 = 1 << 30;

/// The last HLA message received, and a guard against repetition after a resume.
///
/// Numbers of a peer may have gaps and, with clients that never resume, even repeat; so they are
/// judged only after a resume, and only until the first new message has come: a peer repeats the end
/// of its history, in order, and then goes on.
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

    /// The peer goes on after a resume and may repeat what is here already.
    pub(crate) const fn guard(&mut self) {
        self.guarded = self.last.is_some();
    }

    /// Notes an HLA message; false for one that was received before the resume.
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
