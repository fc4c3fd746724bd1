//! A node from its first to its last moment.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::{JoinSet, LocalSet};
use tracing::{info, warn};

use super::accept::{self, BindError};
use super::hub::{Hub, Sizes};
use super::machine::Machine;
use super::stats::NodeStats;
use crate::Config;

/// A node that listens but does not serve yet.
pub struct Node<M> {
    hub: Rc<Hub<M>>,
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    connections_max: usize,
    grace: Duration,
}

impl<M: Machine + 'static> Node<M> {
    /// Opens the listening sockets of `config` for `machine`. Federates may connect from now on, and are served from
    /// [`run`](Node::run) on.
    ///
    /// # Errors
    /// An address cannot be listened on.
    pub async fn bind(config: &Config, machine: M) -> Result<Self, BindError> {
        let mut listeners = Vec::new();
        for address in &config.listen {
            listeners.extend(accept::bind(address).await?);
        }
        let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let sizes = Sizes { read: config.limits.read, write: config.limits.write };
        Ok(Self {
            hub: Rc::new(Hub::new(machine, sizes)),
            listeners,
            addresses,
            connections_max: config.limits.connections,
            grace: config.shutdown.grace,
        })
    }

    /// Where the node listens, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Serves federates until `stop` is ready. Then nobody is accepted any more, the federates are told, and what
    /// is queued for them is written, for as long as `shutdown.grace` allows. Returns what happened in numbers.
    ///
    /// It has to run on a current-thread runtime: a node is one thread.
    pub async fn run(self, stop: impl Future<Output = ()>) -> NodeStats {
        let Self { hub, listeners, addresses, connections_max, grace } = self;
        let local = LocalSet::new();
        local
            .run_until(async {
                for address in &addresses {
                    info!(%address, "listening");
                }
                let mut tasks = JoinSet::new();
                for listener in listeners {
                    tasks.spawn_local(accept::accept(Rc::clone(&hub), listener, connections_max));
                }
                let time = tokio::task::spawn_local({
                    let hub = Rc::clone(&hub);
                    async move { hub.keep_time().await }
                });
                stop.await;
                tasks.shutdown().await;
                drain(&hub, grace).await;
                time.abort();
                hub.core.borrow().stats
            })
            .await
    }
}

/// Tells the federates that the node stops, and waits until all of them are gone.
async fn drain<M: Machine>(hub: &Hub<M>, grace: Duration) {
    info!(connections = hub.core.borrow().table.len(), "shutting down");
    hub.act(|machine, now| machine.begin_shutdown(now));
    let gone = async {
        loop {
            let departed = hub.departed.notified();
            if hub.core.borrow().table.len() == 0 {
                return;
            }
            departed.await;
        }
    };
    if tokio::time::timeout(grace, gone).await.is_err() {
        warn!(connections = hub.core.borrow().table.len(), "cut off: still connected after shutdown.grace");
    }
}
