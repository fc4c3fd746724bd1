//! Services of the groups that are not built yet. Each answers with an RTIinternalError that names it.

use super::Served;
use hla::RtiError;
use hla::api::call_request::CallRequest as Call;

/// The group of an unbuilt service and the service's name as the API has it.
fn unbuilt(call: &Call) -> Option<(&'static str, &'static str)> {
    Some(match call {
        Call::RequestFederationSaveRequest(_) => (SAVE_AND_RESTORE, "requestFederationSave"),
        Call::RequestFederationSaveWithTimeRequest(_) => (SAVE_AND_RESTORE, "requestFederationSaveWithTime"),
        Call::FederateSaveBegunRequest(_) => (SAVE_AND_RESTORE, "federateSaveBegun"),
        Call::FederateSaveCompleteRequest(_) => (SAVE_AND_RESTORE, "federateSaveComplete"),
        Call::FederateSaveNotCompleteRequest(_) => (SAVE_AND_RESTORE, "federateSaveNotComplete"),
        Call::AbortFederationSaveRequest(_) => (SAVE_AND_RESTORE, "abortFederationSave"),
        Call::QueryFederationSaveStatusRequest(_) => (SAVE_AND_RESTORE, "queryFederationSaveStatus"),
        Call::RequestFederationRestoreRequest(_) => (SAVE_AND_RESTORE, "requestFederationRestore"),
        Call::FederateRestoreCompleteRequest(_) => (SAVE_AND_RESTORE, "federateRestoreComplete"),
        Call::FederateRestoreNotCompleteRequest(_) => (SAVE_AND_RESTORE, "federateRestoreNotComplete"),
        Call::AbortFederationRestoreRequest(_) => (SAVE_AND_RESTORE, "abortFederationRestore"),
        Call::QueryFederationRestoreStatusRequest(_) => (SAVE_AND_RESTORE, "queryFederationRestoreStatus"),
        Call::UnconditionalAttributeOwnershipDivestitureRequest(_) => {
            (OWNERSHIP_MANAGEMENT, "unconditionalAttributeOwnershipDivestiture")
        }
        Call::NegotiatedAttributeOwnershipDivestitureRequest(_) => {
            (OWNERSHIP_MANAGEMENT, "negotiatedAttributeOwnershipDivestiture")
        }
        Call::ConfirmDivestitureRequest(_) => (OWNERSHIP_MANAGEMENT, "confirmDivestiture"),
        Call::AttributeOwnershipAcquisitionRequest(_) => {
            (OWNERSHIP_MANAGEMENT, "attributeOwnershipAcquisition")
        }
        Call::AttributeOwnershipAcquisitionIfAvailableRequest(_) => {
            (OWNERSHIP_MANAGEMENT, "attributeOwnershipAcquisitionIfAvailable")
        }
        Call::AttributeOwnershipReleaseDeniedRequest(_) => {
            (OWNERSHIP_MANAGEMENT, "attributeOwnershipReleaseDenied")
        }
        Call::AttributeOwnershipDivestitureIfWantedRequest(_) => {
            (OWNERSHIP_MANAGEMENT, "attributeOwnershipDivestitureIfWanted")
        }
        Call::CancelNegotiatedAttributeOwnershipDivestitureRequest(_) => {
            (OWNERSHIP_MANAGEMENT, "cancelNegotiatedAttributeOwnershipDivestiture")
        }
        Call::CancelAttributeOwnershipAcquisitionRequest(_) => {
            (OWNERSHIP_MANAGEMENT, "cancelAttributeOwnershipAcquisition")
        }
        Call::QueryAttributeOwnershipRequest(_) => (OWNERSHIP_MANAGEMENT, "queryAttributeOwnership"),
        Call::IsAttributeOwnedByFederateRequest(_) => (OWNERSHIP_MANAGEMENT, "isAttributeOwnedByFederate"),
        Call::EnableTimeRegulationRequest(_) => (TIME_MANAGEMENT, "enableTimeRegulation"),
        Call::DisableTimeRegulationRequest(_) => (TIME_MANAGEMENT, "disableTimeRegulation"),
        Call::EnableTimeConstrainedRequest(_) => (TIME_MANAGEMENT, "enableTimeConstrained"),
        Call::DisableTimeConstrainedRequest(_) => (TIME_MANAGEMENT, "disableTimeConstrained"),
        Call::TimeAdvanceRequestRequest(_) => (TIME_MANAGEMENT, "timeAdvanceRequest"),
        Call::TimeAdvanceRequestAvailableRequest(_) => (TIME_MANAGEMENT, "timeAdvanceRequestAvailable"),
        Call::NextMessageRequestRequest(_) => (TIME_MANAGEMENT, "nextMessageRequest"),
        Call::NextMessageRequestAvailableRequest(_) => (TIME_MANAGEMENT, "nextMessageRequestAvailable"),
        Call::FlushQueueRequestRequest(_) => (TIME_MANAGEMENT, "flushQueueRequest"),
        Call::EnableAsynchronousDeliveryRequest(_) => (TIME_MANAGEMENT, "enableAsynchronousDelivery"),
        Call::DisableAsynchronousDeliveryRequest(_) => (TIME_MANAGEMENT, "disableAsynchronousDelivery"),
        Call::QueryGaltRequest(_) => (TIME_MANAGEMENT, "queryGALT"),
        Call::QueryLogicalTimeRequest(_) => (TIME_MANAGEMENT, "queryLogicalTime"),
        Call::QueryLitsRequest(_) => (TIME_MANAGEMENT, "queryLITS"),
        Call::ModifyLookaheadRequest(_) => (TIME_MANAGEMENT, "modifyLookahead"),
        Call::QueryLookaheadRequest(_) => (TIME_MANAGEMENT, "queryLookahead"),
        Call::RetractRequest(_) => (TIME_MANAGEMENT, "retract"),
        Call::CreateRegionRequest(_) => (DATA_DISTRIBUTION_MANAGEMENT, "createRegion"),
        Call::CommitRegionModificationsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "commitRegionModifications")
        }
        Call::DeleteRegionRequest(_) => (DATA_DISTRIBUTION_MANAGEMENT, "deleteRegion"),
        Call::RegisterObjectInstanceWithRegionsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "registerObjectInstanceWithRegions")
        }
        Call::RegisterObjectInstanceWithNameAndRegionsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "registerObjectInstanceWithNameAndRegions")
        }
        Call::AssociateRegionsForUpdatesRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "associateRegionsForUpdates")
        }
        Call::UnassociateRegionsForUpdatesRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "unassociateRegionsForUpdates")
        }
        Call::SubscribeObjectClassAttributesWithRegionsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "subscribeObjectClassAttributesWithRegions")
        }
        Call::SubscribeObjectClassAttributesWithRegionsAndRateRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "subscribeObjectClassAttributesWithRegionsAndRate")
        }
        Call::UnsubscribeObjectClassAttributesWithRegionsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "unsubscribeObjectClassAttributesWithRegions")
        }
        Call::SubscribeInteractionClassWithRegionsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "subscribeInteractionClassWithRegions")
        }
        Call::UnsubscribeInteractionClassWithRegionsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "unsubscribeInteractionClassWithRegions")
        }
        Call::SendInteractionWithRegionsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "sendInteractionWithRegions")
        }
        Call::SendInteractionWithRegionsAndTimeRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "sendInteractionWithRegionsAndTime")
        }
        Call::RequestAttributeValueUpdateWithRegionsRequest(_) => {
            (DATA_DISTRIBUTION_MANAGEMENT, "requestAttributeValueUpdateWithRegions")
        }
        Call::GetDimensionHandleSetRequest(_) => (DATA_DISTRIBUTION_MANAGEMENT, "getDimensionHandleSet"),
        Call::GetRangeBoundsRequest(_) => (DATA_DISTRIBUTION_MANAGEMENT, "getRangeBounds"),
        Call::SetRangeBoundsRequest(_) => (DATA_DISTRIBUTION_MANAGEMENT, "setRangeBounds"),
        _ => return None,
    })
}

const SAVE_AND_RESTORE: &str = "save and restore (4.19 to 4.35)";
const OWNERSHIP_MANAGEMENT: &str = "ownership management (clause 7)";
const TIME_MANAGEMENT: &str = "time management (clause 8)";
const DATA_DISTRIBUTION_MANAGEMENT: &str = "data distribution management (clause 9)";

/// Refuses a service that is not built yet; a call that reaches this point and is none of them is a call
/// of a state that this caller is not in.
pub(crate) fn refuse(call: &Call) -> Served {
    match unbuilt(call) {
        Some((group, service)) => {
            Err(RtiError::internal(format!("{service}: this RTI does not offer {group} yet")))
        }
        None => Err(RtiError::internal("this service is not a service of a joined federate")),
    }
}
