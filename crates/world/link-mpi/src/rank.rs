//! A rank as seen by its node.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use node::link::{LinkProvider, ProvidedListener, ProviderAccepting, ProviderConnecting};

use crate::carrier::Carrier;
use crate::stream;
use crate::worker::{Messenger, Shared, work};

/// The links of this rank, for its [`Node`](node::Node). Copies are the same rank.
#[derive(Clone)]
pub struct Rank {
    shared: Arc<Shared>,
    number: u32,
}

impl Rank {
    /// Rank `number` of a job of `size` ranks. Its links work only while a thread runs
    /// [`work`](Self::work).
    pub fn new(number: u32, size: u32) -> Self {
        Self { shared: Arc::new(Shared::new(Carrier::new(number, size))), number }
    }

    /// Ends all links, tells the other ranks, and refuses everything from now on.
    pub fn leave(&self) {
        self.shared.act(Carrier::leave);
    }

    /// Moves messages until this rank and all others have [left](Self::leave). `pause_max` is the
    /// longest pause between two polls for messages.
    pub fn work(&self, messenger: &mut impl Messenger, pause_max: Duration) {
        work(&self.shared, messenger, pause_max);
    }
}

impl LinkProvider for Rank {
    fn rank(&self) -> u32 {
        self.number
    }

    fn listen(&self) -> io::Result<Box<dyn ProvidedListener>> {
        if self.shared.act(|carrier| carrier.listen()) {
            return Ok(Box::new(Incoming(Arc::clone(&self.shared))));
        }
        Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "a node listens at this rank already, or the rank leaves",
        ))
    }

    fn connect(&self, rank: u32) -> ProviderConnecting {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let link = shared
                .act(|carrier| carrier.connect(rank))
                .map_err(|why| io::Error::new(io::ErrorKind::NotFound, why))?;
            let (read, write) = stream::connected(shared, link).await?;
            Ok((Box::new(read) as _, Box::new(write) as _))
        })
    }
}

/// Accepts links until it is dropped.
struct Incoming(Arc<Shared>);

impl ProvidedListener for Incoming {
    fn accept(&mut self) -> ProviderAccepting<'_> {
        Box::pin(async {
            let accepted = std::future::poll_fn(|cx| self.0.act(|carrier| carrier.poll_accept(cx))).await;
            let link = accepted.ok_or_else(|| io::Error::other("the rank leaves its job"))?;
            let (read, write) = stream::halves(Arc::clone(&self.0), link);
            Ok((link.peer, (Box::new(read) as _, Box::new(write) as _)))
        })
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.0.act(|carrier| carrier.stop_listening());
    }
}
