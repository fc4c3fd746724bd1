//! Meshes and hypercubes: nodes learn of each other, and tunnels stand in for links.

mod common;

use base::Seed;
use bytes::Bytes;
use common::{Failure, Net, url};
use overlay::{Config, TopologyKind, Via};
use std::time::Duration;

fn plain(_: usize, config: &mut Config) {
    config.network = 7;
}

fn joiners(index: usize, config: &mut Config) {
    config.network = if index == 0 { 7 } else { 0 };
    config.limits.tunnel_bytes_max = 20_000;
}

fn mesh(nodes: usize, seed: Seed) -> Net {
    let mut net = Net::new(seed, joiners);
    for node in 0..nodes {
        // Each node knows one other node.
        let known =
            if node == 0 { vec![] } else { vec![url(seed.split_index(node as u64).0 as usize % node)] };
        net.add(TopologyKind::Mesh, known);
        if node % 2 == 0 {
            net.run_for(Duration::from_millis(20));
        }
    }
    net
}

#[test]
fn a_joiner_that_knows_one_node_is_linked_to_all() {
    for nodes in 2..9 {
        let mut net = mesh(nodes, Seed(nodes as u64));
        net.run_for(Duration::from_secs(2));
        net.check_mesh();
        for a in 0..nodes {
            assert_eq!(net.node(a).app.neighbours.len(), nodes - 1);
            assert_eq!(net.node(a).overlay.network(), 7, "adopted");
        }
        net.check_silence();
    }
}

#[test]
fn a_link_that_breaks_is_replaced_by_a_tunnel_and_comes_back() {
    for seed in 0..12 {
        let mut net = mesh(4, Seed(seed));
        net.run_for(Duration::from_secs(2));
        net.cut(1, 2, [Failure::Loud, Failure::Silent, Failure::OneWay][seed as usize % 3]);
        net.run_for(Duration::from_secs(4));
        net.check_mesh();
        let key = net.key(2);
        assert_eq!(net.node(1).app.sessions[&key].via, Via::Tunnel);
        // More frames than the window takes, all at once.
        for (index, other) in [(1, net.key(2)), (2, net.key(1))] {
            net.node_mut(index).app.want(other, 3_000);
            net.settle(index);
        }
        net.run_for(Duration::from_secs(3));
        net.check_mesh();
        // The path of the tunnel changes under it.
        net.node_mut(1).app.want(key, 3_200);
        net.settle(1);
        let through = net.node(1).overlay.map().nodes.iter().find(|n| n.key == key).and_then(|n| n.through);
        let through = net.index(through.expect("a path")).expect("alive");
        let sessions = net.node(1).app.opened;
        net.cut(1, through, Failure::Loud);
        net.run_for(Duration::from_secs(3));
        net.check_mesh();
        assert_eq!(net.node(1).app.sessions[&key].received, 3_000, "the tunnel stayed");
        assert_eq!(net.node(1).app.opened, sessions + 1, "but for the second cut no path was made again");
        net.heal(1, through);
        net.heal(1, 2);
        net.run_for(Duration::from_secs(8));
        net.check_mesh();
        assert_ne!(net.node(1).app.sessions[&key].via, Via::Tunnel);
        net.check_silence();
    }
}

#[test]
fn a_hypercube_tunnels_the_links_that_it_had() {
    let edges: Vec<(usize, usize)> =
        (0..8usize).flat_map(|a| (0..3).map(move |d| (a, a ^ (1 << d)))).filter(|(a, b)| a < b).collect();
    let mut net = Net::graph(Seed(5), TopologyKind::Hypercube, 8, &edges, plain);
    net.run_for(Duration::from_secs(1));
    for (a, b) in &edges {
        net.cut(*a, *b, Failure::Loud);
        net.run_for(Duration::from_secs(1));
        let (a, b) = (*a, *b);
        for index in 0..8 {
            assert_eq!(net.node(index).app.sessions.len(), 3, "the three dimensions of {index}");
        }
        let session = &net.node(a).app.sessions[&net.key(b)];
        assert_eq!((session.via, session.received), (Via::Tunnel, 3));
        assert!(session.initiator, "as of the link");
        net.check_unicast();
        net.heal(a, b);
        net.run_for(Duration::from_secs(8));
        assert!(net.node(a).app.sessions.values().all(|session| session.via != Via::Tunnel));
    }
    net.check_silence();
}

