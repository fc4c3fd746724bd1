//! A call of a service, or a callback, as a report tells it (1516.1-2025, 11.5).

use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{Argument, ServiceGroup};
use hla::handle::FederateHandle;

/// A call of a service by a federate, or a callback to it.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) federate: FederateHandle,
    /// Number of invocations of the federate that were reported before.
    pub(crate) serial: u32,
    pub(crate) name: &'static str,
    pub(crate) group: ServiceGroup,
    pub(crate) supplied: Vec<Argument>,
    /// The returned value, if there is one; otherwise the exception.
    pub(crate) outcome: Result<Option<Argument>, String>,
}

impl Invocation {
    /// A call whose outcome is not known yet.
    pub(crate) fn of_call((federate, serial): (FederateHandle, u32), call: &Call) -> Self {
        let (service, supplied) = (call.service(), call.arguments());
        Self { federate, serial, name: service.name, group: service.group, supplied, outcome: Ok(None) }
    }

    pub(crate) fn of_callback((federate, serial): (FederateHandle, u32), callback: &Callback) -> Self {
        let (name, group, supplied) = (callback.name(), callback.group(), callback.arguments());
        Self { federate, serial, name, group, supplied, outcome: Ok(None) }
    }
}
