//! Tori and meshes of any number of dimensions.

use super::{Builder, LinkClass, Topology, TopologyError};

/// The shape of a torus or a mesh: switches on a grid, and hosts at each switch.
///
/// The first dimension varies fastest: the switch at x, y of a torus of 16 by 16 has number 16 y +
/// x. Host k of switch s is host c s + k, with c hosts at each switch. The ports of a switch, as
/// far as they exist, are: up and down in the first dimension, up and down in the second, ..., then
/// its hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Torus {
    /// Switches in each dimension.
    pub sides: Vec<u32>,
    /// Hosts at each switch.
    pub hosts_per_switch: u32,
    /// True for a torus, false for a mesh without the links that close its rings.
    pub wraps: bool,
}

/// A straight path: some switches further in one dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Straight {
    /// The dimension.
    pub dimension: usize,
    /// True towards lower numbers.
    pub backwards: bool,
    /// Number of links between switches.
    pub hops: u32,
}

/// Classes of links.
const HOST: u8 = 0;
const CABLE: u8 = 1;

impl Torus {
    /// Both sides, if there are two dimensions.
    pub fn flat(&self) -> Option<(u32, u32)> {
        match self.sides[..] {
            [columns, rows] => Some((columns, rows)),
            _ => None,
        }
    }

