//! Any network under any traffic: what scenario files describe.

mod wires;

pub use wires::WireError;

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Seed;

use crate::arrivals::{Gaps, Sources};
use crate::fluid::lanes::Subqueue;
use crate::pattern::{Destinations, Pattern, PatternError};
use crate::recording::{Recording, RecordingError};
use crate::routing::{RouteError, Routes, ShortestPaths};
use crate::simulation::{Model, Simulation};
use crate::topology::{LinkClass, PARTS_MAX, Shape, Topology, TopologyError, WanError};
use crate::traffic::{Parcel, Traffic};
use crate::units::Picos;

/// A network, what it is loaded with, and how it is modelled.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// Its shape.
    pub shape: Shape,
    /// Links from and to hosts,
    pub host_link: LinkClass,
    /// and links between switches; of no meaning for a [`Wan`](crate::topology::Wan), whose lines differ.
    pub cable: LinkClass,
    /// Who sends what, when and to whom.
    pub load: Load,
    /// When hosts begin to send, and when they stop.
    pub window: (Picos, Picos),
    /// What both hosts together take for a message.
    pub host_time: Picos,
    /// Fluid or packets.
    pub model: Model,
    /// What waits behind what, as fluid: [`Subqueue::Flow`] or [`Subqueue::Message`].
    pub subqueue: Subqueue,
}

/// Memory for a host: two streams of chance, its place in the queue of births, its first link, messages of its own.
const HOST_BYTES: u64 = 150;
/// Memory for a link while it is built and afterwards, as fluid, with packets, and with packets that need more than first come, first served.
const FLUID_LINK_BYTES: u64 = 50;
const PACKET_LINK_BYTES: u64 = 130;
const PORT_LINK_BYTES: u64 = 320;

/// Memory that a network of that shape takes at least, in bytes, before any message waits: for those who want to know before it is built.
/// `None` for one with more parts than can be [built](Shape::build).
pub fn memory_bytes(shape: &Shape, model: Model) -> Option<u64> {
    let (hosts, switches, links) = shape.parts();
    if hosts.saturating_add(switches).max(links) > PARTS_MAX {
        return None;
    }
    let link = match model {
        Model::Fluid(_) => FLUID_LINK_BYTES,
        Model::Packets(model) if model.is_plain() => PACKET_LINK_BYTES,
        Model::Packets(_) => PORT_LINK_BYTES,
    };
    let routes = match shape {
        Shape::Torus(_) => 0,
        Shape::Wan(_) => switches.saturating_mul(switches).saturating_mul(4),
        _ => switches.saturating_mul(switches).saturating_mul(2),
    };
    Some(hosts.saturating_mul(HOST_BYTES).saturating_add(links.saturating_mul(link)).saturating_add(routes))
}

/// Who sends what, when and to whom.
#[derive(Clone, PartialEq, Debug)]
pub enum Load {
    /// Drawn for each host.
    Drawn {
        /// Who sends to whom,
        pattern: Pattern,
        /// when,
        gaps: Gaps,
        /// and how much: bytes of a message, at least 1.
        bytes: u64,
    },
    /// As it was elsewhere.
    Recorded(Arc<Recording>),
}

impl Load {
    /// Messages of all hosts from the one moment to the other: how many are expected, and their bytes on average.
    pub fn expected(&self, hosts: u32, window: (Picos, Picos)) -> (f64, f64) {
        match self {
            Load::Drawn { gaps, bytes, .. } => (gaps.expected(hosts, window), *bytes as f64),
            Load::Recorded(recording) => {
                let (messages, bytes) =
                    recording.within(window).fold((0.0, 0.0), |(messages, bytes), (_, sent)| {
                        (messages + 1.0, bytes + sent.bytes as f64)
                    });
                (messages, bytes / f64::max(messages, 1.0))
            }
        }
    }
}

