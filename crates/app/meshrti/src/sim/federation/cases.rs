//! The runs of a calibration: those to which costs are fitted, and those that are predicted.

use std::time::Duration;

use base::Seed;
use bench::federation::Measured;
use hostsim::fit::Figures;
use hostsim::{Federation, HostModel, Joined, Multicast, Placement, Task, Work};
use netsim::cluster::Ethernet;

use console::size;

/// The length of runs.
#[derive(Clone, Copy)]
pub(super) struct Length {
    /// The numbers of counted round trips and of warm-up round trips.
    pub(super) trips: (u32, u32),
    /// The number of updates of a flood, to be divided by its subscribers.
    pub(super) updates: u32,
    /// The number of paced updates.
    pub(super) paced: u32,
}

pub(super) const LIVE: Length = Length { trips: (3_000, 300), updates: 500_000, paced: 5_000 };
/// The length of simulated runs. They can be short, because all simulated round trips are alike.
pub(super) const SIMULATED: Length = Length { trips: (60, 10), updates: 16_000, paced: 1_000 };
/// The mean gap between paced updates.
const PACE: Duration = Duration::from_micros(400);

/// The task of the federates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Round trips of a pair at the ends of a chain.
    Trips,
    /// A flood over a chain, with the number of subscribers at its other end.
    Flood(u32),
    /// Paced updates at one node of a site, received at all others through a multicast group.
    Site,
}

/// A run.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) nodes: u16,
    pub(super) size_bytes: u32,
    kind: Kind,
    /// The network between the computers of nodes that have one of their own; `None`: all is on one
    /// computer.
    network: Option<Ethernet>,
}

pub(super) const fn trips(nodes: u16, size_bytes: u32) -> Case {
    Case { nodes, size_bytes, kind: Kind::Trips, network: None }
}

pub(super) const fn flood(nodes: u16, size_bytes: u32, subscribers: u32) -> Case {
    Case { nodes, size_bytes, kind: Kind::Flood(subscribers), network: None }
}

pub(super) const fn site(nodes: u16, size_bytes: u32) -> Case {
    Case { nodes, size_bytes, kind: Kind::Site, network: None }
}

/// The cases to which costs are fitted.
pub(super) const KNOWN: [Case; 18] = [
    trips(1, 16),
    trips(1, 4_096),
    trips(2, 16),
    trips(2, 1_024),
    trips(3, 16),
    trips(3, 512),
    trips(3, 4_096),
    flood(1, 16, 1),
    flood(1, 1_024, 1),
    flood(2, 16, 1),
    flood(3, 64, 1),
    flood(1, 64, 4),
    flood(1, 512, 3),
    flood(2, 1_024, 1),
    flood(2, 1_024, 3),
    flood(3, 512, 2),
    site(3, 64),
    site(3, 1_024),
];

/// The cases that are predicted.
pub(super) const UNKNOWN: [Case; 15] = [
    trips(4, 64),
    trips(4, 8_192),
    trips(5, 16),
    trips(5, 1_024),
    trips(6, 16),
    trips(6, 4_096),
    flood(4, 16, 1),
    flood(4, 256, 1),
    flood(4, 64, 2),
    flood(5, 64, 1),
    flood(5, 512, 3),
    flood(6, 16, 1),
    site(4, 250),
    site(5, 64),
    site(6, 512),
];

/// Further cases that are predicted: a chain of so many nodes, each on a computer of its own with
/// one core, and with its federates.
pub(super) fn by_node(nodes: u16, network: Ethernet) -> [Case; 4] {
    [trips(nodes, 64), trips(nodes, 8_192), flood(nodes, 64, 1), flood(nodes, 512, 1)]
        .map(|case| Case { network: Some(network), ..case })
}

