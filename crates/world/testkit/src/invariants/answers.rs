//! Every call is answered exactly once, in bounded time, unless its session ends (1516.1-2025,
//! 12.13; the bound is a promise of this RTI).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use base::Moment;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// See the module.
pub(super) struct Answers {
    patience: Duration,
    /// Calls without an answer, with the times at which they were made.
    waiting: BTreeMap<(SessionId, u32), Moment>,
    by_age: BTreeSet<(Moment, SessionId, u32)>,
    /// Answers that a node has sent.
    sent: BTreeSet<(SessionId, u32)>,
    answered: u64,
}

impl Answers {
    /// Answers may take up to `patience`.
    pub(super) fn new(patience: Duration) -> Self {
        let (waiting, by_age, sent) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { patience, waiting, by_age, sent, answered: 0 }
    }

    /// Removes the call. Returns whether it was waiting.
    fn settle(&mut self, session: SessionId, call: u32) -> bool {
        let made = self.waiting.remove(&(session, call));
        made.is_some_and(|at| self.by_age.remove(&(at, session, call)))
    }
}

impl Invariant for Answers {
    fn name(&self) -> &'static str {
        "answers"
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        match &seen.observation {
            Observation::Made { session, call, .. } => {
                self.by_age.insert((seen.at, *session, call.get()));
                if self.waiting.insert((*session, call.get()), seen.at).is_some() {
                    return Err(format!("{session}: call {call} has the number of one that waits"));
                }
            }
            Observation::Answered { session, call, .. } if !self.sent.insert((*session, call.get())) => {
                return Err(format!("{session}: call {call} is answered a second time"));
            }
            Observation::Got { session, call, .. } => {
                self.answered += 1;
                if !self.settle(*session, call.get()) {
                    return Err(format!("{session}: an answer to {call}, which does not wait for one"));
                }
            }
            Observation::Over { session, .. } | Observation::Killed { session: Some(session) } => {
                self.waiting.retain(|(of, _), _| of != session);
                self.by_age.retain(|(_, of, _)| of != session);
            }
            _ => {}
        }
        match self.by_age.first() {
            Some(&(at, session, call)) if seen.at.since(at) > self.patience => {
                Err(format!("{session}: call {call} of {at} is not answered"))
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, _: &Ledger) -> Result<(), String> {
        match self.by_age.first() {
            Some((at, session, call)) => Err(format!("{session}: call {call} of {at} was never answered")),
            None => Ok(()),
        }
    }

    fn checked(&self) -> u64 {
        self.answered
    }
}
