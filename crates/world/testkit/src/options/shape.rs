//! The links between the nodes of a cluster.

use crate::draw::Draw;
use base::Seed;
use std::collections::BTreeSet;

/// A kind of topology.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// One node, without a network.
    Alone,
    /// A tree.
    Tree,
    /// Every node linked to every other one; most links are not configured but learned.
    Mesh,
    /// A hypercube.
    Hypercube,
    /// Any edges, loops included.
    Graph,
}

/// A link that one node initiates to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The node that initiates it, again if it breaks.
    pub from: usize,
    /// The node that accepts it.
    pub to: usize,
    /// Its dimension in a hypercube.
    pub rank: u8,
}

/// Nodes and the links between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The kind.
    pub kind: Kind,
    /// Number of nodes at the beginning. Node 0 begins the network.
    pub nodes: usize,
    /// The configured links.
    pub edges: Vec<Edge>,
}

impl Shape {
    /// One node, without a network.
    pub fn alone() -> Self {
        Self { kind: Kind::Alone, nodes: 1, edges: Vec::new() }
    }

    /// A tree in which every node but the first is linked to an earlier one.
    pub fn tree(nodes: usize, draw: &mut Draw) -> Self {
        let edges = (1..nodes).map(|from| edge(from, draw.below(from as u64) as usize)).collect();
        Self { kind: Kind::Tree, nodes, edges }
    }

    /// A mesh in which every node is configured with one or two others.
    pub fn mesh(nodes: usize, protected: usize) -> Self {
        let mut edges = Vec::new();
        for from in 0..nodes {
            let targets = BTreeSet::from([0, protected]);
            edges.extend(targets.into_iter().filter(|&to| to != from).map(|to| edge(from, to)));
        }
        Self { kind: Kind::Mesh, nodes, edges }
    }

    /// A hypercube of 2^`dimensions` nodes.
    pub fn hypercube(dimensions: u8) -> Self {
        let nodes = 1usize << dimensions;
        let mut edges = Vec::new();
        for from in 0..nodes {
            for rank in 0..dimensions {
                let to = from ^ (1 << rank);
                if to < from {
                    edges.push(Edge { from, to, rank });
                }
            }
        }
        Self { kind: Kind::Hypercube, nodes, edges }
    }

    /// A tree with additional edges.
    pub fn graph(nodes: usize, draw: &mut Draw) -> Self {
        let Self { mut edges, .. } = Self::tree(nodes, draw);
        for from in 0..nodes {
            for to in 0..from {
                let is_there = edges.iter().any(|e| (e.from, e.to) == (from, to));
                if !is_there && draw.chance(40) {
                    edges.push(edge(from, to));
                }
            }
        }
        Self { kind: Kind::Graph, nodes, edges }
    }

    /// Two rings through all nodes in different orders: four links a node, with redundancy.
    pub fn rings(nodes: usize, seed: Seed) -> Self {
        let mut order: Vec<usize> = (0..nodes).collect();
        let mut edges = BTreeSet::new();
        for _ in 0..2 {
            let next = order.iter().cycle().skip(1);
            let ring = order.iter().zip(next).map(|(&a, &b)| (a.min(b), a.max(b)));
            edges.extend(ring.filter(|(a, b)| a != b));
            order.sort_by_key(|node| seed.split("ring").split_index(*node as u64).0);
        }
        Self::of_edges(nodes, &edges.into_iter().collect::<Vec<_>>())
    }

    /// A graph with exactly these edges.
    pub fn of_edges(nodes: usize, edges: &[(usize, usize)]) -> Self {
        let edges = edges.iter().map(|&(a, b)| edge(a.max(b), a.min(b))).collect();
        Self { kind: Kind::Graph, nodes, edges }
    }

    /// Size of the largest connected part of the nodes without the nodes `gone`, without the links
    /// between `parted` and the others, and without the edges `cut`.
    pub fn largest_part(&self, gone: &BTreeSet<usize>, parted: &BTreeSet<usize>, cut: &[usize]) -> usize {
        let between = |a, b| {
            let all = self.edges.iter().enumerate();
            all.filter(move |(_, e)| (e.from, e.to) == (a, b) || (e.from, e.to) == (b, a))
        };
        let linked = |a: usize, b: usize| {
            parted.contains(&a) == parted.contains(&b)
                && match self.kind {
                    // A cut concerns the way between two nodes, whichever of them initiates the
                    // link; other pairs find each other.
                    Kind::Mesh => between(a, b).all(|(place, _)| !cut.contains(&place)),
                    _ => between(a, b).any(|(place, _)| !cut.contains(&place)),
                }
        };
        let mut left: BTreeSet<usize> = (0..self.nodes).filter(|node| !gone.contains(node)).collect();
        let mut largest = 0;
        while let Some(start) = left.pop_first() {
            let (mut part, mut reached) = (1, vec![start]);
            while let Some(at) = reached.pop() {
                let near: Vec<usize> = left.iter().copied().filter(|&other| linked(at, other)).collect();
                for other in near {
                    left.remove(&other);
                    reached.push(other);
                    part += 1;
                }
            }
            largest = largest.max(part);
        }
        largest
    }

