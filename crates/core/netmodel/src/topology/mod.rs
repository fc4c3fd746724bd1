//! Topologies: hosts and switches, joined by directed links, in flat arrays.
//!
//! Hosts are the nodes 0 to `hosts` - 1, followed by the switches. The links out of a node have
//! consecutive numbers, so that a route is a sequence of ports and needs no search. A duplex cable
//! is two links.

mod built;
mod clusters;
mod shape;
mod torus;
mod wan;
mod wire;

pub use built::Built;
pub use clusters::{Cluster, ClusterError, ClusterRoutes, Clusters};
pub use shape::Shape;
pub use torus::{Straight, Torus};
pub use wan::{Detour, Line, Site, Wan, WanError};
pub use wire::{LINK_SETS, LinkSet, Sustained, Transport, Wire};

use crate::units::{Picos, Rate};

/// Largest number of nodes and links. The numbers fit a `u32` with room for marks.
pub const PARTS_MAX: u64 = 1 << 31;

/// The properties of a link. Links share classes, so that a link costs no more than its ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkClass {
    /// A name for display: `host` or `cable`.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
    /// The propagation delay.
    pub delay: Picos,
    /// Its other properties.
    pub wire: Wire,
}

/// The reason why a topology is not valid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TopologyError {
    /// A number is not valid for this shape.
    #[error("{what} is {value}; expected {expected}")]
    Value {
        /// The name of the number.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The valid values.
        expected: &'static str,
    },
    /// There are more parts than can be numbered.
    #[error("{parts} nodes and links are too many; at most {PARTS_MAX} can be numbered")]
    TooLarge {
        /// Number of parts.
        parts: u64,
    },
    /// A link of a topology that a program built does not serve messages both ways.
    #[error("the link from node {from} to node {to} {why}")]
    OneWay {
        /// Its beginning; hosts come first, then switches.
        from: u32,
        /// Its end.
        to: u32,
        /// The fault.
        why: &'static str,
    },
    /// A table of sites is not valid.
    #[error(transparent)]
    Wan(#[from] WanError),
}

/// Hosts, switches and links.
#[derive(Clone, Debug)]
pub struct Topology {
    hosts: u32,
    switches: u32,
    /// By node: its first link; one more at the end.
    first_out: Vec<u32>,
    /// By link: the node it leads to, and its class.
    to: Vec<u32>,
    class: Vec<u8>,
    classes: Vec<LinkClass>,
    /// Number of links without the buses of hosts, which follow.
    cables: u32,
}

impl Topology {
    /// Gives each host a bus of each of these classes: a link from the host to itself. Returns the
    /// first link of each; bus by bus, those of all hosts follow each other.
    ///
    /// # Errors
    /// There are too many links or classes.
    pub fn add_buses(&mut self, buses: Vec<LinkClass>) -> Result<Vec<u32>, TopologyError> {
        let parts = u64::from(self.links()) + u64::from(self.hosts) * buses.len() as u64;
        let mut first = Vec::new();
        for bus in buses {
            let class = u8::try_from(self.classes.len()).ok().filter(|_| parts <= PARTS_MAX);
            let class = class.ok_or(TopologyError::TooLarge { parts })?;
            first.push(self.links());
            self.classes.push(bus);
            self.to.extend(0..self.hosts);
            self.class.extend((0..self.hosts).map(|_| class));
        }
        Ok(first)
    }

    /// True for the bus of a host.
    pub fn is_bus(&self, link: u32) -> bool {
        link >= self.cables
    }

    /// True if hosts have buses.
    pub fn has_buses(&self) -> bool {
        self.links() > self.cables
    }

    /// True for a link out of a host, or its bus: what waits there is in memory of the host.
    pub fn is_of_sender(&self, link: u32) -> bool {
        link < self.first_out[self.hosts as usize] || self.is_bus(link)
    }

    /// Number of hosts: nodes 0 and up.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Number of switches: the nodes after the hosts.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// Number of directed links.
    pub fn links(&self) -> u32 {
        self.to.len() as u32
    }

