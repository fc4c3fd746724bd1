//! Carriers of the Federate Protocol: TCP alone, or with TLS, WebSocket, or both.
//!
//! A [`Filter`] stands between the octets of a socket and the messages of the protocol, at either end.
//! It has no I/O of its own: whoever owns the socket passes on what was read, and writes what
//! [`Filter::send`] and [`Filter::take_output`] give. All cryptography is that of rustls, and the
//! opening handshake of WebSocket (RFC 6455) that of tungstenite.
//!
//! Clients expect a WebSocket message to hold whole messages of the Federate Protocol, so [`Filter::send`]
//! takes whole messages only. A received one may be cut anywhere.

mod error;
mod filter;
mod tls;
mod url;
mod websocket;

pub use error::{CarrierError, TlsFilesError};
pub use filter::{Filter, Flow};
pub use tls::{ClientCertificates, ClientTls, PeerCertificate, ServerTls};
pub use url::{Carrier, Listening, ServerUrl, ServerUrlError};