#[test]
fn both_connect_at_once_and_one_link_stays() {
    for seed in 0..200 {
        let mut net = Net::graph(Seed(seed), TopologyKind::Mesh, 2, &[(0, 1), (1, 0), (0, 1)], plain);
        net.run_for(Duration::from_secs(1));
        net.check_mesh();
        let (a, b) = (net.node(0).overlay.links(), net.node(1).overlay.links());
        assert_eq!((a.len(), b.len()), (1, 1), "seed {seed}: {a:?} {b:?}");
        assert_eq!((net.node(0).app.opened, net.node(1).app.opened), (1, 1), "no path was replaced");
        net.check_silence();
        net.cut(0, 1, Failure::Loud);
        net.run_for(Duration::from_secs(1));
        net.heal(0, 1);
        net.run_for(Duration::from_secs(7));
        net.check_mesh();
    }
}

/// Every node connects to the nodes after it, and awaits those before it.
fn planned(index: usize, config: &mut Config) {
    config.network = 7;
    for target in &mut config.targets {
        target.name = Some(target.url.replace('n', "NODE-"));
    }
    config.awaited = (0..index).map(|earlier| format!("NODE-{earlier}")).collect();
}

#[test]
fn a_link_that_is_planned_is_not_made_in_another_way() {
    for seed in 0..30 {
        let mut net = Net::new(Seed(seed), planned);
        net.cut(1, 2, Failure::Loud);
        for later in [vec![url(1), url(2)], vec![url(2)], vec![]] {
            net.add(TopologyKind::Mesh, later);
        }
        // Both learn of each other from the third node, and either may be the one with the larger
        // key.
        net.run_for(Duration::from_secs(5));
        let learned =
            |net: &Net| (0..3).any(|node| net.node(node).overlay.targets().iter().any(|t| t.learned));
        assert!(net.node(2).overlay.is_reachable(net.key(1)));
        assert!(!learned(&net), "seed {seed}");
        net.heal(1, 2);
        net.run_for(Duration::from_secs(7));
        net.check_mesh();
        assert!(!learned(&net));
        assert_eq!((net.node(1).overlay.links().len(), net.node(2).overlay.links().len()), (2, 2));
        // A node that is not in the plan is learned of, as ever.
        let joiner = net.add(TopologyKind::Mesh, vec![url(0)]);
        net.run_for(Duration::from_secs(3));
        assert_eq!(net.node(joiner).overlay.links().len(), 3);
    }
}

#[test]
fn a_leaving_node_is_not_looked_for() {
    for seed in 0..30 {
        let mut net = mesh(5, Seed(seed));
        net.run_for(Duration::from_secs(2));
        let (now, leaver) = (net.now, seed as usize % 4 + 1);
        let gone = net.key(leaver);
        let others: Vec<usize> = net.live().into_iter().filter(|index| *index != leaver).collect();
        // Its last words, one of them longer than a frame, are still in its queues.
        for (index, len) in others.iter().flat_map(|index| [(*index, 10), (*index, 50_000)]) {
            let (key, body) = (net.key(index), Bytes::from(vec![7; len]));
            net.node_mut(leaver).overlay.send(now, key, body, true).expect("reachable");
        }
        net.node_mut(leaver).overlay.leave(now);
        net.settle(leaver);
        net.run_for(Duration::from_millis(100));
        for index in others {
            let received = net.node(index).app.received.iter().filter(|(from, _)| *from == gone);
            assert_eq!(received.map(|(_, body)| body.len()).collect::<Vec<_>>(), [10, 50_000], "{seed}");
        }
        let _ = net.crash(leaver, Failure::Loud);
        net.run_for(Duration::from_millis(100));
        for index in net.live() {
            let node = net.node(index);
            assert!(!node.overlay.is_reachable(gone));
            let map = node.overlay.map();
            assert!(map.nodes.iter().any(|node| node.key == gone && node.leaving), "all know that it left");
            let targets = node.overlay.targets();
            assert!(targets.iter().all(|target| !target.learned || target.peer != Some(gone)), "{targets:?}");
        }
        net.run_for(Duration::from_secs(2));
        net.check_mesh();
    }
}

#[test]
fn a_crashed_node_that_comes_back_is_another_one() {
    for seed in 0..20 {
        let mut net = mesh(5, Seed(seed));
        net.run_for(Duration::from_secs(2));
        let (failure, old) = ([Failure::Loud, Failure::Silent][seed as usize % 2], net.key(3));
        let config = net.crash(3, failure);
        net.run_for(Duration::from_millis(50));
        net.restart(3, config);
        net.run_for(Duration::from_secs(9));
        net.check_mesh();
        assert_eq!(net.component(0).len(), 5);
        for index in 0..5 {
            let map = net.node(index).overlay.map();
            assert!(map.nodes.iter().all(|node| node.key != old), "its earlier start is forgotten");
        }
        net.check_silence();
    }
}
