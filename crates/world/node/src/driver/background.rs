//! A node on a thread of its own, inside another program.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::accept::BindError;
use super::run::{Node, runtime};
use crate::config::Config;
use crate::hub::NodeStats;
use crate::kernel_machine::{KernelError, kernel_with};
use crate::machine::Machine;
use crate::state::StateFile;

/// The reason why a background node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The node cannot listen on an address.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The settings of the network are invalid.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The system cannot create a thread or an event queue.
    #[error("cannot start a node: {0}")]
    System(#[from] std::io::Error),
}

/// A running node on its own thread. Dropping it stops the node and waits for the end of the
/// thread.
pub struct Background {
    addresses: Vec<SocketAddr>,
    link_addresses: Vec<String>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<NodeStats>>,
}

impl Background {
    /// Starts a node with the settings `config`. `machine` makes its machine, on the node's thread.
    ///
    /// # Errors
    /// The node cannot listen on an address, or the system cannot create a thread.
    pub fn start<M, F>(config: Config, machine: F) -> Result<Self, StartError>
    where
        M: Machine + 'static,
        F: FnOnce(&Config) -> M + Send + 'static,
    {
        Self::try_start(config, |config| Ok((machine(config), None)))
    }

    /// Like [`Background::start`], with a `machine` that may fail and that also returns the file
    /// for the state.
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
            // The runtime cannot leave its thread, so it is made there.
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
                        // A dropped sender is also a request to stop.
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

    /// The addresses on which the node listens, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The URLs on which the node listens for other nodes, with the ports that the system chose.
    pub fn link_addresses(&self) -> &[String] {
        &self.link_addresses
    }

    /// Stops the node, waits for its end, and returns its counters; zeros if its thread panicked.
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

/// Starts a node on a thread of its own, inside this program.
///
/// # Errors
/// The node cannot listen on an address, the settings of the network are invalid, or the system
/// cannot create a thread.
pub fn start(mut config: Config) -> Result<Background, StartError> {
    config.settle_here().map_err(KernelError::from)?;
    Background::try_start(config, |config| {
        let file = StateFile::of(config).map_err(KernelError::from)?;
        Ok((kernel_with(config, file.as_ref())?, file))
    })
}
