//! Declaration management (1516.1-2025, clause 5).
//!
//! One method for each service, in the order of the standard; [`Call`] says when a request leaves.

#[allow(clippy::wildcard_imports)] // the vocabulary is the whole of the API
use hla::api::*;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle};

use crate::call::Call;
use crate::federate::Federate;
use crate::service::{services, set};

services! {
    PublishObjectClassAttributesRequest => PublishObjectClassAttributesResponse: ();
    UnpublishObjectClassRequest => UnpublishObjectClassResponse: ();
    UnpublishObjectClassAttributesRequest => UnpublishObjectClassAttributesResponse: ();
    PublishInteractionClassRequest => PublishInteractionClassResponse: ();
    UnpublishInteractionClassRequest => UnpublishInteractionClassResponse: ();
    PublishObjectClassDirectedInteractionsRequest => PublishObjectClassDirectedInteractionsResponse: ();
    UnpublishObjectClassDirectedInteractionsRequest => UnpublishObjectClassDirectedInteractionsResponse: ();
    UnpublishObjectClassDirectedInteractionsWithSetRequest => UnpublishObjectClassDirectedInteractionsWithSetResponse: ();
    SubscribeObjectClassAttributesRequest => SubscribeObjectClassAttributesResponse: ();
    SubscribeObjectClassAttributesWithRateRequest => SubscribeObjectClassAttributesWithRateResponse: ();
    SubscribeObjectClassAttributesPassivelyRequest => SubscribeObjectClassAttributesPassivelyResponse: ();
    SubscribeObjectClassAttributesPassivelyWithRateRequest => SubscribeObjectClassAttributesPassivelyWithRateResponse: ();
    UnsubscribeObjectClassRequest => UnsubscribeObjectClassResponse: ();
    UnsubscribeObjectClassAttributesRequest => UnsubscribeObjectClassAttributesResponse: ();
    SubscribeInteractionClassRequest => SubscribeInteractionClassResponse: ();
    SubscribeInteractionClassPassivelyRequest => SubscribeInteractionClassPassivelyResponse: ();
    UnsubscribeInteractionClassRequest => UnsubscribeInteractionClassResponse: ();
    SubscribeObjectClassDirectedInteractionsRequest => SubscribeObjectClassDirectedInteractionsResponse: ();
    SubscribeObjectClassDirectedInteractionsUniversallyRequest => SubscribeObjectClassDirectedInteractionsUniversallyResponse: ();
    UnsubscribeObjectClassDirectedInteractionsRequest => UnsubscribeObjectClassDirectedInteractionsResponse: ();
    UnsubscribeObjectClassDirectedInteractionsWithSetRequest => UnsubscribeObjectClassDirectedInteractionsWithSetResponse: ();
}

