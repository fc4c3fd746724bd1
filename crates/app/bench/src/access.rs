//! The way to a server.

use std::time::Duration;

use federate::{Options, bearer_token, plain_text_password};

/// The options for a connection to a server, with the token or password of the environment: it is the same
/// for the processes of a benchmark. So is the authority that has signed the certificate of a server
/// that encrypts; one that cannot be read is missed when the connection is made.
pub(crate) fn server_options(address: &str) -> Options {
    let mut options = Options::new(address);
    options.tls = console::trust::of_environment().ok().flatten();
    options.credentials = match console::password::token_of_environment() {
        Some(token) => Some(bearer_token(&token)),
        None => {
            let password = console::password::of_environment();
            password.and_then(|password| plain_text_password(&password).ok())
        }
    };
    options
}

/// The same for a federate whose messages are timed: a session that breaks is not resumed, since a gap
/// in it would count as a slow server.
pub(crate) fn measured_options(address: &str) -> Options {
    let mut options = server_options(address);
    options.session.reconnect_window = Duration::ZERO;
    options
}
