//! Topologies as data: routers, edges and the flags at both ends of each edge.

mod check;
mod shapes;

pub use check::TopologyError;
pub use shapes::{hypercube, mesh, parent, tree, tree_of_layers};

use crate::client::{ClientFlags, ClientId};
use crate::memory::MemoryPipe;
use crate::message::{Interest, Message};
use crate::router::Router;
use crate::{ClientConfig, ClientError, ClientKind, PipeConfig};
use base::Moment;

/// The purpose of a router. The router itself does not know it: the flags of its clients make the
/// difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A router as in a tree, a hypercube or a hand-written graph.
    Plain,
    /// The router of a triad that serves its applications.
    Primary,
    /// The router of a triad that distributes the messages of the Primary's applications to the
    /// PullDowns of other triads.
    PopUp,
    /// The router of a triad that collects the messages of other triads' PopUps for the Primary's
    /// applications.
    PullDown,
}

/// A router of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its role.
    pub role: Role,
    /// The process that it belongs to. Memory pipes join the routers of one process.
    pub process: usize,
}

/// A router's view of the router at the other end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The viewing router, as an index of [`Topology::routers`].
    pub router: usize,
    /// The flags that it gives to its client for the other end.
    pub flags: ClientFlags,
}

/// A connection between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// One end.
    pub a: End,
    /// The other.
    pub b: End,
    /// The [rank](crate::ClientConfig::rank) of both clients.
    pub rank: u8,
}

/// A network of routers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The routers.
    pub routers: Vec<Place>,
    /// Their connections.
    pub edges: Vec<Edge>,
    /// Routers that applications connect to, as lower clients.
    pub entries: Vec<usize>,
}

/// The two clients of an edge: for each end, the router's index and its client for the other end.
pub type Ends = MemoryPipe;

/// The clients of all edges of a topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// Edges inside a process, for [`pump`](crate::pump).
    pub memory: Vec<MemoryPipe>,
    /// Edges between processes, for the world to bring up.
    pub links: Vec<Ends>,
}

impl Topology {
    /// A hand-written graph of `routers` plain routers, each in a process of its own. Applications
    /// may connect to every router. Call [`Topology::check`] afterwards.
    pub fn graph(routers: usize, edges: Vec<Edge>) -> Self {
        let places = (0..routers).map(|process| Place { role: Role::Plain, process }).collect();
        Self { routers: places, edges, entries: (0..routers).collect() }
    }

    /// True for an edge between two routers of one process.
    pub fn is_memory(&self, edge: &Edge) -> bool {
        self.routers[edge.a.router].process == self.routers[edge.b.router].process
    }

    /// Adds the clients of all edges to the routers, which are those of [`Topology::routers`] in
    /// order. Link clients start with their links down.
    ///
    /// # Errors
    /// [`ClientError::TooManyClients`].
    pub fn wire<M: Message, I: Interest<Topic = M::Topic>>(
        &self,
        now: Moment,
        routers: &mut [Router<M, I>],
        pipe: &PipeConfig,
    ) -> Result<Wiring, ClientError> {
        let mut wiring = Wiring::default();
        for edge in &self.edges {
            let memory = self.is_memory(edge);
            let kind = if memory { ClientKind::Memory } else { ClientKind::Link };
            let mut add = |end: End| {
                let config = ClientConfig { flags: end.flags, rank: edge.rank, kind, pipe: pipe.clone() };
                routers[end.router].add_client(now, config).map(|client: ClientId| (end.router, client))
            };
            let ends = Ends { a: add(edge.a)?, b: add(edge.b)? };
            if memory { wiring.memory.push(ends) } else { wiring.links.push(ends) }
        }
        Ok(wiring)
    }
}
