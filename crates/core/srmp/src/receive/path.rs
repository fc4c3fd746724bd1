//! The path of a repair request: loggers, nearest first, before the group.

use crate::model::MemberId;
use smallvec::SmallVec;
use std::time::Duration;

/// One logger to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The logger.
    pub(crate) ask: MemberId,
    /// The longest backoff of a request, a truncated exponential, and the number of members that
    /// share it. Zero: requests leave at once.
    pub(crate) spread: (Duration, u32),
    /// The time to wait for the answer to the first request.
    pub(crate) wait: Duration,
    /// The number of requests; the wait doubles with each.
    pub(crate) tries: u32,
}

/// The steps before the group, in order.
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

    /// The step of an attempt, counted from 0, and the number of the try within it; `None` when the
    /// group is next.
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

    /// The number of attempts before the group is asked.
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
