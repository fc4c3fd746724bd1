//! Answers that nobody waits for, delayed as TCP delays acknowledgements (RFC 1122, section 4.2.3.2).
//!
//! A federate that does not wait for the answer to an update gets nothing from being woken for it. Its answer goes
//! with the next message for it, or at its next call, or after [`Config::answer_delay`](super::Config::answer_delay).
//! One that does wait must not pay for that. Which kind a federate is shows only when an answer is late: a call that
//! comes while one is held back comes from a federate that did not wait. So now and then one answer is held back, on
//! trial, behind everything else; the trials become rarer the less they gain.

use base::{Moment, Serial31};
use bytes::Bytes;
use std::time::Duration;

/// Answers given at once between trials, at most: what all trials cost is one delay in so many answers.
const TRIAL_AFTER_MAX: u32 = 1 << 16;

/// An answer: the call's number, and the encoded `CallResponse`.
pub(crate) type Answer = (Serial31, Bytes);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// The federate waits for its answers, as far as we know.
    AtOnce,
    /// One answer is held back, to see whether the federate goes on without it.
    Trial,
    /// The federate does not wait for its answers.
    Delayed,
}

/// What of one session's answers is held back.
#[derive(Debug)]
pub(crate) struct AnswerDelay {
    mode: Mode,
    held: Option<(Answer, Moment)>,
    /// Answers since the mode was entered.
    answers: u32,
    /// Answers given at once before the next trial, and the least of that.
    trial_after: u32,
    trial_after_min: u32,
}

impl AnswerDelay {
    /// Nothing is held back; the first trial is after `trial_after` answers.
    pub(crate) const fn new(trial_after: u32) -> Self {
        Self { mode: Mode::AtOnce, held: None, answers: 0, trial_after, trial_after_min: trial_after }
    }

    /// Whether the next answer is to be held back. Asked once for each answer that could go at once.
    pub(crate) fn wants_next(&mut self) -> bool {
        self.answers = self.answers.saturating_add(1);
        if self.mode == Mode::AtOnce && self.answers >= self.trial_after {
            self.enter(Mode::Trial);
        }
        self.mode != Mode::AtOnce
    }

    /// Holds an answer back, from `now` on.
    pub(crate) fn hold(&mut self, now: Moment, answer: Answer) {
        debug_assert!(self.held.is_none(), "at most one answer is held back");
        self.held = Some((answer, now));
    }

    /// Since when an answer is held back.
    pub(crate) fn since(&self) -> Option<Moment> {
        self.held.as_ref().map(|&(_, since)| since)
    }

    /// The federate calls: an answer held back till now was not waited for.
    pub(crate) fn take_at_call(&mut self) -> Option<Answer> {
        let (answer, _) = self.held.take()?;
        if self.mode == Mode::Trial {
            self.enter(Mode::Delayed);
        }
        Some(answer)
    }

    /// A callback is to be sent, with which the answer may go. An answer on trial does not: whoever waits for it
    /// would go on, and prove nothing.
    pub(crate) fn take_with_callback(&mut self) -> Option<Answer> {
        if self.mode == Mode::Trial {
            return None;
        }
        self.held.take().map(|(answer, _)| answer)
    }

    /// Another answer is to be sent, or nothing may be held back any more. What that says of a trial is nothing.
    pub(crate) fn take(&mut self) -> Option<Answer> {
        let (answer, _) = self.held.take()?;
        if self.mode == Mode::Trial {
            self.enter(Mode::AtOnce);
        }
        Some(answer)
    }

    /// The answer, if it has been held back for `delay`: perhaps the federate does wait.
    pub(crate) fn take_overdue(&mut self, now: Moment, delay: Duration) -> Option<Answer> {
        let (answer, _) = self.held.take_if(|&mut (_, since)| since + delay <= now)?;
        let worth_it = self.mode == Mode::Delayed && self.answers >= self.trial_after;
        self.trial_after = match worth_it {
            true => self.trial_after_min,
            false => self.trial_after.saturating_mul(2).min(TRIAL_AFTER_MAX),
        };
        self.enter(Mode::AtOnce);
        Some(answer)
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.answers = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(1);
    const TRIAL_AFTER: u32 = 64;

    fn us(us: u64) -> Moment {
        Moment::ZERO + Duration::from_micros(us)
    }

    fn answer(call: u32) -> Answer {
        (Serial31::new(call).unwrap(), Bytes::new())
    }

    /// Answers given at once until one is to be held back.
    fn at_once(delay: &mut AnswerDelay) -> u32 {
        (0..).find(|_| delay.wants_next()).unwrap()
    }

    #[test]
    fn a_federate_that_calls_again_need_not_be_woken() {
        let mut delay = AnswerDelay::new(TRIAL_AFTER);
        assert_eq!(at_once(&mut delay), TRIAL_AFTER - 1);
        delay.hold(us(0), answer(64));
        assert_eq!(delay.take_with_callback(), None, "on trial");
        assert_eq!(delay.take_at_call(), Some(answer(64)));
        for call in 65..200 {
            assert!(delay.wants_next());
            delay.hold(us(0), answer(call));
            assert_eq!(delay.take_with_callback(), Some(answer(call)));
        }
    }

    #[test]
    fn a_federate_that_waits_is_left_in_peace_more_and_more() {
        let mut delay = AnswerDelay::new(TRIAL_AFTER);
        let mut expected = TRIAL_AFTER;
        for _ in 0..20 {
            assert_eq!(at_once(&mut delay), expected - 1);
            delay.hold(us(7), answer(1));
            assert_eq!(delay.take_overdue(us(1_006), DELAY), None);
            assert_eq!(delay.take_overdue(us(1_007), DELAY), Some(answer(1)));
            expected = (2 * expected).min(TRIAL_AFTER_MAX);
        }
    }

    #[test]
    fn a_trial_that_gained_much_is_soon_repeated() {
        let mut delay = AnswerDelay { trial_after: 1_024, ..AnswerDelay::new(TRIAL_AFTER) };
        for (gained, then) in [(2_000, TRIAL_AFTER), (10, 2 * TRIAL_AFTER)] {
            at_once(&mut delay);
            delay.hold(us(0), answer(1));
            delay.take_at_call();
            for call in 0..gained {
                assert!(delay.wants_next());
                delay.hold(us(0), answer(call));
                delay.take_with_callback();
            }
            delay.hold(us(0), answer(1));
            assert!(delay.take_overdue(us(1_000), DELAY).is_some());
            assert_eq!(delay.trial_after, then);
        }
    }

    #[test]
    fn another_answer_ends_a_trial_without_a_verdict() {
        let mut delay = AnswerDelay::new(TRIAL_AFTER);
        at_once(&mut delay);
        delay.hold(us(0), answer(1));
        assert_eq!(delay.take(), Some(answer(1)));
        assert_eq!(at_once(&mut delay), TRIAL_AFTER - 1);
    }
}
