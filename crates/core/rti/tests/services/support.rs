//! Support services (clause 10): names and handles, dimensions, rates, orders, normalization, switches.

use crate::common::{Fed, NOBODY, Refused, World};
use hla::Exception::{self, *};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, OrderType, ResignAction};
use hla::handle::{DimensionHandle, FederateHandle, TransportationTypeHandle};

#[test]
fn names_with_and_without_the_root() -> Refused {
    let (_, [a]) = World::join(&[]);
    assert_eq!(a.class_handle("C.S")?, a.class_handle("HLAobjectRoot.C.S")?);
    assert_eq!(a.class_name("C.S")?, "HLAobjectRoot.C.S");
    assert_eq!(a.class_name("HLAobjectRoot")?, "HLAobjectRoot");
    assert_eq!(a.interaction_handle("I.J")?, a.interaction_handle("HLAinteractionRoot.I.J")?);
    assert_eq!(a.interaction_name("I.J")?, "HLAinteractionRoot.I.J");
    for name in ["", "S", "C.", "c", "HLAobjectRoot.HLAobjectRoot.C", "C.S.c"] {
        assert_eq!(a.class_handle(name), Err(NameNotFound), "{name}");
        assert_eq!(a.interaction_handle(name), Err(NameNotFound), "{name}");
    }
    assert_eq!(a.class_name("Nope"), Err(InvalidObjectClassHandle));
    assert_eq!(a.interaction_name("Nope"), Err(InvalidInteractionClassHandle));
    Ok(())
}

#[test]
fn attributes_and_parameters_are_looked_up_at_a_class() -> Refused {
    let (_, [a]) = World::join(&[]);
    assert_eq!(a.attribute_handle("C", "a")?, a.attribute_handle("C.S", "a")?);
    assert_eq!(a.attribute_handle("C", "c"), Err(NameNotFound));
    assert_eq!(a.attribute_handle("Nope", "a"), Err(InvalidObjectClassHandle));
    assert_eq!(a.attribute_name("C.S", "a")?, "a");
    assert_eq!(a.attribute_name("C", "c"), Err(AttributeNotDefined));
    assert_eq!(a.attribute_name("C", "nope"), Err(InvalidAttributeHandle));
    assert_eq!(a.attribute_name("Nope", "a"), Err(InvalidObjectClassHandle));
    assert_eq!(a.parameter_handle("I", "p")?, a.parameter_handle("I.J", "p")?);
    assert_eq!(a.parameter_handle("I", "q"), Err(NameNotFound));
    assert_eq!(a.parameter_handle("Nope", "q"), Err(InvalidInteractionClassHandle));
    assert_eq!(a.parameter_name("I.J", "p")?, "p");
    assert_eq!(a.parameter_name("I", "q"), Err(InteractionParameterNotDefined));
    assert_eq!(a.parameter_name("I", "nope"), Err(InvalidParameterHandle));
    assert_eq!(a.parameter_name("Nope", "p"), Err(InvalidInteractionClassHandle));
    Ok(())
}

#[test]
fn federates_by_name_and_handle() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    assert_eq!(a.federate_called("B")?, b.handle.get());
    assert_eq!(a.federate_name(b.handle.get())?, "B");
    assert_eq!(a.federate_called("Z"), Err(NameNotFound));
    assert_eq!(a.federate_name(FederateHandle(NOBODY)), Err(InvalidFederateHandle));
    assert_eq!(a.federate_name(FederateHandle::INVALID), Err(InvalidFederateHandle));
    b.resign(ResignAction::NoAction)?;
    assert_eq!(a.federate_called("B"), Err(NameNotFound));
    assert_eq!(a.federate_name(b.handle.get()), Err(FederateHandleNotKnown));
    Ok(())
}

fn answer(f: &Fed, request: Call) -> Result<Answer, Exception> {
    f.call(request).map_err(|error| error.exception)
}

/// Calls a service and compares the content of its response.
macro_rules! gives {
    ($fed:expr, $request:ident { $($field:ident: $value:expr),* }, $response:ident, $expected:expr) => {
        match $fed.call(Call::$request(api::$request { $($field: $value),* })) {
            Ok(Answer::$response(response)) => assert_eq!(response.result, $expected),
            other => panic!("{other:?}"),
        }
    };
}

/// Calls a service that is refused.
macro_rules! refused {
    ($fed:expr, $request:ident { $($field:ident: $value:expr),* }, $exception:expr) => {
        assert_eq!($fed.plain(Call::$request(api::$request { $($field: $value),* })), Err($exception))
    };
}

#[test]
fn update_rates() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    assert_eq!((a.rate_value("Low")?, a.rate_value("High")?, a.rate_value("")?), (1.0, 10.0, 0.0));
    assert_eq!(a.rate_value("Nope"), Err(InvalidUpdateRateDesignator));
    a.publish("C.S", &["b", "c"])?;
    let x = a.register("C.S")?;
    b.subscribe_at("C", &["b"], "High")?;
    assert_eq!(b.rate_of(x, "b")?, 10.0);
    assert_eq!(b.rate_of(x, "c"), Err(AttributeNotDefined), "not available at the known class");
    Ok(())
}

