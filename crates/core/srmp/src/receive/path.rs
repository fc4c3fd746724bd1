//! Whom a receiver asks before it asks the group: loggers, nearest first.

use crate::model::MemberId;
use smallvec::SmallVec;
use std::time::Duration;

/// One member to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Who.
    pub(crate) ask: MemberId,
    /// Asks wait for a truncated exponential time up to this, among so many; zero: they go at once.
    pub(crate) spread: (Duration, u32),
    /// How long an answer is waited for.
    pub(crate) wait: Duration,
    /// How often it is asked, each time waiting twice as long.
    pub(crate) tries: u32,
}

/// All steps before the group, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    steps: SmallVec<[Step; 5]>,
}

impl Path {
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// The step of an attempt, counted from 0, and which of its tries that is; nothing when the group's turn has come.
    pub(super) fn at(&self, attempt: u32) -> Option<(Step, u32)> {
        let mut left = attempt;
        for step in &self.steps {
            if left < step.tries {
                return Some((*step, left));
            }
            left -= step.tries;
        }
        None
    }

    /// Attempts before the group's turn.
    pub(super) fn tries(&self) -> u32 {
        self.steps.iter().map(|step| step.tries).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_go_from_step_to_step_and_then_to_the_group() {
        let step = |ask, tries| Step {
            ask: MemberId(ask),
            spread: (Duration::ZERO, 2),
            wait: Duration::from_millis(1),
            tries,
        };
        let mut path = Path::default();
        assert_eq!((path.at(0), path.tries()), (None, 0));
        path.push(step(1, 1));
        path.push(step(2, 4));
        let asked: Vec<_> =
            (0..7).map(|attempt| path.at(attempt).map(|(step, nth)| (step.ask.0, nth))).collect();
        let expected = [Some((1, 0)), Some((2, 0)), Some((2, 1)), Some((2, 2)), Some((2, 3)), None, None];
        assert_eq!(asked, expected);
        assert_eq!(path.tries(), 5);
    }
}
