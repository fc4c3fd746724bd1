//! The time that a sender takes to answer this member.

use std::time::Duration;

/// The usual time from a repair request to its answer, measured by the answers themselves. The
/// protocol does not say which request an answer belongs to, nor whether it answers another
/// member's request. The time that it took decides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswerTime {
    usual: Option<Duration>,
}

impl AnswerTime {
    pub(super) fn usual(self) -> Option<Duration> {
        self.usual
    }

    /// The requested data arrived, this long after the first and the last request for it.
    pub(super) fn note(&mut self, since_first: Duration, since_last: Duration) {
        let Some(usual) = self.usual else {
            self.usual = Some(since_last);
            return;
        };
        let once = since_first == since_last;
        self.usual = Some(if since_last > usual {
            since_last
        } else if once && since_last >= usual / 2 {
            (usual * 7 + since_last) / 8
        } else if !once && since_last < usual * 3 / 4 {
            // An answer to an earlier request: that request was repeated too soon.
            since_first.clamp(usual, usual * 2)
        } else {
            usual
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usual time in milliseconds after answers that took this long since the first and the
    /// last request.
    fn after(answers: &[(u64, u64)]) -> u128 {
        let mut time = AnswerTime::default();
        for (first, last) in answers {
            time.note(Duration::from_millis(*first), Duration::from_millis(*last));
        }
        time.usual().expect("there are answers").as_millis()
    }

    #[test]
    fn it_follows_the_answers() {
        assert_eq!(after(&[(100, 100)]), 100);
        assert_eq!(after(&[(100, 100), (180, 180)]), 180);
        let many = [[(180, 180)].as_slice(), &[(100, 100); 40]].concat();
        assert!((100..105).contains(&after(&many)));
    }

    #[test]
    fn requests_of_others_say_nothing() {
        assert_eq!(after(&[(100, 100), (3, 3), (40, 40)]), 100);
    }

    #[test]
    fn a_question_that_was_lost_says_nothing() {
        assert_eq!(after(&[(100, 100), (260, 100)]), 100);
    }

    #[test]
    fn questions_that_are_repeated_too_soon_make_it_longer() {
        assert_eq!(after(&[(20, 20), (100, 60)]), 60, "after a wait of 40");
        assert_eq!(after(&[(60, 60), (100, 0)]), 100, "after one of 100");
    }
}
