//! How the nodes are joined.

use base::Seed;
use kernel::TopologyKind;
use std::collections::BTreeSet;

/// A shape of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Everybody with everybody.
    Mesh,
    /// Two rings through all nodes in different orders: four links a node, with redundancy.
    Graph,
}

impl Shape {
    /// The topology that nodes are configured with.
    pub fn topology(self) -> TopologyKind {
        match self {
            Self::Mesh => TopologyKind::Mesh,
            Self::Graph => TopologyKind::Graph,
        }
    }

    /// Which nodes each node connects to by configuration. In a mesh it is told of the first, and learns of the others.
    pub(super) fn targets(self, nodes: usize, seed: Seed) -> Vec<Vec<usize>> {
        let mut targets = vec![Vec::new(); nodes];
        match self {
            Self::Mesh => targets.iter_mut().skip(1).for_each(|to| to.push(0)),
            Self::Graph => {
                for (a, b) in rings(nodes, seed) {
                    targets[b].push(a);
                }
            }
        }
        targets
    }
}

/// The edges of the two rings, each once, the smaller end first.
fn rings(nodes: usize, seed: Seed) -> BTreeSet<(usize, usize)> {
    let mut order: Vec<usize> = (0..nodes).collect();
    order.sort_by_key(|node| seed.split("ring").split_index(*node as u64).0);
    let ring = |order: &[usize]| -> Vec<(usize, usize)> {
        let next = order.iter().cycle().skip(1);
        order.iter().zip(next).map(|(&a, &b)| (a.min(b), a.max(b))).collect()
    };
    let first: Vec<usize> = (0..nodes).collect();
    ring(&first).into_iter().chain(ring(&order)).filter(|(a, b)| a != b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_has_about_two_edges_a_node_and_each_once() {
        let targets = Shape::Graph.targets(50, Seed(1));
        let edges: usize = targets.iter().map(Vec::len).sum();
        assert!((90..=100).contains(&edges), "{edges}");
        assert!(targets.iter().enumerate().all(|(node, to)| to.iter().all(|to| *to < node)));
        assert_eq!(Shape::Mesh.targets(4, Seed(1)), [vec![], vec![0], vec![0], vec![0]]);
    }
}