#[test]
fn order_and_transportation_types() {
    let (_, [a]) = World::join(&[]);
    let text = |text: &str| text.to_owned();
    gives!(a, GetOrderTypeRequest { order_type_name: text("Receive") }, GetOrderTypeResponse, 0);
    gives!(a, GetOrderTypeRequest { order_type_name: text("TimeStamp") }, GetOrderTypeResponse, 1);
    refused!(a, GetOrderTypeRequest { order_type_name: text("timestamp") }, InvalidOrderName);
    gives!(
        a,
        GetOrderNameRequest { order_type: OrderType::Timestamp.into() },
        GetOrderNameResponse,
        "TimeStamp"
    );
    gives!(a, GetOrderNameRequest { order_type: 0 }, GetOrderNameResponse, "Receive");
    refused!(a, GetOrderNameRequest { order_type: 2 }, InvalidOrderType);
    for (name, handle) in [
        ("HLAreliable", TransportationTypeHandle::RELIABLE),
        ("HLAbestEffort", TransportationTypeHandle::BEST_EFFORT),
    ] {
        gives!(
            a,
            GetTransportationTypeHandleRequest { transportation_type_name: text(name) },
            GetTransportationTypeHandleResponse,
            Some(handle)
        );
        gives!(
            a,
            GetTransportationTypeNameRequest { transportation_type: Some(handle) },
            GetTransportationTypeNameResponse,
            name
        );
    }
    refused!(
        a,
        GetTransportationTypeHandleRequest { transportation_type_name: text("Pigeon") },
        InvalidTransportationName
    );
    refused!(
        a,
        GetTransportationTypeNameRequest { transportation_type: None },
        InvalidTransportationTypeHandle
    );
}

#[test]
fn dimensions() {
    let (_, [a]) = World::join(&[]);
    let dimension = |name: &str| {
        let request = api::GetDimensionHandleRequest { dimension_name: name.to_owned() };
        match a.call(Call::GetDimensionHandleRequest(request)) {
            Ok(Answer::GetDimensionHandleResponse(response)) => Ok(response.result),
            other => Err(other.unwrap_err().exception),
        }
    };
    let x = dimension("X").unwrap();
    assert_eq!(dimension("Z"), Err(NameNotFound));
    gives!(a, GetDimensionNameRequest { dimension: x }, GetDimensionNameResponse, "X");
    gives!(a, GetDimensionUpperBoundRequest { dimension: x }, GetDimensionUpperBoundResponse, 100);
    let set = |dimension: &[DimensionHandle]| {
        Some(api::DimensionHandleSet { dimension_handle: dimension.to_vec() })
    };
    gives!(
        a,
        GetAvailableDimensionsForObjectClassRequest { object_class: a.class("C.S") },
        GetAvailableDimensionsForObjectClassResponse,
        set(&[x.unwrap()])
    );
    gives!(
        a,
        GetAvailableDimensionsForInteractionClassRequest { interaction_class: a.interaction("I") },
        GetAvailableDimensionsForInteractionClassResponse,
        set(&[])
    );
    refused!(a, GetDimensionNameRequest { dimension: Some(DimensionHandle(NOBODY)) }, InvalidDimensionHandle);
    refused!(a, GetDimensionUpperBoundRequest { dimension: None }, InvalidDimensionHandle);
    refused!(a, GetAvailableDimensionsForObjectClassRequest { object_class: None }, InvalidObjectClassHandle);
    refused!(
        a,
        GetAvailableDimensionsForInteractionClassRequest { interaction_class: None },
        InvalidInteractionClassHandle
    );
}

#[test]
fn normalizations() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    for group in 0..7 {
        gives!(
            a,
            NormalizeServiceGroupRequest { service_group: group },
            NormalizeServiceGroupResponse,
            group as u32
        );
    }
    refused!(a, NormalizeServiceGroupRequest { service_group: 7 }, InvalidServiceGroup);
    let of = |f: &Fed| {
        let request = api::NormalizeFederateHandleRequest { federate: Some(f.handle.get()) };
        match answer(&a, Call::NormalizeFederateHandleRequest(request)) {
            Ok(Answer::NormalizeFederateHandleResponse(response)) => response.result,
            other => panic!("{other:?}"),
        }
    };
    assert_ne!(of(&a), of(&b));
    refused!(a, NormalizeFederateHandleRequest { federate: None }, InvalidFederateHandle);
    refused!(a, NormalizeObjectClassHandleRequest { object_class: None }, InvalidObjectClassHandle);
    refused!(
        a,
        NormalizeInteractionClassHandleRequest { interaction_class: None },
        InvalidInteractionClassHandle
    );
    refused!(
        a,
        NormalizeObjectInstanceHandleRequest { object_instance: a.instance(1) },
        InvalidObjectInstanceHandle
    );
    a.publish("C", &["a"])?;
    let x = a.register("C")?;
    a.plain(Call::NormalizeObjectInstanceHandleRequest(api::NormalizeObjectInstanceHandleRequest {
        object_instance: a.instance(x),
    }))?;
    a.plain(Call::NormalizeObjectClassHandleRequest(api::NormalizeObjectClassHandleRequest {
        object_class: a.class("C"),
    }))
}