/// Why a network cannot be simulated.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum NetworkError {
    /// There is none like that.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// Some host cannot be reached.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Some site cannot, or a route leads astray.
    #[error(transparent)]
    Wan(#[from] WanError),
    /// The pattern does not suit it.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The recording does not suit it.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Links, packets and model do not suit each other.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A subqueue of another study.
    #[error("subqueues by port are known on tori with straight ways only")]
    Ports,
}

/// Sets a network up, with the chance of `seed`.
///
/// # Errors
/// See [`NetworkError`].
pub fn set_up(network: &Network, seed: Seed) -> Result<Simulation<Senders>, NetworkError> {
    if network.subqueue == Subqueue::Port {
        return Err(NetworkError::Ports);
    }
    let (shape, host_link, cable) = match &network.model {
        Model::Fluid(_) => network.as_fluid()?,
        Model::Packets(model) => {
            network.check_packets(model)?;
            (network.shape.clone(), network.host_link.clone(), network.cable.clone())
        }
    };
    let topology = Arc::new(shape.build(host_link, cable)?);
    let routes = match &network.shape {
        Shape::Torus(torus) => Routes::DimensionOrder(torus.clone()),
        Shape::Wan(wan) => Routes::Table(wan.routes(&topology)?),
        _ => {
            let paths = ShortestPaths::new(&topology)?;
            paths.check(&topology)?;
            Routes::Shortest(paths)
        }
    };
    let hosts = topology.hosts();
    let fluid = matches!(network.model, Model::Fluid(_));
    let senders = Senders {
        sending: Sending::new(&network.load, hosts, network.window, seed)?,
        routes,
        window: network.window,
        host_time: network.host_time,
        counts_delay: fluid,
        lanes: (fluid && network.subqueue == Subqueue::Flow).then(BTreeMap::new),
        topology: Arc::clone(&topology),
    };
    Ok(Simulation::new(topology, senders, 0, network.model, network.window, seed))
}

/// Hosts that send.
pub struct Senders {
    sending: Sending,
    routes: Routes,
    window: (Picos, Picos),
    host_time: Picos,
    /// Fluid knows no delay of links, so that it counts as time outside; packets take it on the way.
    counts_delay: bool,
    /// The lane of each flow so far, where flows have lanes.
    lanes: Option<BTreeMap<(u32, u32), u32>>,
    topology: Arc<Topology>,
}

/// What is sent next.
enum Sending {
    Drawn {
        sources: Sources,
        destinations: Destinations,
        bytes: u64,
    },
    /// With how many of its messages each host has sent.
    Recorded {
        recording: Arc<Recording>,
        sent: Vec<usize>,
    },
}

impl Sending {
    fn new(load: &Load, hosts: u32, window: (Picos, Picos), seed: Seed) -> Result<Self, NetworkError> {
        Ok(match load {
            Load::Drawn { pattern, gaps, bytes } => Self::Drawn {
                sources: Sources::new(*gaps, hosts, seed),
                destinations: Destinations::new(*pattern, hosts, seed)?,
                bytes: *bytes,
            },
            Load::Recorded(recording) => {
                recording.check(hosts, window)?;
                let before = |host| recording.of(host).partition_point(|sent| sent.at < window.0);
                Self::Recorded { sent: (0..hosts).map(before).collect(), recording: Arc::clone(recording) }
            }
        })
    }

    fn first(&mut self, source: u32, from: Picos) -> Option<Picos> {
        match self {
            Self::Drawn { destinations, .. } if destinations.is_silent(source) => None,
            Self::Drawn { sources, .. } => Some(sources.first(source, from)),
            Self::Recorded { .. } => self.recorded(source),
        }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        match self {
            Self::Drawn { sources, .. } => Some(sources.next(source, now)),
            Self::Recorded { .. } => self.recorded(source),
        }
    }

    fn recorded(&self, source: u32) -> Option<Picos> {
        let Self::Recorded { recording, sent } = self else { return None };
        recording.of(source).get(sent[source as usize]).map(|next| next.at)
    }

