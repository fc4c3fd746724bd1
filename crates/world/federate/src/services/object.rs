//! Object management (1516.1-2025, clause 6).
//!
//! One method for each service, in the order of the standard; [`Call`] says when a request leaves.

use bytes::Bytes;
#[allow(clippy::wildcard_imports)] // the vocabulary is the whole of the API
use hla::api::*;
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    ParameterHandle, TransportationTypeHandle,
};

use crate::call::Call;
use crate::federate::Federate;
use crate::service::{services, set};

services! {
    ReserveObjectInstanceNameRequest => ReserveObjectInstanceNameResponse: ();
    ReleaseObjectInstanceNameRequest => ReleaseObjectInstanceNameResponse: ();
    ReserveMultipleObjectInstanceNamesRequest => ReserveMultipleObjectInstanceNamesResponse: ();
    ReleaseMultipleObjectInstanceNamesRequest => ReleaseMultipleObjectInstanceNamesResponse: ();
    RegisterObjectInstanceRequest => RegisterObjectInstanceResponse.result: ObjectInstanceHandle;
    RegisterObjectInstanceWithNameRequest => RegisterObjectInstanceWithNameResponse.result: ObjectInstanceHandle;
    UpdateAttributeValuesRequest => UpdateAttributeValuesResponse: ();
    UpdateAttributeValuesWithTimeRequest => UpdateAttributeValuesWithTimeResponse.result: MessageRetractionReturn;
    SendInteractionRequest => SendInteractionResponse: ();
    SendInteractionWithTimeRequest => SendInteractionWithTimeResponse.result: MessageRetractionReturn;
    SendDirectedInteractionRequest => SendDirectedInteractionResponse: ();
    SendDirectedInteractionWithTimeRequest => SendDirectedInteractionWithTimeResponse.result: MessageRetractionReturn;
    DeleteObjectInstanceRequest => DeleteObjectInstanceResponse: ();
    DeleteObjectInstanceWithTimeRequest => DeleteObjectInstanceWithTimeResponse.result: MessageRetractionReturn;
    LocalDeleteObjectInstanceRequest => LocalDeleteObjectInstanceResponse: ();
    RequestInstanceAttributeValueUpdateRequest => RequestInstanceAttributeValueUpdateResponse: ();
    RequestClassAttributeValueUpdateRequest => RequestClassAttributeValueUpdateResponse: ();
    RequestAttributeTransportationTypeChangeRequest => RequestAttributeTransportationTypeChangeResponse: ();
    ChangeDefaultAttributeTransportationTypeRequest => ChangeDefaultAttributeTransportationTypeResponse: ();
    QueryAttributeTransportationTypeRequest => QueryAttributeTransportationTypeResponse: ();
    RequestInteractionTransportationTypeChangeRequest => RequestInteractionTransportationTypeChangeResponse: ();
    QueryInteractionTransportationTypeRequest => QueryInteractionTransportationTypeResponse: ();
}

