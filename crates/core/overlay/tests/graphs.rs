//! Every connected graph of up to five nodes, with every single link flap.

mod common;

use base::Seed;
use common::{Failure, Net};
use overlay::{Config, Event, Refusal, TopologyKind};
use std::time::Duration;

fn redundant(_: usize, config: &mut Config) {
    config.redundancy = true;
    config.network = 7;
}

/// All connected graphs of `nodes` nodes. The nodes are distinct: isomorphic graphs count
/// separately.
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

/// Every `step`th graph of five nodes from `first` on.
fn five(first: usize, step: usize) {
    let graphs = connected_graphs(5);
    assert_eq!(graphs.len(), 728);
    for (i, edges) in graphs.iter().enumerate().skip(first).step_by(step) {
        flap_every_link(5, edges, Seed(5).split_index(i as u64));
    }
}

#[test]
fn every_graph_of_up_to_four_nodes_with_every_link_flap() {
    let mut counts = Vec::new();
    for nodes in 1..=4 {
        let graphs = connected_graphs(nodes);
        counts.push(graphs.len());
        for (i, edges) in graphs.iter().enumerate() {
            flap_every_link(nodes, edges, Seed(nodes as u64).split_index(i as u64));
        }
    }
    assert_eq!(counts, [1, 1, 4, 38]);
}

#[test]
fn every_graph_of_five_nodes_with_every_link_flap_first_half() {
    five(0, 2);
}

#[test]
fn every_graph_of_five_nodes_with_every_link_flap_second_half() {
    five(1, 2);
}

#[test]
fn a_ring_without_redundancy_loses_one_link_and_says_why() {
    for seed in 0..30 {
        for nodes in 3..6 {
            let ring: Vec<(usize, usize)> = (0..nodes).map(|a| (a, (a + 1) % nodes)).collect();
            let plain = |_: usize, config: &mut Config| config.network = 7;
            let mut net = Net::graph(Seed(seed), TopologyKind::Graph, nodes, &ring, plain);
            net.run_for(Duration::from_secs(4));
            for index in 0..nodes {
                assert_eq!(net.node(index).overlay.reachable().count(), nodes - 1, "the others keep running");
            }
            let paths: usize = (0..nodes).map(|index| net.node(index).app.sessions.len()).sum();
            assert_eq!(paths, 2 * (nodes - 1), "what is left is a tree");
            let reported = (0..nodes).flat_map(|index| &net.node(index).app.refusals);
            let cycles = reported.filter(|refusal| matches!(refusal, Refusal::Cycle { .. })).count();
            assert!(cycles > 0, "somebody says so");
        }
    }
}

#[test]
fn a_tree_needs_no_redundancy_and_survives_flaps() {
    for seed in 0..40u64 {
        let parent = |node: usize| Seed(seed).split_index(node as u64).0 as usize % node;
        let edges: Vec<(usize, usize)> = (1..12).map(|node| (node, parent(node))).collect();
        let plain = |_: usize, config: &mut Config| config.network = 7;
        let mut net = Net::graph(Seed(seed), TopologyKind::Tree, 12, &edges, plain);
        net.run_for(Duration::from_secs(1));
        net.check_trees();
        let (a, b) = edges[seed as usize % 11];
        net.cut(a, b, [Failure::Loud, Failure::Silent, Failure::OneWay][seed as usize % 3]);
        net.run_for(Duration::from_secs(6));
        net.check_trees();
        net.heal(a, b);
        net.run_for(Duration::from_secs(8));
        net.check_trees();
        assert!((0..12).all(|index| net.node(index).app.refusals.is_empty()));
        net.check_silence();
    }
}

/// Messages of a node may be lost with a link between two others, while all nodes stay within reach.
#[test]
fn nodes_learn_of_lost_links_between_others() {
    let mut net = Net::graph(Seed(2), TopologyKind::Graph, 4, &[(0, 1), (1, 2), (2, 3), (3, 0)], redundant);
    let told =
        |net: &Net| net.node(0).app.other.iter().filter(|event| **event == Event::RoutesChanged).count();
    net.run_for(Duration::from_secs(5));
    assert_eq!(told(&net), 0);
    net.cut(1, 2, Failure::Loud);
    net.run_for(Duration::from_secs(1));
    assert_eq!(told(&net), 1);
    net.heal(1, 2);
    net.run_for(Duration::from_secs(5));
    assert_eq!(told(&net), 1, "the link is back, and nothing is lost by that");
}

/// How long a link between nodes 0 and 1 lasts from now on, when nothing passes from now on.
fn silence(net: &mut Net) -> Duration {
    let (start, before) = (net.now, net.node(0).overlay.stats().silent_links);
    net.cut(0, 1, Failure::Silent);
    while net.node(0).overlay.stats().silent_links == before {
        net.run_for(Duration::from_millis(10));
    }
    net.now - start
}

/// Heals the way between nodes 0 and 1, and waits until a link is there.
fn link(net: &mut Net) {
    net.heal(0, 1);
    let other = net.key(1);
    while !net.node(0).app.neighbours.contains_key(&other) {
        net.run_for(Duration::from_millis(10));
    }
}

/// The first frames of a link may need longer than the silence that it may keep: links that replace it would
/// fall silent for ever.
#[test]
fn each_link_that_is_silent_before_it_is_steady_gives_the_next_one_more_time() {
    let mut net = Net::graph(Seed(1), TopologyKind::Graph, 2, &[(0, 1)], |_, config| {
        config.network = 7;
        config.timing.silence_max = Duration::from_millis(800);
    });
    let about = |waits: Duration, times: u32| {
        let expected = Duration::from_millis(800) * times;
        assert!(
            expected.abs_diff(waits) < Duration::from_millis(100),
            "{waits:?} instead of {expected:?}, {times} times the usual silence"
        );
    };
    for times in [1, 2, 4, 4] {
        link(&mut net);
        about(silence(&mut net), times);
    }
    // A link that was steady shows that the way is as fast as it was.
    link(&mut net);
    net.run_for(Duration::from_secs(5));
    silence(&mut net);
    link(&mut net);
    about(silence(&mut net), 1);
}
