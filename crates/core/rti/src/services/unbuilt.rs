//! Services of the groups that are not built yet. Each answers with an RTIinternalError that names
//! the service.

use super::{Context, Serve, Served};
use hla::RtiError;
use hla::api::*;

/// Refuses these requests with a text that names the missing service. A service leaves the list
/// when it is built.
macro_rules! unbuilt {
    ($($group:literal: $($request:ident)+;)+) => {$($(
        impl Serve for $request {
            fn serve(self, _: Context<'_>) -> Served<Self::Output> {
                Err(not_built(Self::SERVICE, $group))
            }
        }
    )+)+};
}

fn not_built(service: &Service, group: &str) -> RtiError {
    RtiError::internal(format!("{}: this RTI does not offer {group} yet", service.name))
}

unbuilt! {
    "save and restore (4.19 to 4.35)":
        RequestFederationSaveRequest
        RequestFederationSaveWithTimeRequest
        FederateSaveBegunRequest
        FederateSaveCompleteRequest
        FederateSaveNotCompleteRequest
        AbortFederationSaveRequest
        QueryFederationSaveStatusRequest
        RequestFederationRestoreRequest
        FederateRestoreCompleteRequest
        FederateRestoreNotCompleteRequest
        AbortFederationRestoreRequest
        QueryFederationRestoreStatusRequest;
}
