//! Every connected graph of up to five nodes, with every single link flap.

mod common;

use base::Seed;
use common::{Failure, Net};
use overlay::{Config, TopologyKind};
use std::time::Duration;

fn redundant(_: usize, config: &mut Config) {
    config.redundancy = true;
    config.network = 7;
}

/// All connected graphs of `nodes` nodes, each node being another one.
fn connected_graphs(nodes: usize) -> Vec<Vec<(usize, usize)>> {
    let all: Vec<(usize, usize)> = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect();
    let graphs = (0..1u32 << all.len()).map(|bits| {
        let chosen = all.iter().enumerate().filter(|(i, _)| bits & (1 << i) != 0);
        chosen.map(|(_, edge)| *edge).collect::<Vec<_>>()
    });
    graphs.filter(|edges| is_connected(nodes, edges)).collect()
}

fn is_connected(nodes: usize, edges: &[(usize, usize)]) -> bool {
    let mut group: Vec<usize> = (0..nodes).collect();
    for _ in 0..nodes {
        for (a, b) in edges {
            let low = group[*a].min(group[*b]);
            group[*a] = low;
            group[*b] = low;
        }
    }
    group.iter().all(|g| *g == 0)
}

fn flap_every_link(nodes: usize, edges: &[(usize, usize)], seed: Seed) {
    let mut net = Net::graph(seed, TopologyKind::Graph, nodes, edges, redundant);
    net.run_for(Duration::from_secs(1));
    net.check_trees();
    for (i, (a, b)) in edges.iter().enumerate() {
        let failure = match seed.split_index(i as u64).0 % 4 {
            0 | 1 => Failure::Loud,
            2 => Failure::Silent,
            _ => Failure::OneWay,
        };
        net.cut(*a, *b, failure);
        net.run_for(Duration::from_secs(if failure == Failure::Loud { 1 } else { 6 }));
        net.check_trees();
        net.heal(*a, *b);
        net.run_for(Duration::from_secs(8));
        net.check_trees();
    }
    net.check_silence();
}

#[test]
fn every_graph_with_every_link_flap_converges_to_the_truth_and_is_silent() {
    let mut graphs = 0;
    for nodes in 1..=5 {
        for (i, edges) in connected_graphs(nodes).iter().enumerate() {
            flap_every_link(nodes, edges, Seed(nodes as u64).split_index(i as u64));
            graphs += 1;
        }
    }
    assert_eq!(graphs, 1 + 1 + 4 + 38 + 728);
}
