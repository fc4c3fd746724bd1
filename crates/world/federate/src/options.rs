//! The options of a connection.

use hla::api::{Credentials, RtiConfiguration};
use hla::encoding::{EncoderError, PLAIN_TEXT_PASSWORD, encode_plain_text_password};

use crate::error::ConnectError;

/// The port of the Federate Protocol over TCP.
pub const DEFAULT_PORT: u16 = 15164;

/// The options with which a federate connects.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server: `HOST` or `HOST:PORT`; an IPv6 address with a port needs brackets. The default
    /// port is [`DEFAULT_PORT`].
    pub address: String,
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
            configuration: None,
            credentials: None,
            session: fedpro::client::Config::default(),
            callbacks_high: 1 << 16,
            callbacks_max: 1 << 20,
            updates_window: 4096,
        }
    }

    /// Host and port of [`address`](Options::address).
    pub(crate) fn target(&self) -> Result<(String, u16), ConnectError> {
        let text = self.address.as_str();
        let wrong = || ConnectError::Address(text.to_owned());
        let (host, port) = if let Some(inside) = text.strip_prefix('[') {
            let (host, rest) = inside.split_once(']').ok_or_else(wrong)?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or_else(wrong)?) })
        } else {
            match text.split_once(':') {
                // More than one colon and no brackets: an IPv6 address without a port.
                Some((_, rest)) if rest.contains(':') => (text, None),
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        let port = port.map_or(Ok(DEFAULT_PORT), |digits| digits.parse().map_err(|_| wrong()))?;
        if host.is_empty() || host.contains('/') { Err(wrong()) } else { Ok((host.to_owned(), port)) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let target = |text: &str| Options::new(text).target().ok();
        let to = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(target("localhost"), to("localhost", 15164));
        assert_eq!(target("10.0.0.1:99"), to("10.0.0.1", 99));
        assert_eq!(target("::1"), to("::1", 15164));
        assert_eq!(target("[::1]"), to("::1", 15164));
        assert_eq!(target("[::1]:7"), to("::1", 7));
        for wrong in ["", ":1", "host:", "host:http", "tcp://host", "[::1", "[::1]7", "host:65536"] {
            assert_eq!(target(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_password_is_a_unicode_string() {
        let credentials = plain_text_password("pä").unwrap();
        assert_eq!(credentials.r#type, "HLAplainTextPassword");
        assert_eq!(&credentials.data[..], [0, 0, 0, 2, 0, 0x70, 0, 0xe4]);
    }
}
