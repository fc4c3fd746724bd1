//! A federate gets callbacks about an instance only between its discovery (or registration) and its
//! removal, and does not discover an instance that it knows (1516.1-2025, 6.9, 6.11, 6.17).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use crate::request::registered;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::ObjectInstanceHandle;
use std::collections::{BTreeMap, BTreeSet};

/// The instances that one session knows.
#[derive(Default)]
struct Known {
    instances: BTreeSet<ObjectInstanceHandle>,
    /// Number of local deletions of each instance: callbacks in flight may still come, and so may
    /// as many discoveries.
    doubtful: BTreeMap<ObjectInstanceHandle, u32>,
    /// Instances that the federate deleted. Messages that others sent before may still wait for
    /// room when the answer goes out, and come after it; a removal may not.
    deleted: BTreeSet<ObjectInstanceHandle>,
}

/// See the module.
#[derive(Default)]
pub(super) struct KnownInstances {
    sessions: BTreeMap<SessionId, Known>,
    heard: u64,
}

impl Invariant for KnownInstances {
    fn name(&self) -> &'static str {
        "known_instances"
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        match &seen.observation {
            Observation::Got { session, request: Some(request), answer, .. }
                if !matches!(answer, Answer::ExceptionData(_)) =>
            {
                self.sessions.entry(*session).or_default().served(request, answer);
            }
            Observation::Received { session, callback, .. } => {
                self.heard += 1;
                let known = self.sessions.entry(*session).or_default();
                return known.called(callback).map_err(|wrong| format!("{session}: {wrong}"));
            }
            _ => {}
        }
        Ok(())
    }

    fn checked(&self) -> u64 {
        self.heard
    }
}

impl Known {
    fn served(&mut self, request: &Call, answer: &Answer) {
        self.instances.extend(registered(request, answer).map(|(_, instance)| instance));
        match request {
            Call::LocalDeleteObjectInstanceRequest(q) => {
                *self.doubtful.entry(q.object_instance.unwrap_or_default()).or_default() += 1;
            }
            Call::DeleteObjectInstanceRequest(q) => {
                let handle = q.object_instance.unwrap_or_default();
                self.instances.remove(&handle);
                self.deleted.insert(handle);
            }
            Call::ResignFederationExecutionRequest(_) => *self = Self::default(),
            _ => {}
        }
    }

    fn called(&mut self, callback: &Callback) -> Result<(), String> {
        let (what, handle) = match callback {
            Callback::DiscoverObjectInstance(c) => {
                let handle = c.object_instance.unwrap_or_default();
                if self.instances.insert(handle) {
                    return Ok(());
                }
                return match self.doubtful.get_mut(&handle) {
                    Some(left) if *left > 0 => {
                        *left -= 1;
                        Ok(())
                    }
                    _ => Err(format!("{handle:?} is discovered twice")),
                };
            }
            Callback::RemoveObjectInstance(c) => {
                let handle = c.object_instance.unwrap_or_default();
                let known = self.instances.remove(&handle);
                self.doubtful.remove(&handle);
                return if known { Ok(()) } else { Err(format!("{handle:?} is removed and was not known")) };
            }
            Callback::ReflectAttributeValues(c) => ("a reflection", c.object_instance),
            Callback::ReceiveDirectedInteraction(c) => ("a directed interaction", c.object_instance),
            Callback::AttributesInScope(c) => ("attributes in scope", c.object_instance),
            Callback::AttributesOutOfScope(c) => ("attributes out of scope", c.object_instance),
            _ => return Ok(()),
        };
        let handle = handle.unwrap_or_default();
        match self.instances.contains(&handle) || self.deleted.contains(&handle) {
            true => Ok(()),
            false => Err(format!("{what} of {handle:?}, which is not known")),
        }
    }
}
