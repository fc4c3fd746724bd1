//! Ownership management (1516.1-2025, clause 7).
//!
//! One method for each service, in the order of the standard; [`Call`] says when a request leaves.

use bytes::Bytes;
#[allow(clippy::wildcard_imports)] // the vocabulary is the whole of the API
use hla::api::*;
use hla::handle::{AttributeHandle, ObjectInstanceHandle};

use crate::call::Call;
use crate::federate::Federate;
use crate::service::{services, set};

services! {
    UnconditionalAttributeOwnershipDivestitureRequest => UnconditionalAttributeOwnershipDivestitureResponse: ();
    NegotiatedAttributeOwnershipDivestitureRequest => NegotiatedAttributeOwnershipDivestitureResponse: ();
    ConfirmDivestitureRequest => ConfirmDivestitureResponse: ();
    AttributeOwnershipAcquisitionRequest => AttributeOwnershipAcquisitionResponse: ();
    AttributeOwnershipAcquisitionIfAvailableRequest => AttributeOwnershipAcquisitionIfAvailableResponse: ();
    AttributeOwnershipReleaseDeniedRequest => AttributeOwnershipReleaseDeniedResponse: ();
    AttributeOwnershipDivestitureIfWantedRequest => AttributeOwnershipDivestitureIfWantedResponse.result: Vec<AttributeHandle>;
    CancelNegotiatedAttributeOwnershipDivestitureRequest => CancelNegotiatedAttributeOwnershipDivestitureResponse: ();
    CancelAttributeOwnershipAcquisitionRequest => CancelAttributeOwnershipAcquisitionResponse: ();
    QueryAttributeOwnershipRequest => QueryAttributeOwnershipResponse: ();
    IsAttributeOwnedByFederateRequest => IsAttributeOwnedByFederateResponse.result: bool;
}

/// Ownership management (1516.1-2025, clause 7).
impl Federate {
    /// Unconditional Attribute Ownership Divestiture (7.2).
    ///
    /// Raises AttributeNotOwned, AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unconditional_attribute_ownership_divestiture(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(UnconditionalAttributeOwnershipDivestitureRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Negotiated Attribute Ownership Divestiture (7.3).
    ///
    /// Raises AttributeAlreadyBeingDivested, AttributeNotOwned, AttributeNotDefined, ObjectInstanceNotKnown,
    /// SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn negotiated_attribute_ownership_divestiture(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(NegotiatedAttributeOwnershipDivestitureRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Confirm Divestiture (7.6).
    ///
    /// Raises NoAcquisitionPending, AttributeDivestitureWasNotRequested, AttributeNotOwned,
    /// AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn confirm_divestiture(
        &self,
        object_instance: ObjectInstanceHandle,
        confirmed_attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(ConfirmDivestitureRequest {
            object_instance: Some(object_instance),
            confirmed_attributes: set(confirmed_attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Attribute Ownership Acquisition (7.8).
    ///
    /// Raises AttributeNotPublished, ObjectClassNotPublished, FederateOwnsAttributes, AttributeNotDefined,
    /// ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn attribute_ownership_acquisition(
        &self,
        object_instance: ObjectInstanceHandle,
        desired_attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(AttributeOwnershipAcquisitionRequest {
            object_instance: Some(object_instance),
            desired_attributes: set(desired_attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Attribute Ownership Acquisition If Available (7.9).
    ///
    /// Raises AttributeAlreadyBeingAcquired, AttributeNotPublished, ObjectClassNotPublished,
    /// FederateOwnsAttributes, AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn attribute_ownership_acquisition_if_available(
        &self,
        object_instance: ObjectInstanceHandle,
        desired_attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(AttributeOwnershipAcquisitionIfAvailableRequest {
            object_instance: Some(object_instance),
            desired_attributes: set(desired_attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Attribute Ownership Release Denied (7.12).
    ///
    /// Raises AttributeNotOwned, AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn attribute_ownership_release_denied(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(AttributeOwnershipReleaseDeniedRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Attribute Ownership Divestiture If Wanted (7.13).
    ///
    /// Raises AttributeNotOwned, AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn attribute_ownership_divestiture_if_wanted(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<Vec<AttributeHandle>> {
        self.call(AttributeOwnershipDivestitureIfWantedRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Cancel Negotiated Attribute Ownership Divestiture (7.14).
    ///
    /// Raises AttributeDivestitureWasNotRequested, AttributeNotOwned, AttributeNotDefined,
    /// ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn cancel_negotiated_attribute_ownership_divestiture(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
    ) -> Call<()> {
        self.call(CancelNegotiatedAttributeOwnershipDivestitureRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
        })
    }

    /// Cancel Attribute Ownership Acquisition (7.15).
    ///
    /// Raises AttributeAcquisitionWasNotRequested, AttributeAlreadyOwned, AttributeNotDefined,
    /// ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn cancel_attribute_ownership_acquisition(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
    ) -> Call<()> {
        self.call(CancelAttributeOwnershipAcquisitionRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
        })
    }

    /// Query Attribute Ownership (7.17).
    ///
    /// Raises AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn query_attribute_ownership(
        &self,
        object_instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
    ) -> Call<()> {
        self.call(QueryAttributeOwnershipRequest {
            object_instance: Some(object_instance),
            attributes: set(attributes),
        })
    }

    /// Is Attribute Owned By Federate (7.19).
    ///
    /// Raises AttributeNotDefined, ObjectInstanceNotKnown, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn is_attribute_owned_by_federate(
        &self,
        object_instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Call<bool> {
        self.call(IsAttributeOwnedByFederateRequest {
            object_instance: Some(object_instance),
            attribute: Some(attribute),
        })
    }
}
