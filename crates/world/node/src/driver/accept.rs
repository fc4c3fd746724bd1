//! Listening sockets.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use carrier::{Filter, Listening, ServerTls};
use tokio::net::TcpListener;
use tracing::{debug, warn};

use super::connection;
use crate::config::ListenAddress;
use crate::hub::Hub;
use crate::link::sockets::tcp_listeners;
use crate::machine::Machine;

/// The first wait after a failure to accept. It doubles with every further failure in a row.
const RETRY_MIN: Duration = Duration::from_millis(10);

/// The longest wait after a failure to accept.
const RETRY_MAX: Duration = Duration::from_secs(1);

/// A configured address on which the node cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct BindError {
    /// The address, as configured.
    pub address: String,
    /// The error of the system.
    pub source: io::Error,
}

/// A listening socket, and the carriers of its connections.
pub(super) struct FederateListener {
    socket: TcpListener,
    carriers: Listening,
    tls: SharedTls,
}

/// The certificate for connections that encrypt. It is replaced when its file changes.
pub(super) type SharedTls = Rc<RefCell<Option<ServerTls>>>;

impl FederateListener {
    /// The address that the system gave it.
    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The carriers of its connections.
    pub(super) fn carriers(&self) -> Listening {
        self.carriers
    }
}

/// Opens the listening sockets of one address. `tls` is for connections that encrypt.
pub(super) async fn bind(
    address: &ListenAddress,
    tls: &SharedTls,
) -> Result<Vec<FederateListener>, BindError> {
    let fail = |source| BindError { address: address.to_string(), source };
    let carriers = address.carriers;
    let sockets = tcp_listeners(&address.host, address.port).await.map_err(fail)?;
    let listener = |socket| FederateListener { socket, carriers, tls: Rc::clone(tls) };
    Ok(sockets.into_iter().map(listener).collect())
}

/// Accepts connections for ever. A failure, such as a lack of file descriptors, delays this but
/// does not end it.
pub(super) async fn accept<M: Machine + 'static>(
    hub: Rc<Hub<M>>,
    listener: FederateListener,
    connections_max: usize,
) {
    let mut retry = RETRY_MIN;
    loop {
        match listener.socket.accept().await {
            Ok((stream, peer)) => {
                // A listener for both families reports IPv4 peers as mapped addresses. They are
                // converted back.
                let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                retry = RETRY_MIN;
                if hub.core.borrow().table.len() >= connections_max {
                    hub.core.borrow_mut().stats.refused_connections += 1;
                    warn!(%peer, limit = connections_max, "connection refused: limits.connections are open");
                } else {
                    let filter = Filter::server(listener.carriers, listener.tls.borrow().as_ref());
                    connection::start(&hub, stream, peer, filter);
                }
            }
            // These errors concern one connection, which is gone, and not the listener.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::Interrupted
                ) =>
            {
                debug!(%error, "a connection ended before it was accepted");
            }
            Err(error) => {
                hub.core.borrow_mut().stats.accept_errors += 1;
                warn!(%error, retry_ms = retry.as_millis(), "cannot accept connections for now");
                tokio::time::sleep(retry).await;
                retry = (retry * 2).min(RETRY_MAX);
            }
        }
    }
}
