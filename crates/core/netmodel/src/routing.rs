//! Routes as functions of the topology: nothing is stored for each pair of hosts.

mod dynamic;

pub(crate) use dynamic::DynamicRoutes;
pub use dynamic::{DynamicError, FAULTS_MAX, Fault, Routing, Rule};

use std::collections::{BTreeSet, VecDeque};

use crate::topology::{ClusterRoutes, Topology, Torus};

/// Largest number of switches of [`ShortestPaths`], which stores a distance for each pair of them:
/// 128 MiB.
pub const SWITCHES_MAX: u32 = 8_192;

/// The distance of switches that are not connected.
const APART: u16 = u16::MAX;

/// The reason why there is no route.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RouteError {
    /// The distances between all switches would take too much memory.
    #[error(
        "{switches} switches are too many for shortest paths (at most {SWITCHES_MAX}); tori and meshes route without a table"
    )]
    TooLarge {
        /// Number of switches.
        switches: u32,
    },
    /// Two hosts are in different parts of the network.
    #[error(
        "host {source_host} cannot reach host {destination}: {pairs} ordered pairs of switches are not connected"
    )]
    Unreachable {
        /// The source host.
        source_host: u32,
        /// The destination host.
        destination: u32,
        /// Number of pairs of switches that are not connected.
        pairs: u64,
    },
}

/// The method by which paths are found.
#[derive(Clone, Debug)]
pub enum Routes {
    /// Dimension by dimension, on tori and meshes.
    DimensionOrder(Torus),
    /// Along a shortest path; a hash chooses among equal ones (ECMP). In trees and fat trees that
    /// is up, then down.
    Shortest(ShortestPaths),
    /// By a table of the next link.
    Table(NextLinks),
    /// Within clusters, and between them by their gateways.
    Clusters(Box<ClusterRoutes>),
}

impl Routes {
    /// Adds the links from one host to another to `path`. Paths of the same `flow` are the same.
    pub fn path(&self, topology: &Topology, source: u32, destination: u32, flow: u64, path: &mut Vec<u32>) {
        match self {
            Routes::DimensionOrder(torus) => torus.route(topology, source, destination, path),
            Routes::Shortest(paths) => paths.path(topology, source, destination, flow, path),
            Routes::Table(next) => next.path(topology, source, destination, path),
            Routes::Clusters(clusters) => clusters.path(source, destination, flow, path),
        }
    }
}

/// Distances between all switches; every cable must be duplex.
#[derive(Clone, Debug)]
pub struct ShortestPaths {
    switches: u32,
    /// By destination, then by switch.
    distance: Vec<u16>,
}

impl ShortestPaths {
    /// Computes the distances of a topology.
    ///
    /// # Errors
    /// There are too many switches.
    pub fn new(topology: &Topology) -> Result<Self, RouteError> {
        let switches = topology.switches();
        if switches > SWITCHES_MAX {
            return Err(RouteError::TooLarge { switches });
        }
        let distance = vec![APART; switches as usize * switches as usize];
        let mut paths = Self { switches, distance };
        paths.compute(topology, |_| true);
        Ok(paths)
    }

    /// Computes the distances over the links that work. Those of a cable work both or not at all.
    fn compute(&mut self, topology: &Topology, works: impl Fn(u32) -> bool) {
        let (hosts, switches) = (topology.hosts(), self.switches);
        let mut next = VecDeque::new();
        self.distance.fill(APART);
        for (destination, row) in (0..switches).zip(self.distance.chunks_mut(switches as usize)) {
            row[destination as usize] = 0;
            next.push_back(destination);
            while let Some(switch) = next.pop_front() {
                for link in topology.out_of(hosts + switch).filter(|link| works(*link)) {
                    let Some(neighbour) = topology.to(link).checked_sub(hosts) else { continue };
                    if row[neighbour as usize] == APART {
                        row[neighbour as usize] = row[switch as usize] + 1;
                        next.push_back(neighbour);
                    }
                }
            }
        }
    }

    /// The diameter: the number of links between switches on the longest shortest path; `None` when
    /// some switch cannot reach another.
    pub fn diameter(&self) -> Option<u16> {
        self.distance.iter().copied().max().filter(|longest| *longest != APART)
    }

    /// Checks that all hosts can reach one another; otherwise names two that cannot.
    ///
    /// # Errors
    /// [`RouteError::Unreachable`].
    pub fn check(&self, topology: &Topology) -> Result<(), RouteError> {
        let pairs = self.distance.iter().filter(|distance| **distance == APART).count() as u64;
        if pairs == 0 {
            return Ok(());
        }
        let switch_of = |host| topology.to(topology.out_of(host).start) - topology.hosts();
        let reaches = |destination: u32| self.distance(switch_of(destination), switch_of(0)) != APART;
        // All hosts may be in one part, with unconnected switches that no host needs.
        match (0..topology.hosts()).find(|destination| !reaches(*destination)) {
            Some(destination) => Err(RouteError::Unreachable { source_host: 0, destination, pairs }),
            None => Ok(()),
        }
    }

