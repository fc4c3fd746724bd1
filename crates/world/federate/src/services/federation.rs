//! Federation management (1516.1-2025, clause 4).
//!
//! One method for each service, in the order of the standard; [`Call`] says when a request leaves.

use bytes::Bytes;
#[allow(clippy::wildcard_imports)] // the vocabulary is the whole of the API
use hla::api::*;
use hla::handle::FederateHandle;

use crate::call::Call;
use crate::federate::Federate;
use crate::service::{services, set};

services! {
    ConnectRequest => ConnectResponse.configuration_result: ConfigurationResult;
    ConnectWithCredentialsRequest => ConnectWithCredentialsResponse.configuration_result: ConfigurationResult;
    ConnectWithConfigurationRequest => ConnectWithConfigurationResponse.configuration_result: ConfigurationResult;
    ConnectWithConfigurationAndCredentialsRequest => ConnectWithConfigurationAndCredentialsResponse.configuration_result: ConfigurationResult;
    DisconnectRequest => DisconnectResponse: ();
    CreateFederationExecutionRequest => CreateFederationExecutionResponse: ();
    CreateFederationExecutionWithTimeRequest => CreateFederationExecutionWithTimeResponse: ();
    CreateFederationExecutionWithModulesRequest => CreateFederationExecutionWithModulesResponse: ();
    CreateFederationExecutionWithModulesAndTimeRequest => CreateFederationExecutionWithModulesAndTimeResponse: ();
    CreateFederationExecutionWithMimRequest => CreateFederationExecutionWithMimResponse: ();
    CreateFederationExecutionWithMimAndTimeRequest => CreateFederationExecutionWithMimAndTimeResponse: ();
    DestroyFederationExecutionRequest => DestroyFederationExecutionResponse: ();
    ListFederationExecutionsRequest => ListFederationExecutionsResponse: ();
    ListFederationExecutionMembersRequest => ListFederationExecutionMembersResponse: ();
    JoinFederationExecutionRequest => JoinFederationExecutionResponse.result: JoinResult;
    JoinFederationExecutionWithModulesRequest => JoinFederationExecutionWithModulesResponse.result: JoinResult;
    JoinFederationExecutionWithNameRequest => JoinFederationExecutionWithNameResponse.result: JoinResult;
    JoinFederationExecutionWithNameAndModulesRequest => JoinFederationExecutionWithNameAndModulesResponse.result: JoinResult;
    ResignFederationExecutionRequest => ResignFederationExecutionResponse: ();
    RegisterFederationSynchronizationPointRequest => RegisterFederationSynchronizationPointResponse: ();
    RegisterFederationSynchronizationPointWithSetRequest => RegisterFederationSynchronizationPointWithSetResponse: ();
    SynchronizationPointAchievedRequest => SynchronizationPointAchievedResponse: ();
    RequestFederationSaveRequest => RequestFederationSaveResponse: ();
    RequestFederationSaveWithTimeRequest => RequestFederationSaveWithTimeResponse: ();
    FederateSaveBegunRequest => FederateSaveBegunResponse: ();
    FederateSaveCompleteRequest => FederateSaveCompleteResponse: ();
    FederateSaveNotCompleteRequest => FederateSaveNotCompleteResponse: ();
    AbortFederationSaveRequest => AbortFederationSaveResponse: ();
    QueryFederationSaveStatusRequest => QueryFederationSaveStatusResponse: ();
    RequestFederationRestoreRequest => RequestFederationRestoreResponse: ();
    FederateRestoreCompleteRequest => FederateRestoreCompleteResponse: ();
    FederateRestoreNotCompleteRequest => FederateRestoreNotCompleteResponse: ();
    AbortFederationRestoreRequest => AbortFederationRestoreResponse: ();
    QueryFederationRestoreStatusRequest => QueryFederationRestoreStatusResponse: ();
}

