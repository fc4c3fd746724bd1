//! Every call is answered exactly once, unless its session ends (1516.1-2025, 12.13).

use super::Invariant;
use crate::observation::{Observation, Seen, SessionId};
use std::collections::BTreeSet;

/// See the module.
#[derive(Default)]
pub(super) struct AnsweredOnce {
    waiting: BTreeSet<(SessionId, u32)>,
    sent: BTreeSet<(SessionId, u32)>,
}

impl Invariant for AnsweredOnce {
    fn name(&self) -> &'static str {
        "answered_once"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.what {
            Observation::Made { session, call, .. } if !self.waiting.insert((*session, call.get())) => {
                return Err(format!("{session}: call {call} has the number of one that waits"));
            }
            Observation::Answered { session, call, .. } if !self.sent.insert((*session, call.get())) => {
                return Err(format!("{session}: call {call} is answered a second time"));
            }
            Observation::Got { session, call, .. } if !self.waiting.remove(&(*session, call.get())) => {
                return Err(format!("{session}: an answer to {call}, which does not wait for one"));
            }
            Observation::Over { session, .. } | Observation::Killed { session: Some(session) } => {
                self.waiting.retain(|(of, _)| of != session);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        match self.waiting.first() {
            Some((session, call)) => Err(format!("{session}: call {call} was never answered")),
            None => Ok(()),
        }
    }
}
