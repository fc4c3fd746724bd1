//! Connect and Disconnect (4.2, 4.3).

use super::{Reply, Served};
use crate::caller::{Caller, Standing};
use crate::delivery::Delivery;
use crate::proposal::CallerId;
use base::Moment;
use hla::api::*;
use hla::encoding::{NO_CREDENTIALS, PLAIN_TEXT_PASSWORD, decode_plain_text_password};
use hla::{Exception, RtiError};

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
    /// The password that federates need to connect, if any.
    pub(crate) password: Option<&'a str>,
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
    fn connect(self, connect: &Connect) -> Result<ConfigurationResult, RtiError> {
        check_credentials(connect.credentials.as_ref(), self.password)?;
        let (result, evolved) = apply(connect.rti_configuration.as_ref());
        self.caller.standing = Standing::Connected;
        self.caller.evolved = evolved;
        Ok(result)
    }
}

impl ServeSession for DisconnectRequest {
    fn serve(self, Session { now, id, caller, delivery, .. }: Session<'_>) -> Served<()> {
        caller.standing = Standing::Open;
        delivery.drop_waiting(now, id, &mut caller.client);
        Ok(Reply::Now(()))
    }
}

/// Checks the credentials. Missing credentials count as `HLAnoCredentials`. If a password is set,
/// only `HLAplainTextPassword` with that password is accepted.
fn check_credentials(credentials: Option<&Credentials>, password: Option<&str>) -> Result<(), RtiError> {
    let invalid = |text: String| Err(RtiError::new(Exception::InvalidCredentials, text));
    let given = match credentials {
        None => None,
        Some(credentials) => match credentials.r#type.as_str() {
            NO_CREDENTIALS if credentials.data.is_empty() => None,
            NO_CREDENTIALS => return invalid("HLAnoCredentials carries no data".to_owned()),
            PLAIN_TEXT_PASSWORD => match decode_plain_text_password(&credentials.data) {
                Ok(text) => Some(text),
                Err(_) => {
                    return invalid("HLAplainTextPassword does not hold an HLAunicodeString".to_owned());
                }
            },
            other => {
                let known = "HLAnoCredentials or HLAplainTextPassword";
                return invalid(format!("credentials of type `{other}`; this RTI takes {known}"));
            }
        },
    };
    match (password, given) {
        (None, _) => Ok(()),
        (Some(expected), Some(given)) if constant_time_eq(expected, &given) => Ok(()),
        (Some(_), Some(_)) => Err(RtiError::new(Exception::Unauthorized, "wrong password")),
        (Some(_), None) => Err(RtiError::new(Exception::Unauthorized, "this RTI asks for a password")),
    }
}

/// Compares in a time that does not reveal where the first difference is.
fn constant_time_eq(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
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
