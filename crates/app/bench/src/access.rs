//! The way to a server.

use federate::{Options, plain_text_password};

/// The options for a connection to a server, with the password of the environment: it is the same
/// for the processes of a benchmark.
pub(crate) fn server_options(address: &str) -> Options {
    let mut options = Options::new(address);
    let password = console::password::of_environment();
    options.credentials = password.and_then(|password| plain_text_password(&password).ok());
    options
}
