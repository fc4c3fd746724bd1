//! The way to a server.

use std::time::Duration;

use console::password;
use federate::{Options, bearer_token, kerberos_token, plain_text_password};

use crate::error::BenchError;

/// The options for a connection to a server, with the Kerberos ticket, token or password of the
/// environment, which is the same for the processes of a benchmark. So is the authority that has signed
/// the certificate of a server that encrypts; one that cannot be read is missed when the connection is
/// made. A Kerberos token counts once: call this for each connection.
///
/// # Errors
/// There is no ticket for the service that the environment names.
pub(crate) fn server_options(address: &str) -> Result<Options, BenchError> {
    let mut options = Options::new(address);
    options.tls = console::trust::of_environment().ok().flatten();
    options.credentials = if let Some(service) = password::service_of_environment() {
        Some(kerberos_token(&service)?)
    } else if let Some(token) = password::token_of_environment() {
        Some(bearer_token(&token))
    } else {
        password::of_environment().and_then(|password| plain_text_password(&password).ok())
    };
    Ok(options)
}

/// The same for a federate whose messages are timed: a session that breaks is not resumed, since a gap
/// in it would count as a slow server.
///
/// # Errors
/// As for [`server_options`].
pub(crate) fn measured_options(address: &str) -> Result<Options, BenchError> {
    let mut options = server_options(address)?;
    options.session.reconnect_window = Duration::ZERO;
    Ok(options)
}
