//! The outcomes of services whose results nobody waits for.

use hla::api::call_response::CallResponse;

use crate::error::FederateError;

/// The counting part of the shared state.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) last_error: Option<FederateError>,
    /// The first exception since `drained` last returned one.
    pub(crate) unreported: Option<FederateError>,
}

impl Counts {
    pub(crate) fn note(&mut self, response: CallResponse) {
        if let CallResponse::ExceptionData(data) = response {
            let error = FederateError::raised(data);
            self.failed += 1;
            self.unreported.get_or_insert_with(|| error.clone());
            self.last_error = Some(error);
        } else {
            self.succeeded += 1;
        }
    }
}