/// Declaration management (1516.1-2025, clause 5).
impl Federate {
    /// Publish Object Class Attributes (5.2).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn publish_object_class_attributes(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
    ) -> Call<()> {
        self.call(PublishObjectClassAttributesRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
        })
    }

    /// Unpublish Object Class (5.3).
    ///
    /// Raises OwnershipAcquisitionPending, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unpublish_object_class(&self, object_class: ObjectClassHandle) -> Call<()> {
        self.call(UnpublishObjectClassRequest { object_class: Some(object_class) })
    }

    /// Unpublish Object Class Attributes (5.3).
    ///
    /// Raises OwnershipAcquisitionPending, AttributeNotDefined, ObjectClassNotDefined, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unpublish_object_class_attributes(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
    ) -> Call<()> {
        self.call(UnpublishObjectClassAttributesRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
        })
    }

    /// Publish Interaction Class (5.4).
    ///
    /// Raises InteractionClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn publish_interaction_class(&self, interaction_class: InteractionClassHandle) -> Call<()> {
        self.call(PublishInteractionClassRequest { interaction_class: Some(interaction_class) })
    }

    /// Unpublish Interaction Class (5.5).
    ///
    /// Raises InteractionClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn unpublish_interaction_class(&self, interaction_class: InteractionClassHandle) -> Call<()> {
        self.call(UnpublishInteractionClassRequest { interaction_class: Some(interaction_class) })
    }

    /// Publish Object Class Directed Interactions (5.6).
    ///
    /// Raises InteractionClassNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn publish_object_class_directed_interactions(
        &self,
        object_class: ObjectClassHandle,
        interaction_classes: impl IntoIterator<Item = InteractionClassHandle>,
    ) -> Call<()> {
        self.call(PublishObjectClassDirectedInteractionsRequest {
            object_class: Some(object_class),
            interaction_classes: set(interaction_classes),
        })
    }

    /// Unpublish Object Class Directed Interactions (5.7).
    ///
    /// Raises ObjectClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn unpublish_object_class_directed_interactions(&self, object_class: ObjectClassHandle) -> Call<()> {
        self.call(UnpublishObjectClassDirectedInteractionsRequest { object_class: Some(object_class) })
    }

    /// Unpublish Object Class Directed Interactions With Set (5.7).
    ///
    /// Raises InteractionClassNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unpublish_object_class_directed_interactions_with_set(
        &self,
        object_class: ObjectClassHandle,
        interaction_classes: impl IntoIterator<Item = InteractionClassHandle>,
    ) -> Call<()> {
        self.call(UnpublishObjectClassDirectedInteractionsWithSetRequest {
            object_class: Some(object_class),
            interaction_classes: set(interaction_classes),
        })
    }

    /// Subscribe Object Class Attributes (5.8).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_object_class_attributes(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
    ) -> Call<()> {
        self.call(SubscribeObjectClassAttributesRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
        })
    }

    /// Subscribe Object Class Attributes With Rate (5.8).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, InvalidUpdateRateDesignator, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_object_class_attributes_with_rate(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        update_rate_designator: impl Into<String>,
    ) -> Call<()> {
        self.call(SubscribeObjectClassAttributesWithRateRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
            update_rate_designator: update_rate_designator.into(),
        })
    }

    /// Subscribe Object Class Attributes Passively (5.8).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_object_class_attributes_passively(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
    ) -> Call<()> {
        self.call(SubscribeObjectClassAttributesPassivelyRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
        })
    }

    /// Subscribe Object Class Attributes Passively With Rate (5.8).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, InvalidUpdateRateDesignator, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_object_class_attributes_passively_with_rate(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        update_rate_designator: impl Into<String>,
    ) -> Call<()> {
        self.call(SubscribeObjectClassAttributesPassivelyWithRateRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
            update_rate_designator: update_rate_designator.into(),
        })
    }

    /// Unsubscribe Object Class (5.9).
    ///
    /// Raises ObjectClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn unsubscribe_object_class(&self, object_class: ObjectClassHandle) -> Call<()> {
        self.call(UnsubscribeObjectClassRequest { object_class: Some(object_class) })
    }

    /// Unsubscribe Object Class Attributes (5.9).
    ///
    /// Raises AttributeNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unsubscribe_object_class_attributes(
        &self,
        object_class: ObjectClassHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
    ) -> Call<()> {
        self.call(UnsubscribeObjectClassAttributesRequest {
            object_class: Some(object_class),
            attributes: set(attributes),
        })
    }

    /// Subscribe Interaction Class (5.10).
    ///
    /// Raises FederateServiceInvocationsAreBeingReportedViaMOM, InteractionClassNotDefined, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_interaction_class(&self, interaction_class: InteractionClassHandle) -> Call<()> {
        self.call(SubscribeInteractionClassRequest { interaction_class: Some(interaction_class) })
    }

    /// Subscribe Interaction Class Passively (5.10).
    ///
    /// Raises FederateServiceInvocationsAreBeingReportedViaMOM, InteractionClassNotDefined, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_interaction_class_passively(
        &self,
        interaction_class: InteractionClassHandle,
    ) -> Call<()> {
        self.call(SubscribeInteractionClassPassivelyRequest { interaction_class: Some(interaction_class) })
    }

    /// Unsubscribe Interaction Class (5.11).
    ///
    /// Raises InteractionClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn unsubscribe_interaction_class(&self, interaction_class: InteractionClassHandle) -> Call<()> {
        self.call(UnsubscribeInteractionClassRequest { interaction_class: Some(interaction_class) })
    }

    /// Subscribe Object Class Directed Interactions (5.12).
    ///
    /// Raises InteractionClassNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_object_class_directed_interactions(
        &self,
        object_class: ObjectClassHandle,
        interaction_classes: impl IntoIterator<Item = InteractionClassHandle>,
    ) -> Call<()> {
        self.call(SubscribeObjectClassDirectedInteractionsRequest {
            object_class: Some(object_class),
            interaction_classes: set(interaction_classes),
        })
    }

    /// Subscribe Object Class Directed Interactions Universally (5.12).
    ///
    /// Raises InteractionClassNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn subscribe_object_class_directed_interactions_universally(
        &self,
        object_class: ObjectClassHandle,
        interaction_classes: impl IntoIterator<Item = InteractionClassHandle>,
    ) -> Call<()> {
        self.call(SubscribeObjectClassDirectedInteractionsUniversallyRequest {
            object_class: Some(object_class),
            interaction_classes: set(interaction_classes),
        })
    }

    /// Unsubscribe Object Class Directed Interactions (5.13).
    ///
    /// Raises ObjectClassNotDefined, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn unsubscribe_object_class_directed_interactions(
        &self,
        object_class: ObjectClassHandle,
    ) -> Call<()> {
        self.call(UnsubscribeObjectClassDirectedInteractionsRequest { object_class: Some(object_class) })
    }

    /// Unsubscribe Object Class Directed Interactions With Set (5.13).
    ///
    /// Raises InteractionClassNotDefined, ObjectClassNotDefined, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn unsubscribe_object_class_directed_interactions_with_set(
        &self,
        object_class: ObjectClassHandle,
        interaction_classes: impl IntoIterator<Item = InteractionClassHandle>,
    ) -> Call<()> {
        self.call(UnsubscribeObjectClassDirectedInteractionsWithSetRequest {
            object_class: Some(object_class),
            interaction_classes: set(interaction_classes),
        })
    }
}
