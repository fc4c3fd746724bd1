//! The call table, and its ties to requests.

use super::call_response::CallResponse;
use super::*;
use crate::Exception;
use crate::handle::{AttributeHandle, DimensionHandle, ObjectClassHandle};

#[test]
fn rows_are_in_the_order_of_their_fields() {
    for (index, service) in SERVICES.iter().enumerate() {
        assert_eq!(service.index(), index, "{}", service.name);
    }
}

#[test]
fn a_call_finds_its_row() {
    let update = UpdateAttributeValuesRequest::default().into_call().service();
    assert_eq!(update, UpdateAttributeValuesRequest::SERVICE);
    assert_eq!((update.name, update.clause), ("updateAttributeValues", "6.10"));
    assert_eq!((update.group, update.needs), (ServiceGroup::ObjectManagement, Needs::Membership));
    assert!(!update.during_save && !update.during_restore);
    assert!(update.raises(Exception::AttributeNotOwned) && !update.raises(Exception::NameNotFound));
    let with_mim = CreateFederationExecutionWithMimRequest::SERVICE;
    assert_eq!((with_mim.name, with_mim.needs), ("createFederationExecutionWithMIM", Needs::Connection));
}

#[test]
fn a_service_belongs_to_the_group_of_its_clause() {
    for service in &SERVICES {
        let clause = service.clause.split_once('.').map(|(main, _)| main);
        let group = (service.group as i32 + 4).to_string();
        assert_eq!(clause, Some(group.as_str()), "{}", service.name);
    }
}

#[test]
fn services_for_members_need_a_connection() {
    for service in &SERVICES {
        let (connection, membership) =
            (service.raises(Exception::NotConnected), service.raises(Exception::FederateNotExecutionMember));
        let needs = match (connection, membership) {
            (false, false) => Needs::Nothing,
            (true, false) => Needs::Connection,
            (true, true) => Needs::Membership,
            (false, true) => panic!("{} needs a membership without a connection", service.name),
        };
        assert_eq!(service.needs, needs, "{}", service.name);
        assert!(service.raises(Exception::RTIinternalError), "{}", service.name);
    }
}

#[test]
fn results_go_into_responses_and_come_out_of_them() {
    fn there_and_back<R: Request>(output: R::Output) -> Option<R::Output> {
        R::output(R::response(output))
    }
    assert_eq!(there_and_back::<DeleteRegionRequest>(()), Some(()));
    assert_eq!(
        there_and_back::<GetObjectClassHandleRequest>(ObjectClassHandle(3)),
        Some(ObjectClassHandle(3))
    );
    let dimensions = vec![DimensionHandle(1), DimensionHandle(2)];
    assert_eq!(
        there_and_back::<GetAvailableDimensionsForObjectClassRequest>(dimensions.clone()),
        Some(dimensions)
    );
    assert_eq!(there_and_back::<GetOrderTypeRequest>(OrderType::Timestamp), Some(OrderType::Timestamp));
    assert_eq!(there_and_back::<GetUpdateRateValueRequest>(0.5), Some(0.5));
}

#[test]
fn other_messages_are_no_results() {
    let other = DeleteRegionRequest::response(());
    assert_eq!(GetObjectClassHandleRequest::output(other), None, "another service's response");
    let absent = CallResponse::GetObjectClassHandleResponse(GetObjectClassHandleResponse { result: None });
    assert_eq!(GetObjectClassHandleRequest::output(absent), None);
    let unknown = CallResponse::GetOrderTypeResponse(GetOrderTypeResponse { result: 7 });
    assert_eq!(GetOrderTypeRequest::output(unknown), None);
    let response = GetAvailableDimensionsForObjectClassResponse { result: None };
    let empty = CallResponse::GetAvailableDimensionsForObjectClassResponse(response);
    assert_eq!(
        GetAvailableDimensionsForObjectClassRequest::output(empty),
        Some(vec![]),
        "proto3 leaves an empty set out"
    );
}

#[test]
fn forms_keep_what_they_have() {
    let credentials = Some(Credentials { r#type: "HLAnoCredentials".to_owned(), data: "".into() });
    let connect = Connect::from(ConnectWithCredentialsRequest { credentials: credentials.clone() });
    assert_eq!(connect, Connect { credentials, rti_configuration: None });
    let module = FomModule { fom_module: Some(fom_module::FomModule::Url("a.xml".to_owned())) };
    let create = Create::from(CreateFederationExecutionWithTimeRequest {
        federation_name: "F".to_owned(),
        fom_module: Some(module.clone()),
        logical_time_implementation_name: "HLAinteger64Time".to_owned(),
    });
    assert_eq!(create.fom_modules.fom_module, [module]);
    assert_eq!(create.mim_module, None);
    let create = Create::from(CreateFederationExecutionWithMimRequest::default());
    assert_eq!(create.mim_module, Some(FomModule::default()), "asked for, though absent");
    let join = Join::from(JoinFederationExecutionWithNameRequest {
        federate_name: "A".to_owned(),
        federate_type: "T".to_owned(),
        federation_name: "F".to_owned(),
    });
    assert_eq!(join.federate_name.as_deref(), Some("A"));
    assert_eq!((join.federate_type.as_str(), join.federation_name.as_str()), ("T", "F"));
    assert_eq!(Join::from(JoinFederationExecutionRequest::default()).federate_name, None);
}

#[test]
fn lists_are_collected() {
    let set: AttributeHandleSet = [AttributeHandle(2), AttributeHandle(1)].into_iter().collect();
    assert_eq!(set.attribute_handle, [AttributeHandle(2), AttributeHandle(1)]);
    let values: AttributeHandleValueMap = [(AttributeHandle(1), "x".into())].into_iter().collect();
    assert_eq!(values.get(AttributeHandle(1)).map(|value| &value[..]), Some(&b"x"[..]));
    assert_eq!(values.decode::<u8>(AttributeHandle(1)), Ok(Some(b'x')));
    assert_eq!(values.decode::<u8>(AttributeHandle(2)), Ok(None));
    assert!(values.decode::<f64>(AttributeHandle(1)).is_err());
    assert_eq!(values.attribute_handle_value[0].attribute_handle, Some(AttributeHandle(1)));
}
