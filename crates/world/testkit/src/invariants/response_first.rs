//! The answer to a call comes before the callbacks that the call causes at its caller
//! (1516.1-2025, 4 and 6: a callback reports the outcome of a service that has returned).

use super::Invariant;
use crate::observation::{Observation, Seen, SessionId};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(super) struct ResponseFirst {
    asked: BTreeMap<(SessionId, u32), String>,
    /// Answered calls whose callback has not come, by what both are about.
    answered: BTreeMap<(SessionId, String), u32>,
}

impl Invariant for ResponseFirst {
    fn name(&self) -> &'static str {
        "response_first"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.what {
            Observation::Made { session, call, request } => {
                self.asked.extend(of_call(request).map(|about| ((*session, call.get()), about)));
            }
            Observation::Got { session, call, answer } => {
                let about = self.asked.remove(&(*session, call.get()));
                if let Some(about) = about.filter(|_| !matches!(answer, Answer::ExceptionData(_))) {
                    *self.answered.entry((*session, about)).or_default() += 1;
                }
            }
            Observation::Received { session, callback, .. } => {
                let Some(about) = of_callback(callback) else { return Ok(()) };
                match self.answered.get_mut(&(*session, about)) {
                    Some(left) if *left > 0 => *left -= 1,
                    _ => {
                        return Err(format!(
                            "{session}: {callback:?} before the call that caused it returned"
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// What a call is about that is always called back to its caller.
fn of_call(request: &Call) -> Option<String> {
    Some(match request {
        Call::ReserveObjectInstanceNameRequest(r) => format!("name {:?}", r.object_instance_name),
        Call::RegisterFederationSynchronizationPointRequest(r) => {
            format!("point {:?}", r.synchronization_point_label)
        }
        Call::RegisterFederationSynchronizationPointWithSetRequest(r) => {
            format!("point {:?}", r.synchronization_point_label)
        }
        Call::ListFederationExecutionsRequest(_) => "federations".to_owned(),
        Call::ListFederationExecutionMembersRequest(r) => format!("members {:?}", r.federation_name),
        Call::QueryAttributeTransportationTypeRequest(r) => {
            format!("transportation {:?} {:?}", r.object_instance, r.attribute)
        }
        _ => return None,
    })
}

/// The same of a callback.
fn of_callback(callback: &Callback) -> Option<String> {
    Some(match callback {
        Callback::ObjectInstanceNameReservationSucceeded(c) => format!("name {:?}", c.object_instance_name),
        Callback::ObjectInstanceNameReservationFailed(c) => format!("name {:?}", c.object_instance_name),
        Callback::SynchronizationPointRegistrationSucceeded(c) => {
            format!("point {:?}", c.synchronization_point_label)
        }
        Callback::SynchronizationPointRegistrationFailed(c) => {
            format!("point {:?}", c.synchronization_point_label)
        }
        Callback::ReportFederationExecutions(_) => "federations".to_owned(),
        Callback::ReportFederationExecutionMembers(c) => format!("members {:?}", c.federation_name),
        Callback::ReportFederationExecutionDoesNotExist(c) => format!("members {:?}", c.federation_name),
        Callback::ReportAttributeTransportationType(c) => {
            format!("transportation {:?} {:?}", c.object_instance, c.attribute)
        }
        _ => return None,
    })
}
