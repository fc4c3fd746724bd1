//! Handles that name nothing, of every kind, in every service that takes one: the exact exception.

use bytes::Bytes;
use federate::FederateError;
use federate::hla::Exception::{self, *};
use federate::hla::api::{OrderType, ResignAction};
use federate::hla::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, TransportationTypeHandle,
};

use crate::common::federates::tag;
use crate::common::{Member, Server, create_and_join, options, soon};

/// The exception of a call, which must fail.
async fn raised<T>(call: impl Future<Output = Result<T, FederateError>>) -> Exception {
    match soon(call).await {
        Ok(_) => panic!("it was served"),
        Err(error) => error.exception().unwrap_or_else(|| panic!("{error}")),
    }
}

/// Awaits each call and compares its exception.
macro_rules! each_raises {
    ($($call:expr => $exception:ident),+ $(,)?) => {
        $(assert_eq!(raised($call).await, $exception, stringify!($call));)+
    };
}

#[tokio::test]
async fn handles_that_name_nothing() {
    let server = Server::start();
    let member = create_and_join(options(server.address()), "Handles", "One").await;
    member.declare_all().await;
    let instance = soon(member.federate.register_object_instance(member.model.aircraft)).await.unwrap();
    for number in [0, 1 << 20, u32::MAX] {
        look_up(&member, number).await;
        declare(&member, number).await;
        act(&member, number, instance).await;
    }
    // A handle of a federate that has gone is known, and nobody.
    let other = create_and_join(options(server.address()), "Handles", "Two").await;
    soon(other.federate.resign_federation_execution(ResignAction::NoAction)).await.unwrap();
    let gone = raised(member.federate.get_federate_name(other.handle)).await;
    assert!(matches!(gone, FederateHandleNotKnown | InvalidFederateHandle), "{gone}");
    // After all that the federate is as it was.
    member.fire(1).await;
}

/// Support services.
async fn look_up(member: &Member, number: u32) {
    let (f, m) = (&member.federate, &member.model);
    let (class, interaction) = (ObjectClassHandle(number), InteractionClassHandle(number));
    let (attribute, parameter) = (AttributeHandle(number), ParameterHandle(number));
    let instance = ObjectInstanceHandle(u64::from(number) << 20);
    each_raises! {
        f.get_object_class_name(class) => InvalidObjectClassHandle,
        f.get_attribute_handle(class, "Spatial") => InvalidObjectClassHandle,
        f.get_attribute_name(class, m.spatial) => InvalidObjectClassHandle,
        f.get_attribute_name(m.aircraft, attribute) => InvalidAttributeHandle,
        f.get_interaction_class_name(interaction) => InvalidInteractionClassHandle,
        f.get_parameter_handle(interaction, "Echo") => InvalidInteractionClassHandle,
        f.get_parameter_name(interaction, m.echo) => InvalidInteractionClassHandle,
        f.get_parameter_name(m.sweep, parameter) => InvalidParameterHandle,
        f.get_parameter_name(m.sweep, m.event) => InteractionParameterNotDefined,
        f.get_federate_name(FederateHandle(number)) => InvalidFederateHandle,
        f.get_known_object_class_handle(instance) => ObjectInstanceNotKnown,
        f.get_object_instance_name(instance) => ObjectInstanceNotKnown,
        f.get_dimension_name(DimensionHandle(number)) => InvalidDimensionHandle,
        f.get_dimension_upper_bound(DimensionHandle(number)) => InvalidDimensionHandle,
        f.get_available_dimensions_for_object_class(class) => InvalidObjectClassHandle,
        f.get_available_dimensions_for_interaction_class(interaction) => InvalidInteractionClassHandle,
        f.get_transportation_type_name(TransportationTypeHandle(number)) => InvalidTransportationTypeHandle,
        f.normalize_federate_handle(FederateHandle(number)) => InvalidFederateHandle,
        f.normalize_object_class_handle(class) => InvalidObjectClassHandle,
        f.normalize_interaction_class_handle(interaction) => InvalidInteractionClassHandle,
        f.normalize_object_instance_handle(instance) => InvalidObjectInstanceHandle,
        f.get_object_class_handle("BaseEntity.Balloon") => NameNotFound,
        f.get_attribute_handle(m.aircraft, "Colour") => NameNotFound,
        f.get_parameter_handle(m.fire, "Colour") => NameNotFound,
        f.get_interaction_class_handle("") => NameNotFound,
        f.get_federate_handle("Nobody") => NameNotFound,
        f.get_object_instance_handle("Nothing") => ObjectInstanceNotKnown,
        f.get_dimension_handle("Fifth") => NameNotFound,
        f.get_transportation_type_handle("HLApigeon") => InvalidTransportationName,
        f.get_order_type("Alphabetical") => InvalidOrderName,
    }
    assert_eq!(soon(f.get_order_name(OrderType::Receive)).await.unwrap(), "Receive");
}

