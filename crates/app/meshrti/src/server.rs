//! The server that a command asks.

use std::time::Duration;

use console::exit::Failure;
use console::password::PasswordFlag;
use federate::{ConnectError, Options, plain_text_password};

/// How to reach a server.
#[derive(clap::Args)]
pub(crate) struct ServerFlags {
    /// Longest wait for the server
    #[arg(short, long, default_value = "5s", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    password: PasswordFlag,
}

impl ServerFlags {
    /// The options for a connection to `host`.
    pub(crate) fn options(&self, host: &str) -> Result<Options, Failure> {
        let mut options = Options::new(host);
        options.session.connect_timeout = self.timeout;
        let password = self.password.read()?.map(|password| plain_text_password(&password)).transpose();
        options.credentials = password.map_err(Failure::wrong_use)?;
        Ok(options)
    }
}

/// The failure to connect: a malformed address is wrong use, all else is news about the server.
pub(crate) fn unreachable(error: ConnectError) -> Failure {
    match error {
        ConnectError::Address(_) => Failure::wrong_use(error),
        ConnectError::Service { .. } => Failure::bad_news(error)
            .hint("--password-file FILE, or MESHRTI_PASSWORD, gives the password of a server that has one"),
        error => Failure::bad_news(error)
            .hint("is a server running there? `meshrti serve` starts one, on port 15164"),
    }
}
