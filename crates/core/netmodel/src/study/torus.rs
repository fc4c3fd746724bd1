//! The cluster of the VIA paper: hosts on a torus of switches that send to hosts some switches
//! straight ahead.
//!
//! "The switch tables are configured such that all traffic that is sourced within the subnet will
//! be transferred to a destination that is four switch hops away. The direction of the transfer
//! (up, down, left, or right) is uniformly distributed."

use std::hint::black_box;
use std::sync::Arc;

use base::{Rng, Seed};

use crate::arrivals::{Gaps, Sources, below};
use crate::fluid::Sharing;
use crate::fluid::lanes::Subqueue;
use crate::host::{Host, Profile, via_table_1};
use crate::simulation::{Model, Outcome, build};
use crate::stage::{fixed, via_cluster};
use crate::topology::{LinkClass, Straight, Topology, TopologyError, Torus, Wire};
use crate::traffic::{Parcel, Traffic};
use crate::units::{Picos, Rate};

/// The choice of the direction of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// By the slot of the host at its switch: every link carries the same number of flows.
    Slot,
    /// Drawn once for each host.
    Host,
    /// Drawn for each message.
    Message,
}

/// The study: the settings of the paper, and the choices that it leaves open.
#[derive(Clone, PartialEq, Debug)]
pub struct Study {
    /// Switches in each dimension, and hosts at each: 16 x 16, 4.
    pub torus: Torus,
    /// Links between switches from source to destination: 4.
    pub hops: u32,
    /// Rate of all links: 856 Mbit/s.
    pub rate: Rate,
    /// Size of a message in bytes: 32,768.
    pub bytes: u64,
    /// Gaps between the messages of a host: exponential, 10 ms.
    pub gaps: Gaps,
    /// The time when hosts begin to send (1.5 s), and the time when they stop and the utilisation
    /// has been measured (10 s).
    pub window: (Picos, Picos),
    /// Left open by the paper: the direction of messages.
    pub direction: Direction,
    /// Left open by the paper: the messages behind which a message waits.
    pub subqueue: Subqueue,
    /// Left open by the paper: the way in which messages share links, or packets instead.
    pub model: Model,
    /// Left open by the paper: whether messages also share the links of hosts.
    pub host_links_shared: bool,
    /// The hosts.
    pub hosts: HostModel,
}

/// The model of the hosts of the study.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostModel {
    /// They take a constant time for a message, that of the paper's stages.
    Constant,
    /// They are the chain of the paper's stages, which messages share.
    Stages,
}

impl Default for Study {
    fn default() -> Self {
        Self {
            torus: Torus { sides: vec![16, 16], hosts_per_switch: 4, wraps: true },
            hops: 4,
            rate: Rate::mbit(856),
            bytes: 32_768,
            gaps: Gaps::Poisson(Picos::from_millis(10)),
            window: (Picos::from_millis(1_500), Picos::from_secs(10)),
            direction: Direction::Slot,
            subqueue: Subqueue::Flow,
            model: Model::Fluid(Sharing::MinShare),
            host_links_shared: true,
            hosts: HostModel::Constant,
        }
    }
}

/// The reason why a study is not valid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StudyError {
    /// There is no such torus.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// Messages that came by one port are in the queues of several flows.
    #[error(
        "where each link has a queue of its own, messages wait behind those of their flow, or behind none: not behind those of a port"
    )]
    Ports,
}

/// The host of the study as a chain of stages.
pub fn via_clan() -> Host {
    Profile::named("via-clan").map_or_else(via_table_1, Profile::host)
}

/// The part of the constant of the paper's stages that switches take, so that it does not pass the
/// stages of hosts.
fn switches(study: &Study) -> Picos {
    Picos(fixed(&via_cluster()).0 - via_clan().constant(study.bytes).0)
}

/// The study in progress.
pub type Simulation = crate::simulation::Simulation<Hosts>;

/// Sets a study up. Random numbers come from `seed`.
///
/// # Errors
/// See [`StudyError`].
pub fn set_up(study: &Study, seed: Seed) -> Result<Simulation, StudyError> {
    if study.model.is_hop_by_hop() && study.subqueue == Subqueue::Port {
        return Err(StudyError::Ports);
    }
    let class = |name: &str| LinkClass {
        name: name.to_owned(),
        rate: study.rate,
        delay: Picos::ZERO,
        wire: Wire::default(),
    };
    let topology = study.torus.build(class("host"), class("cable"))?;
    let host = (study.hosts == HostModel::Stages).then(via_clan);
    let (topology, in_stages) = build(topology, host.as_ref())?;
    let hosts = Hosts::new(study, &topology, seed);
    let lanes = hosts.lanes();
    Ok(Simulation::new((topology, in_stages), hosts, lanes, study.model, study.window, seed))
}

/// Runs a study to its end.
///
/// # Errors
/// See [`StudyError`].
pub fn run(study: &Study, seed: Seed) -> Result<Outcome, StudyError> {
    let mut simulation = set_up(study, seed)?;
    while simulation.step(|_, _| {}) {}
    Ok(simulation.outcome())
}

