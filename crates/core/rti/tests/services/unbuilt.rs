//! Services of groups that are not built yet: each answers with an error that names it.

use crate::common::{Fed, World};
use hla::Exception;
use hla::api;
use hla::api::call_request::CallRequest as Call;

fn is_refused(f: &Fed, request: Call, service: &str, group: &str) {
    let shown = format!("{request:?}");
    let error = f.call(request).expect_err(&shown);
    assert_eq!(error.exception, Exception::RTIinternalError, "{shown}");
    assert!(error.details.starts_with(&format!("{service}: ")), "{shown}: {error}");
    assert!(error.details.contains(group), "{shown}: {error}");
}

/// The requests of a group with the names of their services.
macro_rules! refused {
    ($group:literal: $($request:ident $service:literal,)+) => {
        let (_, [f]) = World::join(&[]);
        $(is_refused(&f, Call::$request(api::$request::default()), $service, $group);)+
        assert!(f.callbacks().is_empty());
    };
}

#[test]
fn save_and_restore() {
    refused! { "save and restore":
        RequestFederationSaveRequest "requestFederationSave",
        RequestFederationSaveWithTimeRequest "requestFederationSaveWithTime",
        FederateSaveBegunRequest "federateSaveBegun",
        FederateSaveCompleteRequest "federateSaveComplete",
        FederateSaveNotCompleteRequest "federateSaveNotComplete",
        AbortFederationSaveRequest "abortFederationSave",
        QueryFederationSaveStatusRequest "queryFederationSaveStatus",
        RequestFederationRestoreRequest "requestFederationRestore",
        FederateRestoreCompleteRequest "federateRestoreComplete",
        FederateRestoreNotCompleteRequest "federateRestoreNotComplete",
        AbortFederationRestoreRequest "abortFederationRestore",
        QueryFederationRestoreStatusRequest "queryFederationRestoreStatus",
    }
}

#[test]
fn before_joining_these_services_ask_for_a_membership() {
    let f = World::new(&[]).connected("A");
    let request = Call::TimeAdvanceRequestRequest(api::TimeAdvanceRequestRequest::default());
    assert_eq!(f.plain(request), Err(Exception::FederateNotExecutionMember));
}
