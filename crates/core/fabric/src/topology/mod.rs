//! Topologies: hosts and switches, joined by directed links, in flat arrays.
//!
//! Hosts are the nodes 0 to `hosts` - 1, switches follow. The links out of a node are neighbours, so that a route is
//! a sequence of ports and needs no search. A duplex cable is two links.

mod shape;
mod torus;
mod wan;
mod wire;

pub use shape::Shape;
pub use torus::{Straight, Torus};
pub use wan::{Detour, Line, Site, Wan, WanError};
pub use wire::{LINK_SETS, LinkSet, Sustained, Transport, Wire};

use crate::units::{Picos, Rate};

/// Most nodes and links: their numbers fit a `u32` with room for marks.
pub const PARTS_MAX: u64 = 1 << 31;

/// What a link is like. Links share classes, so that a link costs no more than its ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkClass {
    /// For people: `host` or `cable`.
    pub name: String,
    /// What it carries.
    pub rate: Rate,
    /// How long a bit travels.
    pub delay: Picos,
    /// What else it does.
    pub wire: Wire,
}

/// Why there is no such topology.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TopologyError {
    /// A number that is none for it.
    #[error("{what} is {value}; expected {expected}")]
    Value {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: u64,
        /// What it can be.
        expected: &'static str,
    },
    /// More parts than can be numbered.
    #[error("{parts} nodes and links are too many; at most {PARTS_MAX} can be numbered")]
    TooLarge {
        /// How many.
        parts: u64,
    },
    /// A table of sites that is none.
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
}

impl Topology {
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
        self.first_out.partition_point(|first| *first <= link) as u32 - 1
    }

    /// What a link is like.
    pub fn class_of(&self, link: u32) -> &LinkClass {
        &self.classes[usize::from(self.class[link as usize])]
    }

    /// What links there are.
    pub fn classes(&self) -> &[LinkClass] {
        &self.classes
    }

    /// True for links between switches.
    pub fn is_between_switches(&self, link: u32) -> bool {
        // Those out of hosts come first.
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
    /// For so many hosts and switches, and links of these classes.
    ///
    /// # Errors
    /// The parts are too many.
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

    /// Adds a link each way.
    pub fn cable(&mut self, a: u32, b: u32, class: u8) {
        self.link(a, b, class);
        self.link(b, a, class);
    }

    /// The topology of the links so far.
    ///
    /// # Panics
    /// A link has an end or a class that there is not: a mistake of the generator.
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
        Topology { hosts: self.hosts, switches: self.switches, first_out, to, class, classes: self.classes }
    }
}
