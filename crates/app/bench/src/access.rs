//! The way to a server.

use federate::{Options, plain_text_password};

/// The options for a connection to a server, with the password of the environment: it is the same
/// for the processes of a benchmark. So is the authority that has signed the certificate of a server
/// that encrypts; one that cannot be read is missed when the connection is made.
pub(crate) fn server_options(address: &str) -> Options {
    let mut options = Options::new(address);
    options.tls = console::trust::of_environment().ok().flatten();
    let password = console::password::of_environment();
    options.credentials = password.and_then(|password| plain_text_password(&password).ok());
    options
}
