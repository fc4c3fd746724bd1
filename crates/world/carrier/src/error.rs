//! Errors of carriers.

/// The reason why a connection cannot go on.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CarrierError {
    /// The peer of a listener for TLS does not speak it.
    #[error("the first octet is {0:#04x}, which begins no TLS handshake: the peer does not encrypt")]
    NotEncrypted(u8),
    /// The peer encrypts, and the listener has no certificate.
    #[error("the peer encrypts, and this listener has no certificate")]
    NoCertificate,
    /// TLS failed, or the peer has no acceptable certificate.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The peer's request or response opens no WebSocket.
    #[error("WebSocket handshake: {0}")]
    Handshake(String),
    /// The request or response that opens a WebSocket is too long.
    #[error("WebSocket handshake: more than {max} octets")]
    HandshakeTooLong {
        /// The limit.
        max: usize,
    },
    /// A web page of a browser wants to connect.
    #[error("WebSocket handshake: a web page (`Origin: {0}`) wants to connect; federates are no web pages")]
    Origin(String),
    /// The peer broke RFC 6455.
    #[error("WebSocket: {0}")]
    Frame(&'static str),
}

/// Certificates or keys that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsFilesError {
    /// The text is not PEM.
    #[error("{what}: {reason}")]
    Pem {
        /// The kind of content.
        what: &'static str,
        /// The parser's words.
        reason: String,
    },
    /// The text has no such section.
    #[error("{what}: there is none in this PEM text")]
    Missing {
        /// The kind of content.
        what: &'static str,
    },
    /// TLS does not accept them, for example because the key is not that of the certificate.
    #[error("{0}")]
    Refused(#[from] rustls::Error),
    /// The authorities cannot verify any certificate.
    #[error(transparent)]
    Authorities(#[from] rustls::client::VerifierBuilderError),
    /// A client that encrypts trusts nobody.
    #[error("it is not known which authorities to trust")]
    NoAuthorities,
    /// The host of a server is no name for a certificate.
    #[error("`{0}` is no name of a host")]
    Host(String),
}
