//! A synchronization point is announced, then achieved by the federate, then synchronized, once each
//! (1516.1-2025, 4.14 to 4.18).

use super::Invariant;
use crate::observation::{Observation, Seen, SessionId};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use std::collections::BTreeSet;

/// See the module.
#[derive(Default)]
pub(super) struct Synchronization {
    announced: BTreeSet<(SessionId, String)>,
    /// Labels that a session has ever said it is at; it may do so before it hears the announcement.
    achieved: BTreeSet<(SessionId, String)>,
    resigning: BTreeSet<(SessionId, u32)>,
}

impl Invariant for Synchronization {
    fn name(&self) -> &'static str {
        "synchronization"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.what {
            Observation::Made { session, call, request: Call::ResignFederationExecutionRequest(_) } => {
                self.resigning.insert((*session, call.get()));
            }
            Observation::Made { session, request: Call::SynchronizationPointAchievedRequest(r), .. } => {
                let key = (*session, r.synchronization_point_label.clone());
                self.achieved.insert(key);
            }
            Observation::Got { session, call, answer } => {
                let resigned = self.resigning.remove(&(*session, call.get()));
                if resigned && !matches!(answer, Answer::ExceptionData(_)) {
                    self.announced.retain(|(of, _)| of != session);
                }
            }
            Observation::Received {
                session, callback: Callback::AnnounceSynchronizationPoint(c), ..
            } => {
                let key = (*session, c.synchronization_point_label.clone());
                if !self.announced.insert(key) {
                    return Err(format!("{session}: {:?} announced twice", c.synchronization_point_label));
                }
            }
            Observation::Received { session, callback: Callback::FederationSynchronized(c), .. } => {
                let key = (*session, c.synchronization_point_label.clone());
                if !self.announced.remove(&key) {
                    return Err(format!("{session}: synchronized at {:?}, which was not announced", key.1));
                }
                if !self.achieved.contains(&key) {
                    return Err(format!("{session}: synchronized at {:?} without its word", key.1));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
