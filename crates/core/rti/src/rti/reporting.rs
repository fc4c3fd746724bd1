//! Reports of services (11.5): each call of a federate whose switch serviceReporting is on, and each
//! callback to it, becomes an interaction of the RTI.

use super::Rti;
use super::mom_interactions::NO_CALL;
use crate::control::ExecutionId;
use crate::effect::MomRequest;
use crate::invocation::Invocation;
use crate::proposal::{CallId, CallerId, Completion};
use crate::services::{Reply, Served};
use base::Moment;
use bytes::Bytes;
use hla::RtiError;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{CallbackRequest, Message as _};
use hla::handle::FederateHandle;
use std::collections::BTreeMap;

/// A federate of this node whose services are reported, or were.
#[derive(Debug)]
struct Reported {
    execution: ExecutionId,
    federate: FederateHandle,
    is_on: bool,
    /// The number of the next report.
    serial: u32,
}

/// The federates of this node whose services are reported.
#[derive(Debug, Default)]
pub(super) struct ServiceReports {
    reported: BTreeMap<CallerId, Reported>,
    /// Calls that have not been answered yet. A caller has one at most.
    open: BTreeMap<CallerId, (ExecutionId, Box<Invocation>)>,
}

impl ServiceReports {
    /// Whether nobody's services are reported, nor have been.
    pub(super) fn is_empty(&self) -> bool {
        self.reported.is_empty()
    }

    /// Sets the switch of a federate. If it is set again, numbers continue.
    pub(super) fn set(
        &mut self,
        caller: CallerId,
        (execution, federate): (ExecutionId, FederateHandle),
        on: bool,
    ) {
        let known = self.reported.get_mut(&caller).filter(|known| known.federate == federate);
        match known {
            Some(known) => known.is_on = on,
            None if on => {
                self.reported.insert(caller, Reported { execution, federate, is_on: true, serial: 0 });
            }
            None => {}
        }
    }

    /// Whether the services of a caller are reported.
    fn is_on(&self, caller: CallerId) -> bool {
        self.reported.get(&caller).is_some_and(|reported| reported.is_on)
    }

    /// Forgets a caller that is no longer joined. Its resignation may still be unanswered.
    pub(super) fn forget(&mut self, caller: CallerId) {
        self.reported.remove(&caller);
    }

    /// Forgets a caller that is gone: its open call is never answered.
    pub(super) fn close(&mut self, caller: CallerId) {
        self.forget(caller);
        self.open.remove(&caller);
    }

    /// The federation execution, the federate and the number of the next report about a caller.
    fn next(&mut self, caller: CallerId) -> Option<(ExecutionId, (FederateHandle, u32))> {
        let reported = self.reported.get_mut(&caller).filter(|reported| reported.is_on)?;
        let serial = reported.serial;
        reported.serial = serial.saturating_add(1);
        Some((reported.execution, (reported.federate, serial)))
    }
}

impl Rti {
    /// Begins the report of a call, if the caller's services are reported. Calls that the RTI makes for
    /// a federate (11.4.2) are not.
    pub(super) fn begin_report(
        &mut self,
        caller: CallerId,
        call: CallId,
        request: &Call,
    ) -> Option<(ExecutionId, Box<Invocation>)> {
        if self.shared.service_reports.is_empty() || call == NO_CALL {
            return None;
        }
        let (execution, about) = self.shared.service_reports.next(caller)?;
        Some((execution, Box::new(Invocation::of_call(about, request))))
    }

    /// Ends the report of a call, or waits for its outcome.
    pub(super) fn end_report(
        &mut self,
        caller: CallerId,
        report: (ExecutionId, Box<Invocation>),
        served: &Served<Answer>,
    ) {
        match served {
            Ok(Reply::Later) => {
                self.shared.service_reports.open.insert(caller, report);
            }
            Ok(Reply::Now(answer)) => self.report_outcome(report, Ok(answer)),
            Err(error) => self.report_outcome(report, Err(error)),
        }
    }

    fn report_outcome(
        &mut self,
        (execution, mut invocation): (ExecutionId, Box<Invocation>),
        outcome: Result<&Answer, &RtiError>,
    ) {
        invocation.outcome = outcome.map(Answer::returned).map_err(RtiError::to_string);
        self.shared.managed.push_back((execution, MomRequest::Invoked(invocation)));
    }

    /// Notes the outcome of a call that was not answered at once. Call it for each [`Completion`], and
    /// [`Rti::settle_reports`] afterwards.
    pub fn note_completion(&mut self, completion: &Completion) {
        if let Some(report) = self.shared.service_reports.open.remove(&completion.caller) {
            self.report_outcome(report, completion.answer.as_ref());
        }
    }

    /// Reports a callback that a federate takes, except those of the management object model: a report
    /// may be one of them.
    pub(super) fn report_callback(&mut self, caller: CallerId, body: &Bytes) {
        if !self.shared.service_reports.is_on(caller) {
            return;
        }
        let callback = CallbackRequest::decode(&body[..]).ok().and_then(|request| request.callback_request);
        let Some(callback) = callback.filter(|callback| !is_of_rti(callback)) else { return };
        if let Some((execution, about)) = self.shared.service_reports.next(caller) {
            let invocation = Box::new(Invocation::of_callback(about, &callback));
            self.shared.managed.push_back((execution, MomRequest::Invoked(invocation)));
        }
    }

    /// Sends the reports of outcomes and of callbacks that were noted since the last call. Returns
    /// whether there were any: callbacks to other federates may be ready then.
    pub fn settle_reports(&mut self, now: Moment) -> bool {
        if self.shared.managed.is_empty() {
            return false;
        }
        self.shared.set_now(now);
        self.settle_network();
        true
    }
}

/// Whether the RTI itself is the origin of a callback about an instance or an interaction.
fn is_of_rti(callback: &Callback) -> bool {
    let producer = match callback {
        Callback::DiscoverObjectInstance(r) => r.producing_federate,
        Callback::ReflectAttributeValues(r) => r.producing_federate,
        Callback::ReceiveInteraction(r) => r.producing_federate,
        Callback::RemoveObjectInstance(r) => r.producing_federate,
        _ => return false,
    };
    producer.is_none_or(|producer| !producer.is_valid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::api::ListFederationExecutionsRequest;

    const CALLER: CallerId = CallerId(7);

    fn reported() -> ServiceReports {
        let mut reports = ServiceReports::default();
        reports.set(CALLER, (ExecutionId(1), FederateHandle(3)), true);
        let (execution, about) = reports.next(CALLER).unwrap();
        let call = Call::ListFederationExecutionsRequest(ListFederationExecutionsRequest {});
        reports.open.insert(CALLER, (execution, Box::new(Invocation::of_call(about, &call))));
        reports
    }

    #[test]
    fn a_federate_that_resigns_may_have_an_open_call() {
        let mut reports = reported();
        reports.forget(CALLER);
        assert!(reports.is_empty());
        assert!(reports.open.contains_key(&CALLER), "the resignation itself is still to be reported");
    }

    #[test]
    fn a_session_that_ends_leaves_nothing() {
        let mut reports = reported();
        reports.close(CALLER);
        assert!(reports.is_empty() && reports.open.is_empty());
    }
}
