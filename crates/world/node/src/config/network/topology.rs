//! Topologies of networks by name.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// The topology of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Topology {
    /// A tree of any fan-out. The lower node connects to the upper one.
    Tree,
    /// Every node connected with every other, by triads.
    Mesh,
    /// Nodes connected when their numbers differ in one bit.
    Hypercube,
    /// Any list of edges.
    Graph,
}

/// A text that names no topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no topology (there are: tree, mesh, hypercube, graph)")]
pub struct TopologyNameError(pub String);

impl Topology {
    /// Its name in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Mesh => "mesh",
            Self::Hypercube => "hypercube",
            Self::Graph => "graph",
        }
    }
}

impl FromStr for Topology {
    type Err = TopologyNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Tree, Self::Mesh, Self::Hypercube, Self::Graph]
            .into_iter()
            .find(|topology| topology.as_str() == text)
            .ok_or_else(|| TopologyNameError(text.to_owned()))
    }
}

impl TryFrom<String> for Topology {
    type Error = TopologyNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
