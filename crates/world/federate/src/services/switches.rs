//! Support services (1516.1-2025, clause 10): switches and directives.
//!
//! One method for each service, in the order of the standard; [`Call`] says when a request leaves.

#[allow(clippy::wildcard_imports)] // the vocabulary is the whole of the API
use hla::api::*;

use crate::call::Call;
use crate::federate::Federate;
use crate::service::services;

services! {
    GetObjectClassRelevanceAdvisorySwitchRequest => GetObjectClassRelevanceAdvisorySwitchResponse.result: bool;
    SetObjectClassRelevanceAdvisorySwitchRequest => SetObjectClassRelevanceAdvisorySwitchResponse: ();
    GetAttributeRelevanceAdvisorySwitchRequest => GetAttributeRelevanceAdvisorySwitchResponse.result: bool;
    SetAttributeRelevanceAdvisorySwitchRequest => SetAttributeRelevanceAdvisorySwitchResponse: ();
    GetAttributeScopeAdvisorySwitchRequest => GetAttributeScopeAdvisorySwitchResponse.result: bool;
    SetAttributeScopeAdvisorySwitchRequest => SetAttributeScopeAdvisorySwitchResponse: ();
    GetInteractionRelevanceAdvisorySwitchRequest => GetInteractionRelevanceAdvisorySwitchResponse.result: bool;
    SetInteractionRelevanceAdvisorySwitchRequest => SetInteractionRelevanceAdvisorySwitchResponse: ();
    GetConveyRegionDesignatorSetsSwitchRequest => GetConveyRegionDesignatorSetsSwitchResponse.result: bool;
    SetConveyRegionDesignatorSetsSwitchRequest => SetConveyRegionDesignatorSetsSwitchResponse: ();
    GetAutomaticResignDirectiveRequest => GetAutomaticResignDirectiveResponse.result: ResignAction;
    SetAutomaticResignDirectiveRequest => SetAutomaticResignDirectiveResponse: ();
    GetServiceReportingSwitchRequest => GetServiceReportingSwitchResponse.result: bool;
    SetServiceReportingSwitchRequest => SetServiceReportingSwitchResponse: ();
    GetExceptionReportingSwitchRequest => GetExceptionReportingSwitchResponse.result: bool;
    SetExceptionReportingSwitchRequest => SetExceptionReportingSwitchResponse: ();
    GetSendServiceReportsToFileSwitchRequest => GetSendServiceReportsToFileSwitchResponse.result: bool;
    SetSendServiceReportsToFileSwitchRequest => SetSendServiceReportsToFileSwitchResponse: ();
    GetAutoProvideSwitchRequest => GetAutoProvideSwitchResponse.result: bool;
    GetDelaySubscriptionEvaluationSwitchRequest => GetDelaySubscriptionEvaluationSwitchResponse.result: bool;
    GetAdvisoriesUseKnownClassSwitchRequest => GetAdvisoriesUseKnownClassSwitchResponse.result: bool;
    GetAllowRelaxedDdmSwitchRequest => GetAllowRelaxedDdmSwitchResponse.result: bool;
    GetNonRegulatedGrantSwitchRequest => GetNonRegulatedGrantSwitchResponse.result: bool;
}

