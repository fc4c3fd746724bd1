//! The nodes of a run, and the pairs of federates at them.

use base::Seed;
use hostsim::{Federation, HostModel, Joined, Task, Work};
use router_study::routers::flood::{Partners, partners};
use router_study::routers::{Layout, Shape};

/// Which federates are partners.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Between {
    /// Their lowest common node is so many layers above their own.
    Hops(usize),
    /// As in the paper's floods.
    Partners(Partners),
}

/// Nodes, and the nodes of both federates of each pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Network {
    pub(super) shape: Shape,
    pub(super) between: Between,
    nodes: u16,
    joined: Joined,
    pairs: Vec<(u16, u16)>,
}

impl Network {
    /// A tree with so many nodes in each of the `layers` below its root, or a mesh of as many nodes as
    /// the last layer has. Federates are spread evenly over the nodes of the last layer.
    ///
    /// # Errors
    /// There are no such pairs, with the reason.
    pub(super) fn new(
        shape: Shape,
        layers: &[usize],
        pairs: usize,
        between: Between,
        seed: Seed,
    ) -> Result<Self, String> {
        let leaves = layers.last().copied().filter(|leaves| *leaves > 0);
        let leaves = leaves.ok_or("--layers: a layer has one node or more")?;
        let per_leaf = (2 * pairs).div_ceil(leaves);
        let (per_leaf, partners) = match between {
            Between::Hops(hops) => {
                // Partners at the same node need an even number of federates there.
                let per_leaf = per_leaf.next_multiple_of(2);
                let layout = Layout { fan_outs: fan_outs(layers)?, federates_per_leaf: per_leaf };
                (per_leaf, layout.some_pairs(hops, pairs).map_err(|why| format!("--hops {hops}: {why}"))?)
            }
            Between::Partners(choice) => (per_leaf, partners(leaves, per_leaf, pairs, choice, seed)),
        };
        let (nodes, joined, first) = match shape {
            Shape::Tree => {
                let nodes = 1 + layers.iter().sum::<usize>();
                (nodes, Joined::Tree(layers.into()), nodes - leaves)
            }
            Shape::Mesh => (leaves, Joined::Mesh, 0),
        };
        let number =
            |node: usize| u16::try_from(node).map_err(|_| format!("--layers: {node} nodes are too many"));
        let at = |federate: usize| number(first + federate / per_leaf);
        let pairs = partners.into_iter().map(|(a, b)| Ok((at(a)?, at(b)?))).collect::<Result<_, String>>()?;
        Ok(Self { shape, between, nodes: number(nodes)?, joined, pairs })
    }

    /// The number of connections that a message crosses, those of both federates included. `None` if
    /// it is not the same for all pairs.
    pub(super) fn links(&self) -> Option<usize> {
        let Between::Hops(hops) = self.between else { return None };
        Some(match self.shape {
            Shape::Tree => 2 + 2 * hops,
            Shape::Mesh => 2 + usize::from(hops > 0),
        })
    }

    pub(super) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The federation in which all pairs have this task.
    ///
    /// # Errors
    /// A number that is out of range.
    pub(super) fn federation(
        &self,
        task: Task,
        size: usize,
        hosts: HostModel,
        seed: Seed,
    ) -> Result<Federation, String> {
        let size_bytes = u32::try_from(size).unwrap_or(u32::MAX);
        let work = |(from, to): &(u16, u16)| Work { task, size_bytes, from: *from, to: vec![*to] };
        let federation = Federation {
            joined: self.joined.clone(),
            ..Federation::chain(self.nodes, hosts, self.pairs.iter().map(work).collect(), seed)
        };
        federation.check().map_err(|why| why.to_string())?;
        Ok(federation)
    }
}

/// The fan-outs of a tree with these layers.
fn fan_outs(layers: &[usize]) -> Result<Vec<usize>, String> {
    let above = std::iter::once(&1).chain(layers);
    let fan_out = |(above, below): (&usize, &usize)| match below % (*above).max(1) {
        0 => Ok(below / (*above).max(1)),
        _ => Err(format!(
            "--layers: {below} nodes cannot be spread evenly below {above}, so that hops are not the same for all"
        )),
    };
    above.zip(layers).map(fan_out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(shape: Shape, layers: &[usize], pairs: usize, between: Between) -> Result<Network, String> {
        Network::new(shape, layers, pairs, between, Seed(1))
    }

    #[test]
    fn the_papers_pairs_cross_as_many_links_as_its_table_says() {
        let links = |shape| {
            let of = |hops| network(shape, &[2, 4, 16], 48, Between::Hops(hops)).unwrap().links();
            [0, 1, 2, 3].map(of)
        };
        assert_eq!(links(Shape::Tree), [Some(2), Some(4), Some(6), Some(8)]);
        assert_eq!(links(Shape::Mesh), [Some(2), Some(3), Some(3), Some(3)]);
    }

    #[test]
    fn partners_are_at_leaves_that_are_far_enough_apart() {
        let tree = network(Shape::Tree, &[2, 4, 16], 48, Between::Hops(3)).unwrap();
        assert_eq!((tree.nodes, tree.pairs()), (23, 48));
        assert!(tree.pairs.iter().all(|(a, b)| (7..15).contains(a) && *b == a + 8), "{tree:?}");
        let mesh = network(Shape::Mesh, &[2, 4, 16], 48, Between::Hops(0)).unwrap();
        assert_eq!(mesh.nodes, 16);
        assert!(mesh.pairs.iter().all(|(a, b)| a == b && *a < 16), "{mesh:?}");
        let across = Between::Partners(Partners::Across);
        let tree = network(Shape::Tree, &[2, 5, 20], 50, across).unwrap();
        assert_eq!((tree.nodes, tree.pairs()), (28, 50));
        assert!(tree.pairs.iter().all(|(a, b)| (8..18).contains(a) && (18..28).contains(b)), "{tree:?}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        let say = |layers: &[usize], pairs, hops| {
            network(Shape::Tree, layers, pairs, Between::Hops(hops)).unwrap_err()
        };
        assert_eq!(say(&[], 1, 0), "--layers: a layer has one node or more");
        assert!(say(&[2, 5], 4, 1).contains("5 nodes cannot be spread evenly below 2"));
        assert_eq!(say(&[2, 4], 4, 3), "--hops 3: the number of hops must be from 0 to 2, not 3");
        assert!(say(&[3, 9], 9, 2).contains("must be even"), "{}", say(&[3, 9], 9, 2));
    }
}
