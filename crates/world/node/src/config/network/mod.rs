//! `[network]`: the node as one of many.
//!
//! Either a node lists the links that it makes (`links`, `join`), or one file describes the whole
//! network (`[[network.node]]`, `[[network.edge]]`) and every node derives its own part from its
//! name: see [`Network::plan`].

mod check;
mod entry;
mod on_demand;
mod plan;
mod tls;
mod topology;

use std::time::Duration;

use serde::Deserialize;

pub(super) use check::check;
pub use entry::{EdgeEntry, FlagsError, LinkEntry, NodeEntry, parse_flags};
pub use on_demand::OnDemand;
pub use plan::{NetworkPlan, PlanError, PlannedLink};
pub use tls::{LinkTls, MissingFile, PlainLinks};
pub use topology::{Topology, TopologyNameError};

use super::units;
use crate::url::{LinkListen, LinkUrl, MulticastUrl};

/// Settings of a node's part in a network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Network {
    /// The name of the node, which is unique among the nodes. Default: the `name` of the
    /// configuration or, if that has its default, a name made from the host's name.
    pub name: Option<String>,
    /// The name under which this node creates a network. It is the same at each of its starts: the
    /// node's name without the random suffix. Not read from files:
    /// [`Config::settle`](crate::Config::settle) sets it.
    #[serde(skip)]
    pub creator: Option<String>,
    /// Whether the configuration names the node, so that it has the same name at each of its
    /// starts. Set together with `creator`.
    #[serde(skip)]
    pub is_named: bool,
    /// The folder in which the node records the voters of its network, so that it keeps its vote
    /// over a restart; `"none"`: nowhere. A relative folder is relative to the configuration file.
    /// Default: chosen by `meshrti serve`; nodes inside other programs record nothing.
    pub state: StatePlace,
    /// The addresses on which other nodes may connect: `tcp://`, `tls://`, `quic://`. Default: the port of
    /// the node's own `address` in a topology file; otherwise none, so that the node only connects
    /// to others.
    pub listen: Vec<LinkListen>,
    /// The URLs at which others reach this node, if they differ from `listen` (behind a router that
    /// translates addresses). Default: the same as `listen`.
    pub advertise: Vec<LinkUrl>,
    /// The topology of the network. Default: that of the network that the node joins; `tree` for
    /// the first node.
    pub topology: Option<Topology>,
    /// Whether several paths may connect two nodes of a `tree` or `graph`. Default false: a cycle
    /// is an error.
    pub redundancy: bool,
    /// For a `mesh`: links follow the traffic. All nodes of a network should agree on it. Default:
    /// each node links to all others.
    pub on_demand: Option<OnDemand>,
    /// The links that this node initiates and maintains.
    pub links: Vec<LinkEntry>,
    /// Multicast groups that this node shares with others of its site. A message that several of
    /// them want is sent once. Default: none.
    pub multicast: Option<MulticastUrl>,
    /// A node of the network to join, if nothing else is known of the network.
    pub join: Option<LinkUrl>,
    /// Whether this node creates the network instead of joining it. Exactly one node must. Default:
    /// the one without `links` and `join`; in a topology file the root of the tree, or the first
    /// node.
    pub bootstrap: Option<bool>,
    /// The nodes of the whole network, in an order that all sites share.
    pub node: Vec<NodeEntry>,
    /// The connections of the whole network, or options of some of them.
    pub edge: Vec<EdgeEntry>,
    /// Certificates of links over TLS and QUIC.
    pub tls: LinkTls,
    /// Largest bundle of messages, and largest fragment of a longer one, on a link. Default
    /// `16KiB`.
    #[serde(deserialize_with = "units::size")]
    pub bundle: usize,
    /// Longest wait for a bundle to fill. Urgent messages never wait. Default `0s`.
    #[serde(deserialize_with = "units::duration")]
    pub bundle_wait: Duration,
    /// Bytes that may wait for one link. Beyond it best-effort messages are dropped, and federates
    /// that send reliable ones are paused. Default `32MiB`.
    #[serde(deserialize_with = "units::size")]
    pub queue: usize,
    /// Messages that may wait for one link. Default 65,536.
    pub queue_messages: usize,
    /// Whether a newer best-effort update of an object replaces one that is still waiting. Default
    /// true.
    pub newest_wins: bool,
    /// The best-effort messages that are dropped first when there is no room. Default `oldest`.
    pub drop_first: DropFirst,
    /// Longest message between nodes. Default `16MiB`.
    #[serde(deserialize_with = "units::size")]
    pub message: usize,
    /// Bytes that a neighbour may send before this node has processed them, per link. Default
    /// `4MiB`.
    #[serde(deserialize_with = "units::size")]
    pub credit: usize,
    /// Maximum number of links that others may have open to this node. Default 1024.
    pub connections: usize,
    /// Connections of others that have not yet identified themselves. Beyond this number, the
    /// oldest one of the address with the most is closed. Default 256.
    pub silent_connections: usize,
    /// How long making a link may take: connection, encryption and the first record of the other
    /// side. Default `5s`.
    #[serde(deserialize_with = "units::duration")]
    pub connect_timeout: Duration,
    /// A link on which nothing was sent for this long carries a keep-alive. Default `500ms`.
    #[serde(deserialize_with = "units::duration")]
    pub keep_alive: Duration,
    /// A link on which nothing was received for this long is dead. Default `2500ms`.
    #[serde(deserialize_with = "units::duration")]
    pub silence: Duration,
    /// A node that cannot be reached for this long counts as dead, and its federates are resigned.
    /// Default `1s`.
    #[serde(deserialize_with = "units::duration")]
    pub node_timeout: Duration,
    /// A node without contact to a majority of the nodes for this long gives up: its federates are
    /// told that the connection is lost, and the node rejoins. Must be longer than `node-timeout`.
    /// Default `10s`.
    #[serde(deserialize_with = "units::duration")]
    pub minority_timeout: Duration,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            name: None,
            creator: None,
            is_named: false,
            state: StatePlace::Default,
            listen: Vec::new(),
            advertise: Vec::new(),
            topology: None,
            redundancy: false,
            on_demand: None,
            links: Vec::new(),
            multicast: None,
            join: None,
            bootstrap: None,
            node: Vec::new(),
            edge: Vec::new(),
            tls: LinkTls::default(),
            bundle: 16 << 10,
            bundle_wait: Duration::ZERO,
            queue: 32 << 20,
            queue_messages: 65_536,
            newest_wins: true,
            drop_first: DropFirst::Oldest,
            message: 16 << 20,
            credit: 4 << 20,
            connections: 1024,
            silent_connections: 256,
            connect_timeout: Duration::from_secs(5),
            keep_alive: Duration::from_millis(500),
            silence: Duration::from_millis(2500),
            node_timeout: Duration::from_secs(1),
            minority_timeout: Duration::from_secs(10),
        }
    }
}

/// The place where a node keeps its state.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "String")]
pub enum StatePlace {
    /// The program decides.
    #[default]
    Default,
    /// Nowhere.
    Nowhere,
    /// In this folder.
    Directory(std::path::PathBuf),
}

impl From<String> for StatePlace {
    fn from(text: String) -> Self {
        if text == "none" { Self::Nowhere } else { Self::Directory(text.into()) }
    }
}

impl StatePlace {
    /// The folder, if there is one.
    pub fn directory(&self) -> Option<&std::path::Path> {
        match self {
            Self::Directory(directory) => Some(directory),
            Self::Default | Self::Nowhere => None,
        }
    }
}

/// The best-effort message that is dropped when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropFirst {
    /// The one that has waited longest.
    #[default]
    Oldest,
    /// The one that arrived last.
    Newest,
}

#[cfg(test)]
mod tests;
