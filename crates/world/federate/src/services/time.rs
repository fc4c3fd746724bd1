//! Time management (1516.1-2025, clause 8).
//!
//! One method for each service, in the order of the standard; [`Call`] says when a request leaves.

#[allow(clippy::wildcard_imports)] // the vocabulary is the whole of the API
use hla::api::*;
use hla::handle::{
    AttributeHandle, InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
};

use crate::call::Call;
use crate::federate::Federate;
use crate::service::{services, set};

services! {
    EnableTimeRegulationRequest => EnableTimeRegulationResponse: ();
    DisableTimeRegulationRequest => DisableTimeRegulationResponse: ();
    EnableTimeConstrainedRequest => EnableTimeConstrainedResponse: ();
    DisableTimeConstrainedRequest => DisableTimeConstrainedResponse: ();
    TimeAdvanceRequestRequest => TimeAdvanceRequestResponse: ();
    TimeAdvanceRequestAvailableRequest => TimeAdvanceRequestAvailableResponse: ();
    NextMessageRequestRequest => NextMessageRequestResponse: ();
    NextMessageRequestAvailableRequest => NextMessageRequestAvailableResponse: ();
    FlushQueueRequestRequest => FlushQueueRequestResponse: ();
    EnableAsynchronousDeliveryRequest => EnableAsynchronousDeliveryResponse: ();
    DisableAsynchronousDeliveryRequest => DisableAsynchronousDeliveryResponse: ();
    QueryGaltRequest => QueryGaltResponse.result: TimeQueryReturn;
    QueryLogicalTimeRequest => QueryLogicalTimeResponse.result: LogicalTime;
    QueryLitsRequest => QueryLitsResponse.result: TimeQueryReturn;
    ModifyLookaheadRequest => ModifyLookaheadResponse: ();
    QueryLookaheadRequest => QueryLookaheadResponse.result: LogicalTimeInterval;
    RetractRequest => RetractResponse: ();
    ChangeAttributeOrderTypeRequest => ChangeAttributeOrderTypeResponse: ();
    ChangeDefaultAttributeOrderTypeRequest => ChangeDefaultAttributeOrderTypeResponse: ();
    ChangeInteractionOrderTypeRequest => ChangeInteractionOrderTypeResponse: ();
}

