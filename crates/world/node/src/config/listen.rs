//! Addresses on which federates connect.

use std::fmt;
use std::str::FromStr;

use carrier::Listening;
use serde::Deserialize;

use crate::url::split_host;

/// The default TCP port of the Federate Protocol.
pub const DEFAULT_PORT: u16 = 15164;

/// An address to listen on: `SCHEME://HOST:PORT`.
///
/// The scheme says what carries the Federate Protocol: `tcp` (the default), `tls`, `ws` or `wss`
/// (WebSocket), or `any` of these. The port is optional; the default is [`DEFAULT_PORT`] for `tcp`
/// and `any`, 15165 for `tls`, 80 for `ws` and 443 for `wss`. Port 0 lets the system choose. The
/// host `*` means every address of this machine, IPv4 and IPv6. An IPv6 address is written in
/// brackets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ListenAddress {
    /// The carriers of the Federate Protocol.
    pub carriers: Listening,
    /// A name, an IPv4 address, an IPv6 address without brackets, or `*`.
    pub host: String,
    /// The TCP port; 0 lets the system choose.
    pub port: u16,
}

impl Default for ListenAddress {
    fn default() -> Self {
        Self { carriers: Listening::default(), host: "*".to_owned(), port: DEFAULT_PORT }
    }
}

/// The reason why a text is not an address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListenAddressError {
    /// Nothing of this name carries the Federate Protocol.
    #[error("`{scheme}` carries no federates (expected one of {}), in `{text}`", Listening::SCHEMES.join(", "))]
    Scheme {
        /// The part before `://`.
        scheme: String,
        /// The whole text.
        text: String,
    },
    /// The part after the colon is not a port.
    #[error("`{port}` is no port (expected a number from 0 to 65535), in `{text}`")]
    Port {
        /// The part after the colon.
        port: String,
        /// The whole text.
        text: String,
    },
    /// No host, a path, or an IPv6 address without brackets.
    #[error(
        "`{text}` is no address to listen on: expected `tcp://HOST:PORT`, for example `tcp://*:15164` or `tcp://[::1]:15164`"
    )]
    Form {
        /// The whole text.
        text: String,
    },
}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || ListenAddressError::Form { text: text.to_owned() };
        let (carriers, rest) = match text.split_once("://") {
            None => (Listening::default(), text),
            Some((scheme, rest)) => match Listening::with_scheme(scheme) {
                Some(carriers) => (carriers, rest),
                None => {
                    let (scheme, text) = (scheme.to_owned(), text.to_owned());
                    return Err(ListenAddressError::Scheme { scheme, text });
                }
            },
        };
        let (host, port) = split_host(rest).ok_or_else(form)?;
        let port = match port {
            None => carriers.default_port(),
            Some(digits) => digits
                .parse()
                .map_err(|_| ListenAddressError::Port { port: digits.to_owned(), text: text.to_owned() })?,
        };
        Ok(Self { carriers, host: host.to_owned(), port })
    }
}

impl TryFrom<String> for ListenAddress {
    type Error = ListenAddressError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { carriers, host, port } = self;
        if host.contains(':') {
            write!(f, "{carriers}://[{host}]:{port}")
        } else {
            write!(f, "{carriers}://{host}:{port}")
        }
    }
}
