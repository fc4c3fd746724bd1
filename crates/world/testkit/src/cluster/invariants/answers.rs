//! Every call is answered in bounded time, unless its session ends.

use super::Invariant;
use crate::cluster::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use base::Moment;
use std::collections::BTreeSet;
use std::time::Duration;

/// See the module.
pub(super) struct Answers {
    patience: Duration,
    waiting: BTreeSet<(Moment, SessionId, u32)>,
    answered: u64,
}

impl Answers {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, waiting: BTreeSet::new(), answered: 0 }
    }
}

impl Invariant for Answers {
    fn name(&self) -> &'static str {
        "answers"
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        match &seen.what {
            Observation::Made { session, call, .. } => {
                self.waiting.insert((seen.at, *session, call.get()));
            }
            Observation::Got { session, call, .. } => {
                self.answered += 1;
                self.waiting.retain(|&(_, of, number)| (of, number) != (*session, call.get()));
            }
            Observation::Over { session, .. } | Observation::Killed { session: Some(session) } => {
                self.waiting.retain(|(_, of, _)| of != session);
            }
            _ => {}
        }
        match self.waiting.first() {
            Some(&(at, session, call)) if seen.at.since(at) > self.patience => {
                Err(format!("{session}: call {call} of {at} is not answered"))
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, _: &Ledger) -> Result<(), String> {
        match self.waiting.first() {
            Some((at, session, call)) => Err(format!("{session}: call {call} of {at} was never answered")),
            None => Ok(()),
        }
    }

    fn checked(&self) -> u64 {
        self.answered
    }
}
