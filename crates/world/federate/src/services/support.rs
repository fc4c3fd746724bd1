//! Support services (1516.1-2025, clause 10).
//!
//! One method for each service, in the order of the standard; [`Call`] says when a request leaves.

#[allow(clippy::wildcard_imports)] // the vocabulary is the whole of the API
use hla::api::*;
use hla::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, RegionHandle, TransportationTypeHandle,
};

use crate::call::Call;
use crate::federate::Federate;
use crate::service::services;

services! {
    GetFederateHandleRequest => GetFederateHandleResponse.result: FederateHandle;
    GetFederateNameRequest => GetFederateNameResponse.result: String;
    GetObjectClassHandleRequest => GetObjectClassHandleResponse.result: ObjectClassHandle;
    GetObjectClassNameRequest => GetObjectClassNameResponse.result: String;
    GetKnownObjectClassHandleRequest => GetKnownObjectClassHandleResponse.result: ObjectClassHandle;
    GetObjectInstanceHandleRequest => GetObjectInstanceHandleResponse.result: ObjectInstanceHandle;
    GetObjectInstanceNameRequest => GetObjectInstanceNameResponse.result: String;
    GetAttributeHandleRequest => GetAttributeHandleResponse.result: AttributeHandle;
    GetAttributeNameRequest => GetAttributeNameResponse.result: String;
    GetUpdateRateValueRequest => GetUpdateRateValueResponse.result: f64;
    GetUpdateRateValueForAttributeRequest => GetUpdateRateValueForAttributeResponse.result: f64;
    GetInteractionClassHandleRequest => GetInteractionClassHandleResponse.result: InteractionClassHandle;
    GetInteractionClassNameRequest => GetInteractionClassNameResponse.result: String;
    GetParameterHandleRequest => GetParameterHandleResponse.result: ParameterHandle;
    GetParameterNameRequest => GetParameterNameResponse.result: String;
    GetOrderTypeRequest => GetOrderTypeResponse.result: OrderType;
    GetOrderNameRequest => GetOrderNameResponse.result: String;
    GetTransportationTypeHandleRequest => GetTransportationTypeHandleResponse.result: TransportationTypeHandle;
    GetTransportationTypeNameRequest => GetTransportationTypeNameResponse.result: String;
    GetAvailableDimensionsForObjectClassRequest => GetAvailableDimensionsForObjectClassResponse.result: Vec<DimensionHandle>;
    GetAvailableDimensionsForInteractionClassRequest => GetAvailableDimensionsForInteractionClassResponse.result: Vec<DimensionHandle>;
    GetDimensionHandleRequest => GetDimensionHandleResponse.result: DimensionHandle;
    GetDimensionNameRequest => GetDimensionNameResponse.result: String;
    GetDimensionUpperBoundRequest => GetDimensionUpperBoundResponse.result: u32;
    GetDimensionHandleSetRequest => GetDimensionHandleSetResponse.result: Vec<DimensionHandle>;
    GetRangeBoundsRequest => GetRangeBoundsResponse.result: RangeBounds;
    SetRangeBoundsRequest => SetRangeBoundsResponse: ();
    NormalizeServiceGroupRequest => NormalizeServiceGroupResponse.result: u32;
    NormalizeFederateHandleRequest => NormalizeFederateHandleResponse.result: u32;
    NormalizeObjectClassHandleRequest => NormalizeObjectClassHandleResponse.result: u32;
    NormalizeInteractionClassHandleRequest => NormalizeInteractionClassHandleResponse.result: u32;
    NormalizeObjectInstanceHandleRequest => NormalizeObjectInstanceHandleResponse.result: u32;
}

