//! Data distribution management (1516.1-2025, clause 9).
//!
//! One method for each service, in the order of the standard; [`Call`] says when a request leaves.

use bytes::Bytes;
#[allow(clippy::wildcard_imports)] // the vocabulary is the whole of the API
use hla::api::*;
use hla::handle::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    ParameterHandle, RegionHandle,
};

use crate::call::Call;
use crate::federate::Federate;
use crate::service::{services, set};

services! {
    CreateRegionRequest => CreateRegionResponse.result: RegionHandle;
    CommitRegionModificationsRequest => CommitRegionModificationsResponse: ();
    DeleteRegionRequest => DeleteRegionResponse: ();
    RegisterObjectInstanceWithRegionsRequest => RegisterObjectInstanceWithRegionsResponse.result: ObjectInstanceHandle;
    RegisterObjectInstanceWithNameAndRegionsRequest => RegisterObjectInstanceWithNameAndRegionsResponse.result: ObjectInstanceHandle;
    AssociateRegionsForUpdatesRequest => AssociateRegionsForUpdatesResponse: ();
    UnassociateRegionsForUpdatesRequest => UnassociateRegionsForUpdatesResponse: ();
    SubscribeObjectClassAttributesWithRegionsRequest => SubscribeObjectClassAttributesWithRegionsResponse: ();
    SubscribeObjectClassAttributesWithRegionsAndRateRequest => SubscribeObjectClassAttributesWithRegionsAndRateResponse: ();
    UnsubscribeObjectClassAttributesWithRegionsRequest => UnsubscribeObjectClassAttributesWithRegionsResponse: ();
    SubscribeInteractionClassWithRegionsRequest => SubscribeInteractionClassWithRegionsResponse: ();
    UnsubscribeInteractionClassWithRegionsRequest => UnsubscribeInteractionClassWithRegionsResponse: ();
    SendInteractionWithRegionsRequest => SendInteractionWithRegionsResponse: ();
    SendInteractionWithRegionsAndTimeRequest => SendInteractionWithRegionsAndTimeResponse.result: MessageRetractionReturn;
    RequestAttributeValueUpdateWithRegionsRequest => RequestAttributeValueUpdateWithRegionsResponse: ();
}

