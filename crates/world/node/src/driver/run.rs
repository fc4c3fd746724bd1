//! The life of a node, from start to end.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::task::{JoinError, JoinSet};
use tracing::{info, warn};

use super::accept::{self, BindError, FederateListener, SharedTls};
use super::keep_files::{KeptFiles, keep_files};
use super::persist::keep_state;
use crate::audit::Audit;
use crate::authorizer::keep_asking;
use crate::config::Authorizer;
use crate::config::Config;
use crate::hub::NodeStats;
use crate::hub::{Hub, Sizes};
use crate::link::{Greetings, LinkContext, LinkInput, LinkProvider, Plain, Quic, StreamLayer, Trust};
use crate::link_tasks::{self, Listener};
use crate::machine::{Input, Machine};
use crate::state::StateFile;

/// Interval at which the machine of a stopping node is asked whether it has left the network.
const LEAVE_POLL: Duration = Duration::from_millis(10);

/// Interval at which a node is asked whether it is a member of its network by now.
const SERVING_POLL: Duration = Duration::from_millis(20);

/// A runtime for a [`Node`]. Its tasks stay on its thread. A `LocalSet` on any other runtime would
/// ensure this as well, but everything would pass through a second queue.
///
/// # Errors
/// The system cannot create an event queue.
pub fn runtime() -> std::io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
}

/// A node that listens but does not serve yet.
pub struct Node<M> {
    hub: Rc<Hub<M>>,
    listeners: Vec<FederateListener>,
    addresses: Vec<SocketAddr>,
    connections_max: usize,
    grace: Duration,
    link_listeners: Vec<Listener>,
    links: LinkContext,
    multicast: Option<crate::url::MulticastUrl>,
    state: Option<StateFile>,
    files: KeptFiles,
    tls: SharedTls,
    authorizer: Option<Authorizer>,
}

impl<M: Machine + 'static> Node<M> {
    /// Opens the listening sockets of `config` for `machine`. Federates may connect from now on,
    /// and are served from [`run`](Node::run) on.
    ///
    /// # Errors
    /// The node cannot listen on an address.
    pub async fn bind(config: &Config, machine: M) -> Result<Self, BindError> {
        Self::bind_in(None, config, machine).await
    }

    /// [Binds](Node::bind) a node of a parallel program. `provider` carries its links to other ranks.
    ///
    /// # Errors
    /// As for [`bind`](Node::bind).
    pub async fn bind_in(
        provider: Option<Rc<dyn LinkProvider>>,
        config: &Config,
        machine: M,
    ) -> Result<Self, BindError> {
        let network = config.network.clone().unwrap_or_default();
        let links = LinkContext {
            layer: Rc::new(Plain),
            provider,
            trust: Trust::new(&network),
            quic: Quic::default(),
            connect_timeout: network.connect_timeout,
            accepted_max: network.connections,
            greetings: RefCell::new(Greetings::new(network.silent_connections)),
        };
        if network.tls.authority.is_some() {
            links.trust.keys().map_err(|why| BindError {
                address: "[network.tls]".to_owned(),
                source: std::io::Error::other(why),
            })?;
        }
        let mut link_listeners = Vec::new();
        for listen in &network.listen {
            let fail = |source| BindError { address: listen.to_string(), source };
            link_listeners.extend(link_tasks::bind(listen, &links).await.map_err(fail)?);
        }
        if let Some(url) = &network.multicast {
            let fail = |error| BindError { address: url.to_string(), source: std::io::Error::other(error) };
            link_tasks::check_multicast(url).map_err(fail)?;
        }
        let mut listeners = Vec::new();
        let files = KeptFiles::of(config);
        let tls = config.server_tls().map_err(|why| BindError {
            address: "the addresses for federates".to_owned(),
            source: std::io::Error::other(why),
        })?;
        let tls = SharedTls::new(RefCell::new(tls));
        let audit =
            Audit::of(config).map_err(|source| BindError { address: "the audit log".to_owned(), source })?;
        for address in &config.listen {
            listeners.extend(accept::bind(address, &tls).await?);
        }
        let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let sizes = Sizes { read: config.limits.read, write: config.limits.write };
        let hub = Rc::new(Hub::new(machine, sizes));
        hub.core.borrow_mut().audit = audit;
        tell_addresses(&hub, &network.advertise, &link_listeners);
        Ok(Self {
            hub,
            listeners,
            addresses,
            connections_max: config.limits.connections,
            grace: config.shutdown.grace,
            link_listeners,
            links,
            multicast: network.multicast,
            state: None,
            files,
            tls,
            authorizer: config.access.authorizer.clone(),
        })
    }

    /// The addresses on which the node listens, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The URLs on which the node listens for federates, with the ports that the system chose.
    pub fn federate_urls(&self) -> Vec<String> {
        let url = |listener: &FederateListener| {
            Some(format!("{}://{}", listener.carriers(), listener.local_addr().ok()?))
        };
        self.listeners.iter().filter_map(url).collect()
    }

    /// The URLs on which the node listens for other nodes, with the ports that the system chose.
    pub fn link_addresses(&self) -> Vec<String> {
        self.link_listeners.iter().map(Listener::url).collect()
    }

    /// Waits until federates are served: at once, or when the running node is a member of its
    /// network.
    pub fn serving(&self) -> impl Future<Output = ()> + use<M> {
        let hub = Rc::clone(&self.hub);
        async move {
            while hub.core.borrow().machine.is_waiting() {
                tokio::time::sleep(SERVING_POLL).await;
            }
        }
    }

    /// Wraps the TCP streams of all links with `layer`.
    #[must_use]
    pub fn with_stream_layer(mut self, layer: Rc<dyn StreamLayer>) -> Self {
        self.links.layer = layer;
        self
    }

    /// Stores the state that must survive a crash in `file`.
    #[must_use]
    pub fn with_state(mut self, file: Option<StateFile>) -> Self {
        self.state = file;
        self
    }

    /// Serves federates until `stop` is ready. Then it accepts no further connections, tells the
    /// federates, and writes queued messages for at most `shutdown.grace`. Returns the counters.
    ///
    /// It must run on a [`runtime`], or on another one whose tasks stay on their thread, because a
    /// node is single-threaded.
    pub async fn run(self, stop: impl Future<Output = ()>) -> NodeStats {
        let Self {
            hub,
            listeners,
            addresses: _,
            connections_max,
            grace,
            link_listeners,
            links,
            multicast,
            state,
            files,
            tls,
            authorizer,
        } = self;
        for listener in &listeners {
            if let Ok(address) = listener.local_addr() {
                info!(%address, carrier = %listener.carriers(), "listening");
            }
        }
        let mut tasks = JoinSet::new();
        for listener in listeners {
            tasks.spawn_local(accept::accept(Rc::clone(&hub), listener, connections_max));
        }
        tasks.spawn_local(keep_files(Rc::clone(&hub), files, tls));
        if let Some(program) = authorizer {
            let (questions, asked) = tokio::sync::mpsc::unbounded_channel();
            hub.core.borrow_mut().authorizer = Some(questions);
            tasks.spawn_local(keep_asking(Rc::clone(&hub), program, asked));
        }
        let links = Rc::new(links);
        for listener in link_listeners {
            info!(address = listener.url(), "listening for nodes");
            tasks.spawn_local(link_tasks::listen(Rc::clone(&hub), listener, Rc::clone(&links)));
        }
        tasks.spawn_local(link_tasks::keep_trust(Rc::clone(&hub), Rc::clone(&links)));
        let connecting =
            tokio::task::spawn_local(link_tasks::keep_connecting(Rc::clone(&hub), Rc::clone(&links)));
        if let Some(url) = multicast {
            tasks.spawn_local(link_tasks::keep_joining(Rc::clone(&hub), Rc::new(url)));
        }
        let keeping = state.map(|file| {
            let (orders, taken) = tokio::sync::mpsc::unbounded_channel();
            hub.core.borrow_mut().persist = Some(orders);
            tokio::task::spawn_local(keep_state(Rc::clone(&hub), Arc::new(file), taken))
        });
        hub.act(|_, _| ()); // the machine may want links from the start
        let time = tokio::task::spawn_local({
            let hub = Rc::clone(&hub);
            async move { hub.keep_time().await }
        });
        let jobs = tokio::task::spawn_local({
            let hub = Rc::clone(&hub);
            async move { hub.finish_jobs().await }
        });
        let jobs_abort = jobs.abort_handle();
        tokio::select! {
            () = stop => {}
            // A node that cannot build the object models of its network must not continue without
            // them.
            ended = jobs => if let Err(panic) = ended.map_err(JoinError::into_panic) {
                std::panic::resume_unwind(panic);
            },
        }
        tasks.shutdown().await;
        drain(&hub, grace).await;
        connecting.abort();
        link_tasks::close_all(&hub).await;
        time.abort();
        if let Some(keeping) = keeping {
            keeping.abort();
        }
        jobs_abort.abort();
        finish(&hub)
    }
}