    /// Where the message that is sent now goes, and its bytes.
    fn take(&mut self, source: u32) -> (u32, u64) {
        match self {
            Self::Drawn { destinations, bytes, .. } => (destinations.next(source), *bytes),
            Self::Recorded { recording, sent } => {
                let at = &mut sent[source as usize];
                let next = recording.of(source)[*at];
                *at += 1;
                (next.to, next.bytes)
            }
        }
    }
}

impl Senders {
    fn within(&self, birth: Picos) -> Option<Picos> {
        (birth < self.window.1).then_some(birth)
    }
}

impl Traffic for Senders {
    fn first(&mut self, source: u32) -> Option<Picos> {
        let first = self.sending.first(source, self.window.0)?;
        self.within(first)
    }

    fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel {
        let (destination, bytes) = self.sending.take(source);
        let flow = u64::from(source) << 32 | u64::from(destination);
        self.routes.path(&self.topology, source, destination, flow, path);
        if let Some(known) = &mut self.lanes {
            let next = known.len() as u32;
            lanes.push(*known.entry((source, destination)).or_insert(next));
        }
        let mut outside = self.host_time;
        if self.counts_delay {
            outside += path.iter().map(|link| self.topology.class_of(*link).delay).sum();
        }
        Parcel { destination, bytes, outside }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        let next = self.sending.next(source, now)?;
        self.within(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fluid::Sharing;
    use crate::simulation::PacketModel;
    use crate::topology::Wire;
    use crate::units::Rate;

    fn network(shape: Shape, model: Model) -> Network {
        let class = |name: &str, mbit| LinkClass {
            name: name.to_owned(),
            rate: Rate::mbit(mbit),
            delay: Picos::from_micros(1),
            wire: Wire::default(),
        };
        Network {
            shape,
            host_link: class("host", 1_000),
            cable: class("cable", 1_000),
            load: Load::Drawn {
                pattern: Pattern::Uniform,
                gaps: Gaps::Poisson(Picos::from_millis(1)),
                bytes: 12_500,
            },
            window: (Picos::ZERO, Picos::from_millis(20)),
            host_time: Picos::from_micros(10),
            model,
            subqueue: Subqueue::Flow,
        }
    }

    #[test]
    fn every_shape_under_every_model() {
        let packets = PacketModel::new(1_250);
        for shape in [
            Shape::Star { hosts: 8 },
            Shape::FatTree { ports: 4 },
            Shape::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 4 },
            Shape::Dragonfly { hosts_per_switch: 1, group: 2, global: 1 },
        ] {
            let mut counts = Vec::new();
            for model in
                [Model::Fluid(Sharing::MinShare), Model::Fluid(Sharing::MaxMin), Model::Packets(packets)]
            {
                let mut simulation = set_up(&network(shape.clone(), model), Seed(1)).unwrap();
                while simulation.step(|_, _| {}) {}
                let outcome = simulation.outcome();
                counts.push(outcome.latency.summary.count());
                // 100 us on the wire, 10 us in hosts, and at least two links with 1 us each; packets take one more at a link more.
                let alone = if matches!(model, Model::Packets(_)) { 122 } else { 112 };
                let least = outcome.latency.summary.min().unwrap();
                assert!(least >= Picos::from_micros(alone), "{shape:?} {model:?}: {least}");
                assert!(least < Picos::from_micros(alone + 70), "{shape:?} {model:?}: {least}");
                assert!((0.05..0.3).contains(&outcome.host_utilisation_max));
            }
            assert!(counts[0] > 20 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        }
    }

    #[test]
    fn what_is_recorded_over_time_adds_up_and_changes_nothing() {
        let packets = PacketModel::new(1_250);
        for model in [Model::Fluid(Sharing::MinShare), Model::Fluid(Sharing::MaxMin), Model::Packets(packets)]
        {
            let network = network(Shape::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 4 }, model);
            let run = |record: bool| {
                let mut simulation = set_up(&network, Seed(1)).unwrap();
                if record {
                    simulation.record();
                }
                while simulation.step(|_, _| {}) {}
                simulation
            };
            let (bare, recorded) = (run(false), run(true));
            let outcome = recorded.outcome();
            assert_eq!(outcome.digest, bare.outcome().digest);
            assert!(bare.slices().is_empty() && bare.link_shares().is_empty());
            let slices = recorded.slices();
            assert_eq!(slices.len() as u64, crate::timeline::SLICES, "{model:?}");
            assert!(slices.is_sorted_by_key(|slice| slice.until));
            assert_eq!(slices.last().map(|slice| slice.until), Some(network.window.1));
            let ended: u64 = slices.iter().map(|slice| slice.ended).sum();
            assert_eq!(ended + outcome.left_over, outcome.latency.summary.count());
            assert_eq!(slices.last().map(|slice| slice.in_flight), Some(outcome.left_over));
            let mean = slices.iter().map(|slice| slice.utilisation).sum::<f64>() / slices.len() as f64;
            assert!((mean / outcome.utilisation - 1.0).abs() < 1e-3, "{mean} {}", outcome.utilisation);
            let shares = recorded.link_shares();
            assert_eq!(shares.len(), recorded.topology().links() as usize);
            let most = shares.iter().copied().fold(0.0, f64::max);
            assert_eq!(most, outcome.utilisation_max.max(outcome.host_utilisation_max));
        }
    }

    #[test]
    fn a_run_that_is_stopped_tells_what_it_knows() {
        let network = network(Shape::Star { hosts: 8 }, Model::Fluid(Sharing::MaxMin));
        let mut whole = set_up(&network, Seed(1)).unwrap();
        while whole.step(|_, _| {}) {}
        let mut part = set_up(&network, Seed(1)).unwrap();
        part.record();
        for _ in 0..500 {
            part.step(|_, _| {});
        }
        part.stop();
        let (whole, stopped) = (whole.outcome(), part.outcome());
        assert!((49..=50).contains(&part.slices().len()));
        assert!(stopped.latency.summary.count() < whole.latency.summary.count());
        let ratio = stopped.host_utilisation_max / whole.host_utilisation_max;
        assert!((0.7..1.5).contains(&ratio), "shares are of the time that was simulated: {ratio}");
        let mut fresh = set_up(&network, Seed(1)).unwrap();
        fresh.stop();
        assert_eq!(fresh.outcome().latency.summary.count(), 0, "stopped before it began");
    }

    #[test]
    fn parts_are_known_before_they_are_built() {
        let site = |hosts: u32| crate::topology::Site { name: hosts.to_string(), hosts };
        let line = crate::topology::Line {
            ends: (0, 1),
            rate: Rate::mbit(1),
            delay: Picos::ZERO,
            wire: Wire::default(),
        };
        let wan =
            crate::topology::Wan { sites: vec![site(3), site(4)], lines: vec![line], detours: Vec::new() };
        let torus = crate::topology::Torus { sides: vec![3, 4], hosts_per_switch: 2, wraps: true };
        for shape in [
            Shape::Wan(wan),
            Shape::Torus(torus),
            Shape::Star { hosts: 8 },
            Shape::FatTree { ports: 4 },
            Shape::Dragonfly { hosts_per_switch: 1, group: 2, global: 1 },
        ] {
            let host = LinkClass {
                name: "host".to_owned(),
                rate: Rate::mbit(1),
                delay: Picos::ZERO,
                wire: Wire::default(),
            };
            let built = shape.build(host.clone(), host).unwrap();
            let built = (built.hosts().into(), built.switches().into(), built.links().into());
            assert_eq!(shape.parts(), built, "{shape:?}");
        }
        let million = crate::topology::Torus { sides: vec![512, 512], hosts_per_switch: 4, wraps: true };
        let needed = memory_bytes(&Shape::Torus(million), Model::Fluid(Sharing::MinShare)).unwrap();
        assert!((250 << 20..400 << 20).contains(&needed), "a million hosts: {needed}");
        let packets = Model::Packets(PacketModel::new(1));
        assert_eq!(memory_bytes(&Shape::Star { hosts: u32::MAX }, packets), None, "too many to be built");
    }

    #[test]
    fn a_recording_of_a_run_is_that_run() {
        let model = Model::Fluid(Sharing::MaxMin);
        let drawn = network(Shape::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 4 }, model);
        let mut messages = Vec::new();
        let mut first = set_up(&drawn, Seed(1)).unwrap();
        while first.step(|message, _| {
            let (to, bytes) = (message.parcel.destination, message.parcel.bytes);
            messages.push((message.source, crate::recording::Sent { at: message.born, to, bytes }));
        }) {}
        let recording = Arc::new(Recording::new(messages));
        let again = Network { load: Load::Recorded(Arc::clone(&recording)), ..drawn.clone() };
        let mut second = set_up(&again, Seed(99)).unwrap();
        while second.step(|_, _| {}) {}
        assert_eq!(second.outcome().digest, first.outcome().digest);
        let expected = again.load.expected(12, again.window);
        assert_eq!(expected, (first.outcome().latency.summary.count() as f64, 12_500.0));
        let drawn_expected = drawn.load.expected(12, drawn.window);
        assert!((drawn_expected.0 / expected.0 - 1.0).abs() < 0.2, "{drawn_expected:?} {expected:?}");

        let say = |shape: Shape, window| {
            let wrong = Network { shape, window, ..again.clone() };
            set_up(&wrong, Seed(1)).map(|_| ()).unwrap_err().to_string()
        };
        assert!(say(Shape::Star { hosts: 5 }, again.window).contains("there are 5 hosts"));
        let late = (Picos::from_secs(5), Picos::from_secs(6));
        assert!(say(again.shape.clone(), late).contains("no message from 5s to 6s"));
        let home = Recording::new([(3, crate::recording::Sent { at: Picos::ZERO, to: 3, bytes: 1 })]);
        assert_eq!(home.check(9, again.window), Err(RecordingError::Home { host: 3 }));
    }