/// Data distribution management (1516.1-2025, clause 9).
impl Federate {
    /// Create Region (9.2).
    ///
    /// Raises InvalidDimensionHandle, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn create_region(&self, dimensions: impl IntoIterator<Item = DimensionHandle>) -> Call<RegionHandle> {
        self.call(CreateRegionRequest { dimensions: set(dimensions) })
    }

    /// Commit Region Modifications (9.3).
    ///
    /// Raises RegionNotCreatedByThisFederate, InvalidRegion, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn commit_region_modifications(&self, regions: impl IntoIterator<Item = RegionHandle>) -> Call<()> {
        self.call(CommitRegionModificationsRequest { regions: set(regions) })
    }

    /// Delete Region (9.4).
    ///
    /// Raises RegionInUseForUpdateOrSubscription, RegionNotCreatedByThisFederate, InvalidRegion,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn delete_region(&self, region: RegionHandle) -> Call<()> {
        self.call(DeleteRegionRequest { region: Some(region) })
    }

    /// Register Object Instance With Regions (9.5).
    ///
    /// Raises InvalidRegionContext, RegionNotCreatedByThisFederate, InvalidRegion, AttributeNotPublished,
    /// ObjectClassNotPublished, AttributeNotDefined, ObjectClassNotDefined, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn register_object_instance_with_regions(
        &self,
        object_class: ObjectClassHandle,
        attributes_and_regions: impl IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>,
    ) -> Call<ObjectInstanceHandle> {
        self.call(RegisterObjectInstanceWithRegionsRequest {
            object_class: Some(object_class),
            attributes_and_regions: set(attributes_and_regions),
        })
    }

    /// Register Object Instance With Name And Regions (9.5).
    ///
    /// Raises ObjectInstanceNameInUse, ObjectInstanceNameNotReserved, InvalidRegionContext,
    /// RegionNotCreatedByThisFederate, InvalidRegion, AttributeNotPublished, ObjectClassNotPublished,
    /// AttributeNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn register_object_instance_with_name_and_regions(
        &self,
        object_class: ObjectClassHandle,
        attributes_and_regions: impl IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>,
        object_instance_name: impl Into<String>,
    ) -> Call<ObjectInstanceHandle> {
        self.call(RegisterObjectInstanceWithNameAndRegionsRequest {
            object_class: Some(object_class),
            attributes_and_regions: set(attributes_and_regions),
            object_instance_name: object_instance_name.into(),
        })
    }

    /// Associate Regions For Updates (9.6).
    ///
    /// Raises InvalidRegionContext, RegionNotCreatedByThisFederate, InvalidRegion, AttributeNotDefined,
    /// ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn associate_regions_for_updates(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes_and_regions: impl IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>,
    ) -> Call<()> {
        self.call(AssociateRegionsForUpdatesRequest {
            object_instance: Some(object_instance),
            attributes_and_regions: set(attributes_and_regions),
        })
    }

    /// Unassociate Regions For Updates (9.7).
    ///
    /// Raises RegionNotCreatedByThisFederate, InvalidRegion, AttributeNotDefined, ObjectInstanceNotKnown,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unassociate_regions_for_updates(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes_and_regions: impl IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>,
    ) -> Call<()> {
        self.call(UnassociateRegionsForUpdatesRequest {
            object_instance: Some(object_instance),
            attributes_and_regions: set(attributes_and_regions),
        })
    }

    /// Subscribe Object Class Attributes With Regions (9.8).
    ///
    /// Raises InvalidRegionContext, RegionNotCreatedByThisFederate, InvalidRegion, AttributeNotDefined,
    /// ObjectClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn subscribe_object_class_attributes_with_regions(
        &self,
        object_class: ObjectClassHandle,
        attributes_and_regions: impl IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>,
        active: bool,
    ) -> Call<()> {
        self.call(SubscribeObjectClassAttributesWithRegionsRequest {
            object_class: Some(object_class),
            attributes_and_regions: set(attributes_and_regions),
            active,
        })
    }

    /// Subscribe Object Class Attributes With Regions And Rate (9.8).
    ///
    /// Raises InvalidRegionContext, RegionNotCreatedByThisFederate, InvalidRegion, AttributeNotDefined,
    /// ObjectClassNotDefined, InvalidUpdateRateDesignator, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_object_class_attributes_with_regions_and_rate(
        &self,
        object_class: ObjectClassHandle,
        attributes_and_regions: impl IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>,
        active: bool,
        update_rate_designator: impl Into<String>,
    ) -> Call<()> {
        self.call(SubscribeObjectClassAttributesWithRegionsAndRateRequest {
            object_class: Some(object_class),
            attributes_and_regions: set(attributes_and_regions),
            active,
            update_rate_designator: update_rate_designator.into(),
        })
    }

    /// Unsubscribe Object Class Attributes With Regions (9.9).
    ///
    /// Raises RegionNotCreatedByThisFederate, InvalidRegion, AttributeNotDefined, ObjectClassNotDefined,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unsubscribe_object_class_attributes_with_regions(
        &self,
        object_class: ObjectClassHandle,
        attributes_and_regions: impl IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>,
    ) -> Call<()> {
        self.call(UnsubscribeObjectClassAttributesWithRegionsRequest {
            object_class: Some(object_class),
            attributes_and_regions: set(attributes_and_regions),
        })
    }

    /// Subscribe Interaction Class With Regions (9.10).
    ///
    /// Raises FederateServiceInvocationsAreBeingReportedViaMOM, InvalidRegionContext,
    /// RegionNotCreatedByThisFederate, InvalidRegion, InteractionClassNotDefined, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_interaction_class_with_regions(
        &self,
        interaction_class: InteractionClassHandle,
        active: bool,
        regions: impl IntoIterator<Item = RegionHandle>,
    ) -> Call<()> {
        self.call(SubscribeInteractionClassWithRegionsRequest {
            interaction_class: Some(interaction_class),
            active,
            regions: set(regions),
        })
    }

    /// Unsubscribe Interaction Class With Regions (9.11).
    ///
    /// Raises RegionNotCreatedByThisFederate, InvalidRegion, InteractionClassNotDefined, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unsubscribe_interaction_class_with_regions(
        &self,
        interaction_class: InteractionClassHandle,
        regions: impl IntoIterator<Item = RegionHandle>,
    ) -> Call<()> {
        self.call(UnsubscribeInteractionClassWithRegionsRequest {
            interaction_class: Some(interaction_class),
            regions: set(regions),
        })
    }

    /// Send Interaction With Regions (9.12).
    ///
    /// Raises InvalidRegionContext, RegionNotCreatedByThisFederate, InvalidRegion,
    /// InteractionClassNotPublished, InteractionParameterNotDefined, InteractionClassNotDefined,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn send_interaction_with_regions(
        &self,
        interaction_class: InteractionClassHandle,
        parameter_values: impl IntoIterator<Item = (ParameterHandle, Bytes)>,
        regions: impl IntoIterator<Item = RegionHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(SendInteractionWithRegionsRequest {
            interaction_class: Some(interaction_class),
            parameter_values: set(parameter_values),
            regions: set(regions),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Send Interaction With Regions And Time (9.12).
    ///
    /// Raises InvalidLogicalTime, InvalidRegionContext, RegionNotCreatedByThisFederate, InvalidRegion,
    /// InteractionClassNotPublished, InteractionParameterNotDefined, InteractionClassNotDefined,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn send_interaction_with_regions_and_time(
        &self,
        interaction_class: InteractionClassHandle,
        parameter_values: impl IntoIterator<Item = (ParameterHandle, Bytes)>,
        regions: impl IntoIterator<Item = RegionHandle>,
        user_supplied_tag: impl Into<Bytes>,
        time: impl Into<LogicalTime>,
    ) -> Call<MessageRetractionReturn> {
        self.call(SendInteractionWithRegionsAndTimeRequest {
            interaction_class: Some(interaction_class),
            parameter_values: set(parameter_values),
            regions: set(regions),
            user_supplied_tag: user_supplied_tag.into(),
            time: Some(time.into()),
        })
    }

    /// Request Attribute Value Update With Regions (9.13).
    ///
    /// Raises InvalidRegionContext, RegionNotCreatedByThisFederate, InvalidRegion, AttributeNotDefined,
    /// ObjectClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn request_attribute_value_update_with_regions(
        &self,
        object_class: ObjectClassHandle,
        attributes_and_regions: impl IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(RequestAttributeValueUpdateWithRegionsRequest {
            object_class: Some(object_class),
            attributes_and_regions: set(attributes_and_regions),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }
}
