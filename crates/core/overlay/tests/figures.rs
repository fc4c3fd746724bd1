//! The costs for many nodes of finding each other, losing a link or a node, and taking in one more,
//! counted in messages and octets and timed on the clock of the simulation.
//!
//! `cargo test --release -p meshrti-overlay --test figures -- --ignored --nocapture` prints the
//! table of large networks.
#![allow(clippy::print_stdout, reason = "the table is for people")]

mod common;

use base::Seed;
use common::{Failure, Net, url};
use overlay::{Config, TopologyKind};
use std::collections::BTreeSet;
use std::time::Duration;

/// Longer than any change may take.
const CALM: Duration = Duration::from_secs(8);

fn member(_: usize, config: &mut Config) {
    config.network = 7;
    config.redundancy = config.topology == TopologyKind::Graph;
}

/// A random tree, and one more edge for every ten nodes.
fn tree_and_more(nodes: usize, seed: Seed) -> Vec<(usize, usize)> {
    let mut edges: Vec<(usize, usize)> =
        (1..nodes).map(|node| (node, seed.split_index(node as u64).0 as usize % node)).collect();
    let mut known: BTreeSet<_> = edges.iter().map(|&(a, b)| common::pair(a, b)).collect();
    for i in 0..nodes as u64 / 10 {
        let draw = |end: u64| seed.split("more").split_index(2 * i + end).0 as usize % nodes;
        let (a, b) = (draw(0), draw(1));
        if a != b && known.insert(common::pair(a, b)) {
            edges.push((a, b));
        }
    }
    edges
}

/// A ring, and a second one through the same nodes in another order: every node has four links.
fn two_rings(nodes: usize, seed: Seed) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..nodes).collect();
    order.sort_by_key(|node| seed.split("ring").split_index(*node as u64).0);
    let first = (0..nodes).map(|i| common::pair(i, (i + 1) % nodes));
    let second = (0..nodes).map(|i| common::pair(order[i], order[(i + 1) % nodes]));
    first.chain(second).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The cost of one change, for all nodes together.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// From the change to the last message.
    time: Duration,
    frames: u64,
    bytes: u64,
    announcements: u64,
    computations: u64,
}

struct Run {
    net: Net,
    name: String,
}

/// The cost of every kind of change.
struct Costs {
    start: Cost,
    link_lost: Cost,
    node_lost: Cost,
    join: Cost,
}

impl Run {
    fn mesh(nodes: usize) -> Self {
        let mut net = Net::new(Seed(1), member);
        net.add(TopologyKind::Mesh, vec![]);
        for _ in 1..nodes {
            net.add(TopologyKind::Mesh, vec![url(0)]);
        }
        Self { net, name: format!("full mesh of {nodes}") }
    }

    fn graph(name: &str, nodes: usize, edges: &[(usize, usize)]) -> Self {
        let net = Net::graph(Seed(2), TopologyKind::Graph, nodes, edges, member);
        Self { net, name: format!("{name} of {nodes}") }
    }

    /// Announcements and computations of all live nodes.
    fn count(&self) -> [u64; 2] {
        let stats = self.net.live().into_iter().map(|index| self.net.node(index).overlay.stats());
        stats.fold([0, 0], |[reported, computed], s| [reported + s.announcements, computed + s.computations])
    }

    /// Does something, waits for calm, and notes the cost.
    fn step(&mut self, happening: &'static str, act: impl FnOnce(&mut Net)) -> Cost {
        let (start, frames, bytes) = (self.net.now, self.net.busy_frames, self.net.busy_bytes);
        let before = self.count();
        act(&mut self.net);
        self.net.run_for(CALM);
        let net = &self.net;
        let after = self.count();
        let more = |i: usize| after[i].saturating_sub(before[i]);
        let cost = Cost {
            time: net.busy_last.since(start),
            frames: net.busy_frames - frames,
            bytes: net.busy_bytes - bytes,
            announcements: more(0),
            computations: more(1),
        };
        // A lost node may cut off others that had no other way.
        let nodes = net.component(0);
        for &index in &nodes {
            assert_eq!(
                net.node(index).overlay.reachable().count(),
                nodes.len() - 1,
                "{happening}: node {index}"
            );
        }
        let Cost { time, frames, bytes, announcements, computations } = cost;
        println!(
            "| {} | {happening} | {} | {frames} | {} | {announcements} | {:.1} |",
            self.name,
            time.as_millis(),
            bytes / nodes.len() as u64,
            computations as f64 / nodes.len() as f64,
        );
        cost
    }