    #[inline]
    fn distance(&self, destination: u32, from: u32) -> u16 {
        self.distance[destination as usize * self.switches as usize + from as usize]
    }

    fn path(&self, topology: &Topology, source: u32, destination: u32, flow: u64, path: &mut Vec<u32>) {
        self.path_over(topology, (source, destination, flow), |_| true, path);
    }

    /// The same over the links that work, for which the distances were computed. The path ends where
    /// none leads nearer.
    fn path_over(
        &self,
        topology: &Topology,
        (source, destination, flow): (u32, u32, u64),
        works: impl Fn(u32) -> bool,
        path: &mut Vec<u32>,
    ) {
        let hosts = topology.hosts();
        walk(topology, source, destination, path, |switch, goal| {
            let left = self.distance(goal, switch);
            let closer = |link: &u32| {
                let next = topology.to(*link).checked_sub(hosts);
                next.is_some_and(|next| self.distance(goal, next) < left) && works(*link)
            };
            let ways = topology.out_of(hosts + switch);
            let count = ways.clone().filter(closer).count() as u64;
            // A good hash of flow and switch, so that choices at successive switches are
            // independent.
            let drawn = base::Seed(flow).split_index(u64::from(switch)).0;
            ways.filter(closer).nth((drawn % count.max(1)) as usize)
        });
    }
}

/// By destination, the link over which each switch forwards: for networks of a few hundred
/// switches, whose routes may be written by hand.
#[derive(Clone, Debug)]
pub struct NextLinks {
    switches: u32,
    /// By destination, then by switch.
    next: Vec<u32>,
}

/// No link: at the destination, or without a route.
const NO_LINK: u32 = u32::MAX;

impl NextLinks {
    /// The quickest routes: the least delay, then the fewest links, then the lowest numbers. Every
    /// cable must be duplex.
    pub fn quickest(topology: &Topology) -> Self {
        Self::quickest_over(topology, |_| true)
    }

    /// The same over the links that work. Those of a cable work both or not at all.
    fn quickest_over(topology: &Topology, works: impl Fn(u32) -> bool) -> Self {
        let (hosts, switches) = (topology.hosts(), topology.switches());
        let mut next = vec![NO_LINK; switches as usize * switches as usize];
        for (destination, row) in (0..switches).zip(next.chunks_mut(switches.max(1) as usize)) {
            let mut cost = vec![(u64::MAX, u32::MAX); switches as usize];
            cost[destination as usize] = (0, 0);
            let mut due = BTreeSet::from([(0_u64, 0_u32, destination)]);
            while let Some((delay, links, switch)) = due.pop_first() {
                for link in topology.out_of(hosts + switch).filter(|link| works(*link)) {
                    let Some(neighbour) = topology.to(link).checked_sub(hosts) else { continue };
                    let through =
                        (delay.saturating_add(topology.class_of(link).delay.0), links.saturating_add(1));
                    let known = &mut cost[neighbour as usize];
                    if through < *known {
                        due.remove(&(known.0, known.1, neighbour));
                        *known = through;
                        due.insert((through.0, through.1, neighbour));
                        row[neighbour as usize] =
                            link_between(topology, neighbour, switch).unwrap_or(NO_LINK);
                    }
                }
            }
        }
        Self { switches, next }
    }

    /// Lets switch `at` forward traffic to switch `to` over its neighbour `via`. False when `via`
    /// is not a neighbour.
    pub fn set(&mut self, topology: &Topology, at: u32, to: u32, via: u32) -> bool {
        let link = link_between(topology, at, via);
        if let Some(link) = link {
            self.next[to as usize * self.switches as usize + at as usize] = link;
        }
        link.is_some()
    }

    /// The first two switches of which one does not reach the other.
    pub fn apart(&self) -> Option<(u32, u32)> {
        let pairs = (0..self.switches).flat_map(|from| (0..self.switches).map(move |to| (from, to)));
        pairs.into_iter().find(|(from, to)| from != to && self.next(*to, *from) == NO_LINK)
    }

    /// The first two switches between which the route goes in a circle.
    pub fn circle(&self, topology: &Topology) -> Option<(u32, u32)> {
        let mut pairs = (0..self.switches).flat_map(|from| (0..self.switches).map(move |to| (from, to)));
        pairs.find(|(from, to)| {
            let mut at = *from;
            for _ in 0..self.switches {
                if at == *to {
                    return false;
                }
                at = topology.to(self.next(*to, at)) - topology.hosts();
            }
            at != *to
        })
    }

