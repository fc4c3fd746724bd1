//! In the end, whoever waits at a synchronization point waits for somebody; and a point for everybody is announced to everybody
//! (1516.1-2025, 4.14 to 4.18). That each federate hears of a point once is the property of the same name for one node.

use super::Invariant;
use crate::cluster::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use std::collections::{BTreeMap, BTreeSet};

/// What a federate waits at, and whether it has said that it is there.
type Waits = BTreeMap<String, bool>;

/// See the module.
#[derive(Default)]
pub(super) struct Synchronization {
    waits: BTreeMap<SessionId, Waits>,
    achieving: BTreeMap<(SessionId, u32), String>,
    resigning: BTreeSet<(SessionId, u32)>,
    /// It said so before it heard the announcement.
    early: BTreeSet<(SessionId, String)>,
    synchronized: u64,
}

impl Invariant for Synchronization {
    fn name(&self) -> &'static str {
        "synchronization over nodes"
    }

    fn observe(&mut self, seen: &Seen, _ledger: &Ledger) -> Result<(), String> {
        match &seen.what {
            Observation::Made { session, call, request } => match request {
                Call::SynchronizationPointAchievedRequest(r) => {
                    self.achieving.insert((*session, call.get()), r.synchronization_point_label.clone());
                }
                Call::ResignFederationExecutionRequest(_) => {
                    self.resigning.insert((*session, call.get()));
                }
                _ => {}
            },
            Observation::Got { session, call, answer } => {
                let done = !matches!(answer, Answer::ExceptionData(_));
                if self.resigning.remove(&(*session, call.get())) && done {
                    self.forget(*session, call.get());
                }
                let label = self.achieving.remove(&(*session, call.get()));
                if let Some(label) = label.filter(|_| done) {
                    match self.waits.entry(*session).or_default().get_mut(&label) {
                        Some(achieved) => *achieved = true,
                        None => drop(self.early.insert((*session, label))),
                    }
                }
            }
            Observation::Received {
                session, callback: Callback::AnnounceSynchronizationPoint(c), ..
            } => {
                let label = c.synchronization_point_label.clone();
                let achieved = self.early.remove(&(*session, label.clone()));
                self.waits.entry(*session).or_default().insert(label, achieved);
            }
            Observation::Received { session, callback: Callback::FederationSynchronized(c), .. } => {
                self.synchronized += 1;
                self.early.remove(&(*session, c.synchronization_point_label.clone()));
                self.waits.entry(*session).or_default().remove(&c.synchronization_point_label);
            }
            Observation::Over { session, .. } | Observation::Killed { session: Some(session) } => {
                self.forget(*session, u32::MAX);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &Ledger) -> Result<(), String> {
        let mut points: BTreeMap<(String, String), Vec<(SessionId, bool)>> = BTreeMap::new();
        for (session, _, member) in ledger.joined() {
            for (label, achieved) in self.waits.get(&session).into_iter().flatten() {
                let key = (member.federation.clone(), label.clone());
                points.entry(key).or_default().push((session, *achieved));
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
    /// The session has left, by its call of that number: what it said before counts no more once it joins again.
    fn forget(&mut self, session: SessionId, by: u32) {
        self.waits.remove(&session);
        self.achieving.retain(|&(of, call), _| of != session || call > by);
        self.early.retain(|(of, _)| *of != session);
    }
}
