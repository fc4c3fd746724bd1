//! The 178 services: their names and their numbers on the wire.

use hla::api::CallRequest;
use hla::api::call_request::CallRequest as Call;
#[cfg(test)]
use hla::api::{CallResponse, call_response::CallResponse as Answer};

/// How many services there are.
pub const SERVICES: u32 = 178;

/// The name of the service that `request` calls, spelled as in the HLA API with the variant
/// appended where a service has several requests: `updateAttributeValues`,
/// `createFederationExecutionWithMIM`. `"unknown service"` for a request that holds none.
pub fn service_name(request: &CallRequest) -> &'static str {
    request_field(request).and_then(name_of_field).unwrap_or("unknown service")
}

/// The name of the service whose request is field `field` of `CallRequest`, 1 to [`SERVICES`].
pub fn name_of_field(field: u32) -> Option<&'static str> {
    NAMES.get(field.checked_sub(1)? as usize).copied()
}

/// The field of `CallResponse` that answers `request`, `None` for a request that holds no service.
///
/// It is the request's field plus one, for every service: field 1 of `CallResponse` is the exception.
pub fn response_field(request: &CallRequest) -> Option<u32> {
    request_field(request).map(|field| field + 1)
}

macro_rules! services {
    ($($field:literal $request:ident $response:ident $name:literal)+) => {
        const NAMES: [&str; SERVICES as usize] = [$($name),+];

        /// The field of `CallRequest` that `request` fills, `None` for one that holds no service.
        pub fn request_field(request: &CallRequest) -> Option<u32> {
            Some(match request.call_request.as_ref()? {
                $(Call::$request(_) => $field,)+
            })
        }

        /// One request and its response of each service, without content.
        #[cfg(test)]
        pub(crate) fn samples() -> Vec<(u32, CallRequest, CallResponse)> {
            vec![$((
                $field,
                CallRequest { call_request: Some(Call::$request(Default::default())) },
                CallResponse { call_response: Some(Answer::$response(Default::default())) },
            )),+]
        }
    };
}

