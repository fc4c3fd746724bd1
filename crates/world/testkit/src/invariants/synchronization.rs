//! A synchronization point is announced, then achieved by the federate, then synchronized, once
//! each. In the end every federate that waits at a point waits for another one (1516.1-2025, 4.14
//! to 4.18).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use std::collections::{BTreeMap, BTreeSet};

type Key = (SessionId, String);

/// See the module.
#[derive(Default)]
pub(super) struct Synchronization {
    /// Points that are announced and not synchronized; true: the federate knows that its
    /// achievement counts.
    announced: BTreeMap<Key, bool>,
    /// Points that a session has ever reported as achieved.
    achieved: BTreeSet<Key>,
    /// Points whose achievement counted before the federate got the announcement.
    early: BTreeSet<Key>,
    synchronized: u64,
}

impl Invariant for Synchronization {
    fn name(&self) -> &'static str {
        "synchronization"
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        match &seen.observation {
            Observation::Made { session, request: Call::SynchronizationPointAchievedRequest(r), .. } => {
                self.achieved.insert((*session, r.synchronization_point_label.clone()));
            }
            Observation::Got { session, request: Some(request), answer, .. }
                if !matches!(answer, Answer::ExceptionData(_)) =>
            {
                self.served(*session, request);
            }
            Observation::Received { session, callback, .. } => match callback {
                Callback::AnnounceSynchronizationPoint(c) => {
                    let key = (*session, c.synchronization_point_label.clone());
                    let achieved = self.early.remove(&key);
                    if self.announced.insert(key, achieved).is_some() {
                        return Err(format!(
                            "{session}: {:?} announced twice",
                            c.synchronization_point_label
                        ));
                    }
                }
                Callback::FederationSynchronized(c) => {
                    let key = (*session, c.synchronization_point_label.clone());
                    self.early.remove(&key);
                    if self.announced.remove(&key).is_none() {
                        return Err(format!(
                            "{session}: synchronized at {:?}, which was not announced",
                            key.1
                        ));
                    }
                    if !self.achieved.contains(&key) {
                        return Err(format!("{session}: synchronized at {:?} without its word", key.1));
                    }
                    self.synchronized += 1;
                }
                _ => {}
            },
            Observation::Over { session, .. } | Observation::Killed { session: Some(session) } => {
                self.forget(*session);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &Ledger) -> Result<(), String> {
        let mut points: BTreeMap<(&str, &str), Vec<(SessionId, bool)>> = BTreeMap::new();
        for ((session, label), &achieved) in &self.announced {
            if let Some(member) = ledger.member(*session) {
                points.entry((&member.federation, label)).or_default().push((*session, achieved));
            }
        }
        match points.iter().find(|(_, waiting)| waiting.iter().all(|&(_, achieved)| achieved)) {
            Some((point, waiting)) => {
                Err(format!("{point:?} is not synchronized, though all are there: {waiting:?}"))
            }
            None => Ok(()),
        }
    }

    fn checked(&self) -> u64 {
        self.synchronized
    }
}

impl Synchronization {
    fn served(&mut self, session: SessionId, request: &Call) {
        match request {
            Call::ResignFederationExecutionRequest(_) => self.forget(session),
            Call::SynchronizationPointAchievedRequest(r) => {
                let key = (session, r.synchronization_point_label.clone());
                match self.announced.get_mut(&key) {
                    Some(achieved) => *achieved = true,
                    None => drop(self.early.insert(key)),
                }
            }
            _ => {}
        }
    }

    fn forget(&mut self, session: SessionId) {
        self.announced.retain(|(of, _), _| *of != session);
        self.early.retain(|(of, _)| *of != session);
    }
}