    /// Whether the nodes stay connected without the edge at `place`.
    pub fn is_connected_without(&self, place: usize) -> bool {
        self.largest_part(&BTreeSet::new(), &BTreeSet::new(), &[place]) == self.nodes
    }

    /// Every connected graph with this number of nodes, once for each class of isomorphic graphs.
    pub fn connected_graphs(nodes: usize) -> Vec<Self> {
        let pairs: Vec<(usize, usize)> = (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let orders = permutations(nodes);
        let mut seen = BTreeSet::new();
        let mut graphs = Vec::new();
        for mask in 0u32..1 << pairs.len() {
            let edges: Vec<_> =
                pairs.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|(_, &pair)| pair).collect();
            let shape = Self::of_edges(nodes, &edges);
            if shape.largest_part(&BTreeSet::new(), &BTreeSet::new(), &[]) != nodes {
                continue;
            }
            let renamed = |order: &Vec<usize>| {
                let bit = |&(a, b): &(usize, usize)| {
                    let (a, b) = (order[a].max(order[b]), order[a].min(order[b]));
                    1u32 << (a * (a - 1) / 2 + b)
                };
                edges.iter().map(bit).sum::<u32>()
            };
            if seen.insert(orders.iter().map(renamed).min()) {
                graphs.push(shape);
            }
        }
        graphs
    }
}

fn edge(from: usize, to: usize) -> Edge {
    Edge { from, to, rank: 0 }
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(n - 1) {
        for place in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(place, n - 1);
            all.push(longer);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn connected_graphs_are_as_many_as_the_encyclopedia_says() {
        // OEIS A001349.
        let counts: Vec<usize> = (1..=5).map(|n| Shape::connected_graphs(n).len()).collect();
        assert_eq!(counts, [1, 1, 2, 6, 21]);
    }

    #[test]
    fn drawn_shapes_hang_together() {
        for seed in 0..50 {
            let mut draw = Draw::new(Seed(seed), "shape");
            for shape in [
                Shape::tree(6, &mut draw),
                Shape::graph(6, &mut draw),
                Shape::mesh(4, 2),
                Shape::hypercube(2),
            ] {
                let none = BTreeSet::new();
                assert_eq!(shape.largest_part(&none, &none, &[]), shape.nodes, "{shape:?}");
                let in_part = shape.largest_part(&BTreeSet::from([1]), &none, &[]);
                assert!(in_part < shape.nodes);
            }
        }
    }

    #[test]
    fn a_node_of_a_mesh_is_alone_when_all_its_ways_are_cut() {
        let (mesh, none) = (Shape::mesh(3, 1), BTreeSet::new());
        let cut: Vec<usize> =
            (0..mesh.edges.len()).filter(|&at| mesh.edges[at].from == 0 || mesh.edges[at].to == 0).collect();
        assert_eq!(mesh.largest_part(&none, &none, &cut[..1]), 3, "there is another way");
        assert_eq!(mesh.largest_part(&none, &none, &cut), 2);
        assert_eq!(mesh.largest_part(&BTreeSet::from([1]), &none, &cut), 1, "no majority is left");
    }

    #[test]
    fn rings_have_about_two_edges_a_node() {
        let rings = Shape::rings(50, Seed(1));
        assert!((90..=100).contains(&rings.edges.len()), "{}", rings.edges.len());
        assert!((0..rings.edges.len()).all(|place| rings.is_connected_without(place)));
    }

    #[test]
    fn every_edge_of_a_tree_is_a_bridge_and_none_of_a_ring() {
        let mut draw = Draw::new(Seed(3), "shape");
        let tree = Shape::tree(5, &mut draw);
        assert!((0..tree.edges.len()).all(|place| !tree.is_connected_without(place)));
        let ring = Shape::of_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        assert!((0..4).all(|place| ring.is_connected_without(place)));
    }
}
