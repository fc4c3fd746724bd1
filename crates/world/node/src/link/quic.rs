//! QUIC links: one bidirectional stream, and datagrams.
//!
//! Encryption does not always include authentication; see [`keys`](super::keys) for the checks.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Endpoint, EndpointConfig, TokioRuntime, TransportConfig, VarInt};
use rustls::pki_types::CertificateDer;

use super::keys::{Keys, Proof};
use super::stream::Raw;
use super::trust::Trust;
use super::{LinkUrl, alerts, sockets};

/// A connection without any packet from the peer for this long is dead. The machines notice much
/// earlier.
const IDLE: Duration = Duration::from_secs(10);

/// Bytes per link that may be unacknowledged or wait to be sent.
const SEND_WINDOW: u64 = 4 << 20;

/// Bytes of datagrams that may wait to be sent. The rest waits in the machine, which drops by
/// priority.
const DATAGRAM_BUFFER: usize = 256 << 10;

/// The sockets that a node's QUIC links are made from.
#[derive(Default)]
pub(crate) struct Quic {
    /// The sockets for IPv4 and IPv6.
    clients: RefCell<[Option<Endpoint>; 2]>,
}

/// Opens a socket for accepting QUIC links.
pub(crate) fn listen(keys: &Keys, address: SocketAddr) -> io::Result<Endpoint> {
    let config = server(keys).map_err(io::Error::other)?;
    let socket = sockets::bind_udp(address)?;
    Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime))
}

fn server(keys: &Keys) -> Result<quinn::ServerConfig, String> {
    let crypto = QuicServerConfig::try_from(keys.server()).map_err(|error| error.to_string())?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport());
    Ok(config)
}

impl Quic {
    /// Connects to `url`.
    pub(crate) async fn connect(&self, trust: &Trust, url: &LinkUrl) -> Result<Raw, String> {
        let keys = trust.keys()?;
        let tls = keys.client(url.options.pin, trust.needs_host(url))?;
        let crypto = QuicClientConfig::try_from(tls).map_err(|error| error.to_string())?;
        let mut config = quinn::ClientConfig::new(Arc::new(crypto));
        config.transport_config(transport());
        let addresses = sockets::resolve(&url.host, url.port).await.map_err(|error| error.to_string())?;
        let mut failure = "the name has no address".to_owned();
        for address in addresses {
            let endpoint = self.client(address).map_err(|error| error.to_string())?;
            let connecting = match endpoint.connect_with(config.clone(), address, &url.host) {
                Ok(connecting) => connecting,
                Err(error) => {
                    failure = error.to_string();
                    continue;
                }
            };
            match connecting.await {
                Ok(connection) => {
                    let stream = connection.open_bi().await.map_err(|error| alerts::of_quic(&error))?;
                    return Ok(raw(connection, stream, keys));
                }
                Err(error) => failure = alerts::of_quic(&error),
            }
        }
        Err(failure)
    }

    /// The socket from which to connect.
    fn client(&self, peer: SocketAddr) -> io::Result<Endpoint> {
        let mut clients = self.clients.borrow_mut();
        let place = &mut clients[usize::from(peer.is_ipv6())];
        if let Some(endpoint) = place {
            return Ok(endpoint.clone());
        }
        let any = if peer.is_ipv6() {
            IpAddr::V6(Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        };
        let socket = sockets::bind_udp(SocketAddr::new(any, 0))?;
        let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))?;
        Ok(place.insert(endpoint).clone())
    }
}

/// Accepts the stream of a connection that another node makes.
pub(crate) async fn accept(keys: Arc<Keys>, incoming: quinn::Incoming) -> Result<Raw, String> {
    let config = Arc::new(server(&keys)?);
    let connecting = incoming.accept_with(config).map_err(|error| alerts::of_quic(&error))?;
    let connection = connecting.await.map_err(|error| alerts::of_quic(&error))?;
    let stream = connection.accept_bi().await.map_err(|error| alerts::of_quic(&error))?;
    Ok(raw(connection, stream, keys))
}

/// The reason for which a connection is closed, if that says more than `error` of its stream.
pub(crate) fn reason(connection: Option<&quinn::Connection>, error: impl std::fmt::Display) -> String {
    let closed = connection.and_then(quinn::Connection::close_reason);
    closed.map_or_else(|| error.to_string(), |closed| alerts::of_quic(&closed))
}

fn raw(
    connection: quinn::Connection,
    (send, receive): (quinn::SendStream, quinn::RecvStream),
    keys: Arc<Keys>,
) -> Raw {
    let peer = sockets::canonical(connection.remote_address());
    let chain =
        connection.peer_identity().and_then(|chain| chain.downcast::<Vec<CertificateDer<'static>>>().ok());
    let proof = chain.filter(|_| keys.checks()).map(|chain| Proof { chain: (*chain).into(), checked: keys });
    Raw {
        read: Box::new(receive),
        write: Box::new(send),
        peer: format!("quic://{peer}"),
        peer_ip: Some(peer.ip()),
        local_ip: connection.local_ip().map(|ip| ip.to_canonical()),
        quic: Some(connection),
        datagram_keys: None,
        proof,
    }
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_idle_timeout(Some(IDLE.try_into().expect("ten seconds are within the range of QUIC")))
        .send_window(SEND_WINDOW)
        .datagram_send_buffer_size(DATAGRAM_BUFFER);
    Arc::new(transport)
}
