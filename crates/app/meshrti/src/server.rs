//! The server that a command asks.

use std::time::Duration;

use console::exit::Failure;
use console::password::{PasswordFlag, TokenFlag};
use console::trust::TrustFlags;
use federate::{
    Callbacks, ConnectError, Federate, KerberosError, Options, bearer_token, kerberos_token,
    plain_text_password,
};
use hla::api::{Credentials, RtiConfiguration};

/// How to reach a server.
#[derive(clap::Args)]
pub(crate) struct ServerFlags {
    /// Longest wait for the server
    #[arg(short, long, default_value = "5s", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    password: PasswordFlag,
    #[command(flatten)]
    token: TokenFlag,
    /// Show a Kerberos ticket for this service, such as HLA@HOST
    #[arg(long, value_name = "SERVICE", conflicts_with_all = ["password_file", "token_file"])]
    kerberos: Option<String>,
    #[command(flatten)]
    trust: TrustFlags,
}

impl ServerFlags {
    /// The options for a connection to `host`.
    pub(crate) fn options(&self, host: &str) -> Result<Options, Failure> {
        let mut options = Options::new(host);
        options.session.connect_timeout = self.timeout;
        options.tls = self.trust.read()?;
        options.credentials = self.credentials()?;
        Ok(options)
    }

    fn credentials(&self) -> Result<Option<Credentials>, Failure> {
        if let Some(service) = &self.kerberos {
            return kerberos_token(service).map(Some).map_err(|error| no_ticket(&error));
        }
        if let Some(token) = self.token.read()? {
            return Ok(Some(bearer_token(&token)));
        }
        let password = self.password.read()?.map(|password| plain_text_password(&password));
        password.transpose().map_err(Failure::wrong_use)
    }
}

pub(crate) fn no_ticket(error: &KerberosError) -> Failure {
    let is_wrong_use = matches!(error, KerberosError::Service(_));
    let text = format!("there is no Kerberos token for the server: {error}");
    match is_wrong_use {
        true => Failure::wrong_use(text),
        false => Failure::bad_news(text).hint("`kinit` gets a ticket, and `klist` shows those of the cache"),
    }
}

/// Connects to `host`, and asks for a report at the same time: the message of the response. Servers of
/// other vendors do not send one.
pub(crate) async fn ask(
    server: &ServerFlags,
    host: &str,
    additional_settings: String,
) -> Result<(Federate, Callbacks, String), Failure> {
    let options = server.options(host)?;
    let (federate, callbacks) = Federate::open(&options).await.map_err(unreachable)?;
    let configuration = RtiConfiguration { additional_settings, ..RtiConfiguration::default() };
    let answer = match options.credentials {
        Some(password) => {
            federate.request_connect_with_configuration_and_credentials(configuration, password).await
        }
        None => federate.request_connect_with_configuration(configuration).await,
    };
    let answer =
        answer.map_err(|source| unreachable(ConnectError::Service { address: host.to_owned(), source }))?;
    Ok((federate, callbacks, answer.message))
}

/// The failure to connect: a malformed address is wrong use, all else is news about the server.
pub(crate) fn unreachable(error: ConnectError) -> Failure {
    match error {
        ConnectError::Address(_) => Failure::wrong_use(error),
        ConnectError::Tls { .. } => Failure::wrong_use(error)
            .hint("--authority FILE, or MESHRTI_AUTHORITY, names a PEM file with the authorities to trust"),
        ConnectError::Service { .. } => Failure::bad_news(error).hint(
            "--password-file FILE, or MESHRTI_PASSWORD, gives the password of a server that has one, and \
             --token-file FILE, or MESHRTI_TOKEN, a token; --kerberos SERVICE shows a ticket",
        ),
        error => Failure::bad_news(error)
            .hint("is a server running there? `meshrti serve` starts one, on port 15164"),
    }
}
