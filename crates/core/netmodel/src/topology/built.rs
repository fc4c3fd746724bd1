//! Topologies that a program built, link by link.

use std::sync::Arc;

use super::{LinkClass, Topology, TopologyError};

/// A topology of the caller's own, with classes of links of its own. Two are equal if they are the
/// same object.
#[derive(Clone, Debug)]
pub struct Built(Arc<Topology>);

impl PartialEq for Built {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Built {}

impl Built {
    /// The topology of a [`Builder`](super::Builder).
    ///
    /// # Errors
    /// A host has another number of links than one, or leads to no switch, or a link has none in the
    /// other direction.
    pub fn new(topology: Topology) -> Result<Self, TopologyError> {
        let hosts = topology.hosts();
        for node in 0..hosts + topology.switches() {
            let links = topology.out_of(node);
            if node < hosts && links.len() != 1 {
                let (what, value) = ("the number of links of a host", links.len() as u64);
                return Err(TopologyError::Value { what, value, expected: "1, to a switch" });
            }
            for link in links {
                let to = topology.to(link);
                if node < hosts && to < hosts {
                    return Err(TopologyError::OneWay { from: node, to, why: "joins two hosts" });
                }
                if !topology.out_of(to).any(|back| topology.to(back) == node) {
                    let why = "has none in the other direction";
                    return Err(TopologyError::OneWay { from: node, to, why });
                }
            }
        }
        Ok(Self(Arc::new(topology)))
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.0
    }

    /// The same links with other classes.
    pub(crate) fn with_classes(&self, change: impl FnMut(&LinkClass) -> LinkClass) -> Self {
        let mut topology = Topology::clone(&self.0);
        topology.classes = topology.classes.iter().map(change).collect();
        Self(Arc::new(topology))
    }
}
