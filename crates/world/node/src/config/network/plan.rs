//! The plan of one node, derived from the configuration of the network.

use router::ClientFlags;

use super::{EdgeEntry, LinkEntry, Network, NodeEntry, Topology};
use crate::config::ListenAddress;
use crate::url::{LinkListen, LinkOptions, LinkUrl};

/// One node's part in a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPlan {
    /// The topology; `None`: that of the network which is joined.
    pub topology: Option<Topology>,
    /// Whether several paths between two nodes are allowed.
    pub redundancy: bool,
    /// The links that this node initiates and maintains.
    pub links: Vec<PlannedLink>,
    /// The nodes of a mesh's topology file that connect to this one, by name.
    pub awaited: Vec<String>,
    /// Whether this node creates the network.
    pub bootstrap: bool,
    /// The addresses on which it listens for other nodes.
    pub listen: Vec<LinkListen>,
    /// The URLs at which others reach it; empty: the same as `listen`.
    pub advertise: Vec<LinkUrl>,
    /// The addresses on which it listens for federates, if the topology file sets them.
    pub federates: Option<Vec<ListenAddress>>,
    /// A digest of the topology file, equal for all nodes with an equal description. 0 without one.
    pub digest: u64,
}

/// A link that a node initiates and maintains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedLink {
    /// The URL to connect to, with the options of the link.
    pub url: LinkUrl,
    /// The name of the node there, if known.
    pub name: Option<String>,
    /// Flags of the other node at this node's router, and of this node at the other's; `None`:
    /// those of the topology.
    pub flags: Option<(ClientFlags, ClientFlags)>,
    /// The dimension in a hypercube, otherwise 0.
    pub rank: u8,
}