    /// All changes that happen to a network, one after the other.
    fn whole(mut self, lost: (usize, usize), kind: TopologyKind) -> Costs {
        println!(
            "| network | change | ms | messages | octets per node | announcements | computations per node |"
        );
        let start = self.step("start", |_| {});
        let link_lost = self.step("a link lost", |net| net.cut(lost.0, lost.1, Failure::Loud));
        self.step("the link back", |net| net.heal(lost.0, lost.1));
        let node_lost = self.step("a node lost", |net| drop(net.crash(lost.0, Failure::Loud)));
        let join = self.step("a node joins", |net| {
            net.add(kind, vec![url(1)]);
        });
        let silence = self.step("nothing", |_| {});
        assert_eq!(silence.frames, 0, "{}: silence but for keep-alives", self.name);
        Costs { start, link_lost, node_lost, join }
    }
}

/// A full mesh: a change costs each of its nodes one message to each other node, and nothing is
/// passed on.
fn check_mesh(nodes: usize) {
    let costs = Run::mesh(nodes).whole((5, 6), TopologyKind::Mesh);
    let n = nodes as u64;
    // An entry names all nodes, with 12 octets each, and itself.
    let entry = 12 * n + 150;
    // Two announcements, and entries passed on to nodes that the announcer does not send them to.
    assert!(costs.link_lost.frames <= 5 * n, "{:?}", costs.link_lost);
    // Every node has news for every other one.
    assert!(costs.node_lost.bytes <= 2 * n * n * entry, "{:?}", costs.node_lost);
    assert!(costs.join.bytes <= 3 * n * n * entry, "{:?}", costs.join);
    // Greetings, summaries and paths of n (n - 1) / 2 links, and two announcements of each node.
    assert!(costs.start.frames <= 8 * n * n, "{:?}", costs.start);
    assert!(costs.start.bytes <= 4 * n * n * entry, "{:?}", costs.start);
    assert!(costs.start.computations <= 6 * n, "{:?}", costs.start);
    for cost in [costs.start, costs.link_lost, costs.node_lost, costs.join] {
        assert!(cost.time < Duration::from_millis(500), "{cost:?}");
    }
}

/// A sparse graph: a change is announced once over each link, in one direction or both.
fn check_graph(name: &str, nodes: usize, edges: &[(usize, usize)], lost: (usize, usize)) {
    let costs = Run::graph(name, nodes, edges).whole(lost, TopologyKind::Graph);
    let (n, e) = (nodes as u64, edges.len() as u64);
    assert!(costs.link_lost.frames <= 4 * e + 100, "{:?}", costs.link_lost);
    assert!(costs.node_lost.frames <= 2 * 8 * e + 100, "{:?}", costs.node_lost);
    assert!(costs.join.frames <= 2 * 4 * e + 100, "{:?}", costs.join);
    // Each node announces itself twice: alone, and with its neighbours.
    assert!(costs.start.announcements <= 3 * n, "{:?}", costs.start);
    assert!(costs.start.bytes <= 4 * n * e * 100, "{:?}", costs.start);
    assert!(costs.start.computations <= 15 * n, "{:?}", costs.start);
    for cost in [costs.start, costs.link_lost, costs.node_lost, costs.join] {
        assert!(cost.time < Duration::from_secs(1), "{cost:?}");
    }
}

fn check_graphs(nodes: usize) {
    let edges = tree_and_more(nodes, Seed(2));
    let extra = *edges.last().expect("there are edges");
    check_graph("tree and a tenth", nodes, &edges, extra);
    let edges = two_rings(nodes, Seed(2));
    check_graph("four links each", nodes, &edges, edges[10]);
}

#[test]
fn a_full_mesh_of_a_hundred() {
    check_mesh(100);
}

#[test]
fn sparse_graphs() {
    check_graphs(200);
}

#[test]
#[ignore = "takes minutes; run it in a release build for the figures of the documentation"]
fn large_networks() {
    check_mesh(100);
    check_graphs(1_000);
}
