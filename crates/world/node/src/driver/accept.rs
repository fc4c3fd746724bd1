//! Listening sockets.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

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

/// Opens the listening sockets of one address.
pub(super) async fn bind(address: &ListenAddress) -> Result<Vec<TcpListener>, BindError> {
    let fail = |source| BindError { address: address.to_string(), source };
    tcp_listeners(&address.host, address.port).await.map_err(fail)
}

/// Accepts connections for ever. A failure, such as a lack of file descriptors, delays this but
/// does not end it.
pub(super) async fn accept<M: Machine + 'static>(
    hub: Rc<Hub<M>>,
    listener: TcpListener,
    connections_max: usize,
) {
    let mut retry = RETRY_MIN;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // A listener for both families reports IPv4 peers as mapped addresses. They are
                // converted back.
                let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                retry = RETRY_MIN;
                if hub.core.borrow().table.len() >= connections_max {
                    hub.core.borrow_mut().stats.refused_connections += 1;
                    warn!(%peer, limit = connections_max, "connection refused: limits.connections are open");
                } else {
                    connection::start(&hub, stream, peer);
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