/// Time management (1516.1-2025, clause 8).
impl Federate {
    /// Enable Time Regulation (8.2).
    ///
    /// Raises InvalidLookahead, InTimeAdvancingState, RequestForTimeRegulationPending,
    /// TimeRegulationAlreadyEnabled, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn enable_time_regulation(&self, lookahead: impl Into<LogicalTimeInterval>) -> Call<()> {
        self.call(EnableTimeRegulationRequest { lookahead: Some(lookahead.into()) })
    }

    /// Disable Time Regulation (8.4).
    ///
    /// Raises TimeRegulationIsNotEnabled, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn disable_time_regulation(&self) -> Call<()> {
        self.call(DisableTimeRegulationRequest {})
    }

    /// Enable Time Constrained (8.5).
    ///
    /// Raises InTimeAdvancingState, RequestForTimeConstrainedPending, TimeConstrainedAlreadyEnabled,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn enable_time_constrained(&self) -> Call<()> {
        self.call(EnableTimeConstrainedRequest {})
    }

    /// Disable Time Constrained (8.7).
    ///
    /// Raises TimeConstrainedIsNotEnabled, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn disable_time_constrained(&self) -> Call<()> {
        self.call(DisableTimeConstrainedRequest {})
    }

    /// Time Advance Request (8.8).
    ///
    /// Raises LogicalTimeAlreadyPassed, InvalidLogicalTime, InTimeAdvancingState,
    /// RequestForTimeRegulationPending, RequestForTimeConstrainedPending, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn time_advance_request(&self, time: impl Into<LogicalTime>) -> Call<()> {
        self.call(TimeAdvanceRequestRequest { time: Some(time.into()) })
    }

    /// Time Advance Request Available (8.9).
    ///
    /// Raises LogicalTimeAlreadyPassed, InvalidLogicalTime, InTimeAdvancingState,
    /// RequestForTimeRegulationPending, RequestForTimeConstrainedPending, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn time_advance_request_available(&self, time: impl Into<LogicalTime>) -> Call<()> {
        self.call(TimeAdvanceRequestAvailableRequest { time: Some(time.into()) })
    }

    /// Next Message Request (8.10).
    ///
    /// Raises LogicalTimeAlreadyPassed, InvalidLogicalTime, InTimeAdvancingState,
    /// RequestForTimeRegulationPending, RequestForTimeConstrainedPending, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn next_message_request(&self, time: impl Into<LogicalTime>) -> Call<()> {
        self.call(NextMessageRequestRequest { time: Some(time.into()) })
    }

    /// Next Message Request Available (8.11).
    ///
    /// Raises LogicalTimeAlreadyPassed, InvalidLogicalTime, InTimeAdvancingState,
    /// RequestForTimeRegulationPending, RequestForTimeConstrainedPending, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn next_message_request_available(&self, time: impl Into<LogicalTime>) -> Call<()> {
        self.call(NextMessageRequestAvailableRequest { time: Some(time.into()) })
    }

    /// Flush Queue Request (8.12).
    ///
    /// Raises LogicalTimeAlreadyPassed, InvalidLogicalTime, InTimeAdvancingState,
    /// RequestForTimeRegulationPending, RequestForTimeConstrainedPending, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn flush_queue_request(&self, time: impl Into<LogicalTime>) -> Call<()> {
        self.call(FlushQueueRequestRequest { time: Some(time.into()) })
    }

    /// Enable Asynchronous Delivery (8.15).
    ///
    /// Raises AsynchronousDeliveryAlreadyEnabled, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn enable_asynchronous_delivery(&self) -> Call<()> {
        self.call(EnableAsynchronousDeliveryRequest {})
    }

    /// Disable Asynchronous Delivery (8.16).
    ///
    /// Raises AsynchronousDeliveryAlreadyDisabled, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn disable_asynchronous_delivery(&self) -> Call<()> {
        self.call(DisableAsynchronousDeliveryRequest {})
    }

    /// Query GALT (8.17).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn query_galt(&self) -> Call<TimeQueryReturn> {
        self.call(QueryGaltRequest {})
    }

    /// Query Logical Time (8.18).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn query_logical_time(&self) -> Call<LogicalTime> {
        self.call(QueryLogicalTimeRequest {})
    }

    /// Query LITS (8.19).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn query_lits(&self) -> Call<TimeQueryReturn> {
        self.call(QueryLitsRequest {})
    }

    /// Modify Lookahead (8.20).
    ///
    /// Raises InvalidLookahead, InTimeAdvancingState, TimeRegulationIsNotEnabled, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn modify_lookahead(&self, lookahead: impl Into<LogicalTimeInterval>) -> Call<()> {
        self.call(ModifyLookaheadRequest { lookahead: Some(lookahead.into()) })
    }

    /// Query Lookahead (8.21).
    ///
    /// Raises TimeRegulationIsNotEnabled, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn query_lookahead(&self) -> Call<LogicalTimeInterval> {
        self.call(QueryLookaheadRequest {})
    }

    /// Retract (8.22).
    ///
    /// Raises MessageCanNoLongerBeRetracted, InvalidMessageRetractionHandle, TimeRegulationIsNotEnabled,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn retract(&self, retraction: MessageRetractionHandle) -> Call<()> {
        self.call(RetractRequest { retraction: Some(retraction) })
    }

    /// Change Attribute Order Type (8.24).
    ///
    /// Raises AttributeNotOwned, AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn change_attribute_order_type(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        order_type: OrderType,
    ) -> Call<()> {
        self.call(ChangeAttributeOrderTypeRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
            order_type: order_type.into(),
        })
    }

    /// Change Default Attribute Order Type (8.25).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn change_default_attribute_order_type(
        &self,
        the_object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        order_type: OrderType,
    ) -> Call<()> {
        self.call(ChangeDefaultAttributeOrderTypeRequest {
            the_object_class: Some(the_object_class),
            attributes: set(attributes),
            order_type: order_type.into(),
        })
    }

    /// Change Interaction Order Type (8.26).
    ///
    /// Raises InteractionClassNotPublished, InteractionClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn change_interaction_order_type(
        &self,
        interaction_class: InteractionClassHandle,
        order_type: OrderType,
    ) -> Call<()> {
        self.call(ChangeInteractionOrderTypeRequest {
            interaction_class: Some(interaction_class),
            order_type: order_type.into(),
        })
    }
}
