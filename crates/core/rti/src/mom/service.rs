//! Services on behalf of a federate (11.4.2, HLAservice): from the parameters of the interaction to
//! the call of the service.

use super::parameters::{Parameters, Unusable};
use bytes::Bytes;
use hla::api::{self, call_request::CallRequest as Call};

/// Makes the call of a service.
pub(crate) type MakeCall = fn(&Parameters<'_>) -> Result<Call, Unusable>;

/// A service without arguments, and one with these.
macro_rules! call {
    ($request:ident) => {
        |_| Ok(Call::$request(api::$request {}))
    };
    ($request:ident { $($field:ident: $name:literal as $kind:ident),+ }) => {
        |p| Ok(Call::$request(api::$request { $($field: p.$kind($name)?,)+ }))
    };
}

/// The services, by their names below HLAinteractionRoot.HLAmanager.HLAfederate.HLAservice.
pub(crate) const SERVICES: &[(&str, MakeCall)] = &[
    (
        "HLAresignFederationExecution",
        call!(ResignFederationExecutionRequest { resign_action: "HLAresignAction" as resign_action }),
    ),
    ("HLAsynchronizationPointAchieved", |p| {
        let synchronization_point_label = p.label("HLAlabel")?;
        let request =
            api::SynchronizationPointAchievedRequest { synchronization_point_label, successfully: true };
        Ok(Call::SynchronizationPointAchievedRequest(request))
    }),
    ("HLAfederateSaveBegun", call!(FederateSaveBegunRequest)),
    ("HLAfederateSaveComplete", |p| {
        Ok(match p.boolean("HLAsuccessIndicator")? {
            true => Call::FederateSaveCompleteRequest(api::FederateSaveCompleteRequest {}),
            false => Call::FederateSaveNotCompleteRequest(api::FederateSaveNotCompleteRequest {}),
        })
    }),
    ("HLAfederateRestoreComplete", |p| {
        Ok(match p.boolean("HLAsuccessIndicator")? {
            true => Call::FederateRestoreCompleteRequest(api::FederateRestoreCompleteRequest {}),
            false => Call::FederateRestoreNotCompleteRequest(api::FederateRestoreNotCompleteRequest {}),
        })
    }),
    (
        "HLApublishObjectClassAttributes",
        call!(PublishObjectClassAttributesRequest {
            object_class: "HLAobjectClass" as object_class,
            attributes: "HLAattributeList" as attributes
        }),
    ),
    (
        "HLAunpublishObjectClassAttributes",
        call!(UnpublishObjectClassAttributesRequest {
            object_class: "HLAobjectClass" as object_class,
            attributes: "HLAattributeList" as attributes
        }),
    ),
    (
        "HLApublishInteractionClass",
        call!(PublishInteractionClassRequest {
            interaction_class: "HLAinteractionClass" as interaction_class
        }),
    ),
    (
        "HLAunpublishInteractionClass",
        call!(UnpublishInteractionClassRequest {
            interaction_class: "HLAinteractionClass" as interaction_class
        }),
    ),
    (
        "HLApublishObjectClassDirectedInteractions",
        call!(PublishObjectClassDirectedInteractionsRequest {
            object_class: "HLAobjectClass" as object_class,
            interaction_classes: "HLAinteractionClassList" as interaction_classes
        }),
    ),
    (
        "HLAunpublishObjectClassDirectedInteractions",
        call!(UnpublishObjectClassDirectedInteractionsWithSetRequest {
            object_class: "HLAobjectClass" as object_class,
            interaction_classes: "HLAinteractionClassList" as interaction_classes
        }),
    ),
    ("HLAsubscribeObjectClassAttributes", |p| {
        let (object_class, attributes) =
            (p.object_class("HLAobjectClass")?, p.attributes("HLAattributeList")?);
        Ok(match p.boolean("HLAactive")? {
            true => Call::SubscribeObjectClassAttributesRequest(api::SubscribeObjectClassAttributesRequest {
                object_class,
                attributes,
            }),
            false => Call::SubscribeObjectClassAttributesPassivelyRequest(
                api::SubscribeObjectClassAttributesPassivelyRequest { object_class, attributes },
            ),
        })
    }),
    (
        "HLAunsubscribeObjectClassAttributes",
        call!(UnsubscribeObjectClassAttributesRequest {
            object_class: "HLAobjectClass" as object_class,
            attributes: "HLAattributeList" as attributes
        }),
    ),
    ("HLAsubscribeInteractionClass", |p| {
        let interaction_class = p.interaction_class("HLAinteractionClass")?;
        Ok(match p.boolean("HLAactive")? {
            true => Call::SubscribeInteractionClassRequest(api::SubscribeInteractionClassRequest {
                interaction_class,
            }),
            false => Call::SubscribeInteractionClassPassivelyRequest(
                api::SubscribeInteractionClassPassivelyRequest { interaction_class },
            ),
        })
    }),
    (
        "HLAunsubscribeInteractionClass",
        call!(UnsubscribeInteractionClassRequest {
            interaction_class: "HLAinteractionClass" as interaction_class
        }),
    ),
    (
        "HLAsubscribeObjectClassDirectedInteractions",
        call!(SubscribeObjectClassDirectedInteractionsRequest {
            object_class: "HLAobjectClass" as object_class,
            interaction_classes: "HLAinteractionClassList" as interaction_classes
        }),
    ),
    (
        "HLAunsubscribeObjectClassDirectedInteractions",
        call!(UnsubscribeObjectClassDirectedInteractionsWithSetRequest {
            object_class: "HLAobjectClass" as object_class,
            interaction_classes: "HLAinteractionClassList" as interaction_classes
        }),
    ),
    ("HLAdeleteObjectInstance", |p| {
        let object_instance = Some(p.instance("HLAobjectInstance")?);
        let user_supplied_tag = p.tag("HLAtag")?;
        Ok(match p.optional_time("HLAtimeStamp")? {
            None => Call::DeleteObjectInstanceRequest(api::DeleteObjectInstanceRequest {
                object_instance,
                user_supplied_tag,
            }),
            time => Call::DeleteObjectInstanceWithTimeRequest(api::DeleteObjectInstanceWithTimeRequest {
                object_instance,
                user_supplied_tag,
                time,
            }),
        })
    }),
    (
        "HLAlocalDeleteObjectInstance",
        call!(LocalDeleteObjectInstanceRequest { object_instance: "HLAobjectInstance" as some_instance }),
    ),
    (
        "HLArequestAttributeTransportationTypeChange",
        call!(RequestAttributeTransportationTypeChangeRequest {
            object_instance: "HLAobjectInstance" as some_instance,
            attributes: "HLAattributeList" as attributes,
            transportation_type: "HLAtransportation" as transportation
        }),
    ),
    (
        "HLArequestInteractionTransportationTypeChange",
        call!(RequestInteractionTransportationTypeChangeRequest {
            interaction_class: "HLAinteractionClass" as interaction_class,
            transportation_type: "HLAtransportation" as transportation
        }),
    ),
    ("HLAunconditionalAttributeOwnershipDivestiture", |p| {
        let request = api::UnconditionalAttributeOwnershipDivestitureRequest {
            object_instance: p.some_instance("HLAobjectInstance")?,
            attributes: p.attributes("HLAattributeList")?,
            user_supplied_tag: Bytes::new(),
        };
        Ok(Call::UnconditionalAttributeOwnershipDivestitureRequest(request))
    }),
    ("HLAenableTimeRegulation", call!(EnableTimeRegulationRequest { lookahead: "HLAlookahead" as interval })),
    ("HLAdisableTimeRegulation", call!(DisableTimeRegulationRequest)),
    ("HLAenableTimeConstrained", call!(EnableTimeConstrainedRequest)),
    ("HLAdisableTimeConstrained", call!(DisableTimeConstrainedRequest)),
    ("HLAtimeAdvanceRequest", call!(TimeAdvanceRequestRequest { time: "HLAtimeStamp" as time })),
    (
        "HLAtimeAdvanceRequestAvailable",
        call!(TimeAdvanceRequestAvailableRequest { time: "HLAtimeStamp" as time }),
    ),
    ("HLAnextMessageRequest", call!(NextMessageRequestRequest { time: "HLAtimeStamp" as time })),
    (
        "HLAnextMessageRequestAvailable",
        call!(NextMessageRequestAvailableRequest { time: "HLAtimeStamp" as time }),
    ),
    ("HLAflushQueueRequest", call!(FlushQueueRequestRequest { time: "HLAtimeStamp" as time })),
    ("HLAenableAsynchronousDelivery", call!(EnableAsynchronousDeliveryRequest)),
    ("HLAdisableAsynchronousDelivery", call!(DisableAsynchronousDeliveryRequest)),
    ("HLAmodifyLookahead", call!(ModifyLookaheadRequest { lookahead: "HLAlookahead" as interval })),
    (
        "HLAchangeAttributeOrderType",
        call!(ChangeAttributeOrderTypeRequest {
            object_instance: "HLAobjectInstance" as some_instance,
            attributes: "HLAattributeList" as attributes,
            order_type: "HLAsendOrder" as order
        }),
    ),
    (
        "HLAchangeInteractionOrderType",
        call!(ChangeInteractionOrderTypeRequest {
            interaction_class: "HLAinteractionClass" as interaction_class,
            order_type: "HLAsendOrder" as order
        }),
    ),
];