/// The reason why a node has no part in a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The topology file does not contain the node.
    #[error("no [[network.node]] is called `{name}` (there are: {}); say who this node is with `--name`", known.join(", "))]
    NoSuchNode {
        /// The name of this node.
        name: String,
        /// The names in the file.
        known: Vec<String>,
    },
    /// Two ways to describe a network are mixed.
    #[error("`{0}` does not go with [[network.node]]: the file says already who connects to whom")]
    Both(&'static str),
    /// Settings that contradict each other. A configuration file with them would have been
    /// rejected.
    #[error("{0}")]
    Unsound(String),
    /// The system gives no random numbers for a name.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

impl Network {
    /// The plan of the node called `name`. The network must have been checked, as
    /// [`Config::parse`](crate::Config::parse) does.
    ///
    /// # Errors
    /// The topology file does not contain the node, or links are configured besides it.
    pub fn plan(&self, name: &str) -> Result<NetworkPlan, PlanError> {
        let base = NetworkPlan {
            topology: self.topology,
            redundancy: self.redundancy,
            links: Vec::new(),
            awaited: Vec::new(),
            bootstrap: false,
            listen: self.listen.clone(),
            advertise: self.advertise.clone(),
            federates: None,
            digest: 0,
        };
        if self.node.is_empty() { Ok(self.plan_of_links(base)) } else { self.plan_of_file(base, name) }
    }

    fn plan_of_links(&self, mut plan: NetworkPlan) -> NetworkPlan {
        plan.links = self.links.iter().map(LinkEntry::planned).collect();
        if let Some(join) = &self.join {
            plan.links.push(PlannedLink { url: join.clone(), name: None, flags: None, rank: 0 });
        }
        plan.bootstrap = self.bootstrap.unwrap_or(plan.links.is_empty());
        if plan.bootstrap {
            plan.topology = plan.topology.or(Some(Topology::Tree));
        }
        plan
    }

    fn plan_of_file(&self, mut plan: NetworkPlan, name: &str) -> Result<NetworkPlan, PlanError> {
        if !self.links.is_empty() {
            return Err(PlanError::Both("links"));
        }
        if self.join.is_some() {
            return Err(PlanError::Both("join"));
        }
        let Some(own) = self.node.iter().position(|node| node.name == name) else {
            let known = self.node.iter().map(|node| node.name.clone()).collect();
            return Err(PlanError::NoSuchNode { name: name.to_owned(), known });
        };
        let topology = self.topology.unwrap_or(Topology::Tree);
        plan.topology = Some(topology);
        let planned = |other: &str| self.on_demand.is_none() || self.edge_between(name, other).is_some();
        plan.links = match topology {
            Topology::Tree => self.upward_links(name),
            Topology::Graph => self.outward_links(name),
            Topology::Mesh => self
                .links_among(own, |other| (name < other.name.as_str() && planned(&other.name)).then_some(0)),
            Topology::Hypercube => {
                let index = |node: &NodeEntry| self.node.iter().position(|known| known.name == node.name);
                self.links_among(own, |other| {
                    let other = index(other)?;
                    ((own ^ other).is_power_of_two() && own < other)
                        .then(|| (own ^ other).trailing_zeros() as u8)
                })
            }
        };
        if topology == Topology::Mesh {
            let earlier = self.node.iter().map(|node| &node.name).filter(|other| other.as_str() < name);
            plan.awaited = earlier.filter(|other| planned(other)).cloned().collect();
        }
        plan.bootstrap = self.bootstrap.unwrap_or(Some(own) == self.creator(topology));
        let entry = &self.node[own];
        if plan.listen.is_empty() {
            let LinkUrl { scheme, host, port, .. } = &entry.address;
            let host = if *port == 0 { host.clone() } else { "*".to_owned() }; // memory links have no port
            plan.listen.push(LinkListen { scheme: *scheme, host, port: *port });
        }
        if plan.advertise.is_empty() {
            plan.advertise.push(entry.address.clone());
        }
        plan.federates.clone_from(&entry.federates);
        plan.digest = self.digest(topology);
        Ok(plan)
    }

    /// The creator of the network of a topology file.
    fn creator(&self, topology: Topology) -> Option<usize> {
        match topology {
            Topology::Tree => {
                self.node.iter().position(|node| self.edge.iter().all(|edge| edge.b != node.name))
            }
            _ => Some(0),
        }
    }

    /// The links of a tree: the lower node connects to the upper one.
    fn upward_links(&self, name: &str) -> Vec<PlannedLink> {
        let edges = self.edge.iter().filter(|edge| edge.b == name);
        edges.filter_map(|edge| self.link_to(&edge.a, Some((edge, true)), 0)).collect()
    }

    /// The links of a graph: the first end connects to the second.
    fn outward_links(&self, name: &str) -> Vec<PlannedLink> {
        let edges = self.edge.iter().filter(|edge| edge.a == name);
        edges.filter_map(|edge| self.link_to(&edge.b, Some((edge, false)), 0)).collect()
    }

    /// Links to all other nodes for which `rank` returns a rank.
    fn links_among(&self, own: usize, rank: impl Fn(&NodeEntry) -> Option<u8>) -> Vec<PlannedLink> {
        let name = &self.node[own].name;
        let others = self.node.iter().filter_map(|other| Some((other, rank(other)?)));
        let to = |(other, rank): (&NodeEntry, u8)| {
            self.link_to(&other.name, self.edge_between(name, &other.name), rank)
        };
        others.filter_map(to).collect()
    }

    /// The edge between two nodes, and whether `from` is its second end.
    fn edge_between(&self, from: &str, to: &str) -> Option<(&EdgeEntry, bool)> {
        self.edge.iter().find_map(|edge| {
            let forward = edge.a == from && edge.b == to;
            let backward = edge.b == from && edge.a == to;
            (forward || backward).then_some((edge, backward))
        })
    }

    /// The link to the node `name` by an edge. `swapped`: this node is the edge's second end.
    fn link_to(&self, name: &str, edge: Option<(&EdgeEntry, bool)>, rank: u8) -> Option<PlannedLink> {
        let node = self.node.iter().find(|node| node.name == name)?;
        let mut url = node.address.clone();
        let mut flags = None;
        if let Some((edge, swapped)) = edge {
            edge.apply(&mut url.options);
            if swapped {
                let LinkOptions { out, back, .. } = &mut url.options;
                std::mem::swap(out, back);
            }
            flags = edge.flags(swapped);
        }
        Some(PlannedLink { url, name: Some(name.to_owned()), flags, rank })
    }

    /// A digest, as 64 bits (FNV-1a), of the part of the description on which all nodes must agree.
    fn digest(&self, topology: Topology) -> u64 {
        let mut text = format!("{topology} {}\n", self.redundancy);
        for node in &self.node {
            text.push_str(&format!("node {:?} {}\n", node.name, node.address.address()));
        }
        for edge in &self.edge {
            let flags = edge.flags(false).map(|(a, b)| (a.bits(), b.bits()));
            text.push_str(&format!("edge {:?} {:?} {flags:?}\n", edge.a, edge.b));
        }
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
            (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

impl LinkEntry {
    fn planned(&self) -> PlannedLink {
        let mut url = self.to.clone();
        self.apply(&mut url.options);
        let flags = self.flags.map(|flags| ends(flags, self.back_flags));
        PlannedLink { url, name: self.name.clone(), flags, rank: self.rank }
    }
}

impl EdgeEntry {
    /// The flags of both ends, those of the initiating end first.
    fn flags(&self, swapped: bool) -> Option<(ClientFlags, ClientFlags)> {
        let a = self.flags_a?;
        let b = self.flags_b.unwrap_or(a - ClientFlags::PERSISTENT);
        Some(if swapped { ends(b, Some(a)) } else { ends(a, Some(b)) })
    }
}

/// The initiating side's flag is persistent: it keeps the link, because the other side cannot make
/// it again.
fn ends(own: ClientFlags, other: Option<ClientFlags>) -> (ClientFlags, ClientFlags) {
    (own | ClientFlags::PERSISTENT, other.unwrap_or(own) - ClientFlags::PERSISTENT)
}