#[test]
fn switches_start_as_the_object_model_says() -> Refused {
    let (_, [a]) = World::join(&["attributeScopeAdvisory", "autoProvide", "nonRegulatedGrant"]);
    gives!(a, GetAttributeScopeAdvisorySwitchRequest {}, GetAttributeScopeAdvisorySwitchResponse, true);
    gives!(
        a,
        GetAttributeRelevanceAdvisorySwitchRequest {},
        GetAttributeRelevanceAdvisorySwitchResponse,
        false
    );
    gives!(
        a,
        GetObjectClassRelevanceAdvisorySwitchRequest {},
        GetObjectClassRelevanceAdvisorySwitchResponse,
        false
    );
    gives!(
        a,
        GetInteractionRelevanceAdvisorySwitchRequest {},
        GetInteractionRelevanceAdvisorySwitchResponse,
        false
    );
    gives!(
        a,
        GetConveyRegionDesignatorSetsSwitchRequest {},
        GetConveyRegionDesignatorSetsSwitchResponse,
        false
    );
    gives!(a, GetAutoProvideSwitchRequest {}, GetAutoProvideSwitchResponse, true);
    gives!(a, GetNonRegulatedGrantSwitchRequest {}, GetNonRegulatedGrantSwitchResponse, true);
    gives!(
        a,
        GetDelaySubscriptionEvaluationSwitchRequest {},
        GetDelaySubscriptionEvaluationSwitchResponse,
        false
    );
    gives!(a, GetAdvisoriesUseKnownClassSwitchRequest {}, GetAdvisoriesUseKnownClassSwitchResponse, false);
    gives!(a, GetAllowRelaxedDdmSwitchRequest {}, GetAllowRelaxedDdmSwitchResponse, false);
    gives!(a, GetServiceReportingSwitchRequest {}, GetServiceReportingSwitchResponse, false);
    gives!(a, GetExceptionReportingSwitchRequest {}, GetExceptionReportingSwitchResponse, false);
    gives!(a, GetSendServiceReportsToFileSwitchRequest {}, GetSendServiceReportsToFileSwitchResponse, false);
    Ok(())
}

#[test]
fn switches_belong_to_the_federate() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.set_scope(true)?;
    a.set_scope(true)?;
    a.set_relevance(true)?;
    a.set_class_relevance(true)?;
    a.set_interaction_relevance(true)?;
    a.set_resign_directive(ResignAction::DeleteObjects)?;
    a.plain(Call::SetConveyRegionDesignatorSetsSwitchRequest(
        api::SetConveyRegionDesignatorSetsSwitchRequest { value: true },
    ))?;
    gives!(a, GetAttributeScopeAdvisorySwitchRequest {}, GetAttributeScopeAdvisorySwitchResponse, true);
    gives!(
        a,
        GetAttributeRelevanceAdvisorySwitchRequest {},
        GetAttributeRelevanceAdvisorySwitchResponse,
        true
    );
    gives!(
        a,
        GetObjectClassRelevanceAdvisorySwitchRequest {},
        GetObjectClassRelevanceAdvisorySwitchResponse,
        true
    );
    gives!(
        a,
        GetInteractionRelevanceAdvisorySwitchRequest {},
        GetInteractionRelevanceAdvisorySwitchResponse,
        true
    );
    gives!(
        a,
        GetConveyRegionDesignatorSetsSwitchRequest {},
        GetConveyRegionDesignatorSetsSwitchResponse,
        true
    );
    gives!(a, GetAutomaticResignDirectiveRequest {}, GetAutomaticResignDirectiveResponse, 1);
    gives!(b, GetAttributeScopeAdvisorySwitchRequest {}, GetAttributeScopeAdvisorySwitchResponse, false);
    Ok(())
}

#[test]
fn handles_of_another_width_are_handles_of_nothing() {
    let (_, [a]) = World::join(&[]);
    for octets in [&[1u8][..], &[0, 0, 1], &[0, 0, 0, 0, 0, 0, 0, 1], &[0; 4], &[0xff; 20]] {
        let class = Some(hla::handle::ObjectClassHandle::from_octets(octets));
        refused!(a, GetObjectClassNameRequest { object_class: class }, InvalidObjectClassHandle);
        let federate = Some(FederateHandle::from_octets(octets));
        refused!(a, GetFederateNameRequest { federate: federate }, InvalidFederateHandle);
        refused!(a, NormalizeFederateHandleRequest { federate: federate }, InvalidFederateHandle);
        let interaction_class = Some(hla::handle::InteractionClassHandle::from_octets(octets));
        refused!(
            a,
            PublishInteractionClassRequest { interaction_class: interaction_class },
            InteractionClassNotDefined
        );
        let dimension = Some(DimensionHandle::from_octets(octets));
        refused!(a, GetDimensionNameRequest { dimension: dimension }, InvalidDimensionHandle);
    }
}