/// Federation management (1516.1-2025, clause 4).
impl Federate {
    /// Connect (4.2).
    ///
    /// Raises Unauthorized, ConnectionFailed, UnsupportedCallbackModel, AlreadyConnected,
    /// CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn request_connect(&self) -> Call<ConfigurationResult> {
        self.call(ConnectRequest {})
    }

    /// Connect With Credentials (4.2).
    ///
    /// Raises Unauthorized, InvalidCredentials, ConnectionFailed, UnsupportedCallbackModel, AlreadyConnected,
    /// CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn request_connect_with_credentials(&self, credentials: Credentials) -> Call<ConfigurationResult> {
        self.call(ConnectWithCredentialsRequest { credentials: Some(credentials) })
    }

    /// Connect With Configuration (4.2).
    ///
    /// Raises Unauthorized, ConnectionFailed, UnsupportedCallbackModel, AlreadyConnected,
    /// CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn request_connect_with_configuration(
        &self,
        rti_configuration: RtiConfiguration,
    ) -> Call<ConfigurationResult> {
        self.call(ConnectWithConfigurationRequest { rti_configuration: Some(rti_configuration) })
    }

    /// Connect With Configuration And Credentials (4.2).
    ///
    /// Raises Unauthorized, InvalidCredentials, ConnectionFailed, UnsupportedCallbackModel, AlreadyConnected,
    /// CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn request_connect_with_configuration_and_credentials(
        &self,
        rti_configuration: RtiConfiguration,
        credentials: Credentials,
    ) -> Call<ConfigurationResult> {
        self.call(ConnectWithConfigurationAndCredentialsRequest {
            rti_configuration: Some(rti_configuration),
            credentials: Some(credentials),
        })
    }

    /// Disconnect (4.3).
    ///
    /// Raises FederateIsExecutionMember, CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn request_disconnect(&self) -> Call<()> {
        self.call(DisconnectRequest {})
    }

    /// Create Federation Execution (4.5).
    ///
    /// Raises InconsistentFOM, InvalidFOM, ErrorReadingFOM, CouldNotOpenFOM,
    /// FederationExecutionAlreadyExists, Unauthorized, NotConnected, RTIinternalError.
    pub fn create_federation_execution(
        &self,
        federation_name: impl Into<String>,
        fom_module: FomModule,
    ) -> Call<()> {
        self.call(CreateFederationExecutionRequest {
            federation_name: federation_name.into(),
            fom_module: Some(fom_module),
        })
    }

    /// Create Federation Execution With Time (4.5).
    ///
    /// Raises CouldNotCreateLogicalTimeFactory, InconsistentFOM, InvalidFOM, ErrorReadingFOM,
    /// CouldNotOpenFOM, FederationExecutionAlreadyExists, Unauthorized, NotConnected, RTIinternalError.
    pub fn create_federation_execution_with_time(
        &self,
        federation_name: impl Into<String>,
        fom_module: FomModule,
        logical_time_implementation_name: impl Into<String>,
    ) -> Call<()> {
        self.call(CreateFederationExecutionWithTimeRequest {
            federation_name: federation_name.into(),
            fom_module: Some(fom_module),
            logical_time_implementation_name: logical_time_implementation_name.into(),
        })
    }

    /// Create Federation Execution With Modules (4.5).
    ///
    /// Raises InconsistentFOM, InvalidFOM, ErrorReadingFOM, CouldNotOpenFOM,
    /// FederationExecutionAlreadyExists, Unauthorized, NotConnected, RTIinternalError.
    pub fn create_federation_execution_with_modules(
        &self,
        federation_name: impl Into<String>,
        fom_modules: impl IntoIterator<Item = FomModule>,
    ) -> Call<()> {
        self.call(CreateFederationExecutionWithModulesRequest {
            federation_name: federation_name.into(),
            fom_modules: set(fom_modules),
        })
    }

    /// Create Federation Execution With Modules And Time (4.5).
    ///
    /// Raises CouldNotCreateLogicalTimeFactory, InconsistentFOM, InvalidFOM, ErrorReadingFOM,
    /// CouldNotOpenFOM, FederationExecutionAlreadyExists, Unauthorized, NotConnected, RTIinternalError.
    pub fn create_federation_execution_with_modules_and_time(
        &self,
        federation_name: impl Into<String>,
        fom_modules: impl IntoIterator<Item = FomModule>,
        logical_time_implementation_name: impl Into<String>,
    ) -> Call<()> {
        self.call(CreateFederationExecutionWithModulesAndTimeRequest {
            federation_name: federation_name.into(),
            fom_modules: set(fom_modules),
            logical_time_implementation_name: logical_time_implementation_name.into(),
        })
    }

    /// Create Federation Execution With MIM (4.5).
    ///
    /// Raises InconsistentFOM, InvalidFOM, ErrorReadingFOM, CouldNotOpenFOM, InvalidMIM, ErrorReadingMIM,
    /// CouldNotOpenMIM, DesignatorIsHLAstandardMIM, FederationExecutionAlreadyExists, Unauthorized,
    /// NotConnected, RTIinternalError.
    pub fn create_federation_execution_with_mim(
        &self,
        federation_name: impl Into<String>,
        fom_modules: impl IntoIterator<Item = FomModule>,
        mim_module: FomModule,
    ) -> Call<()> {
        self.call(CreateFederationExecutionWithMimRequest {
            federation_name: federation_name.into(),
            fom_modules: set(fom_modules),
            mim_module: Some(mim_module),
        })
    }

    /// Create Federation Execution With MIM And Time (4.5).
    ///
    /// Raises CouldNotCreateLogicalTimeFactory, InconsistentFOM, InvalidFOM, ErrorReadingFOM,
    /// CouldNotOpenFOM, InvalidMIM, ErrorReadingMIM, CouldNotOpenMIM, DesignatorIsHLAstandardMIM,
    /// FederationExecutionAlreadyExists, Unauthorized, NotConnected, RTIinternalError.
    pub fn create_federation_execution_with_mim_and_time(
        &self,
        federation_name: impl Into<String>,
        fom_modules: impl IntoIterator<Item = FomModule>,
        mim_module: FomModule,
        logical_time_implementation_name: impl Into<String>,
    ) -> Call<()> {
        self.call(CreateFederationExecutionWithMimAndTimeRequest {
            federation_name: federation_name.into(),
            fom_modules: set(fom_modules),
            mim_module: Some(mim_module),
            logical_time_implementation_name: logical_time_implementation_name.into(),
        })
    }

    /// Destroy Federation Execution (4.6).
    ///
    /// Raises FederatesCurrentlyJoined, FederationExecutionDoesNotExist, Unauthorized, NotConnected,
    /// RTIinternalError.
    pub fn destroy_federation_execution(&self, federation_name: impl Into<String>) -> Call<()> {
        self.call(DestroyFederationExecutionRequest { federation_name: federation_name.into() })
    }

    /// List Federation Executions (4.7).
    ///
    /// Raises NotConnected, RTIinternalError.
    pub fn list_federation_executions(&self) -> Call<()> {
        self.call(ListFederationExecutionsRequest {})
    }

    /// List Federation Execution Members (4.9).
    ///
    /// Raises NotConnected, RTIinternalError.
    pub fn list_federation_execution_members(&self, federation_name: impl Into<String>) -> Call<()> {
        self.call(ListFederationExecutionMembersRequest { federation_name: federation_name.into() })
    }

    /// Join Federation Execution (4.11).
    ///
    /// Raises CouldNotCreateLogicalTimeFactory, FederationExecutionDoesNotExist, SaveInProgress,
    /// RestoreInProgress, FederateAlreadyExecutionMember, Unauthorized, NotConnected,
    /// CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn join_federation_execution(
        &self,
        federate_type: impl Into<String>,
        federation_name: impl Into<String>,
    ) -> Call<JoinResult> {
        self.call(JoinFederationExecutionRequest {
            federate_type: federate_type.into(),
            federation_name: federation_name.into(),
        })
    }

    /// Join Federation Execution With Modules (4.11).
    ///
    /// Raises CouldNotCreateLogicalTimeFactory, FederationExecutionDoesNotExist, InconsistentFOM, InvalidFOM,
    /// ErrorReadingFOM, CouldNotOpenFOM, SaveInProgress, RestoreInProgress, FederateAlreadyExecutionMember,
    /// Unauthorized, NotConnected, CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn join_federation_execution_with_modules(
        &self,
        federate_type: impl Into<String>,
        federation_name: impl Into<String>,
        additional_fom_modules: impl IntoIterator<Item = FomModule>,
    ) -> Call<JoinResult> {
        self.call(JoinFederationExecutionWithModulesRequest {
            federate_type: federate_type.into(),
            federation_name: federation_name.into(),
            additional_fom_modules: set(additional_fom_modules),
        })
    }

    /// Join Federation Execution With Name (4.11).
    ///
    /// Raises CouldNotCreateLogicalTimeFactory, FederateNameAlreadyInUse, FederationExecutionDoesNotExist,
    /// SaveInProgress, RestoreInProgress, FederateAlreadyExecutionMember, Unauthorized, NotConnected,
    /// CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn join_federation_execution_with_name(
        &self,
        federate_name: impl Into<String>,
        federate_type: impl Into<String>,
        federation_name: impl Into<String>,
    ) -> Call<JoinResult> {
        self.call(JoinFederationExecutionWithNameRequest {
            federate_name: federate_name.into(),
            federate_type: federate_type.into(),
            federation_name: federation_name.into(),
        })
    }

    /// Join Federation Execution With Name And Modules (4.11).
    ///
    /// Raises CouldNotCreateLogicalTimeFactory, FederateNameAlreadyInUse, FederationExecutionDoesNotExist,
    /// InconsistentFOM, InvalidFOM, ErrorReadingFOM, CouldNotOpenFOM, SaveInProgress, RestoreInProgress,
    /// FederateAlreadyExecutionMember, Unauthorized, NotConnected, CallNotAllowedFromWithinCallback,
    /// RTIinternalError.
    pub fn join_federation_execution_with_name_and_modules(
        &self,
        federate_name: impl Into<String>,
        federate_type: impl Into<String>,
        federation_name: impl Into<String>,
        additional_fom_modules: impl IntoIterator<Item = FomModule>,
    ) -> Call<JoinResult> {
        self.call(JoinFederationExecutionWithNameAndModulesRequest {
            federate_name: federate_name.into(),
            federate_type: federate_type.into(),
            federation_name: federation_name.into(),
            additional_fom_modules: set(additional_fom_modules),
        })
    }

    /// Resign Federation Execution (4.12).
    ///
    /// Raises InvalidResignAction, OwnershipAcquisitionPending, FederateOwnsAttributes,
    /// FederateNotExecutionMember, NotConnected, CallNotAllowedFromWithinCallback, RTIinternalError.
    pub fn resign_federation_execution(&self, resign_action: ResignAction) -> Call<()> {
        self.call(ResignFederationExecutionRequest { resign_action: resign_action.into() })
    }

    /// Register Federation Synchronization Point (4.14).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn register_federation_synchronization_point(
        &self,
        synchronization_point_label: impl Into<String>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Call<()> {
        self.call(RegisterFederationSynchronizationPointRequest {
            synchronization_point_label: synchronization_point_label.into(),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Register Federation Synchronization Point With Set (4.14).
    ///
    /// Raises InvalidFederateHandle, SaveInProgress, RestoreInProgress, FederateNotExecutionMember,
    /// NotConnected, RTIinternalError.
    pub fn register_federation_synchronization_point_with_set(
        &self,
        synchronization_point_label: impl Into<String>,
        user_supplied_tag: impl Into<Bytes>,
        synchronization_set: impl IntoIterator<Item = FederateHandle>,
    ) -> Call<()> {
        self.call(RegisterFederationSynchronizationPointWithSetRequest {
            synchronization_point_label: synchronization_point_label.into(),
            user_supplied_tag: user_supplied_tag.into(),
            synchronization_set: set(synchronization_set),
        })
    }

    /// Synchronization Point Achieved (4.17).
    ///
    /// Raises SynchronizationPointLabelNotAnnounced, SaveInProgress, RestoreInProgress,
    /// FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn synchronization_point_achieved(
        &self,
        synchronization_point_label: impl Into<String>,
        successfully: bool,
    ) -> Call<()> {
        self.call(SynchronizationPointAchievedRequest {
            synchronization_point_label: synchronization_point_label.into(),
            successfully,
        })
    }

    /// Request Federation Save (4.19).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn request_federation_save(&self, label: impl Into<String>) -> Call<()> {
        self.call(RequestFederationSaveRequest { label: label.into() })
    }

    /// Request Federation Save With Time (4.19).
    ///
    /// Raises LogicalTimeAlreadyPassed, InvalidLogicalTime, FederateUnableToUseTime, SaveInProgress,
    /// RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn request_federation_save_with_time(
        &self,
        label: impl Into<String>,
        time: impl Into<LogicalTime>,
    ) -> Call<()> {
        self.call(RequestFederationSaveWithTimeRequest { label: label.into(), time: Some(time.into()) })
    }

    /// Federate Save Begun (4.21).
    ///
    /// Raises SaveNotInitiated, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn federate_save_begun(&self) -> Call<()> {
        self.call(FederateSaveBegunRequest {})
    }

    /// Federate Save Complete (4.22).
    ///
    /// Raises FederateHasNotBegunSave, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn federate_save_complete(&self) -> Call<()> {
        self.call(FederateSaveCompleteRequest {})
    }

    /// Federate Save Not Complete (4.22).
    ///
    /// Raises FederateHasNotBegunSave, RestoreInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn federate_save_not_complete(&self) -> Call<()> {
        self.call(FederateSaveNotCompleteRequest {})
    }

    /// Abort Federation Save (4.24).
    ///
    /// Raises SaveNotInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn abort_federation_save(&self) -> Call<()> {
        self.call(AbortFederationSaveRequest {})
    }

    /// Query Federation Save Status (4.25).
    ///
    /// Raises RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn query_federation_save_status(&self) -> Call<()> {
        self.call(QueryFederationSaveStatusRequest {})
    }

    /// Request Federation Restore (4.27).
    ///
    /// Raises SaveInProgress, RestoreInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn request_federation_restore(&self, label: impl Into<String>) -> Call<()> {
        self.call(RequestFederationRestoreRequest { label: label.into() })
    }

    /// Federate Restore Complete (4.31).
    ///
    /// Raises RestoreNotRequested, SaveInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn federate_restore_complete(&self) -> Call<()> {
        self.call(FederateRestoreCompleteRequest {})
    }

    /// Federate Restore Not Complete (4.31).
    ///
    /// Raises RestoreNotRequested, SaveInProgress, FederateNotExecutionMember, NotConnected,
    /// RTIinternalError.
    pub fn federate_restore_not_complete(&self) -> Call<()> {
        self.call(FederateRestoreNotCompleteRequest {})
    }

    /// Abort Federation Restore (4.33).
    ///
    /// Raises RestoreNotInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn abort_federation_restore(&self) -> Call<()> {
        self.call(AbortFederationRestoreRequest {})
    }

    /// Query Federation Restore Status (4.34).
    ///
    /// Raises SaveInProgress, FederateNotExecutionMember, NotConnected, RTIinternalError.
    pub fn query_federation_restore_status(&self) -> Call<()> {
        self.call(QueryFederationRestoreStatusRequest {})
    }
}