/// The hosts as sources.
pub struct Hosts {
    sources: Sources,
    window: (Picos, Picos),
    bytes: u64,
    hops: u32,
    direction: Direction,
    subqueue: Subqueue,
    host_links: bool,
    /// True if packets queue at links, so that there are no lanes.
    packets: bool,
    /// Number of directions.
    directions: u32,
    torus: Torus,
    topology: Arc<Topology>,
    /// The time that hosts take for each message.
    stages: Picos,
    /// By host: the random stream of its directions; empty if they are not drawn for each message.
    streams: Vec<Rng>,
    /// By host: its direction, if drawn once; else empty.
    ways: Vec<u8>,
}

impl Hosts {
    fn new(study: &Study, topology: &Arc<Topology>, seed: Seed) -> Self {
        let directions = 2 * study.torus.sides.len() as u32;
        let draws = seed.split("directions");
        let stream = |host: u32| draws.split_index(u64::from(host)).rng();
        let hosts = 0..topology.hosts();
        let ways = match study.direction {
            Direction::Host => hosts.clone().map(|host| below(&mut stream(host), directions) as u8).collect(),
            Direction::Slot | Direction::Message => Vec::new(),
        };
        let streams = match study.direction {
            Direction::Message => hosts.map(stream).collect(),
            Direction::Slot | Direction::Host => Vec::new(),
        };
        Self {
            sources: Sources::new(study.gaps, topology.hosts(), seed),
            window: study.window,
            bytes: study.bytes,
            hops: study.hops,
            direction: study.direction,
            subqueue: study.subqueue,
            host_links: study.host_links_shared,
            packets: study.model.is_packets(),
            directions,
            torus: study.torus.clone(),
            topology: Arc::clone(topology),
            stages: match study.hosts {
                HostModel::Constant => fixed(&via_cluster()),
                HostModel::Stages => switches(study),
            },
            streams,
            ways,
        }
    }

    /// Number of lanes needed: one for each flow, or one for each pair of ports of each switch and
    /// one for each host.
    fn lanes(&self) -> usize {
        let hosts = self.topology.hosts() as usize;
        match self.subqueue {
            _ if self.packets => 0,
            Subqueue::Flow if self.direction == Direction::Message => hosts * self.directions as usize,
            Subqueue::Flow => hosts,
            Subqueue::Message => 0,
            Subqueue::Port => hosts + self.topology.switches() as usize * self.ports() * self.ports(),
        }
    }

    fn ports(&self) -> usize {
        (self.directions + self.torus.hosts_per_switch) as usize
    }

    fn within(&self, birth: Picos) -> Option<Picos> {
        (birth < self.window.1).then_some(birth)
    }

    /// The lanes of a path by input port, at its source host and at each switch.
    fn ports_of(&self, source: u32, direction: u32, path: &[u32], lanes: &mut Vec<u32>) {
        lanes.push(source);
        let (hosts, ports) = (self.topology.hosts(), self.ports() as u32);
        // At each switch of a torus the port of a direction is opposite to the port by which its
        // messages come in.
        let mut came_by = self.directions + source % self.torus.hosts_per_switch;
        for &link in path.iter().filter(|link| self.topology.from(**link) >= hosts) {
            let node = self.topology.from(link);
            let leaves_by = link - self.topology.out_of(node).start;
            lanes.push(hosts + ((node - hosts) * ports + came_by) * ports + leaves_by);
            came_by = direction ^ 1;
        }
    }
}

impl Traffic for Hosts {
    fn first(&mut self, source: u32) -> Option<Picos> {
        let first = self.sources.first(source, self.window.0);
        self.within(first)
    }

    fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel {
        let hosts_per_switch = self.torus.hosts_per_switch;
        let direction = match self.direction {
            Direction::Slot => source % hosts_per_switch % self.directions,
            Direction::Host => u32::from(self.ways[source as usize]),
            Direction::Message => below(&mut self.streams[source as usize], self.directions),
        };
        let way =
            Straight { dimension: direction as usize / 2, backwards: direction % 2 == 1, hops: self.hops };
        path.push(self.torus.first_link(source));
        let switch = self.torus.walk(&self.topology, source / hosts_per_switch, way, path);
        let destination = switch * hosts_per_switch + source % hosts_per_switch;
        path.push(self.torus.last_link(&self.topology, destination));
        match self.subqueue {
            _ if self.packets => {}
            Subqueue::Flow if self.direction == Direction::Message => {
                lanes.push(source * self.directions + direction);
            }
            Subqueue::Flow => lanes.push(source),
            Subqueue::Message => {}
            Subqueue::Port => self.ports_of(source, direction, path, lanes),
        }
        if !self.host_links && path.len() > 2 {
            path.pop();
            path.remove(0);
        }
        Parcel { destination, bytes: self.bytes, outside: self.stages }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        let next = self.sources.next(source, now);
        self.within(next)
    }

    fn is_independent(&self) -> bool {
        true
    }

    #[inline]
    fn look(&self, source: u32) {
        self.sources.look(source);
        black_box((self.ways.get(source as usize), self.streams.get(source as usize)));
    }
}

#[cfg(test)]
mod tests;
