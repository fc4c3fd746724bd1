//! The common content of the forms of a service: some services have several, each with its own
//! request.

use super::{
    ConnectRequest, ConnectWithConfigurationAndCredentialsRequest, ConnectWithConfigurationRequest,
    ConnectWithCredentialsRequest, CreateFederationExecutionRequest,
    CreateFederationExecutionWithMimAndTimeRequest, CreateFederationExecutionWithMimRequest,
    CreateFederationExecutionWithModulesAndTimeRequest, CreateFederationExecutionWithModulesRequest,
    CreateFederationExecutionWithTimeRequest, Credentials, FomModule, FomModuleSet,
    JoinFederationExecutionRequest, JoinFederationExecutionWithModulesRequest,
    JoinFederationExecutionWithNameAndModulesRequest, JoinFederationExecutionWithNameRequest,
    RtiConfiguration,
};

/// Connect (4.2): four forms.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Connect {
    /// `None`: the RTI's own.
    pub rti_configuration: Option<RtiConfiguration>,
    /// `None` is the same as `HLAnoCredentials`.
    pub credentials: Option<Credentials>,
}

/// Create Federation Execution (4.5): six forms.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Create {
    /// The name of the federation execution.
    pub federation_name: String,
    /// The FOM modules.
    pub fom_modules: FomModuleSet,
    /// `None`: the standard MIM.
    pub mim_module: Option<FomModule>,
    /// Empty: the RTI's default.
    pub logical_time_implementation_name: String,
}

/// Join Federation Execution (4.11): four forms.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Join {
    /// `None` or empty: the RTI makes one.
    pub federate_name: Option<String>,
    /// The type of the federate.
    pub federate_type: String,
    /// The federation execution to join.
    pub federation_name: String,
    /// FOM modules beyond those of the federation execution.
    pub additional_fom_modules: FomModuleSet,
}

/// Builds the common type from each form: from the fields of the same names, and for some fields
/// from an expression.
macro_rules! forms {
    ($common:ident: $($form:ident($request:ident) {
        $($same:ident),* $(,)? $(; $($field:ident: $value:expr),+)?
    })+) => {$(
        impl From<$form> for $common {
            fn from($request: $form) -> Self {
                #[allow(clippy::needless_update)] // the last form has all fields
                Self { $($same: $request.$same,)* $($($field: $value,)+)? ..Self::default() }
            }
        }
    )+};
}

forms! { Connect:
    ConnectRequest(_request) {}
    ConnectWithCredentialsRequest(r) { credentials }
    ConnectWithConfigurationRequest(r) { rti_configuration }
    ConnectWithConfigurationAndCredentialsRequest(r) { rti_configuration, credentials }
}

forms! { Create:
    CreateFederationExecutionRequest(r) { federation_name; fom_modules: r.fom_module.into_iter().collect() }
    CreateFederationExecutionWithTimeRequest(r) {
        federation_name, logical_time_implementation_name;
        fom_modules: r.fom_module.into_iter().collect()
    }
    CreateFederationExecutionWithModulesRequest(r) {
        federation_name; fom_modules: r.fom_modules.unwrap_or_default()
    }
    CreateFederationExecutionWithModulesAndTimeRequest(r) {
        federation_name, logical_time_implementation_name;
        fom_modules: r.fom_modules.unwrap_or_default()
    }
    CreateFederationExecutionWithMimRequest(r) {
        federation_name;
        fom_modules: r.fom_modules.unwrap_or_default(), mim_module: Some(r.mim_module.unwrap_or_default())
    }
    CreateFederationExecutionWithMimAndTimeRequest(r) {
        federation_name, logical_time_implementation_name;
        fom_modules: r.fom_modules.unwrap_or_default(), mim_module: Some(r.mim_module.unwrap_or_default())
    }
}

forms! { Join:
    JoinFederationExecutionRequest(r) { federate_type, federation_name }
    JoinFederationExecutionWithModulesRequest(r) {
        federate_type, federation_name;
        additional_fom_modules: r.additional_fom_modules.unwrap_or_default()
    }
    JoinFederationExecutionWithNameRequest(r) {
        federate_type, federation_name;
        federate_name: Some(r.federate_name)
    }
    JoinFederationExecutionWithNameAndModulesRequest(r) {
        federate_type, federation_name;
        federate_name: Some(r.federate_name),
        additional_fom_modules: r.additional_fom_modules.unwrap_or_default()
    }
}
