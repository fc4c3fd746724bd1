//! QUIC links: one bidirectional stream, and datagrams.
//!
//! Encryption does not always include authentication; see [`keys`] for the checks.

mod keys;

use std::cell::{OnceCell, RefCell};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::{Endpoint, EndpointConfig, TokioRuntime, TransportConfig, VarInt};
use tracing::info;

use self::keys::Keys;
use super::stream::Raw;
use super::{LinkUrl, sockets};
use crate::config::network;

/// A connection without any packet from the peer for this long is dead. The machines notice much
/// earlier.
const IDLE: Duration = Duration::from_secs(10);

/// Bytes per link that may be unacknowledged or wait to be sent.
const SEND_WINDOW: u64 = 4 << 20;

/// Bytes of datagrams that may wait to be sent. The rest waits in the machine, which drops by
/// priority.
const DATAGRAM_BUFFER: usize = 256 << 10;

/// The keys of a node's QUIC links, and the sockets that it connects from.
pub(crate) struct Quic {
    settings: network::Quic,
    /// Made when first needed.
    keys: OnceCell<Keys>,
    /// The sockets for IPv4 and IPv6.
    clients: RefCell<[Option<Endpoint>; 2]>,
}

impl Quic {
    pub(crate) fn new(settings: network::Quic) -> Self {
        Self { settings, keys: OnceCell::new(), clients: RefCell::default() }
    }

    /// The keys, read or made at the first call.
    fn keys(&self) -> Result<&Keys, String> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let keys = Keys::new(&self.settings)?;
        info!(sha256 = %keys.fingerprint(), checked = keys.authority.is_some(), "certificate of QUIC links");
        Ok(self.keys.get_or_init(|| keys))
    }

    /// Opens a socket for accepting QUIC links.
    pub(crate) fn listen(&self, address: SocketAddr) -> io::Result<Endpoint> {
        let mut config = self.keys().and_then(Keys::server).map_err(io::Error::other)?;
        config.transport_config(transport());
        let socket = sockets::bind_udp(address)?;
        Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime))
    }

    /// Connects to `url`.
    pub(crate) async fn connect(&self, url: &LinkUrl) -> Result<Raw, String> {
        let mut config = self.keys()?.client(url.options.pin)?;
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
                    let (send, receive) = connection.open_bi().await.map_err(|error| error.to_string())?;
                    return Ok(raw(connection, send, receive));
                }
                Err(error) => failure = error.to_string(),
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
pub(crate) async fn accept(incoming: quinn::Incoming) -> Result<Raw, String> {
    let connection = incoming.await.map_err(|error| error.to_string())?;
    let (send, receive) = connection.accept_bi().await.map_err(|error| error.to_string())?;
    Ok(raw(connection, send, receive))
}

fn raw(connection: quinn::Connection, send: quinn::SendStream, receive: quinn::RecvStream) -> Raw {
    let peer = sockets::canonical(connection.remote_address());
    Raw {
        read: Box::new(receive),
        write: Box::new(send),
        peer: format!("quic://{peer}"),
        peer_ip: Some(peer.ip()),
        local_ip: connection.local_ip().map(|ip| ip.to_canonical()),
        quic: Some(connection),
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
