//! Every call is answered exactly once, in bounded time, unless its session ends (1516.1-2025,
//! 12.13; the bound is a promise of this RTI). The calls of a session are served in order, so the
//! time of one begins with the answer to the one before: a federate that calls faster than its lines
//! carry waits for its own calls.

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use base::Moment;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// See the module.
pub(super) struct Answers {
    patience: Duration,
    /// The last answer of each session.
    last: BTreeMap<SessionId, Moment>,
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
        Self { patience, last: BTreeMap::new(), waiting, by_age, sent, answered: 0 }
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
                self.last.insert(*session, seen.at);
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
        let old = self.by_age.iter().take_while(|(made, ..)| seen.at.since(*made) > self.patience);
        for &(made, session, call) in old {
            let served = self.last.get(&session).is_some_and(|&last| seen.at.since(last) <= self.patience);
            if !served {
                return Err(format!("{session}: call {call} of {made} is not answered"));
            }
        }
        Ok(())
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
