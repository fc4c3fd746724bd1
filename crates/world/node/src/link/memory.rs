//! Links inside one process: `memory://name`.
//!
//! For several nodes in one program, each on its own thread: examples, tests, and measurements
//! without a network.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use super::stream::Raw;

/// Bytes that may be under way in each direction.
const PIPE_BYTES: usize = 256 << 10;

/// Connections that may wait to be accepted.
const BACKLOG: usize = 64;

/// Listeners by name.
static LISTENERS: Mutex<BTreeMap<String, mpsc::Sender<DuplexStream>>> = Mutex::new(BTreeMap::new());

fn listeners() -> MutexGuard<'static, BTreeMap<String, mpsc::Sender<DuplexStream>>> {
    // A thread that panicked with the lock leaves nothing half done.
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Accepts connections to one name until it is dropped.
pub(crate) struct MemoryListener {
    pub(crate) name: String,
    incoming: mpsc::Receiver<DuplexStream>,
}

impl MemoryListener {
    pub(crate) fn bind(name: &str) -> io::Result<Self> {
        let mut listeners = listeners();
        if listeners.get(name).is_some_and(|listener| !listener.is_closed()) {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "a node of this process listens there"));
        }
        let (sender, incoming) = mpsc::channel(BACKLOG);
        listeners.insert(name.to_owned(), sender);
        Ok(Self { name: name.to_owned(), incoming })
    }

    pub(crate) async fn accept(&mut self) -> io::Result<Raw> {
        let stream = self.incoming.recv().await.ok_or(io::ErrorKind::NotConnected)?;
        Ok(raw(stream, "memory".to_owned()))
    }
}

impl Drop for MemoryListener {
    fn drop(&mut self) {
        self.incoming.close();
        let mut listeners = listeners();
        if listeners.get(&self.name).is_some_and(mpsc::Sender::is_closed) {
            listeners.remove(&self.name);
        }
    }
}

/// Connects to the listener called `name`.
pub(crate) fn connect(name: &str) -> io::Result<Raw> {
    let listener = listeners().get(name).cloned();
    let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, "nobody in this process listens there");
    let (own, other) = tokio::io::duplex(PIPE_BYTES);
    listener.ok_or_else(refused)?.try_send(other).map_err(|_| refused())?;
    Ok(raw(own, format!("memory://{name}")))
}

fn raw(stream: DuplexStream, peer: String) -> Raw {
    let (read, write) = tokio::io::split(stream);
    Raw {
        read: Box::new(read),
        write: Box::new(write),
        peer,
        peer_ip: None,
        local_ip: None,
        quic: None,
        datagram_keys: None,
        proof: None,
    }
}
