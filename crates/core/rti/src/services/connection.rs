//! Connect and Disconnect (4.2, 4.3).

use super::{Reply, Served};
use crate::caller::{Caller, Standing};
use crate::delivery::Delivery;
use crate::proposal::CallerId;
use base::Moment;
use hla::RtiError;
use hla::api::*;

/// The setting by which adapters for HLA Evolved identify themselves.
const API_VERSION: &str = "API.version";

/// A service of any caller.
pub(crate) trait ServeSession: Request {
    fn serve(self, session: Session<'_>) -> Served<Self::Output>;
}

/// A call of any caller, with the context for serving it.
pub(crate) struct Session<'a> {
    pub(crate) now: Moment,
    pub(crate) id: CallerId,
    pub(crate) caller: &'a mut Caller,
    pub(crate) delivery: &'a mut Delivery,
}

macro_rules! connect {
    ($($form:ident)+) => {$(
        impl ServeSession for $form {
            fn serve(self, session: Session<'_>) -> Served<ConfigurationResult> {
                session.connect(&Connect::from(self)).map(Reply::Now)
            }
        }
    )+};
}

connect! {
    ConnectRequest
    ConnectWithCredentialsRequest
    ConnectWithConfigurationRequest
    ConnectWithConfigurationAndCredentialsRequest
}

impl Session<'_> {
    /// Connects a caller. Its account, if accounts there are, was found before.
    fn connect(self, connect: &Connect) -> Result<ConfigurationResult, RtiError> {
        access::check_form(connect.credentials.as_ref())?;
        let (result, evolved) = apply(connect.rti_configuration.as_ref());
        self.caller.standing = Standing::Connected;
        self.caller.evolved = evolved;
        Ok(result)
    }
}

impl ServeSession for DisconnectRequest {
    fn serve(self, Session { now, id, caller, delivery, .. }: Session<'_>) -> Served<()> {
        caller.standing = Standing::Open;
        caller.account = None;
        delivery.drop_waiting(now, id, &mut caller.client);
        Ok(Reply::Now(()))
    }
}

/// The used part of a configuration, and whether it names the 2010 edition.
fn apply(configuration: Option<&RtiConfiguration>) -> (ConfigurationResult, bool) {
    let mut result = ConfigurationResult::default();
    let mut evolved = false;
    let Some(configuration) = configuration else { return (result, evolved) };
    let mut ignored = Vec::new();
    let mut code = AdditionalSettingsResultCode::SettingsIgnored;
    for line in configuration.additional_settings.split(['\n', '\r', ',']).map(str::trim) {
        match line.split_once('=') {
            _ if line.is_empty() => {}
            Some((API_VERSION, version)) => {
                evolved = version.trim() == "IEEE 1516-2010";
                code = AdditionalSettingsResultCode::SettingsApplied;
            }
            Some((name, _)) => ignored.push(name.trim().to_owned()),
            None => ignored.push(line.to_owned()),
        }
    }
    result.set_additional_settings_result_code(code);
    if !configuration.configuration_name.is_empty() {
        result.message = format!("no configuration `{}` here; ", configuration.configuration_name);
    }
    if !ignored.is_empty() {
        result.message += &format!("settings not known here: {}", ignored.join(", "));
    }
    (result, evolved)
}