/// Object management (1516.1-2025, clause 6).
impl Federate {
    /// Reserve Object Instance Name (6.2).
    ///
    /// Raises IllegalName, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn reserve_object_instance_name(&self, object_instance_name: impl Into<String>) -> Call<()> {
        self.call(ReserveObjectInstanceNameRequest { object_instance_name: object_instance_name.into() })
    }

    /// Release Object Instance Name (6.4).
    ///
    /// Raises ObjectInstanceNameNotReserved, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn release_object_instance_name(&self, object_instance_name: impl Into<String>) -> Call<()> {
        self.call(ReleaseObjectInstanceNameRequest { object_instance_name: object_instance_name.into() })
    }

    /// Reserve Multiple Object Instance Names (6.5).
    ///
    /// Raises IllegalName, NameSetWasEmpty, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn reserve_multiple_object_instance_names(
        &self,
        object_instance_names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Call<()> {
        self.call(ReserveMultipleObjectInstanceNamesRequest {
            object_instance_names: object_instance_names.into_iter().map(Into::into).collect(),
        })
    }

    /// Release Multiple Object Instance Names (6.7).
    ///
    /// Raises ObjectInstanceNameNotReserved, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn release_multiple_object_instance_names(
        &self,
        object_instance_names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Call<()> {
        self.call(ReleaseMultipleObjectInstanceNamesRequest {
            object_instance_names: object_instance_names.into_iter().map(Into::into).collect(),
        })
    }

    /// Register Object Instance (6.8).
    ///
    /// Raises ObjectClassNotPublished, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn register_object_instance(&self, object_class: ObjectClassHandle) -> Call<ObjectInstanceHandle> {
        self.call(RegisterObjectInstanceRequest { object_class: Some(object_class) })
    }

    /// Register Object Instance With Name (6.8).
    ///
    /// Raises ObjectInstanceNameInUse, ObjectInstanceNameNotReserved, ObjectClassNotPublished,
    /// ObjectClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn register_object_instance_with_name(
        &self,
        object_class: ObjectClassHandle,
        object_instance_name: impl Into<String>,
    ) -> Call<ObjectInstanceHandle> {
        self.call(RegisterObjectInstanceWithNameRequest {
            object_class: Some(object_class),
            object_instance_name: object_instance_name.into(),
        })
    }

    /// Update Attribute Values (6.10).
    ///
    /// Raises AttributeNotOwned, AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn update_attribute_values(
        &self,
        object_instance: ObjectInstanceHandle,
        attribute_values: impl IntoIterator<Item = (AttributeHandle, Bytes)>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(UpdateAttributeValuesRequest {
            object_instance: Some(object_instance),
            attribute_values: set(attribute_values),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Update Attribute Values With Time (6.10).
    ///
    /// Raises InvalidLogicalTime, AttributeNotOwned, AttributeNotDefined, ObjectInstanceNotKnown,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn update_attribute_values_with_time(
        &self,
        object_instance: ObjectInstanceHandle,
        attribute_values: impl IntoIterator<Item = (AttributeHandle, Bytes)>,
        user_supplied_tag: impl Into<Bytes>,
        time: impl Into<LogicalTime>,
    ) -> Call<MessageRetractionReturn> {
        self.call(UpdateAttributeValuesWithTimeRequest {
            object_instance: Some(object_instance),
            attribute_values: set(attribute_values),
            user_supplied_tag: user_supplied_tag.into(),
            time: Some(time.into()),
        })
    }

    /// Send Interaction (6.12).
    ///
    /// Raises InteractionClassNotPublished, InteractionParameterNotDefined, InteractionClassNotDefined,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn send_interaction(
        &self,
        interaction_class: InteractionClassHandle,
        parameter_values: impl IntoIterator<Item = (ParameterHandle, Bytes)>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(SendInteractionRequest {
            interaction_class: Some(interaction_class),
            parameter_values: set(parameter_values),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Send Interaction With Time (6.12).
    ///
    /// Raises InvalidLogicalTime, InteractionClassNotPublished, InteractionParameterNotDefined,
    /// InteractionClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn send_interaction_with_time(
        &self,
        interaction_class: InteractionClassHandle,
        parameter_values: impl IntoIterator<Item = (ParameterHandle, Bytes)>,
        user_supplied_tag: impl Into<Bytes>,
        time: impl Into<LogicalTime>,
    ) -> Call<MessageRetractionReturn> {
        self.call(SendInteractionWithTimeRequest {
            interaction_class: Some(interaction_class),
            parameter_values: set(parameter_values),
            user_supplied_tag: user_supplied_tag.into(),
            time: Some(time.into()),
        })
    }

    /// Send Directed Interaction (6.14).
    ///
    /// Raises ObjectInstanceNotKnown, InteractionClassNotPublished, InteractionParameterNotDefined,
    /// InteractionClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn send_directed_interaction(
        &self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: impl IntoIterator<Item = (ParameterHandle, Bytes)>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(SendDirectedInteractionRequest {
            interaction_class: Some(interaction_class),
            object_instance: Some(object_instance),
            parameter_values: set(parameter_values),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Send Directed Interaction With Time (6.14).
    ///
    /// Raises InvalidLogicalTime, ObjectInstanceNotKnown, InteractionClassNotPublished,
    /// InteractionParameterNotDefined, InteractionClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn send_directed_interaction_with_time(
        &self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: impl IntoIterator<Item = (ParameterHandle, Bytes)>,
        user_supplied_tag: impl Into<Bytes>,
        time: impl Into<LogicalTime>,
    ) -> Call<MessageRetractionReturn> {
        self.call(SendDirectedInteractionWithTimeRequest {
            interaction_class: Some(interaction_class),
            object_instance: Some(object_instance),
            parameter_values: set(parameter_values),
            user_supplied_tag: user_supplied_tag.into(),
            time: Some(time.into()),
        })
    }

    /// Delete Object Instance (6.16).
    ///
    /// Raises DeletePrivilegeNotHeld, ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn delete_object_instance(
        &self,
        object_instance: ObjectInstanceHandle,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(DeleteObjectInstanceRequest {
            object_instance: Some(object_instance),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Delete Object Instance With Time (6.16).
    ///
    /// Raises InvalidLogicalTime, DeletePrivilegeNotHeld, ObjectInstanceNotKnown, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn delete_object_instance_with_time(
        &self,
        object_instance: ObjectInstanceHandle,
        user_supplied_tag: impl Into<Bytes>,
        time: impl Into<LogicalTime>,
    ) -> Call<MessageRetractionReturn> {
        self.call(DeleteObjectInstanceWithTimeRequest {
            object_instance: Some(object_instance),
            user_supplied_tag: user_supplied_tag.into(),
            time: Some(time.into()),
        })
    }

    /// Local Delete Object Instance (6.18).
    ///
    /// Raises OwnershipAcquisitionPending, FederateOwnsAttributes, ObjectInstanceNotKnown, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn local_delete_object_instance(&self, object_instance: ObjectInstanceHandle) -> Call<()> {
        self.call(LocalDeleteObjectInstanceRequest { object_instance: Some(object_instance) })
    }

    /// Request Instance Attribute Value Update (6.21).
    ///
    /// Raises AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn request_instance_attribute_value_update(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(RequestInstanceAttributeValueUpdateRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Request Class Attribute Value Update (6.21).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn request_class_attribute_value_update(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(RequestClassAttributeValueUpdateRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Request Attribute Transportation Type Change (6.25).
    ///
    /// Raises AttributeAlreadyBeingChanged, AttributeNotOwned, AttributeNotDefined, ObjectInstanceNotKnown,
    /// InvalidTransportationTypeHandle, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn request_attribute_transportation_type_change(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        transportation_type: TransportationTypeHandle,
    ) -> Call<()> {
        self.call(RequestAttributeTransportationTypeChangeRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
            transportation_type: Some(transportation_type),
        })
    }

    /// Change Default Attribute Transportation Type (6.27).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, InvalidTransportationTypeHandle, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn change_default_attribute_transportation_type(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        transportation_type: TransportationTypeHandle,
    ) -> Call<()> {
        self.call(ChangeDefaultAttributeTransportationTypeRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
            transportation_type: Some(transportation_type),
        })
    }

    /// Query Attribute Transportation Type (6.28).
    ///
    /// Raises AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn query_attribute_transportation_type(
        &self,
        object_instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Call<()> {
        self.call(QueryAttributeTransportationTypeRequest {
            object_instance: Some(object_instance),
            attribute: Some(attribute),
        })
    }

    /// Request Interaction Transportation Type Change (6.30).
    ///
    /// Raises InteractionClassAlreadyBeingChanged, InteractionClassNotPublished, InteractionClassNotDefined,
    /// InvalidTransportationTypeHandle, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn request_interaction_transportation_type_change(
        &self,
        interaction_class: InteractionClassHandle,
        transportation_type: TransportationTypeHandle,
    ) -> Call<()> {
        self.call(RequestInteractionTransportationTypeChangeRequest {
            interaction_class: Some(interaction_class),
            transportation_type: Some(transportation_type),
        })
    }

    /// Query Interaction Transportation Type (6.32).
    ///
    /// Raises InteractionClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn query_interaction_transportation_type(
        &self,
        federate: FederateHandle,
        interaction_class: InteractionClassHandle,
    ) -> Call<()> {
        self.call(QueryInteractionTransportationTypeRequest {
            federate: Some(federate),
            interaction_class: Some(interaction_class),
        })
    }
}