    /// Number of switches.
    pub fn switches(&self) -> u64 {
        self.sides.iter().fold(1, |product, side| product.saturating_mul(u64::from(*side)))
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u64 {
        self.switches().saturating_mul(u64::from(self.hosts_per_switch))
    }

    /// Number of directed links between switches: 2 d ∏k, or 2 Σ ∏k (ki - 1) / ki for a mesh.
    pub fn cables(&self) -> u64 {
        let switches = self.switches();
        let lines =
            |side: u32| if self.wraps { switches } else { switches / u64::from(side) * u64::from(side - 1) };
        self.sides.iter().fold(0, |sum, side| sum.saturating_add(lines(*side).saturating_mul(2)))
    }

    /// The diameter: the largest distance between two switches, in links.
    pub fn diameter(&self) -> u64 {
        let longest = |side: &u32| u64::from(if self.wraps { side / 2 } else { side - 1 });
        self.sides.iter().map(longest).sum()
    }

    /// Number of directed links that cross the middle of the longest dimension.
    pub fn bisection(&self) -> u64 {
        let longest = self.sides.iter().copied().max().unwrap_or(1);
        let lines = self.switches() / u64::from(longest);
        lines * if self.wraps { 4 } else { 2 }
    }

    /// Builds it, with links of class `host` at the hosts and `cable` between switches.
    ///
    /// # Errors
    /// A side is below 2, or there are too many parts.
    pub fn build(&self, host: LinkClass, cable: LinkClass) -> Result<Topology, TopologyError> {
        self.check()?;
        let links = self.cables().saturating_add(self.hosts().saturating_mul(2));
        let mut builder = Builder::new(self.hosts(), self.switches(), links, vec![host, cable])?;
        let hosts = self.hosts() as u32;
        for host in 0..hosts {
            builder.link(host, hosts + host / self.hosts_per_switch, HOST);
        }
        for switch in 0..self.switches() as u32 {
            for (dimension, backwards) in self.directions() {
                if let Some(to) = self.neighbour(switch, dimension, backwards) {
                    builder.link(hosts + switch, hosts + to, CABLE);
                }
            }
            for k in 0..self.hosts_per_switch {
                builder.link(hosts + switch, switch * self.hosts_per_switch + k, HOST);
            }
        }
        Ok(builder.build())
    }

    fn check(&self) -> Result<(), TopologyError> {
        let value = |what, value: u64, expected| Err(TopologyError::Value { what, value, expected });
        if self.sides.is_empty() {
            return value("the number of dimensions", 0, "at least 1");
        }
        if let Some(side) = self.sides.iter().find(|side| **side < 2) {
            return value("a side", u64::from(*side), "at least 2");
        }
        if self.hosts_per_switch == 0 {
            return value("the number of hosts at a switch", 0, "at least 1");
        }
        Ok(())
    }

    fn directions(&self) -> impl Iterator<Item = (usize, bool)> + use<> {
        (0..self.sides.len()).flat_map(|dimension| [(dimension, false), (dimension, true)])
    }

    /// The next switch in a direction; `None` at the border of a mesh.
    pub fn neighbour(&self, switch: u32, dimension: usize, backwards: bool) -> Option<u32> {
        self.step(switch, self.place(switch, dimension), backwards).map(|(next, _)| next)
    }

    /// The next switch in a direction and its coordinate, from a switch at these coordinates.
    #[inline]
    fn step(&self, switch: u32, (at, stride, side): (u32, u32, u32), backwards: bool) -> Option<(u32, u32)> {
        match (backwards, self.wraps) {
            (false, _) if at + 1 < side => Some((switch + stride, at + 1)),
            (false, true) => Some((switch - at * stride, 0)),
            (true, _) if at > 0 => Some((switch - stride, at - 1)),
            (true, true) => Some((switch + (side - 1) * stride, side - 1)),
            _ => None,
        }
    }

    /// The first link out of a switch. On a torus all switches have the same number of links, so
    /// that it is computed without a read.
    #[inline]
    fn first_out(&self, topology: &Topology, switch: u32) -> u32 {
        if self.wraps {
            let ports = 2 * self.sides.len() as u32 + self.hosts_per_switch;
            topology.hosts() + switch * ports
        } else {
            topology.out_of(topology.hosts() + switch).start
        }
    }

    /// The link from a host. Each host has one, and the links of hosts come first.
    pub fn first_link(&self, host: u32) -> u32 {
        host
    }

    /// Coordinate of a switch in a dimension, the distance between neighbours' numbers there, and
    /// its side.
    fn place(&self, switch: u32, dimension: usize) -> (u32, u32, u32) {
        let stride: u32 = self.sides[..dimension].iter().product();
        let side = self.sides[dimension];
        (switch / stride % side, stride, side)
    }

    /// The port of a switch in a direction that exists.
    fn port(&self, switch: u32, dimension: usize, backwards: bool) -> u32 {
        let before = 2 * dimension as u32 + u32::from(backwards);
        if self.wraps {
            return before;
        }
        let there = |&(d, b): &(usize, bool)| self.neighbour(switch, d, b).is_some();
        self.directions().take(before as usize).filter(there).count() as u32
    }

    /// Walks straight on from a switch, adds the links to `path`, and returns the last switch. At
    /// the border of a mesh it stops.
    pub fn walk(&self, topology: &Topology, from: u32, way: Straight, path: &mut Vec<u32>) -> u32 {
        let (mut switch, (mut at, stride, side)) = (from, self.place(from, way.dimension));
        for _ in 0..way.hops {
            let Some(next) = self.step(switch, (at, stride, side), way.backwards) else { break };
            let port = self.port(switch, way.dimension, way.backwards);
            path.push(self.first_out(topology, switch) + port);
            (switch, at) = next;
        }
        switch
    }

    /// The path between two hosts by dimension order: first all of the first dimension, then the
    /// second, and so on. On a ring it goes the shorter way; at half the ring, upwards.
    pub fn route(&self, topology: &Topology, source: u32, destination: u32, path: &mut Vec<u32>) {
        let goal = destination / self.hosts_per_switch;
        let mut switch = source / self.hosts_per_switch;
        path.push(self.first_link(source));
        for dimension in 0..self.sides.len() {
            let (at, _, side) = self.place(switch, dimension);
            let (to, _, _) = self.place(goal, dimension);
            let up = if to >= at { to - at } else { to + side - at };
            let backwards = if self.wraps { up > side / 2 } else { to < at };
            let hops = if backwards { side - up } else { up };
            switch = self.walk(topology, switch, Straight { dimension, backwards, hops }, path);
        }
        path.push(self.last_link(topology, destination));
    }

    /// The link from its switch to a host.
    pub fn last_link(&self, topology: &Topology, host: u32) -> u32 {
        let (switch, k) = (host / self.hosts_per_switch, host % self.hosts_per_switch);
        if self.wraps {
            self.first_out(topology, switch) + 2 * self.sides.len() as u32 + k
        } else {
            topology.out_of(topology.hosts() + switch).end - self.hosts_per_switch + k
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Wire;
    use crate::units::{Picos, Rate};
    use proptest::prelude::*;

    fn class(name: &str) -> LinkClass {
        LinkClass { name: name.to_owned(), rate: Rate::mbit(856), delay: Picos::ZERO, wire: Wire::default() }
    }

    fn build(torus: &Torus) -> Topology {
        torus.build(class("host"), class("cable")).unwrap()
    }

    #[test]
    fn the_torus_of_the_paper_has_its_counts() {
        let torus = Torus { sides: vec![16, 16], hosts_per_switch: 4, wraps: true };
        let topology = build(&torus);
        assert_eq!((topology.hosts(), topology.switches(), topology.links()), (1024, 256, 1024 + 2048));
        assert_eq!((torus.diameter(), torus.bisection(), torus.cables()), (16, 64, 1024));
        assert!((0..256).all(|switch| topology.out_of(1024 + switch).len() == 8));
    }

    #[test]
    fn a_mesh_has_borders() {
        let mesh = Torus { sides: vec![4, 3], hosts_per_switch: 1, wraps: false };
        let topology = build(&mesh);
        assert_eq!((mesh.cables(), mesh.diameter(), mesh.bisection()), (2 * (9 + 8), 5, 6));
        assert_eq!(u64::from(topology.links()), mesh.cables() + 2 * 12);
        assert_eq!(mesh.neighbour(3, 0, false), None);
    }

    #[test]
    fn impossible_sizes_are_told() {
        let build = |sides: &[u32], hosts| {
            let torus = Torus { sides: sides.to_vec(), hosts_per_switch: hosts, wraps: true };
            torus.build(class("host"), class("cable")).unwrap_err().to_string()
        };
        assert_eq!(build(&[4, 1], 1), "a side is 1; expected at least 2");
        assert_eq!(build(&[], 1), "the number of dimensions is 0; expected at least 1");
        assert_eq!(build(&[4], 0), "the number of hosts at a switch is 0; expected at least 1");
        assert!(build(&[u32::MAX; 9], 9).contains("too many"));
    }

    proptest! {
        #[test]
        fn routes_are_connected_and_as_short_as_can_be(
            sides in prop::collection::vec(2u32..6, 1..4), hosts in 1u32..3, wraps: bool, pair: (u32, u32),
        ) {
            let torus = Torus { sides, hosts_per_switch: hosts, wraps };
            let topology = build(&torus);
            let (source, destination) = (pair.0 % topology.hosts(), pair.1 % topology.hosts());
            let mut path = Vec::new();
            torus.route(&topology, source, destination, &mut path);
            let mut node = source;
            for &link in &path {
                prop_assert_eq!(topology.from(link), node);
                node = topology.to(link);
            }
            prop_assert_eq!(node, destination);
            let apart = |dimension| {
                let (a, _, side) = torus.place(source / hosts, dimension);
                let (b, _, _) = torus.place(destination / hosts, dimension);
                let direct = a.abs_diff(b);
                if wraps { direct.min(side - direct) } else { direct }
            };
            let distance: u32 = (0..torus.sides.len()).map(apart).sum();
            prop_assert_eq!(path.len() as u32, distance + 2);
        }
    }
}
