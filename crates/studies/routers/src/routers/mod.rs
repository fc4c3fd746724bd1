//! Router networks under load: the product's router machine on the hosts of a
//! [cluster](netsim::cluster).
//!
//! The study follows "Advanced Message Routing for Scalable Distributed Simulations" (Gottschalk,
//! Amburn and Davis 2005), section 4.2. Pairs of federates at the leaves of a router network
//! exchange messages of one size, there and back, a number of times. The network is a tree of
//! routers or a full mesh of triads.
//!
//! A federate is a process with a router of its own, whose only link leads to its leaf router. The
//! routers therefore count the links of a message themselves, in its envelope, and include the
//! federates' links.

mod connection;
pub(crate) mod cross_links;
mod federate;
pub mod flood;
mod layout;
mod message;
pub(crate) mod network;
pub(crate) mod station;
#[cfg(test)]
mod tests;

pub use layout::{FEDERATES_MAX, LEAVES_MAX, Layout, LayoutError, Shape};
pub use router::PipeConfig;

use base::{Moment, Seed};
use bytes::Bytes;
use federate::{Answers, Asker, Federate, Links, Looks, Plan, uniform};
use netsim::cluster::{Cluster, Ethernet, HostSpec};
use netsim::{Digest, HostId};
use network::RouterNetwork;
use rand_core::RngCore;
use router::{ClientError, ClientId, FrameError, Gone, RouterId};
use station::{Application, Station};
use std::sync::Arc;
use std::time::Duration;

/// The hosts, links and pipes of the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hardware {
    /// The links.
    pub ethernet: Ethernet,
    /// The hosts of routers. The routers of a triad share one.
    pub router: HostSpec,
    /// The hosts of federates, one each.
    pub federate: HostSpec,
    /// Processor time for a message or an interest record to cross a memory pipe.
    pub memory_pipe: Duration,
    /// The pipes of all routers.
    pub pipe: PipeConfig,
}

/// The start times of pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Start {
    /// Interval between the starts of consecutive pairs, which are numbered leaf by leaf.
    pub interval: Duration,
    /// Upper bound of a random delay of each start, drawn from the seed.
    pub spread: Duration,
    /// Every leaf router at a multiple of this number starts its pairs late, counting those with first
    /// partners from 1; 0 for none.
    pub late_leaf_in: usize,
    /// Additional delay of these pairs.
    pub late_by: Duration,
}

/// The settings of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Tree or mesh.
    pub shape: Shape,
    /// The layout of routers and federates.
    pub layout: Layout,
    /// Hosts, links and pipes.
    pub hardware: Hardware,
    /// Levels between the partners of a pair, see [`Layout::pairs`].
    pub hops: usize,
    /// Number of active pairs.
    pub pairs: usize,
    /// Message sizes, in bytes. A pair uses one size after another and does not wait for other
    /// pairs.
    pub sizes: Vec<usize>,
    /// Number of exchanges of each size, there and back.
    pub exchanges: u32,
    /// Maximum time that a message waits until its federate looks for messages. Each wait is uniform,
    /// as for a federate that calls its RTI between pieces of other work of this length.
    pub look: Duration,
    /// Longer messages go as pieces of at most so many bytes, which routers forward one by one. A
    /// message counts as received when all its pieces are there.
    pub piece_bytes_max: usize,
    /// The start times of pairs.
    pub start: Start,
    /// The source of all randomness.
    pub seed: Seed,
}

/// Maximum size of a message, in bytes.
pub const SIZE_BYTES_MAX: usize = 1 << 20;
/// Earliest start of a pair. Interest has spread by then, and the moment is half a period away from
/// the routers' signs of life.
pub const WARM: Moment = Moment::from_millis(1_500);
/// Simulated time after which a run is given up.
pub const TIME_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The outcome of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Mean round-trip times by size, for each pair, leaf by leaf.
    pub means: Vec<Vec<Duration>>,
    /// Standard deviations of the round-trip times that these are the means of.
    pub spreads: Vec<Vec<Duration>>,
    /// Number of links that each message crossed.
    pub links: u8,
    /// The most heavily loaded processor or port between the first start and the last end, with its
    /// share of busy time.
    pub busiest: Busy,
    /// Time from the first start to the last end.
    pub simulated: Duration,
    /// Events of the simulation.
    pub events: u64,
    /// A fingerprint of all received messages.
    pub digest: Digest,
}