/// Declaration management.
async fn declare(member: &Member, number: u32) {
    let (f, m) = (&member.federate, &member.model);
    let (class, interaction) = (ObjectClassHandle(number), InteractionClassHandle(number));
    let attribute = AttributeHandle(number);
    each_raises! {
        f.publish_object_class_attributes(class, [m.spatial]) => ObjectClassNotDefined,
        f.publish_object_class_attributes(m.aircraft, [m.spatial, attribute]) => AttributeNotDefined,
        f.unpublish_object_class(class) => ObjectClassNotDefined,
        f.unpublish_object_class_attributes(m.aircraft, [attribute]) => AttributeNotDefined,
        f.subscribe_object_class_attributes(class, [m.spatial]) => ObjectClassNotDefined,
        f.subscribe_object_class_attributes(m.aircraft, [attribute]) => AttributeNotDefined,
        f.subscribe_object_class_attributes_with_rate(m.aircraft, [m.spatial], "Warp")
            => InvalidUpdateRateDesignator,
        f.unsubscribe_object_class(class) => ObjectClassNotDefined,
        f.publish_interaction_class(interaction) => InteractionClassNotDefined,
        f.unpublish_interaction_class(interaction) => InteractionClassNotDefined,
        f.subscribe_interaction_class(interaction) => InteractionClassNotDefined,
        f.unsubscribe_interaction_class(interaction) => InteractionClassNotDefined,
        f.publish_object_class_directed_interactions(class, [m.fire]) => ObjectClassNotDefined,
        f.publish_object_class_directed_interactions(m.aircraft, [interaction]) => InteractionClassNotDefined,
        f.subscribe_object_class_directed_interactions(class, [m.fire]) => ObjectClassNotDefined,
    }
}

/// Object management, and synchronization points.
async fn act(member: &Member, number: u32, known: ObjectInstanceHandle) {
    let (f, m) = (&member.federate, &member.model);
    let (attribute, value) = (AttributeHandle(number), Bytes::new());
    let unknown = ObjectInstanceHandle(u64::from(number) << 20);
    let best_effort = TransportationTypeHandle::BEST_EFFORT;
    each_raises! {
        f.register_object_instance(ObjectClassHandle(number)) => ObjectClassNotDefined,
        f.update_attribute_values(unknown, [(m.spatial, value.clone())], tag(0)) => ObjectInstanceNotKnown,
        f.update_attribute_values(known, [(attribute, value.clone())], tag(0)) => AttributeNotDefined,
        f.send_interaction(InteractionClassHandle(number), [], tag(0)) => InteractionClassNotDefined,
        f.send_interaction(m.fire, [(ParameterHandle(number), value.clone())], tag(0))
            => InteractionParameterNotDefined,
        f.send_interaction(m.fire, [(m.echo, value)], tag(0)) => InteractionParameterNotDefined,
        f.delete_object_instance(unknown, tag(0)) => ObjectInstanceNotKnown,
        f.local_delete_object_instance(unknown) => ObjectInstanceNotKnown,
        f.request_instance_attribute_value_update(unknown, [m.spatial], tag(0)) => ObjectInstanceNotKnown,
        f.request_instance_attribute_value_update(known, [attribute], tag(0)) => AttributeNotDefined,
        f.request_class_attribute_value_update(ObjectClassHandle(number), [m.spatial], tag(0))
            => ObjectClassNotDefined,
        f.request_attribute_transportation_type_change(unknown, [m.spatial], best_effort)
            => ObjectInstanceNotKnown,
        f.request_attribute_transportation_type_change(known, [m.spatial], TransportationTypeHandle(number))
            => InvalidTransportationTypeHandle,
        f.query_attribute_transportation_type(unknown, m.spatial) => ObjectInstanceNotKnown,
        f.request_interaction_transportation_type_change(InteractionClassHandle(number), best_effort)
            => InteractionClassNotDefined,
        // The standard lists no exception for its federate handle but this one.
        f.query_interaction_transportation_type(FederateHandle(number), m.fire) => FederateNotExecutionMember,
        f.register_federation_synchronization_point_with_set("P", tag(0), [FederateHandle(number)])
            => InvalidFederateHandle,
        f.synchronization_point_achieved("Never", true) => SynchronizationPointLabelNotAnnounced,
    }
}
