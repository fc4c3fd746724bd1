//! Any network under any traffic, as scenario files describe them.

mod senders;
mod wires;

pub use wires::WireError;

use std::sync::Arc;

use base::Seed;

use crate::application::{Application, ApplicationError};
use crate::arrivals::Gaps;
use crate::exchange::Exchange;
use crate::fluid::lanes::Subqueue;
use crate::host::Host;
use crate::pattern::{Pattern, PatternError};
use crate::recording::{Recording, RecordingError};
use crate::routing::{DynamicError, DynamicRoutes, RouteError, Routes, Routing, Rule, ShortestPaths};
use crate::script::Shared;
use crate::simulation::{Model, Simulation, build};
use crate::sizes::{Sizes, SizesError};
use crate::topology::{ClusterError, LinkClass, PARTS_MAX, Shape, TopologyError, WanError};
use crate::units::Picos;
pub use senders::Senders;
use senders::Ways;

/// A network, its load and its model.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// Its shape.
    pub shape: Shape,
    /// The links from and to hosts.
    pub host_link: LinkClass,
    /// The links between switches. Not used for a [`Wan`](crate::topology::Wan), whose lines
    /// differ.
    pub cable: LinkClass,
    /// The traffic of hosts.
    pub load: Load,
    /// The time when hosts begin to send, and the time when they stop. With an application this is
    /// [`Picos::MAX`]: when all programs have ended.
    pub window: (Picos, Picos),
    /// The time that both hosts together take for a message. It comes on top of stages, if there are
    /// any.
    pub host_time: Picos,
    /// The stages of hosts; without them hosts take a constant time.
    pub host: Option<Host>,
    /// The rule of routes, and failures of links.
    pub routing: Routing,
    /// Fluid or packets.
    pub model: Model,
    /// The messages behind which a message waits, as fluid: [`Subqueue::Flow`] or
    /// [`Subqueue::Message`].
    pub subqueue: Subqueue,
}

/// Memory per host, in bytes: two random streams, its place in the queue of births, its first link,
/// messages of its own.
const HOST_BYTES: u64 = 150;
/// Memory per link during and after its construction, in bytes: as fluid, with packets, and with
/// packets that need more than first come, first served.
const FLUID_LINK_BYTES: u64 = 50;
const PACKET_LINK_BYTES: u64 = 90;
const PORT_LINK_BYTES: u64 = 320;

/// A lower bound of the memory that a network of this shape takes, in bytes, before any message
/// waits, computed without building it. `None` for one with more parts than can be
/// [built](Shape::build).
pub fn memory_bytes(shape: &Shape, model: Model) -> Option<u64> {
    let (hosts, switches, links) = shape.parts();
    if hosts.saturating_add(switches).max(links) > PARTS_MAX {
        return None;
    }
    let link = match model {
        Model::Fluid(_) | Model::HopByHop { .. } | Model::StoreAndForward => FLUID_LINK_BYTES,
        Model::Packets(model) if model.is_plain() => PACKET_LINK_BYTES,
        Model::Packets(_) => PORT_LINK_BYTES,
    };
    let routes = match shape {
        Shape::Torus(_) => 0,
        Shape::Wan(_) => switches.saturating_mul(switches).saturating_mul(4),
        // Each cluster has a network and routes of its own beside the whole.
        Shape::Clusters(clusters) => {
            clusters.clusters().iter().filter_map(|cluster| memory_bytes(&cluster.shape, model)).sum()
        }
        _ => switches.saturating_mul(switches).saturating_mul(2),
    };
    Some(hosts.saturating_mul(HOST_BYTES).saturating_add(links.saturating_mul(link)).saturating_add(routes))
}

/// The traffic of hosts: sources, times, sizes and destinations.
#[derive(Clone, PartialEq, Debug)]
pub enum Load {
    /// Drawn for each host.
    Drawn {
        /// The destinations.
        pattern: Pattern,
        /// The times.
        gaps: Gaps,
        /// The sizes.
        sizes: Sizes,
    },
    /// Requests and responses.
    Exchanged(Exchange),
    /// From a script, with the destinations of a pattern.
    Scripted {
        /// The sources, times and sizes.
        script: Shared,
        /// The destinations.
        pattern: Pattern,
    },
    /// From a recording.
    Recorded(Arc<Recording>),
    /// From programs that hosts run.
    Application(Arc<Application>),
}

