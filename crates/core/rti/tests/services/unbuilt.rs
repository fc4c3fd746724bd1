//! Services of groups that are not built yet: each answers with an error that names it.

use crate::common::{Fed, World};
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, AttributeHandleSet};

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

#[test]
fn management_object_model() {
    let (_, [f]) = World::join(&[]);
    let (object_class, class) = (f.class("HLAmanager.HLAfederate"), f.interaction("HLAmanager.HLAfederate"));
    let handle =
        f.world.0.borrow().model.attribute_by_name(object_class.unwrap(), "HLAfederateName").unwrap();
    let set = || Some(AttributeHandleSet { attribute_handle: vec![handle] });
    let mom = "management object model";
    let publish = api::PublishObjectClassAttributesRequest { object_class, attributes: set() };
    is_refused(&f, Call::PublishObjectClassAttributesRequest(publish), "publishObjectClassAttributes", mom);
    let subscribe = api::SubscribeObjectClassAttributesRequest { object_class, attributes: set() };
    is_refused(
        &f,
        Call::SubscribeObjectClassAttributesRequest(subscribe),
        "subscribeObjectClassAttributes",
        mom,
    );
    let request = api::RequestClassAttributeValueUpdateRequest {
        object_class,
        attributes: set(),
        ..Default::default()
    };
    is_refused(
        &f,
        Call::RequestClassAttributeValueUpdateRequest(request),
        "requestAttributeValueUpdate",
        mom,
    );
    let publish = api::PublishInteractionClassRequest { interaction_class: class };
    is_refused(&f, Call::PublishInteractionClassRequest(publish), "publishInteractionClass", mom);
    let subscribe = api::SubscribeInteractionClassRequest { interaction_class: class };
    is_refused(&f, Call::SubscribeInteractionClassRequest(subscribe), "subscribeInteractionClass", mom);
    let send = api::SendInteractionRequest { interaction_class: class, ..Default::default() };
    is_refused(&f, Call::SendInteractionRequest(send), "sendInteraction", mom);
}

#[test]
fn service_reporting() {
    let (_, [f]) = World::join(&[]);
    let mom = "management object model";
    let services = api::SetServiceReportingSwitchRequest { value: true };
    is_refused(&f, Call::SetServiceReportingSwitchRequest(services), "setServiceReportingSwitch", mom);
    let exceptions = api::SetExceptionReportingSwitchRequest { value: true };
    is_refused(&f, Call::SetExceptionReportingSwitchRequest(exceptions), "setExceptionReportingSwitch", mom);
    let files = api::SetSendServiceReportsToFileSwitchRequest { value: true };
    is_refused(
        &f,
        Call::SetSendServiceReportsToFileSwitchRequest(files),
        "setSendServiceReportsToFileSwitch",
        mom,
    );
    let off = api::SetServiceReportingSwitchRequest { value: false };
    assert_eq!(f.plain(Call::SetServiceReportingSwitchRequest(off)), Ok(()), "off is what it is");
}
