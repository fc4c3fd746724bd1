//! The names of carriers in URLs, and their ports.

use std::fmt;

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
}
