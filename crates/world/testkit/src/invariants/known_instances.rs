//! A federate hears of an instance only between its discovery (or registration) and its removal, and
//! discovers no instance that it knows (1516.1-2025, 6.9, 6.11, 6.17).

use super::Invariant;
use crate::observation::{Observation, Seen, SessionId};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::ObjectInstanceHandle;
use std::collections::{BTreeMap, BTreeSet};

/// What one session knows.
#[derive(Default)]
struct Known {
    instances: BTreeSet<ObjectInstanceHandle>,
    /// Deleted locally, so often: what was on its way may still come, and so may as many discoveries.
    doubtful: BTreeMap<ObjectInstanceHandle, u32>,
    calls: BTreeMap<u32, Call>,
}

/// See the module.
#[derive(Default)]
pub(super) struct KnownInstances {
    sessions: BTreeMap<SessionId, Known>,
}

impl Invariant for KnownInstances {
    fn name(&self) -> &'static str {
        "known_instances"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.what {
            Observation::Made { session, call, request } => {
                self.sessions.entry(*session).or_default().calls.insert(call.get(), request.clone());
            }
            Observation::Got { session, call, answer } => {
                self.sessions.entry(*session).or_default().answered(call.get(), answer);
            }
            Observation::Received { session, callback, .. } => {
                let known = self.sessions.entry(*session).or_default();
                return known.called(callback).map_err(|wrong| format!("{session}: {wrong}"));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Known {
    fn answered(&mut self, call: u32, answer: &Answer) {
        let Some(request) = self.calls.remove(&call) else { return };
        match (request, answer) {
            (_, Answer::ExceptionData(_)) => {}
            (_, Answer::RegisterObjectInstanceResponse(r)) => self.instances.extend(r.result),
            (_, Answer::RegisterObjectInstanceWithNameResponse(r)) => self.instances.extend(r.result),
            (Call::LocalDeleteObjectInstanceRequest(q), _) => {
                *self.doubtful.entry(q.object_instance.unwrap_or_default()).or_default() += 1;
            }
            (Call::DeleteObjectInstanceRequest(q), _) => {
                self.instances.remove(&q.object_instance.unwrap_or_default());
            }
            (Call::ResignFederationExecutionRequest(_), _) => {
                self.instances.clear();
                self.doubtful.clear();
            }
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
        match self.instances.contains(&handle) {
            true => Ok(()),
            false => Err(format!("{what} of {handle:?}, which is not known")),
        }
    }
}
