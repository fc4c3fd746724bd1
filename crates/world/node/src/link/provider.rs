//! Links of a parallel program, whose processes (*ranks*) reach each other without sockets:
//! `mpi://RANK`.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use super::stream::{BoxRead, BoxWrite, Raw};

/// A stream to another rank, once it is established.
pub type ProviderConnecting = Pin<Box<dyn Future<Output = io::Result<(BoxRead, BoxWrite)>>>>;

/// A stream made by another rank, and that rank's number.
pub type ProviderAccepting<'a> = Pin<Box<dyn Future<Output = io::Result<(u32, (BoxRead, BoxWrite))>> + 'a>>;

/// Reliable streams between ranks. A stream that is dropped is closed; its other end can still read
/// everything that was written.
pub trait LinkProvider {
    /// The number of this rank.
    fn rank(&self) -> u32;
    /// Accepts streams of other ranks from now on.
    ///
    /// # Errors
    /// This process already has a listener.
    fn listen(&self) -> io::Result<Box<dyn ProvidedListener>>;
    /// Makes a stream to a rank. Dropping the future cancels it.
    fn connect(&self, rank: u32) -> ProviderConnecting;
}

/// Accepts streams until it is dropped.
pub trait ProvidedListener {
    /// The next stream that another rank made.
    fn accept(&mut self) -> ProviderAccepting<'_>;
}

/// The error of a node without a provider.
fn absent() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "this node is no rank of an MPI job (see `meshrti serve --mpi`)",
    )
}

/// Connects to the node of a rank, which is given in decimal.
pub(crate) async fn connect(provider: Option<&Rc<dyn LinkProvider>>, rank: &str) -> io::Result<Raw> {
    let provider = provider.ok_or_else(absent)?;
    let number =
        rank.parse().map_err(|_| io::Error::new(io::ErrorKind::NotFound, "no rank has such a number"))?;
    Ok(raw(number, provider.connect(number).await?))
}

/// Accepts links from the nodes of other ranks.
pub(crate) struct RankListener {
    pub(crate) rank: u32,
    listener: Box<dyn ProvidedListener>,
}

impl RankListener {
    /// Listens at `rank`, which must be this one, or `*`.
    pub(crate) fn bind(provider: Option<&Rc<dyn LinkProvider>>, rank: &str) -> io::Result<Self> {
        let provider = provider.ok_or_else(absent)?;
        let own = provider.rank();
        if rank != "*" && rank.parse() != Ok(own) {
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, format!("this is rank {own}")));
        }
        Ok(Self { rank: own, listener: provider.listen()? })
    }

    pub(crate) async fn accept(&mut self) -> io::Result<Raw> {
        let (rank, stream) = self.listener.accept().await?;
        Ok(raw(rank, stream))
    }
}

fn raw(rank: u32, (read, write): (BoxRead, BoxWrite)) -> Raw {
    Raw {
        read,
        write,
        peer: format!("mpi://{rank}"),
        peer_ip: None,
        local_ip: None,
        quic: None,
        datagram_keys: None,
        proof: None,
    }
}