    /// The links out of a node, in the order of its ports.
    pub fn out_of(&self, node: u32) -> std::ops::Range<u32> {
        self.first_out[node as usize]..self.first_out[node as usize + 1]
    }

    /// The node that a link leads to.
    #[inline]
    pub fn to(&self, link: u32) -> u32 {
        self.to[link as usize]
    }

    /// The node that a link comes from.
    pub fn from(&self, link: u32) -> u32 {
        if self.is_bus(link) {
            return self.to(link);
        }
        self.first_out.partition_point(|first| *first <= link) as u32 - 1
    }

    /// The class of a link.
    pub fn class_of(&self, link: u32) -> &LinkClass {
        &self.classes[usize::from(self.class[link as usize])]
    }

    /// All classes of links.
    pub fn classes(&self) -> &[LinkClass] {
        &self.classes
    }

    /// True for links between switches.
    pub fn is_between_switches(&self, link: u32) -> bool {
        // The links out of hosts come first.
        link >= self.first_out[self.hosts as usize] && self.to(link) >= self.hosts
    }

    /// The rates of all links, in order.
    pub fn rates(&self) -> impl Iterator<Item = Rate> + '_ {
        self.class.iter().map(|class| self.classes[usize::from(*class)].rate)
    }

    /// Bytes of memory that the arrays take.
    pub fn memory_bytes(&self) -> usize {
        self.first_out.capacity() * 4 + self.to.capacity() * 4 + self.class.capacity()
    }
}

/// Collects links, in the order of ports at each node.
pub struct Builder {
    hosts: u32,
    switches: u32,
    classes: Vec<LinkClass>,
    links: Vec<(u32, u32, u8)>,
}

impl Builder {
    /// For these numbers of hosts, switches and links, and links of these classes.
    ///
    /// # Errors
    /// There are too many parts.
    pub fn new(
        hosts: u64,
        switches: u64,
        links: u64,
        classes: Vec<LinkClass>,
    ) -> Result<Self, TopologyError> {
        let parts = hosts.saturating_add(switches).saturating_add(links);
        match (u32::try_from(hosts), u32::try_from(switches), u8::try_from(classes.len())) {
            (Ok(hosts), Ok(switches), Ok(_)) if parts <= PARTS_MAX => {
                Ok(Self { hosts, switches, classes, links: Vec::with_capacity(links as usize) })
            }
            _ => Err(TopologyError::TooLarge { parts }),
        }
    }

    /// Adds a link from one node to another.
    pub fn link(&mut self, from: u32, to: u32, class: u8) {
        self.links.push((from, to, class));
    }

    /// Adds a link in each direction.
    pub fn cable(&mut self, a: u32, b: u32, class: u8) {
        self.link(a, b, class);
        self.link(b, a, class);
    }

    /// The topology of the links so far.
    ///
    /// # Panics
    /// A link has an end or a class that does not exist: a mistake of the generator.
    pub fn build(self) -> Topology {
        let nodes = (self.hosts + self.switches) as usize;
        let mut first_out = vec![0u32; nodes + 1];
        for (from, to, class) in &self.links {
            assert!(
                (*to as usize) < nodes && usize::from(*class) < self.classes.len(),
                "a link leads nowhere"
            );
            first_out[*from as usize + 1] += 1;
        }
        for node in 0..nodes {
            first_out[node + 1] += first_out[node];
        }
        let mut next = first_out.clone();
        let (mut to, mut class) = (vec![0; self.links.len()], vec![0; self.links.len()]);
        for (from, end, kind) in self.links {
            let at = &mut next[from as usize];
            (to[*at as usize], class[*at as usize]) = (end, kind);
            *at += 1;
        }
        let cables = to.len() as u32;
        Topology {
            hosts: self.hosts,
            switches: self.switches,
            first_out,
            to,
            class,
            classes: self.classes,
            cables,
        }
    }
}
