//! The options of a connection.

use carrier::{Carrier, ClientTls};
use hla::api::{Credentials, RtiConfiguration};
use hla::encoding::{EncoderError, PLAIN_TEXT_PASSWORD, encode_plain_text_password};

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
    pub(crate) fn target(&self) -> Result<Target, ConnectError> {
        let wrong = || ConnectError::Address(self.address.clone());
        let (carrier, text) = match self.address.split_once("://") {
            None => (Carrier::Tcp, self.address.as_str()),
            Some((scheme, rest)) => (Carrier::with_scheme(scheme).ok_or_else(wrong)?, rest),
        };
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
        let port = port.map_or(Ok(carrier.default_port()), |digits| digits.parse().map_err(|_| wrong()))?;
        if host.is_empty() || host.contains('/') {
            return Err(wrong());
        }
        Ok(Target { carrier, host: host.to_owned(), port })
    }
}

/// A server to connect to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) carrier: Carrier,
    pub(crate) host: String,
    pub(crate) port: u16,
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
        let by = |carrier, host: &str, port| Some(Target { carrier, host: host.to_owned(), port });
        let to = |host, port| by(Carrier::Tcp, host, port);
        assert_eq!(target("localhost"), to("localhost", 15164));
        assert_eq!(target("10.0.0.1:99"), to("10.0.0.1", 99));
        assert_eq!(target("::1"), to("::1", 15164));
        assert_eq!(target("[::1]"), to("::1", 15164));
        assert_eq!(target("[::1]:7"), to("::1", 7));
        assert_eq!(target("tcp://host"), to("host", 15164));
        assert_eq!(target("tls://host"), by(Carrier::Tls, "host", 15165));
        assert_eq!(target("ws://[::1]"), by(Carrier::WebSocket, "::1", 80));
        assert_eq!(target("wss://host:8443"), by(Carrier::SecureWebSocket, "host", 8443));
        for wrong in [
            "",
            ":1",
            "host:",
            "host:http",
            "any://host",
            "tls://",
            "ws://host/x",
            "[::1",
            "[::1]7",
            "host:65536",
        ] {
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
