//! `[network]`: the node as one of many.
//!
//! Either a node says which links it makes (`links`, `join`), or one file describes the whole network (`[[network.node]]`,
//! `[[network.edge]]`) and every node derives its part of it from its own name: see [`Network::plan`].

mod check;
mod entry;
mod plan;
mod topology;

use std::time::Duration;

use serde::Deserialize;

pub(super) use check::check;
pub use entry::{EdgeEntry, FlagsError, LinkEntry, NodeEntry, parse_flags};
pub use plan::{NetworkPlan, PlanError, PlannedLink};
pub use topology::{Topology, TopologyNameError};

use super::units;
use crate::link::{LinkListen, LinkUrl, MulticastUrl};

/// What can be set about a node's part in a network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Network {
    /// What the node is called among the nodes; no two may share a name. Default: the `name` of the configuration, or, where
    /// that is left at its default, one made from the host's name.
    pub name: Option<String>,
    /// What this node is called when it founds a network, the same at each of its starts: its name, without what is drawn
    /// for it at random. Not read from files: [`Config::settle`](crate::Config::settle) sets it.
    #[serde(skip)]
    pub founder: Option<String>,
    /// Whether somebody gave the node its name, so that it has the same one at each of its starts. Set with `founder`.
    #[serde(skip)]
    pub is_named: bool,
    /// The folder in which the node keeps who votes in its network, so that it has its vote again when it is started again;
    /// `"none"`: nowhere. A relative folder counts from the configuration file. Default: as `meshrti serve` chooses; nodes inside of
    /// other programs keep nothing.
    pub state: StatePlace,
    /// Where other nodes may connect: `tcp://`, `quic://`. Default: the port of the node's own `address` in a topology
    /// file; otherwise nowhere, so that the node only connects to others.
    pub listen: Vec<LinkListen>,
    /// Where others reach this node, when that is not what it listens on (behind a translating router). Default: what it
    /// listens on.
    pub advertise: Vec<LinkUrl>,
    /// The shape of the network. Default: what the node that is joined says; `tree` for the first node.
    pub topology: Option<Topology>,
    /// Whether there may be several ways between two nodes of a `tree` or `graph`. Default false: a cycle is an error.
    pub redundancy: bool,
    /// The links that this node makes and keeps.
    pub links: Vec<LinkEntry>,
    /// Multicast groups that this node shares with others of its site: what several of them want is sent once. Default: none.
    pub multicast: Option<MulticastUrl>,
    /// A node of the network to join, when nothing else is known of it.
    pub join: Option<LinkUrl>,
    /// Whether this node founds the network instead of waiting to be taken in. Exactly one node does. Default: the one
    /// without `links` and `join`; in a topology file the root of the tree, or the first node.
    pub bootstrap: Option<bool>,
    /// The nodes of the whole network, in an order that all sites share.
    pub node: Vec<NodeEntry>,
    /// The connections of the whole network, or what is special about some.
    pub edge: Vec<EdgeEntry>,
    /// Certificates of QUIC links.
    pub quic: Quic,
    /// Largest bundle of messages, and fragment of a longer one, on a link. Default `16KiB`.
    #[serde(deserialize_with = "units::size")]
    pub bundle: usize,
    /// Longest wait for a bundle to fill; urgent messages never wait. Default `0s`.
    #[serde(deserialize_with = "units::duration")]
    pub bundle_wait: Duration,
    /// What may wait for one link; beyond it best-effort messages are dropped, and reliable ones hold back their federates.
    /// Default `32MiB`.
    #[serde(deserialize_with = "units::size")]
    pub queue: usize,
    /// Messages that may wait for one link. Default 65,536.
    pub queue_messages: usize,
    /// Whether a newer best-effort update of an object replaces one that still waits. Default true.
    pub newest_wins: bool,
    /// Which best-effort messages go first when there is no room. Default `oldest`.
    pub drop_first: DropFirst,
    /// Longest message between nodes. Default `16MiB`.
    #[serde(deserialize_with = "units::size")]
    pub message: usize,
    /// What a neighbour may send before this node has taken it in, per link. Default `4MiB`.
    #[serde(deserialize_with = "units::size")]
    pub credit: usize,
    /// Links that others may have open to this node. Default 1024.
    pub connections: usize,
    /// Connections of others that have not said yet who they are; with the next one, the oldest one of the address with
    /// the most of them is closed. Default 256.
    pub silent_connections: usize,
    /// For a link to be made: connection, encryption and the first record of the other side. Default `5s`.
    #[serde(deserialize_with = "units::duration")]
    pub connect_timeout: Duration,
    /// A link on which nothing was sent for this long carries a keep-alive. Default `500ms`.
    #[serde(deserialize_with = "units::duration")]
    pub keep_alive: Duration,
    /// A link on which nothing was heard for this long is dead. Default `2500ms`.
    #[serde(deserialize_with = "units::duration")]
    pub silence: Duration,
    /// A node that cannot be reached for this long is taken for dead: its federates are resigned. Default `1s`.
    #[serde(deserialize_with = "units::duration")]
    pub node_timeout: Duration,
    /// A node that has not been in contact with a majority of the nodes for this long gives up: its federates are told that
    /// the connection is lost, and it joins again. Longer than `node-timeout`. Default `10s`.
    #[serde(deserialize_with = "units::duration")]
    pub minority_timeout: Duration,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            name: None,
            founder: None,
            is_named: false,
            state: StatePlace::Default,
            listen: Vec::new(),
            advertise: Vec::new(),
            topology: None,
            redundancy: false,
            links: Vec::new(),
            multicast: None,
            join: None,
            bootstrap: None,
            node: Vec::new(),
            edge: Vec::new(),
            quic: Quic::default(),
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

/// Where a node keeps its state.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "String")]
pub enum StatePlace {
    /// Where the program says.
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

/// Which of several best-effort messages goes first when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropFirst {
    /// The one that waited longest.
    #[default]
    Oldest,
    /// The one that came last.
    Newest,
}

/// `[network.quic]`: certificates of QUIC links, as PEM files. A relative path counts from the configuration file.
///
/// Without them a node makes itself a certificate at every start: links are then encrypted, but nobody's identity is
/// checked (unless a link pins the certificate of its peer).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quic {
    /// The certificate of this node, and those between it and the authority's.
    pub certificate: Option<std::path::PathBuf>,
    /// The private key of the certificate.
    pub key: Option<std::path::PathBuf>,
    /// The authorities whose certificates are accepted. When set, both sides of a link check each other, and the name in
    /// the URL has to be in the certificate of the node that is connected to.
    pub authority: Option<std::path::PathBuf>,
}

#[cfg(test)]
mod tests;