/// Completes the audit log. Returns the counters.
fn finish<M: Machine>(hub: &Hub<M>) -> NodeStats {
    let audit = hub.core.borrow_mut().audit.take();
    if let Some(audit) = audit {
        audit.finish();
    }
    hub.core.borrow().stats
}

/// Tells the machine the URLs at which others reach it.
fn tell_addresses<M: Machine>(hub: &Hub<M>, advertise: &[crate::url::LinkUrl], listeners: &[Listener]) {
    let mut fixed: Vec<String> = advertise.iter().map(ToString::to_string).collect();
    let mut every = Vec::new();
    if fixed.is_empty() {
        for listener in listeners {
            match listener.local_addr() {
                Some(address) if address.ip().is_unspecified() => {
                    every.push((listener.scheme(), address.port()));
                }
                _ => fixed.push(listener.url()),
            }
        }
    }
    let mut core = hub.core.borrow_mut();
    core.links.set_addresses(fixed, every);
    let addresses = core.links.addresses();
    if !addresses.is_empty() {
        core.machine.handle(hub.clock.now(), Input::Link(LinkInput::Addresses(addresses)));
    }
}

/// Tells the federates that the node stops, and waits until all of them are gone.
async fn drain<M: Machine>(hub: &Hub<M>, grace: Duration) {
    info!(connections = hub.core.borrow().table.len(), "shutting down");
    hub.handle(Input::Shutdown);
    let gone = async {
        loop {
            let departed = hub.departed.notified();
            let (connections, left) = {
                let core = hub.core.borrow();
                (core.table.len(), core.machine.has_left())
            };
            if connections == 0 && left {
                return;
            }
            // The machine does not signal that it has left; it must be asked.
            let _ = tokio::time::timeout(LEAVE_POLL, departed).await;
        }
    };
    if tokio::time::timeout(grace, gone).await.is_err() {
        warn!(connections = hub.core.borrow().table.len(), "cut off: still connected after shutdown.grace");
    }
}
