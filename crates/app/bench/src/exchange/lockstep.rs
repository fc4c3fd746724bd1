//! The federates of one party, which do one piece of work together.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Barrier;

/// Federates that work at the same time, and go on listening until all of them are done: a federate
/// that stopped earlier would hold up the others, since its connection would fill, or logical time would
/// stand still.
#[derive(Debug)]
pub(super) struct Lockstep {
    steps: Mutex<Steps>,
    done: Barrier,
}

#[derive(Debug)]
struct Steps {
    /// Federates that are not done yet.
    working: usize,
    /// The last step that one of them has begun.
    last: u64,
}

impl Lockstep {
    /// Of so many federates.
    pub(super) fn new(federates: usize) -> Self {
        let steps = Steps { working: federates, last: 0 };
        Self { steps: Mutex::new(steps), done: Barrier::new(federates) }
    }

    /// Waits until all federates wait: for those without logical time.
    pub(super) async fn all_done(&self) {
        self.done.wait().await;
    }

    /// A federate with logical time is done.
    pub(super) fn finish(&self) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.working = steps.working.saturating_sub(1);
    }

    /// Whether a federate takes this step of logical time: while one is at work, and afterwards the
    /// steps that another one has begun, which is granted only when all are there. So all of them end at
    /// the same step.
    pub(super) fn begins(&self, step: u64) -> bool {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = steps.working > 0 || step <= steps.last;
        if begins {
            steps.last = steps.last.max(step);
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_end_at_the_same_step() {
        let lockstep = Lockstep::new(2);
        assert!(lockstep.begins(1) && lockstep.begins(1));
        lockstep.finish();
        assert!(lockstep.begins(2), "the other one is at work");
        lockstep.finish();
        assert!(lockstep.begins(2), "the other one waits in it");
        assert!(!lockstep.begins(3));
    }
}