    #[inline]
    pub(crate) fn next(&self, destination: u32, at: u32) -> u32 {
        self.next[destination as usize * self.switches as usize + at as usize]
    }

    fn path(&self, topology: &Topology, source: u32, destination: u32, path: &mut Vec<u32>) {
        walk(topology, source, destination, path, |switch, goal| {
            Some(self.next(goal, switch)).filter(|link| *link != NO_LINK)
        });
    }
}

/// Adds the links from one host to another to `path`. `next` returns the link over which a switch
/// forwards to another switch.
#[inline]
fn walk(
    topology: &Topology,
    source: u32,
    destination: u32,
    path: &mut Vec<u32>,
    next: impl Fn(u32, u32) -> Option<u32>,
) {
    let hosts = topology.hosts();
    let first = topology.out_of(source).start;
    path.push(first);
    let mut switch = topology.to(first) - hosts;
    let goal = topology.to(topology.out_of(destination).start) - hosts;
    while switch != goal {
        let Some(link) = next(switch, goal) else { return };
        path.push(link);
        switch = topology.to(link) - hosts;
    }
    path.extend(topology.out_of(hosts + switch).find(|link| topology.to(*link) == destination));
}

/// The link from one switch to another.
fn link_between(topology: &Topology, from: u32, to: u32) -> Option<u32> {
    topology.out_of(topology.hosts() + from).find(|link| topology.to(*link) == topology.hosts() + to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Builder, LinkClass, Shape, Wire};
    use crate::units::{Picos, Rate};
    use base::Seed;
    use std::collections::BTreeSet;

    fn class(name: &str) -> LinkClass {
        LinkClass {
            name: name.to_owned(),
            rate: Rate::mbit(1_000),
            delay: Picos::ZERO,
            wire: Wire::default(),
        }
    }

    #[test]
    fn all_pairs_are_joined_by_shortest_paths() {
        for shape in [
            Shape::FatTree { ports: 4 },
            Shape::Dragonfly { hosts_per_switch: 1, group: 3, global: 1 },
            Shape::Tree { fan_outs: vec![2, 3], hosts_per_leaf: 2 },
            Shape::Star { hosts: 3 },
            Shape::RandomRegular { switches: 12, degree: 3, hosts_per_switch: 2, seed: Seed(4) },
        ] {
            let topology = shape.build(class("host"), class("cable")).unwrap();
            let paths = ShortestPaths::new(&topology).unwrap();
            paths.check(&topology).unwrap();
            for source in 0..topology.hosts() {
                for destination in (0..topology.hosts()).filter(|host| *host != source) {
                    let mut path = Vec::new();
                    paths.path(&topology, source, destination, 7, &mut path);
                    let mut node = source;
                    for &link in &path {
                        assert_eq!(topology.from(link), node);
                        node = topology.to(link);
                    }
                    assert_eq!(node, destination);
                    let switch = |host: u32| topology.to(topology.out_of(host).start) - topology.hosts();
                    assert_eq!(path.len() as u16, paths.distance(switch(destination), switch(source)) + 2);
                }
            }
        }
    }

    #[test]
    fn flows_spread_over_equal_paths_and_stay_on_theirs() {
        let topology = Shape::FatTree { ports: 4 }.build(class("host"), class("cable")).unwrap();
        let paths = ShortestPaths::new(&topology).unwrap();
        let way = |flow| {
            let mut path = Vec::new();
            paths.path(&topology, 0, 15, flow, &mut path);
            path
        };
        let ways: BTreeSet<Vec<u32>> = (0..100).map(way).collect();
        assert_eq!(ways.len(), 4);
        assert_eq!(way(3), way(3));
    }

    #[test]
    fn unreachable_hosts_are_reported() {
        let mut builder = Builder::new(2, 2, 4, vec![class("host")]).unwrap();
        builder.cable(0, 2, 0);
        builder.cable(1, 3, 0);
        let topology = builder.build();
        let paths = ShortestPaths::new(&topology).unwrap();
        assert_eq!(paths.diameter(), None);
        let error = paths.check(&topology).unwrap_err();
        assert_eq!(error, RouteError::Unreachable { source_host: 0, destination: 1, pairs: 2 });
        let shape = Shape::RandomRegular { switches: 9_000, degree: 2, hosts_per_switch: 1, seed: Seed(1) };
        let large = shape.build(class("host"), class("cable")).unwrap();
        assert!(
            ShortestPaths::new(&large).unwrap_err().to_string().starts_with("9000 switches are too many")
        );
    }
}