#[rustfmt::skip]
services! {
    1 ConnectRequest ConnectResponse "connect"
    2 ConnectWithCredentialsRequest ConnectWithCredentialsResponse "connectWithCredentials"
    3 ConnectWithConfigurationRequest ConnectWithConfigurationResponse "connectWithConfiguration"
    4 ConnectWithConfigurationAndCredentialsRequest ConnectWithConfigurationAndCredentialsResponse "connectWithConfigurationAndCredentials"
    5 DisconnectRequest DisconnectResponse "disconnect"
    6 CreateFederationExecutionRequest CreateFederationExecutionResponse "createFederationExecution"
    7 CreateFederationExecutionWithTimeRequest CreateFederationExecutionWithTimeResponse "createFederationExecutionWithTime"
    8 CreateFederationExecutionWithModulesRequest CreateFederationExecutionWithModulesResponse "createFederationExecutionWithModules"
    9 CreateFederationExecutionWithModulesAndTimeRequest CreateFederationExecutionWithModulesAndTimeResponse "createFederationExecutionWithModulesAndTime"
    10 CreateFederationExecutionWithMimRequest CreateFederationExecutionWithMimResponse "createFederationExecutionWithMIM"
    11 CreateFederationExecutionWithMimAndTimeRequest CreateFederationExecutionWithMimAndTimeResponse "createFederationExecutionWithMIMAndTime"
    12 DestroyFederationExecutionRequest DestroyFederationExecutionResponse "destroyFederationExecution"
    13 ListFederationExecutionsRequest ListFederationExecutionsResponse "listFederationExecutions"
    14 ListFederationExecutionMembersRequest ListFederationExecutionMembersResponse "listFederationExecutionMembers"
    15 JoinFederationExecutionRequest JoinFederationExecutionResponse "joinFederationExecution"
    16 JoinFederationExecutionWithModulesRequest JoinFederationExecutionWithModulesResponse "joinFederationExecutionWithModules"
    17 JoinFederationExecutionWithNameRequest JoinFederationExecutionWithNameResponse "joinFederationExecutionWithName"
    18 JoinFederationExecutionWithNameAndModulesRequest JoinFederationExecutionWithNameAndModulesResponse "joinFederationExecutionWithNameAndModules"
    19 ResignFederationExecutionRequest ResignFederationExecutionResponse "resignFederationExecution"
    20 RegisterFederationSynchronizationPointRequest RegisterFederationSynchronizationPointResponse "registerFederationSynchronizationPoint"
    21 RegisterFederationSynchronizationPointWithSetRequest RegisterFederationSynchronizationPointWithSetResponse "registerFederationSynchronizationPointWithSet"
    22 SynchronizationPointAchievedRequest SynchronizationPointAchievedResponse "synchronizationPointAchieved"
    23 RequestFederationSaveRequest RequestFederationSaveResponse "requestFederationSave"
    24 RequestFederationSaveWithTimeRequest RequestFederationSaveWithTimeResponse "requestFederationSaveWithTime"
    25 FederateSaveBegunRequest FederateSaveBegunResponse "federateSaveBegun"
    26 FederateSaveCompleteRequest FederateSaveCompleteResponse "federateSaveComplete"
    27 FederateSaveNotCompleteRequest FederateSaveNotCompleteResponse "federateSaveNotComplete"
    28 AbortFederationSaveRequest AbortFederationSaveResponse "abortFederationSave"
    29 QueryFederationSaveStatusRequest QueryFederationSaveStatusResponse "queryFederationSaveStatus"
    30 RequestFederationRestoreRequest RequestFederationRestoreResponse "requestFederationRestore"
    31 FederateRestoreCompleteRequest FederateRestoreCompleteResponse "federateRestoreComplete"
    32 FederateRestoreNotCompleteRequest FederateRestoreNotCompleteResponse "federateRestoreNotComplete"
    33 AbortFederationRestoreRequest AbortFederationRestoreResponse "abortFederationRestore"
    34 QueryFederationRestoreStatusRequest QueryFederationRestoreStatusResponse "queryFederationRestoreStatus"
    35 PublishObjectClassAttributesRequest PublishObjectClassAttributesResponse "publishObjectClassAttributes"
    36 UnpublishObjectClassRequest UnpublishObjectClassResponse "unpublishObjectClass"
    37 UnpublishObjectClassAttributesRequest UnpublishObjectClassAttributesResponse "unpublishObjectClassAttributes"
    38 PublishInteractionClassRequest PublishInteractionClassResponse "publishInteractionClass"
    39 UnpublishInteractionClassRequest UnpublishInteractionClassResponse "unpublishInteractionClass"
    40 PublishObjectClassDirectedInteractionsRequest PublishObjectClassDirectedInteractionsResponse "publishObjectClassDirectedInteractions"
    41 UnpublishObjectClassDirectedInteractionsRequest UnpublishObjectClassDirectedInteractionsResponse "unpublishObjectClassDirectedInteractions"
    42 UnpublishObjectClassDirectedInteractionsWithSetRequest UnpublishObjectClassDirectedInteractionsWithSetResponse "unpublishObjectClassDirectedInteractionsWithSet"
    43 SubscribeObjectClassAttributesRequest SubscribeObjectClassAttributesResponse "subscribeObjectClassAttributes"
    44 SubscribeObjectClassAttributesWithRateRequest SubscribeObjectClassAttributesWithRateResponse "subscribeObjectClassAttributesWithRate"
    45 SubscribeObjectClassAttributesPassivelyRequest SubscribeObjectClassAttributesPassivelyResponse "subscribeObjectClassAttributesPassively"
    46 SubscribeObjectClassAttributesPassivelyWithRateRequest SubscribeObjectClassAttributesPassivelyWithRateResponse "subscribeObjectClassAttributesPassivelyWithRate"
    47 UnsubscribeObjectClassRequest UnsubscribeObjectClassResponse "unsubscribeObjectClass"
    48 UnsubscribeObjectClassAttributesRequest UnsubscribeObjectClassAttributesResponse "unsubscribeObjectClassAttributes"
    49 SubscribeInteractionClassRequest SubscribeInteractionClassResponse "subscribeInteractionClass"
    50 SubscribeInteractionClassPassivelyRequest SubscribeInteractionClassPassivelyResponse "subscribeInteractionClassPassively"
    51 UnsubscribeInteractionClassRequest UnsubscribeInteractionClassResponse "unsubscribeInteractionClass"
    52 SubscribeObjectClassDirectedInteractionsRequest SubscribeObjectClassDirectedInteractionsResponse "subscribeObjectClassDirectedInteractions"
    53 SubscribeObjectClassDirectedInteractionsUniversallyRequest SubscribeObjectClassDirectedInteractionsUniversallyResponse "subscribeObjectClassDirectedInteractionsUniversally"
    54 UnsubscribeObjectClassDirectedInteractionsRequest UnsubscribeObjectClassDirectedInteractionsResponse "unsubscribeObjectClassDirectedInteractions"
    55 UnsubscribeObjectClassDirectedInteractionsWithSetRequest UnsubscribeObjectClassDirectedInteractionsWithSetResponse "unsubscribeObjectClassDirectedInteractionsWithSet"
    56 ReserveObjectInstanceNameRequest ReserveObjectInstanceNameResponse "reserveObjectInstanceName"
    57 ReleaseObjectInstanceNameRequest ReleaseObjectInstanceNameResponse "releaseObjectInstanceName"
    58 ReserveMultipleObjectInstanceNamesRequest ReserveMultipleObjectInstanceNamesResponse "reserveMultipleObjectInstanceNames"
    59 ReleaseMultipleObjectInstanceNamesRequest ReleaseMultipleObjectInstanceNamesResponse "releaseMultipleObjectInstanceNames"
    60 RegisterObjectInstanceRequest RegisterObjectInstanceResponse "registerObjectInstance"
    61 RegisterObjectInstanceWithNameRequest RegisterObjectInstanceWithNameResponse "registerObjectInstanceWithName"
    62 UpdateAttributeValuesRequest UpdateAttributeValuesResponse "updateAttributeValues"
    63 UpdateAttributeValuesWithTimeRequest UpdateAttributeValuesWithTimeResponse "updateAttributeValuesWithTime"
    64 SendInteractionRequest SendInteractionResponse "sendInteraction"
    65 SendInteractionWithTimeRequest SendInteractionWithTimeResponse "sendInteractionWithTime"
    66 SendDirectedInteractionRequest SendDirectedInteractionResponse "sendDirectedInteraction"
    67 SendDirectedInteractionWithTimeRequest SendDirectedInteractionWithTimeResponse "sendDirectedInteractionWithTime"
    68 DeleteObjectInstanceRequest DeleteObjectInstanceResponse "deleteObjectInstance"
    69 DeleteObjectInstanceWithTimeRequest DeleteObjectInstanceWithTimeResponse "deleteObjectInstanceWithTime"
    70 LocalDeleteObjectInstanceRequest LocalDeleteObjectInstanceResponse "localDeleteObjectInstance"
    71 RequestInstanceAttributeValueUpdateRequest RequestInstanceAttributeValueUpdateResponse "requestInstanceAttributeValueUpdate"
    72 RequestClassAttributeValueUpdateRequest RequestClassAttributeValueUpdateResponse "requestClassAttributeValueUpdate"
    73 RequestAttributeTransportationTypeChangeRequest RequestAttributeTransportationTypeChangeResponse "requestAttributeTransportationTypeChange"
    74 ChangeDefaultAttributeTransportationTypeRequest ChangeDefaultAttributeTransportationTypeResponse "changeDefaultAttributeTransportationType"
    75 QueryAttributeTransportationTypeRequest QueryAttributeTransportationTypeResponse "queryAttributeTransportationType"
    76 RequestInteractionTransportationTypeChangeRequest RequestInteractionTransportationTypeChangeResponse "requestInteractionTransportationTypeChange"
    77 QueryInteractionTransportationTypeRequest QueryInteractionTransportationTypeResponse "queryInteractionTransportationType"
    78 UnconditionalAttributeOwnershipDivestitureRequest UnconditionalAttributeOwnershipDivestitureResponse "unconditionalAttributeOwnershipDivestiture"
    79 NegotiatedAttributeOwnershipDivestitureRequest NegotiatedAttributeOwnershipDivestitureResponse "negotiatedAttributeOwnershipDivestiture"
    80 ConfirmDivestitureRequest ConfirmDivestitureResponse "confirmDivestiture"
    81 AttributeOwnershipAcquisitionRequest AttributeOwnershipAcquisitionResponse "attributeOwnershipAcquisition"
    82 AttributeOwnershipAcquisitionIfAvailableRequest AttributeOwnershipAcquisitionIfAvailableResponse "attributeOwnershipAcquisitionIfAvailable"
    83 AttributeOwnershipReleaseDeniedRequest AttributeOwnershipReleaseDeniedResponse "attributeOwnershipReleaseDenied"
    84 AttributeOwnershipDivestitureIfWantedRequest AttributeOwnershipDivestitureIfWantedResponse "attributeOwnershipDivestitureIfWanted"
    85 CancelNegotiatedAttributeOwnershipDivestitureRequest CancelNegotiatedAttributeOwnershipDivestitureResponse "cancelNegotiatedAttributeOwnershipDivestiture"
    86 CancelAttributeOwnershipAcquisitionRequest CancelAttributeOwnershipAcquisitionResponse "cancelAttributeOwnershipAcquisition"
    87 QueryAttributeOwnershipRequest QueryAttributeOwnershipResponse "queryAttributeOwnership"
    88 IsAttributeOwnedByFederateRequest IsAttributeOwnedByFederateResponse "isAttributeOwnedByFederate"
    89 EnableTimeRegulationRequest EnableTimeRegulationResponse "enableTimeRegulation"
    90 DisableTimeRegulationRequest DisableTimeRegulationResponse "disableTimeRegulation"
    91 EnableTimeConstrainedRequest EnableTimeConstrainedResponse "enableTimeConstrained"
    92 DisableTimeConstrainedRequest DisableTimeConstrainedResponse "disableTimeConstrained"
    93 TimeAdvanceRequestRequest TimeAdvanceRequestResponse "timeAdvanceRequest"
    94 TimeAdvanceRequestAvailableRequest TimeAdvanceRequestAvailableResponse "timeAdvanceRequestAvailable"
    95 NextMessageRequestRequest NextMessageRequestResponse "nextMessageRequest"
    96 NextMessageRequestAvailableRequest NextMessageRequestAvailableResponse "nextMessageRequestAvailable"
    97 FlushQueueRequestRequest FlushQueueRequestResponse "flushQueueRequest"
    98 EnableAsynchronousDeliveryRequest EnableAsynchronousDeliveryResponse "enableAsynchronousDelivery"
    99 DisableAsynchronousDeliveryRequest DisableAsynchronousDeliveryResponse "disableAsynchronousDelivery"
    100 QueryGaltRequest QueryGaltResponse "queryGALT"
    101 QueryLogicalTimeRequest QueryLogicalTimeResponse "queryLogicalTime"
    102 QueryLitsRequest QueryLitsResponse "queryLITS"
    103 ModifyLookaheadRequest ModifyLookaheadResponse "modifyLookahead"
    104 QueryLookaheadRequest QueryLookaheadResponse "queryLookahead"
    105 RetractRequest RetractResponse "retract"
    106 ChangeAttributeOrderTypeRequest ChangeAttributeOrderTypeResponse "changeAttributeOrderType"
    107 ChangeDefaultAttributeOrderTypeRequest ChangeDefaultAttributeOrderTypeResponse "changeDefaultAttributeOrderType"
    108 ChangeInteractionOrderTypeRequest ChangeInteractionOrderTypeResponse "changeInteractionOrderType"
    109 CreateRegionRequest CreateRegionResponse "createRegion"
    110 CommitRegionModificationsRequest CommitRegionModificationsResponse "commitRegionModifications"
    111 DeleteRegionRequest DeleteRegionResponse "deleteRegion"
    112 RegisterObjectInstanceWithRegionsRequest RegisterObjectInstanceWithRegionsResponse "registerObjectInstanceWithRegions"
    113 RegisterObjectInstanceWithNameAndRegionsRequest RegisterObjectInstanceWithNameAndRegionsResponse "registerObjectInstanceWithNameAndRegions"
    114 AssociateRegionsForUpdatesRequest AssociateRegionsForUpdatesResponse "associateRegionsForUpdates"
    115 UnassociateRegionsForUpdatesRequest UnassociateRegionsForUpdatesResponse "unassociateRegionsForUpdates"
    116 SubscribeObjectClassAttributesWithRegionsRequest SubscribeObjectClassAttributesWithRegionsResponse "subscribeObjectClassAttributesWithRegions"
    117 SubscribeObjectClassAttributesWithRegionsAndRateRequest SubscribeObjectClassAttributesWithRegionsAndRateResponse "subscribeObjectClassAttributesWithRegionsAndRate"
    118 UnsubscribeObjectClassAttributesWithRegionsRequest UnsubscribeObjectClassAttributesWithRegionsResponse "unsubscribeObjectClassAttributesWithRegions"
    119 SubscribeInteractionClassWithRegionsRequest SubscribeInteractionClassWithRegionsResponse "subscribeInteractionClassWithRegions"
    120 UnsubscribeInteractionClassWithRegionsRequest UnsubscribeInteractionClassWithRegionsResponse "unsubscribeInteractionClassWithRegions"
    121 SendInteractionWithRegionsRequest SendInteractionWithRegionsResponse "sendInteractionWithRegions"
    122 SendInteractionWithRegionsAndTimeRequest SendInteractionWithRegionsAndTimeResponse "sendInteractionWithRegionsAndTime"
    123 RequestAttributeValueUpdateWithRegionsRequest RequestAttributeValueUpdateWithRegionsResponse "requestAttributeValueUpdateWithRegions"
    124 GetFederateHandleRequest GetFederateHandleResponse "getFederateHandle"
    125 GetFederateNameRequest GetFederateNameResponse "getFederateName"
    126 GetObjectClassHandleRequest GetObjectClassHandleResponse "getObjectClassHandle"
    127 GetObjectClassNameRequest GetObjectClassNameResponse "getObjectClassName"
    128 GetKnownObjectClassHandleRequest GetKnownObjectClassHandleResponse "getKnownObjectClassHandle"
    129 GetObjectInstanceHandleRequest GetObjectInstanceHandleResponse "getObjectInstanceHandle"
    130 GetObjectInstanceNameRequest GetObjectInstanceNameResponse "getObjectInstanceName"
    131 GetAttributeHandleRequest GetAttributeHandleResponse "getAttributeHandle"
    132 GetAttributeNameRequest GetAttributeNameResponse "getAttributeName"
    133 GetUpdateRateValueRequest GetUpdateRateValueResponse "getUpdateRateValue"
    134 GetUpdateRateValueForAttributeRequest GetUpdateRateValueForAttributeResponse "getUpdateRateValueForAttribute"
    135 GetInteractionClassHandleRequest GetInteractionClassHandleResponse "getInteractionClassHandle"
    136 GetInteractionClassNameRequest GetInteractionClassNameResponse "getInteractionClassName"
    137 GetParameterHandleRequest GetParameterHandleResponse "getParameterHandle"
    138 GetParameterNameRequest GetParameterNameResponse "getParameterName"
    139 GetOrderTypeRequest GetOrderTypeResponse "getOrderType"
    140 GetOrderNameRequest GetOrderNameResponse "getOrderName"
    141 GetTransportationTypeHandleRequest GetTransportationTypeHandleResponse "getTransportationTypeHandle"
    142 GetTransportationTypeNameRequest GetTransportationTypeNameResponse "getTransportationTypeName"
    143 GetAvailableDimensionsForObjectClassRequest GetAvailableDimensionsForObjectClassResponse "getAvailableDimensionsForObjectClass"
    144 GetAvailableDimensionsForInteractionClassRequest GetAvailableDimensionsForInteractionClassResponse "getAvailableDimensionsForInteractionClass"
    145 GetDimensionHandleRequest GetDimensionHandleResponse "getDimensionHandle"
    146 GetDimensionNameRequest GetDimensionNameResponse "getDimensionName"
    147 GetDimensionUpperBoundRequest GetDimensionUpperBoundResponse "getDimensionUpperBound"
    148 GetDimensionHandleSetRequest GetDimensionHandleSetResponse "getDimensionHandleSet"
    149 GetRangeBoundsRequest GetRangeBoundsResponse "getRangeBounds"
    150 SetRangeBoundsRequest SetRangeBoundsResponse "setRangeBounds"
    151 NormalizeServiceGroupRequest NormalizeServiceGroupResponse "normalizeServiceGroup"
    152 NormalizeFederateHandleRequest NormalizeFederateHandleResponse "normalizeFederateHandle"
    153 NormalizeObjectClassHandleRequest NormalizeObjectClassHandleResponse "normalizeObjectClassHandle"
    154 NormalizeInteractionClassHandleRequest NormalizeInteractionClassHandleResponse "normalizeInteractionClassHandle"
    155 NormalizeObjectInstanceHandleRequest NormalizeObjectInstanceHandleResponse "normalizeObjectInstanceHandle"
    156 GetObjectClassRelevanceAdvisorySwitchRequest GetObjectClassRelevanceAdvisorySwitchResponse "getObjectClassRelevanceAdvisorySwitch"
    157 SetObjectClassRelevanceAdvisorySwitchRequest SetObjectClassRelevanceAdvisorySwitchResponse "setObjectClassRelevanceAdvisorySwitch"
    158 GetAttributeRelevanceAdvisorySwitchRequest GetAttributeRelevanceAdvisorySwitchResponse "getAttributeRelevanceAdvisorySwitch"
    159 SetAttributeRelevanceAdvisorySwitchRequest SetAttributeRelevanceAdvisorySwitchResponse "setAttributeRelevanceAdvisorySwitch"
    160 GetAttributeScopeAdvisorySwitchRequest GetAttributeScopeAdvisorySwitchResponse "getAttributeScopeAdvisorySwitch"
    161 SetAttributeScopeAdvisorySwitchRequest SetAttributeScopeAdvisorySwitchResponse "setAttributeScopeAdvisorySwitch"
    162 GetInteractionRelevanceAdvisorySwitchRequest GetInteractionRelevanceAdvisorySwitchResponse "getInteractionRelevanceAdvisorySwitch"
    163 SetInteractionRelevanceAdvisorySwitchRequest SetInteractionRelevanceAdvisorySwitchResponse "setInteractionRelevanceAdvisorySwitch"
    164 GetConveyRegionDesignatorSetsSwitchRequest GetConveyRegionDesignatorSetsSwitchResponse "getConveyRegionDesignatorSetsSwitch"
    165 SetConveyRegionDesignatorSetsSwitchRequest SetConveyRegionDesignatorSetsSwitchResponse "setConveyRegionDesignatorSetsSwitch"
    166 GetAutomaticResignDirectiveRequest GetAutomaticResignDirectiveResponse "getAutomaticResignDirective"
    167 SetAutomaticResignDirectiveRequest SetAutomaticResignDirectiveResponse "setAutomaticResignDirective"
    168 GetServiceReportingSwitchRequest GetServiceReportingSwitchResponse "getServiceReportingSwitch"
    169 SetServiceReportingSwitchRequest SetServiceReportingSwitchResponse "setServiceReportingSwitch"
    170 GetExceptionReportingSwitchRequest GetExceptionReportingSwitchResponse "getExceptionReportingSwitch"
    171 SetExceptionReportingSwitchRequest SetExceptionReportingSwitchResponse "setExceptionReportingSwitch"
    172 GetSendServiceReportsToFileSwitchRequest GetSendServiceReportsToFileSwitchResponse "getSendServiceReportsToFileSwitch"
    173 SetSendServiceReportsToFileSwitchRequest SetSendServiceReportsToFileSwitchResponse "setSendServiceReportsToFileSwitch"
    174 GetAutoProvideSwitchRequest GetAutoProvideSwitchResponse "getAutoProvideSwitch"
    175 GetDelaySubscriptionEvaluationSwitchRequest GetDelaySubscriptionEvaluationSwitchResponse "getDelaySubscriptionEvaluationSwitch"
    176 GetAdvisoriesUseKnownClassSwitchRequest GetAdvisoriesUseKnownClassSwitchResponse "getAdvisoriesUseKnownClassSwitch"
    177 GetAllowRelaxedDdmSwitchRequest GetAllowRelaxedDdmSwitchResponse "getAllowRelaxedDDMSwitch"
    178 GetNonRegulatedGrantSwitchRequest GetNonRegulatedGrantSwitchResponse "getNonRegulatedGrantSwitch"
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::api::Message;

    /// The field number of the first key in `bytes`.
    fn field(mut bytes: &[u8]) -> u32 {
        prost::encoding::decode_key(&mut bytes).unwrap().0
    }

    #[test]
    fn every_request_has_its_name_and_its_response_one_field_on() {
        let samples = samples();
        assert_eq!(samples.len(), SERVICES as usize);
        for (index, (number, request, response)) in samples.iter().enumerate() {
            assert_eq!(*number as usize, index + 1);
            assert_eq!(field(&request.encode_to_vec()), *number);
            assert_eq!(request_field(request), Some(*number));
            assert_eq!(field(&response.encode_to_vec()), number + 1, "{}", service_name(request));
            assert_eq!(response_field(request), Some(number + 1));
            assert_eq!(Some(service_name(request)), name_of_field(*number));
        }
    }

    #[test]
    fn some_names() {
        assert_eq!(name_of_field(1), Some("connect"));
        assert_eq!(name_of_field(5), Some("disconnect"));
        assert_eq!(name_of_field(0), None);
        assert_eq!(name_of_field(179), None);
        assert_eq!(service_name(&CallRequest { call_request: None }), "unknown service");
        assert_eq!(response_field(&CallRequest { call_request: None }), None);
    }
}