/// The load of a part of the network.
#[derive(Clone, PartialEq, Debug)]
pub struct Busy {
    /// Name of the part, for display.
    pub part: String,
    /// Share of time that it was busy, from 0 to 1.
    pub utilisation: f64,
}

/// A run that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The layout does not allow it.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A size, or the number of sizes or exchanges, is out of range.
    #[error("{what} must be from {min} to {max}, not {got}")]
    Range {
        /// Name of the number.
        what: &'static str,
        /// Least valid value.
        min: usize,
        /// Greatest valid value.
        max: usize,
        /// The given value.
        got: usize,
    },
    /// A router rejected a call.
    #[error("a router: {0}")]
    Client(ClientError),
    /// A router rejected a frame.
    #[error("a router: {0}")]
    Frame(FrameError),
    /// Interest did not spread before the start.
    #[error("federate {from} may not send to federate {to}: its interest did not get there within {WARM} s")]
    Unwanted {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
    },
    /// A link was silent for too long: the network is so slow that signs of life do not get
    /// through.
    #[error("router {router} lost client {client} ({why:?}): the network is overloaded")]
    LinkLost {
        /// The router that gave up the link.
        router: RouterId,
        /// Its client.
        client: ClientId,
        /// The reason.
        why: Gone,
    },
    /// A pipe overflowed.
    #[error("router {router} has no room for client {client}: the queue limit is too low for this load")]
    Overflow {
        /// The router.
        router: RouterId,
        /// Its client.
        client: ClientId,
    },
    /// The settings of an overlay are invalid.
    #[error("an overlay: {0}")]
    Overlay(overlay::ConfigError),
    /// An overlay rejected a frame for a tunnel.
    #[error("a tunnel: {0}")]
    Tunnel(overlay::SendError),
    /// Messages of one run crossed different numbers of links.
    #[error("messages crossed from {min} to {max} links, not all the same number")]
    Paths {
        /// Fewest.
        min: u8,
        /// Most.
        max: u8,
    },
    /// The run did not end in time.
    #[error("not done after {} s of simulated time", TIME_MAX.as_secs())]
    Endless,
}

/// Executes a run to its end.
///
/// # Errors
/// [`RunError`]: the settings are invalid, or the network breaks down.
pub fn run(run: &Run) -> Result<Outcome, RunError> {
    check(run)?;
    let pairs = run.layout.some_pairs(run.hops, run.pairs)?;
    let bodies = run.sizes.iter().map(|size| Bytes::from(vec![0; *size])).collect();
    let plan = Arc::new(Plan { bodies, exchanges: run.exchanges, piece_bytes_max: run.piece_bytes_max });
    let number = |federate: usize| u32::try_from(federate).expect("limits of layouts keep it small");
    let mut askers: std::collections::BTreeMap<u32, Asker> = std::collections::BTreeMap::new();
    for ((first, second), start) in pairs.iter().zip(starts(run, &pairs)) {
        askers.insert(number(*first), Asker::new(number(*second), start, Arc::clone(&plan)));
    }
    let topology = run.layout.topology(run.shape);
    let looks = run.seed.split("looks");
    let mut network = RouterNetwork::build(&topology, &run.hardware, run.seed, |number, client| Federate {
        number,
        client,
        asks: askers.remove(&number),
        answers: Answers::default(),
        links: Links::NONE,
        plan: Arc::clone(&plan),
        looks: Looks::new(run.look, looks.split_index(number.into()).rng()),
    })?;
    network.cluster.run_until(WARM)?;
    let before = busy(&run.hardware, &network.cluster);
    let end = run_to_end(&mut network)?;
    outcome(run, &network, &before, end)
}

fn check(run: &Run) -> Result<(), RunError> {
    in_range("the number of sizes", 1, 64, run.sizes.len())?;
    for &size in &run.sizes {
        in_range("a size in bytes", 1, SIZE_BYTES_MAX, size)?;
    }
    in_range("the size of a piece in bytes", 1, usize::MAX, run.piece_bytes_max)?;
    in_range("the number of exchanges", 1, 1_000_000, run.exchanges as usize)
}

fn in_range(what: &'static str, min: usize, max: usize, got: usize) -> Result<(), RunError> {
    match got {
        _ if (min..=max).contains(&got) => Ok(()),
        _ => Err(RunError::Range { what, min, max, got }),
    }
}

