//! The options of a connection.

use carrier::{ClientTls, ServerUrl};
use hla::api::{Credentials, RtiConfiguration};
use hla::encoding::{
    BEARER_TOKEN, EncoderError, KERBEROS_TOKEN, PLAIN_TEXT_PASSWORD, encode_plain_text_password,
};

/// The reason why there is no Kerberos token.
pub use kerberos::Error as KerberosError;

use crate::error::ConnectError;

/// The port of the Federate Protocol over TCP.
pub const DEFAULT_PORT: u16 = 15164;

/// The options with which a federate connects.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server: `HOST`, `HOST:PORT`, or a URL of either; an IPv6 address with a port needs
    /// brackets. The scheme of a URL is the carrier of the Federate Protocol: `tcp`, `tls`, `ws` or
    /// `wss`. Without one it is `tcp`. The default port is [`DEFAULT_PORT`] for `tcp`, 15165 for `tls`,
    /// 80 for `ws`, and 443 for `wss`.
    pub address: String,
    /// The authorities that `tls` and `wss` trust, and perhaps a certificate of the federate.
    pub tls: Option<ClientTls>,
    /// The configuration for the RTI; `None`: the RTI's own.
    pub configuration: Option<RtiConfiguration>,
    /// The credentials of the federate; `None`: no credentials.
    pub credentials: Option<Credentials>,
    /// Heartbeats, timeouts and limits of the session.
    pub session: fedpro::client::Config,
    /// Number of waiting callbacks at which reading stops: while this many wait and no call waits
    /// for its answer, nothing more is read from the server until the application has taken some.
    /// Default 65,536.
    pub callbacks_high: usize,
    /// Largest number of callbacks that wait for the application while it waits for calls; with
    /// more, the session is ended. Default 1,048,576.
    pub callbacks_max: usize,
    /// Largest number of updates and interactions sent by
    /// [`Federate::updates`](crate::Federate::updates) that wait for their answers. Default 4096.
    pub updates_window: usize,
}

impl Options {
    /// The defaults, for the server at `address`.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            tls: None,
            configuration: None,
            credentials: None,
            session: fedpro::client::Config::default(),
            callbacks_high: 1 << 16,
            callbacks_max: 1 << 20,
            updates_window: 4096,
        }
    }

    /// The parts of [`address`](Options::address).
    pub(crate) fn target(&self) -> Result<ServerUrl, ConnectError> {
        Ok(self.address.parse()?)
    }
}

/// Credentials of type HLAplainTextPassword.
///
/// # Errors
/// The password has more UTF-16 code units than an HLAunicodeString can count.
pub fn plain_text_password(password: &str) -> Result<Credentials, EncoderError> {
    let data = encode_plain_text_password(password)?;
    Ok(Credentials { r#type: PLAIN_TEXT_PASSWORD.to_owned(), data })
}

/// Credentials of type `JWT`: a signed JSON Web Token (RFC 7519), as servers of this kind take it.
pub fn bearer_token(token: &str) -> Credentials {
    Credentials { r#type: BEARER_TOKEN.to_owned(), data: token.as_bytes().to_vec().into() }
}

/// Credentials of type `Kerberos`: a token for a service, `HLA@HOST` or `HLA/HOST@REALM`, made with the
/// tickets of the default cache (`KRB5CCNAME`), as servers of this kind take it. It counts once: every
/// connection needs a new one. This blocks, since it may ask the KDC for a ticket.
///
/// # Errors
/// MIT Kerberos is not installed, or there is no ticket for the service to be had.
pub fn kerberos_token(service: &str) -> Result<Credentials, KerberosError> {
    let data = kerberos::initiate(service)?.into();
    Ok(Credentials { r#type: KERBEROS_TOKEN.to_owned(), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_a_unicode_string() {
        let credentials = plain_text_password("pä").unwrap();
        assert_eq!(credentials.r#type, "HLAplainTextPassword");
        assert_eq!(&credentials.data[..], [0, 0, 0, 2, 0, 0x70, 0, 0xe4]);
    }
}