impl Case {
    /// The federation of the case, on these hosts. Nodes on computers of their own have one core.
    pub(super) fn federation(self, hosts: HostModel, length: Length) -> Federation {
        let Length { trips: (count, warm_up), updates, paced } = length;
        let last = self.nodes - 1;
        let chain = (Joined::Chain, None, vec![last]);
        let (task, (joined, multicast, to)) = match self.kind {
            Kind::Trips => (Task::RoundTrips { count, warm_up }, chain),
            Kind::Flood(subscribers) => (Task::Flood { count: updates / subscribers, subscribers }, chain),
            Kind::Site => {
                let multicast = Multicast { groups: 1, ..Multicast::default() };
                let task = Task::Paced { count: paced, mean_gap: PACE, subscribers: 1 };
                (task, (Joined::Mesh, Some(multicast), (1..=last).collect()))
            }
        };
        let hosts = HostModel { cores: self.network.map_or(hosts.cores, |_| 1), ..hosts };
        let work = Work { task, size_bytes: self.size_bytes, from: 0, to };
        Federation {
            joined,
            multicast,
            placement: self.network.map_or(Placement::Together, |_| Placement::ByNode),
            pinned: true,
            ethernet: self.network.unwrap_or(Ethernet::GIGABIT),
            ..Federation::chain(self.nodes, hosts, vec![work], Seed(1))
        }
    }

    /// The name of the case, for people.
    pub(super) fn name(self) -> String {
        let size = size::name(self.size_bytes as usize);
        let name = match self.kind {
            Kind::Trips => format!("round trips, {size}"),
            Kind::Flood(1) => format!("flood, {size}"),
            Kind::Flood(subscribers) => format!("flood, {size}, {subscribers} subscribers"),
            Kind::Site => format!("multicast group, {size}"),
        };
        if self.is_by_node() { name + ", by node" } else { name }
    }

    /// Each node has a computer of its own.
    pub(super) fn is_by_node(self) -> bool {
        self.network.is_some()
    }

    /// The number of subscribers of a flood.
    pub(super) fn subscribers(self) -> Option<u32> {
        if let Kind::Flood(subscribers) = self.kind { Some(subscribers) } else { None }
    }

    pub(super) fn is_multicast(self) -> bool {
        self.kind == Kind::Site
    }

    /// The figures of the case, from a measurement.
    pub(super) fn figures(self, measured: &Measured) -> Figures {
        let done = &measured.done[0];
        let work = &self.federation(HostModel::EXAMPLE, LIVE).work[0];
        let updates = f64::from(work.count());
        let each =
            |cpu_s: &[Option<f64>]| cpu_s.iter().map(|cpu_s| cpu_s.unwrap_or(0.0) * 1e6 / updates).collect();
        let p50_us = done.quantiles_us.map(|quantiles| quantiles[0]);
        Figures::of_task(&work.task, p50_us, done.per_s, [each(&done.cpu_s), each(&measured.nodes_cpu_s)])
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::live_plan;
    use super::*;

    #[test]
    fn every_case_can_be_simulated_and_measured() {
        for case in KNOWN.into_iter().chain(UNKNOWN) {
            for length in [LIVE, SIMULATED] {
                case.federation(HostModel::EXAMPLE, length).check().unwrap();
            }
            let plan = live_plan(&case.federation(HostModel::EXAMPLE, LIVE), &[]).unwrap();
            assert_eq!(plan.nodes, usize::from(case.nodes));
        }
        for case in by_node(2, Ethernet::GIGABIT) {
            let federation = case.federation(HostModel::EXAMPLE, SIMULATED);
            federation.check().unwrap();
            assert_eq!((federation.hosts.cores, federation.placement), (1, Placement::ByNode));
            let of_same = |known: &&Case| {
                (known.nodes, known.size_bytes, known.kind) == (2, case.size_bytes, case.kind)
            };
            assert_eq!(KNOWN.iter().filter(of_same).count(), 0, "{} is fitted to", case.name());
        }
        assert!(KNOWN.iter().all(|case| case.nodes <= 3) && UNKNOWN.iter().all(|case| case.nodes >= 4));
    }
}