/// Support services (1516.1-2025, clause 10): switches and directives.
impl Federate {
    /// Get Object Class Relevance Advisory Switch (10.34).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_object_class_relevance_advisory_switch(&self) -> Call<bool> {
        self.call(GetObjectClassRelevanceAdvisorySwitchRequest {})
    }

    /// Set Object Class Relevance Advisory Switch (10.35).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_object_class_relevance_advisory_switch(&self, value: bool) -> Call<()> {
        self.call(SetObjectClassRelevanceAdvisorySwitchRequest { value })
    }

    /// Get Attribute Relevance Advisory Switch (10.36).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_attribute_relevance_advisory_switch(&self) -> Call<bool> {
        self.call(GetAttributeRelevanceAdvisorySwitchRequest {})
    }

    /// Set Attribute Relevance Advisory Switch (10.37).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_attribute_relevance_advisory_switch(&self, value: bool) -> Call<()> {
        self.call(SetAttributeRelevanceAdvisorySwitchRequest { value })
    }

    /// Get Attribute Scope Advisory Switch (10.38).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_attribute_scope_advisory_switch(&self) -> Call<bool> {
        self.call(GetAttributeScopeAdvisorySwitchRequest {})
    }

    /// Set Attribute Scope Advisory Switch (10.39).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_attribute_scope_advisory_switch(&self, value: bool) -> Call<()> {
        self.call(SetAttributeScopeAdvisorySwitchRequest { value })
    }

    /// Get Interaction Relevance Advisory Switch (10.40).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_interaction_relevance_advisory_switch(&self) -> Call<bool> {
        self.call(GetInteractionRelevanceAdvisorySwitchRequest {})
    }

    /// Set Interaction Relevance Advisory Switch (10.41).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_interaction_relevance_advisory_switch(&self, value: bool) -> Call<()> {
        self.call(SetInteractionRelevanceAdvisorySwitchRequest { value })
    }

    /// Get Convey Region Designator Sets Switch (10.42).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_convey_region_designator_sets_switch(&self) -> Call<bool> {
        self.call(GetConveyRegionDesignatorSetsSwitchRequest {})
    }

    /// Set Convey Region Designator Sets Switch (10.43).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_convey_region_designator_sets_switch(&self, value: bool) -> Call<()> {
        self.call(SetConveyRegionDesignatorSetsSwitchRequest { value })
    }

    /// Get Automatic Resign Directive (10.44).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_automatic_resign_directive(&self) -> Call<ResignAction> {
        self.call(GetAutomaticResignDirectiveRequest {})
    }

    /// Set Automatic Resign Directive (10.45).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_automatic_resign_directive(&self, value: ResignAction) -> Call<()> {
        self.call(SetAutomaticResignDirectiveRequest { value: value.into() })
    }

    /// Get Service Reporting Switch (10.46).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_service_reporting_switch(&self) -> Call<bool> {
        self.call(GetServiceReportingSwitchRequest {})
    }

    /// Set Service Reporting Switch (10.47).
    ///
    /// Raises ReportServiceInvocationsAreSubscribed, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_service_reporting_switch(&self, value: bool) -> Call<()> {
        self.call(SetServiceReportingSwitchRequest { value })
    }

    /// Get Exception Reporting Switch (10.48).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_exception_reporting_switch(&self) -> Call<bool> {
        self.call(GetExceptionReportingSwitchRequest {})
    }

    /// Set Exception Reporting Switch (10.49).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_exception_reporting_switch(&self, value: bool) -> Call<()> {
        self.call(SetExceptionReportingSwitchRequest { value })
    }

    /// Get Send Service Reports To File Switch (10.50).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_send_service_reports_to_file_switch(&self) -> Call<bool> {
        self.call(GetSendServiceReportsToFileSwitchRequest {})
    }

    /// Set Send Service Reports To File Switch (10.51).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn set_send_service_reports_to_file_switch(&self, value: bool) -> Call<()> {
        self.call(SetSendServiceReportsToFileSwitchRequest { value })
    }

    /// Get Auto Provide Switch (10.52).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_auto_provide_switch(&self) -> Call<bool> {
        self.call(GetAutoProvideSwitchRequest {})
    }

    /// Get Delay Subscription Evaluation Switch (10.53).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_delay_subscription_evaluation_switch(&self) -> Call<bool> {
        self.call(GetDelaySubscriptionEvaluationSwitchRequest {})
    }

    /// Get Advisories Use Known Class Switch (10.54).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_advisories_use_known_class_switch(&self) -> Call<bool> {
        self.call(GetAdvisoriesUseKnownClassSwitchRequest {})
    }

    /// Get Allow Relaxed DDM Switch (10.55).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_allow_relaxed_ddm_switch(&self) -> Call<bool> {
        self.call(GetAllowRelaxedDdmSwitchRequest {})
    }

    /// Get Non Regulated Grant Switch (10.56).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn get_non_regulated_grant_switch(&self) -> Call<bool> {
        self.call(GetNonRegulatedGrantSwitchRequest {})
    }
}