    #[test]
    fn all_to_all_reaches_everybody_as_often() {
        let load = Load::Drawn {
            pattern: Pattern::AllToAll,
            gaps: Gaps::Constant(Picos::from_millis(1)),
            bytes: 1_250,
        };
        let network = Network { load, ..network(Shape::Star { hosts: 5 }, Model::Fluid(Sharing::MaxMin)) };
        let mut simulation = set_up(&network, Seed(1)).unwrap();
        let mut counts = BTreeMap::new();
        while simulation.step(|message, _| {
            *counts.entry((message.source, message.parcel.destination)).or_insert(0) += 1;
        }) {}
        assert_eq!(counts.len(), 20);
        assert!(counts.values().all(|count| *count == 5), "{counts:?}");
    }

    #[test]
    fn a_hot_spot_fills_small_buffers() {
        let packets = PacketModel { buffer: Some(20_000), ..PacketModel::new(1_250) };
        let pattern = Pattern::HotSpot { host: 0, share: 0.9 };
        let load = Load::Drawn { pattern, gaps: Gaps::Poisson(Picos::from_millis(1)), bytes: 12_500 };
        let hot = Network { load, ..network(Shape::Star { hosts: 16 }, Model::Packets(packets)) };
        let mut simulation = set_up(&hot, Seed(1)).unwrap();
        let mut arrived = 0;
        while simulation.step(|_, _| arrived += 1) {}
        let outcome = simulation.outcome();
        assert!(
            outcome.lost > 20 && outcome.host_utilisation_max > 0.7,
            "{} {}",
            outcome.lost,
            outcome.host_utilisation_max
        );
        assert_eq!(outcome.latency.summary.count(), arrived);
    }

    #[test]
    fn what_cannot_be_is_told() {
        let model = Model::Fluid(Sharing::MaxMin);
        let say = |network: &Network| set_up(network, Seed(1)).map(|_| ()).unwrap_err().to_string();
        assert!(say(&network(Shape::Star { hosts: 1 }, model)).contains("needs another one"));
        assert!(say(&network(Shape::FatTree { ports: 3 }, model)).contains("even"));
        let ports = Network { subqueue: Subqueue::Port, ..network(Shape::Star { hosts: 2 }, model) };
        assert!(say(&ports).contains("tori"));
    }
}
