//! Larger networks: the cost of a change, and their coming to rest.

mod common;

use base::{Moment, Seed};
use common::{Net, url};
use overlay::{Config, TopologyKind};
use std::time::Duration;

/// Nodes of the mesh.
const MESH: usize = 30;
/// Nodes of the sparse graph.
const GRAPH: usize = 150;

fn plain(_: usize, config: &mut Config) {
    config.network = 7;
}

#[test]
fn a_mesh_of_nodes_that_know_one() {
    let mut net = Net::new(Seed(1), plain);
    net.add(TopologyKind::Mesh, vec![]);
    for _ in 1..MESH {
        net.add(TopologyKind::Mesh, vec![url(0)]);
    }
    net.run_for(Duration::from_secs(3));
    for index in 0..MESH {
        assert_eq!(net.node(index).app.neighbours.len(), MESH - 1, "node {index}");
        assert_eq!(net.node(index).app.sessions.len(), MESH - 1, "node {index}");
    }
    let before = net.busy_frames;
    net.run_for(Duration::from_secs(2));
    assert_eq!(net.busy_frames, before, "silence");
}

#[test]
fn a_sparse_graph_is_told_of_a_change_once_over_each_link() {
    let seed = Seed(2);
    let nodes = GRAPH;
    let mut edges: Vec<(usize, usize)> =
        (1..nodes).map(|node| (node, seed.split_index(node as u64).0 as usize % node)).collect();
    // A tenth more links, for redundancy.
    for i in 0..GRAPH as u64 / 10 {
        let draw = |end: u64| seed.split("more").split_index(2 * i + end).0 as usize % nodes;
        let edge = (draw(0), draw(1));
        if edge.0 != edge.1 && !edges.contains(&edge) && !edges.contains(&(edge.1, edge.0)) {
            edges.push(edge);
        }
    }
    let redundant = |_: usize, config: &mut Config| {
        config.network = 7;
        config.redundancy = true;
    };
    let mut net = Net::graph(seed, TopologyKind::Graph, nodes, &edges, redundant);
    net.run_until(Moment::from_secs(3));
    for index in [0, 1, GRAPH / 2, GRAPH - 1] {
        assert_eq!(net.node(index).overlay.reachable().count(), nodes - 1);
    }
    let paths: usize = (0..nodes).map(|index| net.node(index).app.sessions.len()).sum();
    assert_eq!(paths, 2 * (nodes - 1), "one spanning tree");
    let before = net.busy_frames;
    net.run_for(Duration::from_secs(1));
    assert_eq!(net.busy_frames, before, "silence");
    // One more link: two announcements, each once over every link, in one direction or both.
    let target = overlay::Target { url: url(10), ..overlay::Target::default() };
    net.node_mut(GRAPH - 10).overlay.add_target(target).expect("sound");
    net.settle(GRAPH - 10);
    net.run_for(Duration::from_secs(1));
    let change = net.busy_frames - before;
    assert!(change <= 4 * edges.len() as u64 + 200, "{change}");
}
