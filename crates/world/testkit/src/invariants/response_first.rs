//! The answer to a call comes before the callbacks that the call causes at its caller
//! (1516.1-2025, 4 and 6: a callback reports the outcome of a service that has returned).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(super) struct ResponseFirst {
    /// Number of answered calls whose callback has not come, by the common subject of call and
    /// callback.
    answered: BTreeMap<(SessionId, String), u32>,
    came: u64,
}

impl Invariant for ResponseFirst {
    fn name(&self) -> &'static str {
        "response_first"
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        match &seen.observation {
            Observation::Got { session, request: Some(request), answer, .. } => {
                let about = of_call(request).filter(|_| !matches!(answer, Answer::ExceptionData(_)));
                if let Some(about) = about {
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
                self.came += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn checked(&self) -> u64 {
        self.came
    }
}

/// The subject of a call that is always called back to its caller.
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

/// The subject of such a callback.
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
