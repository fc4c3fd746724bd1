//! A node on a thread of its own, inside a program that does something else.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::accept::BindError;
use super::machine::Machine;
use super::run::{Node, runtime};
use super::stats::NodeStats;
use crate::{Config, KernelError, StateFile};

/// Why a background node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The settings of the network do not fit.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The system gives no thread or no event queue.
    #[error("cannot start a node: {0}")]
    System(#[from] std::io::Error),
}

/// A running node on its own thread. Dropping it stops the node and waits for its end.
pub struct Background {
    addresses: Vec<SocketAddr>,
    link_addresses: Vec<String>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<NodeStats>>,
}

impl Background {
    /// Starts a node of `config` whose machine is made, on the node's thread, by `machine`.
    ///
    /// # Errors
    /// An address cannot be listened on, or the system has no thread to give.
    pub fn start<M, F>(config: Config, machine: F) -> Result<Self, StartError>
    where
        M: Machine + 'static,
        F: FnOnce(&Config) -> M + Send + 'static,
    {
        Self::try_start(config, |config| Ok((machine(config), None)))
    }

    /// As [`Background::start`], with a machine that may not come about, and the file that it keeps its state in.
    ///
    /// # Errors
    /// Those of `machine` and of [`Background::start`].
    pub fn try_start<M, F>(config: Config, machine: F) -> Result<Self, StartError>
    where
        M: Machine + 'static,
        F: FnOnce(&Config) -> Result<(M, Option<StateFile>), StartError> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel::<()>();
        let (bound, binding) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name(format!("node {}", config.name)).spawn(move || {
            // It stays on its thread, and so is made there.
            let runtime = match runtime() {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = bound.send(Err(error.into()));
                    return NodeStats::default();
                }
            };
            runtime.block_on(async move {
                let bind = async {
                    let (machine, file) = machine(&config)?;
                    Ok::<_, StartError>(Node::bind(&config, machine).await?.with_state(file))
                };
                match bind.await {
                    Ok(node) => {
                        let _ = bound.send(Ok((node.addresses().to_vec(), node.link_addresses())));
                        // A dropped sender is a request to stop as well.
                        node.run(async { drop(stopped.await) }).await
                    }
                    Err(error) => {
                        let _ = bound.send(Err(error));
                        NodeStats::default()
                    }
                }
            })
        })?;
        let (addresses, link_addresses) =
            binding.recv().map_err(|_| std::io::Error::other("its thread ended before it listened"))??;
        Ok(Self { addresses, link_addresses, stop: Some(stop), thread: Some(thread) })
    }

    /// Where the node listens, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where the node listens for other nodes, as URLs, with the ports that the system chose.
    pub fn link_addresses(&self) -> &[String] {
        &self.link_addresses
    }

    /// Stops the node, waits for its end, and returns what it did in numbers; zeros if its thread panicked.
    pub fn stop(mut self) -> NodeStats {
        self.finish()
    }

    fn finish(&mut self) -> NodeStats {
        drop(self.stop.take());
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.finish();
    }
}
