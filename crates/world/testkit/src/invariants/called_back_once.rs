//! A federate gets the callbacks that the RTI sent, each once and in order, however often its
//! connection broke meanwhile (1516.1-2025, 12.13: sessions and their resumption).

use super::Invariant;
use crate::ledger::Ledger;
use crate::model::units;
use crate::observation::{Observation, Seen, SessionId};
use base::Serial31;
use bytes::Bytes;
use hla::api::{CallbackRequest, Message as _};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// See the module.
pub(super) struct CalledBackOnce {
    /// The kernel's outputs are observed.
    is_tapped: bool,
    sent: BTreeMap<SessionId, VecDeque<(Serial31, Bytes)>>,
    over: BTreeSet<SessionId>,
    came: u64,
}

impl CalledBackOnce {
    pub(super) fn new(is_tapped: bool) -> Self {
        Self { is_tapped, sent: BTreeMap::new(), over: BTreeSet::new(), came: 0 }
    }
}

impl Invariant for CalledBackOnce {
    fn name(&self) -> &'static str {
        "called_back_once"
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        match &seen.observation {
            Observation::Called { session, number, body } => {
                self.sent.entry(*session).or_default().push_back((*number, body.clone()));
            }
            Observation::Received { session, number, callback } if self.is_tapped => {
                self.came += 1;
                let sent = self.sent.get_mut(session).and_then(VecDeque::pop_front);
                let Some((expected, body)) = sent else {
                    return Err(format!("{session}: {number} was not sent: {callback:?}"));
                };
                if expected != *number {
                    return Err(format!("{session}: {number} came where {expected} was due"));
                }
                let original =
                    CallbackRequest::decode(body).ok().and_then(|request| request.callback_request);
                if original.clone().map(units) != Some(units(callback.clone())) {
                    return Err(format!("{session}: {number} is {callback:?}, sent was {original:?}"));
                }
            }
            Observation::Over { session, .. }
            | Observation::Killed { session: Some(session) }
            | Observation::Ended { session } => {
                self.over.insert(*session);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, _: &Ledger) -> Result<(), String> {
        let alive = self.sent.iter().filter(|(session, _)| !self.over.contains(session));
        match alive.into_iter().find(|(_, waiting)| !waiting.is_empty()) {
            Some((session, waiting)) => Err(format!("{session}: {} callbacks never came", waiting.len())),
            None => Ok(()),
        }
    }

    fn checked(&self) -> u64 {
        self.came
    }
}