impl Load {
    /// The expected number of messages of all hosts between two moments, and their mean size in
    /// bytes. For requests and responses the number is an upper bound.
    pub fn expected(&self, hosts: u32, window: (Picos, Picos)) -> (f64, f64) {
        match self {
            Load::Drawn { gaps, sizes, .. } => (gaps.expected(hosts, window), sizes.mean()),
            Load::Exchanged(exchange) => {
                let mean = f64::midpoint(exchange.request.mean(), exchange.response.mean());
                (exchange.expected(hosts, window), mean)
            }
            Load::Scripted { script, .. } => script.0.expected(hosts, window),
            Load::Recorded(recording) => {
                let (messages, bytes) =
                    recording.within(window).fold((0.0, 0.0), |(messages, bytes), (_, sent)| {
                        (messages + 1.0, bytes + sent.bytes as f64)
                    });
                (messages, bytes / f64::max(messages, 1.0))
            }
            Load::Application(application) => {
                let (mut messages, mut bytes) = (0.0, 0.0);
                application.each_message(hosts, |size| {
                    messages += 1.0;
                    bytes += size as f64;
                });
                (messages * f64::from(application.iterations), bytes / f64::max(messages, 1.0))
            }
        }
    }
}

/// The reason why a network cannot be simulated.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum NetworkError {
    /// The topology is not valid.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// Some host cannot be reached.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Routes cannot follow the network, or a failure concerns no cable.
    #[error(transparent)]
    Dynamic(#[from] DynamicError),
    /// Some site cannot be reached, or a route leads astray.
    #[error(transparent)]
    Wan(#[from] WanError),
    /// Clusters have no routes between them.
    #[error(transparent)]
    Clusters(#[from] ClusterError),
    /// The pattern does not suit the network.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The recording does not suit the network.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Links, packets and model do not suit each other.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The distribution of sizes is not valid.
    #[error(transparent)]
    Sizes(#[from] SizesError),
    /// There are fewer hosts than clients.
    #[error("{clients} hosts are to send requests, and there are {hosts}")]
    Clients {
        /// Number of clients.
        clients: u32,
        /// Number of hosts.
        hosts: u32,
    },
    /// The script cannot be read.
    #[error("{0}")]
    Script(String),
    /// The application does not suit the network.
    #[error(transparent)]
    Application(#[from] ApplicationError),
    /// The subqueue belongs to another study.
    #[error("subqueues by port are known on tori with straight ways only")]
    Ports,
}

/// Sets a network up. Random numbers come from `seed`.
///
/// # Errors
/// See [`NetworkError`].
pub fn set_up(network: &Network, seed: Seed) -> Result<Simulation<Senders>, NetworkError> {
    if network.subqueue == Subqueue::Port {
        return Err(NetworkError::Ports);
    }
    let (shape, host_link, cable) = match &network.model {
        Model::Fluid(_) | Model::HopByHop { .. } | Model::StoreAndForward => network.as_fluid()?,
        Model::Packets(model) => {
            network.check_packets(model)?;
            (network.shape.clone(), network.host_link.clone(), network.cable.clone())
        }
    };
    let topology = shape.build(host_link, cable)?;
    let routes = match &network.shape {
        Shape::Torus(torus) => Routes::DimensionOrder(torus.clone()),
        Shape::Wan(wan) => Routes::Table(wan.routes(&topology)?),
        Shape::Clusters(clusters) => Routes::Clusters(Box::new(clusters.routes(&topology)?)),
        _ => {
            let paths = ShortestPaths::new(&topology)?;
            paths.check(&topology)?;
            Routes::Shortest(paths)
        }
    };
    if let (Some(wan), true) = (network.shape.wan(), network.routing.rule != Rule::Static)
        && !wan.detours.is_empty()
    {
        return Err(DynamicError::Written.into());
    }
    let (topology, hosts) = build(topology, network.host.as_ref())?;
    let routes = match network.routing.is_static() {
        true => Ways::Static(routes),
        false => Ways::Dynamic(Box::new(DynamicRoutes::new(&network.routing, &topology, routes)?)),
    };
    let senders = Senders::new(network, &topology, routes, seed)?;
    Ok(Simulation::new((topology, hosts), senders, 0, network.model, network.window, seed))
}

#[cfg(test)]
mod tests;