/// The start time of each pair.
fn starts(run: &Run, pairs: &[(usize, usize)]) -> Vec<Moment> {
    let Start { interval, spread, late_leaf_in, late_by } = run.start;
    let seed = run.seed.split("starts");
    let leaf_of = |pair: &(usize, usize)| pair.0 / run.layout.federates_per_leaf;
    let (mut leaves, mut last_leaf) = (0, None);
    let of = |(index, pair): (usize, &(usize, usize))| {
        if last_leaf.replace(leaf_of(pair)) != Some(leaf_of(pair)) {
            leaves += 1;
        }
        let bits = seed.split_index(index as u64).rng().next_u64();
        let drawn = uniform(bits, spread);
        let late = late_leaf_in > 0 && leaves % late_leaf_in == 0;
        let in_turn = interval.saturating_mul(u32::try_from(index).unwrap_or(u32::MAX));
        WARM + in_turn + drawn + if late { late_by } else { Duration::ZERO }
    };
    pairs.iter().enumerate().map(of).collect()
}

/// Runs until all pairs are done. Returns the moment at which the last one was.
fn run_to_end(network: &mut RouterNetwork<Federate>) -> Result<Moment, RunError> {
    const SLICE: Duration = Duration::from_millis(10);
    let mut until = WARM;
    while until.since(WARM) < TIME_MAX {
        until += SLICE;
        network.cluster.run_until(until)?;
        let mut askers = askers(network);
        let end = askers.try_fold(WARM, |end, asker| asker.finished.map(|finished| finished.max(end)));
        if let Some(end) = end {
            return Ok(end);
        }
    }
    Err(RunError::Endless)
}

fn askers(network: &RouterNetwork<Federate>) -> impl Iterator<Item = &Asker> {
    let federates = network.federates.iter();
    let stations = federates.map(|host| network.cluster.process(*host));
    stations.filter_map(|station| station.application.as_ref()?.asks.as_ref())
}

/// Busy time of the processor, of the port towards the switch, and of the switch's port, by host.
fn busy<A: Application>(hardware: &Hardware, cluster: &Cluster<Station<A>>) -> Vec<[Duration; 3]> {
    let rate = hardware.ethernet.rate.max(1) as f64;
    let on_wire = |bytes: u64| Duration::from_secs_f64(bytes as f64 * 8.0 / rate);
    let of = |host: HostId| {
        let (out, into) = cluster.ports(host);
        [cluster.cpu(host).busy, on_wire(out.wire_bytes), on_wire(into.wire_bytes)]
    };
    cluster.hosts().map(of).collect()
}

/// The most heavily loaded part of the network in the time `lasts`, which began `before`.
fn busiest<A: Application>(
    (hardware, cluster): (&Hardware, &Cluster<Station<A>>),
    before: &[[Duration; 3]],
    lasts: Duration,
    name: impl Fn(usize) -> String,
) -> Busy {
    let mut busiest = Busy { part: String::new(), utilisation: 0.0 };
    for (process, (after, before)) in busy(hardware, cluster).iter().zip(before).enumerate() {
        for (part, (after, before)) in
            ["processor", "sending", "receiving"].iter().zip(after.iter().zip(before))
        {
            let utilisation = after.saturating_sub(*before).as_secs_f64() / lasts.as_secs_f64();
            if utilisation > busiest.utilisation {
                busiest = Busy { part: format!("{}, {part}", name(process)), utilisation };
            }
        }
    }
    busiest
}

fn outcome(
    run: &Run,
    network: &RouterNetwork<Federate>,
    before: &[[Duration; 3]],
    end: Moment,
) -> Result<Outcome, RunError> {
    let mut links = Links::NONE;
    for host in &network.federates {
        if let Some(federate) = &network.cluster.process(*host).application {
            links.add(federate.links);
        }
    }
    if links.min != links.max {
        return Err(RunError::Paths { min: links.min, max: links.max });
    }
    let first = askers(network).map(|asker| asker.start).min().unwrap_or(WARM);
    let simulated = end.since(first);
    let parts = (&run.hardware, &network.cluster);
    let busiest = busiest(parts, before, simulated, |process| run.layout.process_name(run.shape, process));
    Ok(Outcome {
        means: askers(network).map(Asker::means).collect(),
        spreads: askers(network).map(Asker::spreads).collect(),
        links: links.min,
        busiest,
        simulated,
        events: network.cluster.events(),
        digest: network.cluster.digest(),
    })
}