/// Support services (1516.1-2025, clause 10).
impl Federate {
    /// Get Federate Handle (10.2).
    ///
    /// Raises NameNotFound, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_federate_handle(&self, federate_name: impl Into<String>) -> Call<FederateHandle> {
        self.call(GetFederateHandleRequest { federate_name: federate_name.into() })
    }

    /// Get Federate Name (10.3).
    ///
    /// Raises InvalidFederateHandle, FederateHandleNotKnown, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn get_federate_name(&self, federate: FederateHandle) -> Call<String> {
        self.call(GetFederateNameRequest { federate: Some(federate) })
    }

    /// Get Object Class Handle (10.4).
    ///
    /// Raises NameNotFound, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_object_class_handle(&self, object_class_name: impl Into<String>) -> Call<ObjectClassHandle> {
        self.call(GetObjectClassHandleRequest { object_class_name: object_class_name.into() })
    }

    /// Get Object Class Name (10.5).
    ///
    /// Raises InvalidObjectClassHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_object_class_name(&self, object_class: ObjectClassHandle) -> Call<String> {
        self.call(GetObjectClassNameRequest { object_class: Some(object_class) })
    }

    /// Get Known Object Class Handle (10.6).
    ///
    /// Raises ObjectInstanceNotKnown, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_known_object_class_handle(
        &self,
        object_instance: ObjectInstanceHandle,
    ) -> Call<ObjectClassHandle> {
        self.call(GetKnownObjectClassHandleRequest { object_instance: Some(object_instance) })
    }

    /// Get Object Instance Handle (10.7).
    ///
    /// Raises ObjectInstanceNotKnown, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_object_instance_handle(
        &self,
        object_instance_name: impl Into<String>,
    ) -> Call<ObjectInstanceHandle> {
        self.call(GetObjectInstanceHandleRequest { object_instance_name: object_instance_name.into() })
    }

    /// Get Object Instance Name (10.8).
    ///
    /// Raises ObjectInstanceNotKnown, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_object_instance_name(&self, object_instance: ObjectInstanceHandle) -> Call<String> {
        self.call(GetObjectInstanceNameRequest { object_instance: Some(object_instance) })
    }

    /// Get Attribute Handle (10.9).
    ///
    /// Raises NameNotFound, InvalidObjectClassHandle, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn get_attribute_handle(
        &self,
        object_class: ObjectClassHandle,
        attribute_name: impl Into<String>,
    ) -> Call<AttributeHandle> {
        self.call(GetAttributeHandleRequest {
            object_class: Some(object_class),
            attribute_name: attribute_name.into(),
        })
    }

    /// Get Attribute Name (10.10).
    ///
    /// Raises AttributeNotDefined, InvalidAttributeHandle, InvalidObjectClassHandle,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_attribute_name(
        &self,
        object_class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Call<String> {
        self.call(GetAttributeNameRequest { object_class: Some(object_class), attribute: Some(attribute) })
    }

    /// Get Update Rate Value (10.11).
    ///
    /// Raises InvalidUpdateRateDesignator, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_update_rate_value(&self, update_rate_designator: impl Into<String>) -> Call<f64> {
        self.call(GetUpdateRateValueRequest { update_rate_designator: update_rate_designator.into() })
    }

    /// Get Update Rate Value For Attribute (10.12).
    ///
    /// Raises ObjectInstanceNotKnown, AttributeNotDefined, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn get_update_rate_value_for_attribute(
        &self,
        object_instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Call<f64> {
        self.call(GetUpdateRateValueForAttributeRequest {
            object_instance: Some(object_instance),
            attribute: Some(attribute),
        })
    }

    /// Get Interaction Class Handle (10.13).
    ///
    /// Raises NameNotFound, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_interaction_class_handle(
        &self,
        interaction_class_name: impl Into<String>,
    ) -> Call<InteractionClassHandle> {
        self.call(GetInteractionClassHandleRequest { interaction_class_name: interaction_class_name.into() })
    }

    /// Get Interaction Class Name (10.14).
    ///
    /// Raises InvalidInteractionClassHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_interaction_class_name(&self, interaction_class: InteractionClassHandle) -> Call<String> {
        self.call(GetInteractionClassNameRequest { interaction_class: Some(interaction_class) })
    }

    /// Get Parameter Handle (10.15).
    ///
    /// Raises NameNotFound, InvalidInteractionClassHandle, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn get_parameter_handle(
        &self,
        interaction_class: InteractionClassHandle,
        parameter_name: impl Into<String>,
    ) -> Call<ParameterHandle> {
        self.call(GetParameterHandleRequest {
            interaction_class: Some(interaction_class),
            parameter_name: parameter_name.into(),
        })
    }

    /// Get Parameter Name (10.16).
    ///
    /// Raises InteractionParameterNotDefined, InvalidParameterHandle, InvalidInteractionClassHandle,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_parameter_name(
        &self,
        interaction_class: InteractionClassHandle,
        parameter: ParameterHandle,
    ) -> Call<String> {
        self.call(GetParameterNameRequest {
            interaction_class: Some(interaction_class),
            parameter: Some(parameter),
        })
    }

    /// Get Order Type (10.17).
    ///
    /// Raises InvalidOrderName, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_order_type(&self, order_type_name: impl Into<String>) -> Call<OrderType> {
        self.call(GetOrderTypeRequest { order_type_name: order_type_name.into() })
    }

    /// Get Order Name (10.18).
    ///
    /// Raises InvalidOrderType, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_order_name(&self, order_type: OrderType) -> Call<String> {
        self.call(GetOrderNameRequest { order_type: order_type.into() })
    }

    /// Get Transportation Type Handle (10.19).
    ///
    /// Raises InvalidTransportationName, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_transportation_type_handle(
        &self,
        transportation_type_name: impl Into<String>,
    ) -> Call<TransportationTypeHandle> {
        self.call(GetTransportationTypeHandleRequest {
            transportation_type_name: transportation_type_name.into(),
        })
    }

    /// Get Transportation Type Name (10.20).
    ///
    /// Raises InvalidTransportationTypeHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_transportation_type_name(
        &self,
        transportation_type: TransportationTypeHandle,
    ) -> Call<String> {
        self.call(GetTransportationTypeNameRequest { transportation_type: Some(transportation_type) })
    }

    /// Get Available Dimensions For Object Class (10.21).
    ///
    /// Raises InvalidObjectClassHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_available_dimensions_for_object_class(
        &self,
        object_class: ObjectClassHandle,
    ) -> Call<Vec<DimensionHandle>> {
        self.call(GetAvailableDimensionsForObjectClassRequest { object_class: Some(object_class) })
    }

    /// Get Available Dimensions For Interaction Class (10.22).
    ///
    /// Raises InvalidInteractionClassHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_available_dimensions_for_interaction_class(
        &self,
        interaction_class: InteractionClassHandle,
    ) -> Call<Vec<DimensionHandle>> {
        self.call(GetAvailableDimensionsForInteractionClassRequest {
            interaction_class: Some(interaction_class),
        })
    }

    /// Get Dimension Handle (10.23).
    ///
    /// Raises NameNotFound, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_dimension_handle(&self, dimension_name: impl Into<String>) -> Call<DimensionHandle> {
        self.call(GetDimensionHandleRequest { dimension_name: dimension_name.into() })
    }

    /// Get Dimension Name (10.24).
    ///
    /// Raises InvalidDimensionHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_dimension_name(&self, dimension: DimensionHandle) -> Call<String> {
        self.call(GetDimensionNameRequest { dimension: Some(dimension) })
    }

    /// Get Dimension Upper Bound (10.25).
    ///
    /// Raises InvalidDimensionHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_dimension_upper_bound(&self, dimension: DimensionHandle) -> Call<u32> {
        self.call(GetDimensionUpperBoundRequest { dimension: Some(dimension) })
    }

    /// Get Dimension Handle Set (10.26).
    ///
    /// Raises InvalidRegion, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn get_dimension_handle_set(&self, region: RegionHandle) -> Call<Vec<DimensionHandle>> {
        self.call(GetDimensionHandleSetRequest { region: Some(region) })
    }

    /// Get Range Bounds (10.27).
    ///
    /// Raises RegionDoesNotContainSpecifiedDimension, InvalidRegion, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_range_bounds(&self, region: RegionHandle, dimension: DimensionHandle) -> Call<RangeBounds> {
        self.call(GetRangeBoundsRequest { region: Some(region), dimension: Some(dimension) })
    }

    /// Set Range Bounds (10.28).
    ///
    /// Raises InvalidRangeBound, RegionDoesNotContainSpecifiedDimension, RegionNotCreatedByThisFederate,
    /// InvalidRegion, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn set_range_bounds(
        &self,
        region: RegionHandle,
        dimension: DimensionHandle,
        range_bounds: RangeBounds,
    ) -> Call<()> {
        self.call(SetRangeBoundsRequest {
            region: Some(region),
            dimension: Some(dimension),
            range_bounds: Some(range_bounds),
        })
    }

    /// Normalize Service Group (10.29).
    ///
    /// Raises InvalidServiceGroup, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn normalize_service_group(&self, service_group: ServiceGroup) -> Call<u32> {
        self.call(NormalizeServiceGroupRequest { service_group: service_group.into() })
    }

    /// Normalize Federate Handle (10.30).
    ///
    /// Raises InvalidFederateHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn normalize_federate_handle(&self, federate: FederateHandle) -> Call<u32> {
        self.call(NormalizeFederateHandleRequest { federate: Some(federate) })
    }

    /// Normalize Object Class Handle (10.31).
    ///
    /// Raises InvalidObjectClassHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn normalize_object_class_handle(&self, object_class: ObjectClassHandle) -> Call<u32> {
        self.call(NormalizeObjectClassHandleRequest { object_class: Some(object_class) })
    }

    /// Normalize Interaction Class Handle (10.32).
    ///
    /// Raises InvalidInteractionClassHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn normalize_interaction_class_handle(&self, interaction_class: InteractionClassHandle) -> Call<u32> {
        self.call(NormalizeInteractionClassHandleRequest { interaction_class: Some(interaction_class) })
    }

    /// Normalize Object Instance Handle (10.33).
    ///
    /// Raises InvalidObjectInstanceHandle, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn normalize_object_instance_handle(&self, object_instance: ObjectInstanceHandle) -> Call<u32> {
        self.call(NormalizeObjectInstanceHandleRequest { object_instance: Some(object_instance) })
    }
}
