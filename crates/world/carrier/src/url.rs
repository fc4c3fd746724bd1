//! The names of carriers in URLs, and their ports.

use std::fmt;
use std::str::FromStr;

/// A way to carry the messages of the Federate Protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Carrier {
    /// A TCP connection: `tcp://`.
    #[default]
    Tcp,
    /// TLS over TCP: `tls://`.
    Tls,
    /// WebSocket over TCP: `ws://`.
    WebSocket,
    /// WebSocket over TLS: `wss://`.
    SecureWebSocket,
}

impl Carrier {
    /// All carriers.
    pub const ALL: [Carrier; 4] = [Carrier::Tcp, Carrier::Tls, Carrier::WebSocket, Carrier::SecureWebSocket];

    /// The scheme of its URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Carrier::Tcp => "tcp",
            Carrier::Tls => "tls",
            Carrier::WebSocket => "ws",
            Carrier::SecureWebSocket => "wss",
        }
    }

    /// The carrier with this scheme.
    pub fn with_scheme(scheme: &str) -> Option<Carrier> {
        Self::ALL.into_iter().find(|carrier| carrier.scheme() == scheme)
    }

    /// The default port of a server, as the clients of the Federate Protocol have it.
    pub fn default_port(self) -> u16 {
        match self {
            Carrier::Tcp => 15164,
            Carrier::Tls => 15165,
            Carrier::WebSocket => 80,
            Carrier::SecureWebSocket => 443,
        }
    }

    /// Whether it encrypts.
    pub fn is_encrypted(self) -> bool {
        matches!(self, Carrier::Tls | Carrier::SecureWebSocket)
    }

    /// Whether WebSocket frames hold the messages.
    pub fn is_web_socket(self) -> bool {
        matches!(self, Carrier::WebSocket | Carrier::SecureWebSocket)
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme())
    }
}

/// A server to connect to: `HOST`, `HOST:PORT`, or a URL of either with the scheme of a
/// [`Carrier`]. Without a scheme it is TCP. An IPv6 address with a port needs brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerUrl {
    /// The carrier.
    pub carrier: Carrier,
    /// A name or an address, without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

/// A text is no [`ServerUrl`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is no address: expected HOST, HOST:PORT, or tcp, tls, ws or wss://HOST:PORT, for example `localhost:15164`"
)]
pub struct ServerUrlError(String);

impl FromStr for ServerUrl {
    type Err = ServerUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ServerUrlError(text.to_owned());
        let (carrier, rest) = match text.split_once("://") {
            None => (Carrier::Tcp, text),
            Some((scheme, rest)) => (Carrier::with_scheme(scheme).ok_or_else(wrong)?, rest),
        };
        let (host, port) = if let Some(inside) = rest.strip_prefix('[') {
            let (host, rest) = inside.split_once(']').ok_or_else(wrong)?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or_else(wrong)?) })
        } else {
            match rest.split_once(':') {
                // More than one colon and no brackets: an IPv6 address without a port.
                Some((_, after)) if after.contains(':') => (rest, None),
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            }
        };
        let port = port.map_or(Ok(carrier.default_port()), |digits| digits.parse().map_err(|_| wrong()))?;
        if host.is_empty() || host.contains('/') {
            return Err(wrong());
        }
        Ok(Self { carrier, host: host.to_owned(), port })
    }
}

impl ServerUrl {
    /// Host and port as in a URL (RFC 3986, 3.2): an IPv6 address has brackets.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.carrier, self.authority())
    }
}

/// The carriers that a listening address accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Listening {
    /// This one.
    For(Carrier),
    /// All of them, told apart by the first octets of a connection: `any://`.
    Any,
}

impl Default for Listening {
    fn default() -> Self {
        Listening::For(Carrier::default())
    }
}

impl Listening {
    /// The schemes of listening addresses.
    pub const SCHEMES: [&str; 5] = ["tcp", "tls", "ws", "wss", "any"];

    /// The carriers with this scheme.
    pub fn with_scheme(scheme: &str) -> Option<Self> {
        match scheme {
            "any" => Some(Listening::Any),
            _ => Carrier::with_scheme(scheme).map(Listening::For),
        }
    }

    /// The scheme of its URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Listening::For(carrier) => carrier.scheme(),
            Listening::Any => "any",
        }
    }

    /// The port to listen on by default.
    pub fn default_port(self) -> u16 {
        match self {
            Listening::For(carrier) => carrier.default_port(),
            Listening::Any => Carrier::Tcp.default_port(),
        }
    }

    /// Whether it needs a certificate. One for all carriers does without, but then refuses those that
    /// encrypt.
    pub fn needs_certificate(self) -> bool {
        match self {
            Listening::For(carrier) => carrier.is_encrypted(),
            Listening::Any => false,
        }
    }
}

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_read_as_they_are_written() {
        for scheme in Listening::SCHEMES {
            assert_eq!(Listening::with_scheme(scheme).map(Listening::scheme), Some(scheme));
        }
        for carrier in Carrier::ALL {
            assert_eq!(Carrier::with_scheme(carrier.scheme()), Some(carrier));
        }
        assert_eq!(Listening::with_scheme("http"), None);
        assert_eq!(Carrier::with_scheme("any"), None);
    }

    #[test]
    fn servers_are_read_as_they_are_written() {
        let server = |text: &str| text.parse::<ServerUrl>().ok();
        let by = |carrier, host: &str, port| Some(ServerUrl { carrier, host: host.to_owned(), port });
        let to = |host, port| by(Carrier::Tcp, host, port);
        assert_eq!(server("localhost"), to("localhost", 15164));
        assert_eq!(server("10.0.0.1:99"), to("10.0.0.1", 99));
        assert_eq!(server("::1"), to("::1", 15164));
        assert_eq!(server("[::1]"), to("::1", 15164));
        assert_eq!(server("[::1]:7"), to("::1", 7));
        assert_eq!(server("tcp://host"), to("host", 15164));
        assert_eq!(server("tls://host"), by(Carrier::Tls, "host", 15165));
        assert_eq!(server("ws://[::1]"), by(Carrier::WebSocket, "::1", 80));
        assert_eq!(server("wss://host:8443"), by(Carrier::SecureWebSocket, "host", 8443));
        for url in ["tcp://[::1]:7", "wss://host:8443"] {
            assert_eq!(server(url).map(|server| server.to_string()).as_deref(), Some(url));
        }
        let none = ["any://host", "tls://", "ws://host/x", "[::1", "[::1]7", "host:65536"];
        for wrong in [&["", ":1", "host:", "host:http"][..], &none].concat() {
            assert_eq!(server(wrong), None, "{wrong}");
        }
    }
}
