//! Turns a topology into processes, and a layout into processes on the hosts of a cluster.

use super::message::{Letter, Mailbox};
use super::station::{Application, RouterOf, Station};
use super::{Hardware, RunError};
use base::{Moment, Seed};
use netsim::HostId;
use netsim::cluster::Cluster;
use router::topology::{Ends, Role, Topology};
use router::{ClientConfig, ClientId, LinkChange, MemoryPipe, PipeConfig, Router, RouterConfig, RouterId};
use std::time::Duration;

/// A router network whose links are up and whose federates have declared their interest. Hosts have
/// the numbers of their processes.
pub(super) struct RouterNetwork<A: Application> {
    pub(super) cluster: Cluster<Station<A>>,
    /// The hosts of the federates.
    pub(super) federates: Vec<HostId>,
}

impl<A: Application<Message = Letter, Interest = Mailbox>> RouterNetwork<A> {
    /// Builds the network. `federate` makes the federate of a number, with its client at its router.
    pub(super) fn build(
        topology: &Topology,
        hardware: &Hardware,
        seed: Seed,
        mut federate: impl FnMut(u32, ClientId) -> A,
    ) -> Result<Self, RunError> {
        let seat = |number: usize, router: &mut RouterOf<A>| {
            let client = router.add_client(Moment::ZERO, ClientConfig::local()).map_err(RunError::Client)?;
            let number = u32::try_from(number).expect("limits of layouts keep federates far below 2^32");
            router.set_interest(Moment::ZERO, client, Mailbox(number), true).map_err(RunError::Client)?;
            Ok(federate(number, client))
        };
        let first_federate = topology.entries.first().copied().unwrap_or(0);
        let settings =
            Settings { pipe: &hardware.pipe, pipe_work: hardware.memory_pipe, seed, cross_links: false };
        let stations = assemble(topology, first_federate, &settings, seat)?;
        let mut cluster = Cluster::new(hardware.ethernet);
        let mut federates = Vec::new();
        for station in stations {
            let seats_federate = station.application.is_some();
            let spec = if seats_federate { hardware.federate } else { hardware.router };
            let host = cluster.add_host(spec, station);
            if seats_federate {
                federates.push(host);
            }
        }
        Ok(Self { cluster, federates })
    }
}

/// The settings that all routers share.
pub(crate) struct Settings<'a> {
    /// The settings of their pipes.
    pub(crate) pipe: &'a PipeConfig,
    /// Processor time for each parcel that crosses a memory pipe.
    pub(crate) pipe_work: Duration,
    pub(crate) seed: Seed,
    /// Overlays make the links between triads, and detect those that are dead. The routers at their
    /// ends do not.
    pub(crate) cross_links: bool,
}

/// The wait of a router that never gives up a link by itself.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Creates the processes of a topology, with their links up. Host `n` of a cluster must run process
/// `n` of the result. Each router from `first_seat` on gets an application from `seat`, which is
/// called with consecutive numbers from 0.
pub(crate) fn assemble<A: Application>(
    topology: &Topology,
    first_seat: usize,
    settings: &Settings<'_>,
    mut seat: impl FnMut(usize, &mut RouterOf<A>) -> Result<A, RunError>,
) -> Result<Vec<Station<A>>, RunError> {
    let start = Moment::ZERO;
    let config = |i: usize| {
        let id = RouterId(u32::try_from(i).expect("limits of layouts keep routers far below 2^32"));
        let mut config = RouterConfig::new(id, settings.seed.split("routers").split_index(i as u64));
        if settings.cross_links && matches!(topology.routers[i].role, Role::PopUp | Role::PullDown) {
            config.keep_alive = NEVER;
            config.silence_max = NEVER;
        }
        config
    };
    let mut routers: Vec<_> = (0..topology.routers.len()).map(|i| Router::new(config(i))).collect();
    let wiring = topology.wire(start, &mut routers, settings.pipe).map_err(RunError::Client)?;
    for (router, client) in wiring.links.iter().flat_map(|ends| [ends.a, ends.b]) {
        routers[router].handle_link(start, client, LinkChange::Up).map_err(RunError::Client)?;
    }
    let mut stations: Vec<Station<A>> = Vec::new();
    // The station of each router, and its index there.
    let mut places = Vec::new();
    for (index, (router, place)) in routers.into_iter().zip(&topology.routers).enumerate() {
        if place.process == stations.len() {
            stations.push(Station::new(settings.pipe_work));
        }
        let station = &mut stations[place.process];
        places.push((place.process, station.routers.len()));
        station.routers.push(router);
        if let Some(number) = index.checked_sub(first_seat) {
            station.application = Some(seat(number, &mut station.routers[0])?);
        }
    }
    join(&mut stations, &places, &wiring.memory, &wiring.links);
    stations.iter_mut().try_for_each(Station::collect)?;
    Ok(stations)
}

/// Connects stations by links, and the routers within a station by memory pipes.
fn join<A: Application>(
    stations: &mut [Station<A>],
    places: &[(usize, usize)],
    memory: &[MemoryPipe],
    links: &[Ends],
) {
    for pipe in memory {
        let (station, a) = places[pipe.a.0];
        let (_, b) = places[pipe.b.0];
        stations[station].pipes.push(MemoryPipe { a: (a, pipe.a.1), b: (b, pipe.b.1) });
    }
    for ends in links {
        let far_ends = [ends.a, ends.b].map(|(router, client)| {
            let (station, index) = places[router];
            let inward = &mut stations[station].inward;
            let channel = u32::try_from(inward.len()).expect("fewer than 2^32 links");
            inward.push((index, client));
            let host = HostId(u32::try_from(station).expect("fewer than 2^32 processes"));
            ((station, (index, client)), (host, channel))
        });
        let [(a, to_a), (b, to_b)] = far_ends;
        stations[a.0].outward.insert(a.1, to_b);
        stations[b.0].outward.insert(b.1, to_a);
    }
}
