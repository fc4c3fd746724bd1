//! Links on demand: two nodes of a mesh link for their traffic and give the link up without it.

mod common;

use base::Seed;
use common::{Failure, Net, pair, url};
use overlay::{Config, ConfigError, OnDemand, Overlay, TopologyKind, Via};
use std::collections::BTreeSet;
use std::time::Duration;

/// Frames of a session have four bytes.
const SETTINGS: OnDemand = OnDemand {
    above: 400,
    below: 100,
    window: Duration::from_millis(500),
    windows: 1,
    idle_after: Duration::from_secs(3),
};

fn on_demand(_: usize, config: &mut Config) {
    config.network = 7;
    config.on_demand = Some(SETTINGS);
    config.limits.tunnel_bytes_max = 4_000;
}

/// Links end as soon as they are there: settings for which everything happens at once.
fn hasty(_: usize, config: &mut Config) {
    let window = Duration::from_millis(10);
    config.network = 7;
    config.on_demand =
        Some(OnDemand { above: 400, below: 400, window, windows: 1, idle_after: Duration::ZERO });
    config.limits.tunnel_bytes_max = 4_000;
}

/// A star: all nodes connect to the first one.
fn star(nodes: usize, seed: Seed) -> Net {
    star_of(nodes, seed, on_demand)
}

fn star_of(nodes: usize, seed: Seed, settings: fn(usize, &mut Config)) -> Net {
    let mut net = Net::new(seed, settings);
    for node in 0..nodes {
        net.add(TopologyKind::Mesh, if node == 0 { vec![] } else { vec![url(0)] });
    }
    net.run_for(Duration::from_secs(3));
    net
}

/// Lets `from` send `frames` more to `to`.
fn send(net: &mut Net, from: usize, to: usize, frames: u32) {
    let key = net.key(to);
    let wanted = net.node(from).app.sessions[&key].wanted + frames;
    net.node_mut(from).app.want(key, wanted);
    net.settle(from);
}

fn opened(net: &Net) -> u64 {
    net.live().into_iter().map(|index| net.node(index).app.opened).sum()
}

/// The pairs that have a link, as their ends see it.
fn linked(net: &Net) -> BTreeSet<(usize, usize)> {
    let of = |index: usize| {
        let keys = net.node(index).app.neighbours.keys().copied();
        keys.map(move |key| pair(index, net.index(key).expect("alive")))
    };
    net.live().into_iter().flat_map(of).collect()
}

#[test]
fn two_nodes_link_for_their_traffic_and_give_the_link_up_without_it() {
    for seed in 0..20 {
        let mut net = star(4, Seed(seed));
        let base = BTreeSet::from([(0, 1), (0, 2), (0, 3)]);
        assert_eq!(linked(&net), base);
        net.check_mesh();
        let before = opened(&net);
        // Less than the rate: the tunnel carries it.
        for _ in 0..20 {
            send(&mut net, 1, 2, 40);
            net.run_for(Duration::from_millis(500));
        }
        assert_eq!(linked(&net), base);
        // More than the rate, in one direction.
        for round in 0..20 {
            send(&mut net, 1, 2, 60);
            send(&mut net, 1, 3, 2);
            net.run_for(Duration::from_millis(500));
            let wanted = round < 8 || linked(&net) == BTreeSet::from([(0, 1), (0, 2), (0, 3), (1, 2)]);
            assert!(wanted, "seed {seed}, round {round}: {:?}", linked(&net));
        }
        net.check_mesh();
        let key = net.key(2);
        assert_ne!(net.node(1).app.sessions[&key].via, Via::Tunnel);
        assert_eq!([1, 2, 3].map(|index| net.node(index).app.moved), [1, 1, 0]);
        // Less than the first rate, but more than the second one: it stays.
        for _ in 0..20 {
            send(&mut net, 2, 1, 20);
            net.run_for(Duration::from_millis(500));
        }
        assert_eq!(linked(&net).len(), 4);
        // The traffic ends.
        net.run_for(Duration::from_secs(6));
        assert_eq!(linked(&net), base, "seed {seed}");
        net.check_mesh();
        send(&mut net, 1, 2, 10);
        net.run_for(Duration::from_secs(1));
        net.check_mesh();
        assert_eq!(opened(&net), before, "no path was made again");
        assert_eq!([1, 2, 3].map(|index| net.node(index).app.moved), [2, 2, 0]);
        assert!((0..4).all(|index| !net.node(index).overlay.targets().iter().any(|target| target.learned)));
        net.check_silence();
    }
}

/// Traffic ends while links are made for it, and before the paths of both ends have moved to them.
#[test]
fn a_link_that_is_given_up_at_once_loses_nothing_and_does_not_stay() {
    let mut moved = 0;
    for seed in 0..40 {
        let mut net = star_of(4, Seed(seed), hasty);
        net.delay = Duration::from_millis(15);
        let before = opened(&net);
        let draw = |step: u64| Seed(seed).split("traffic").split_index(step).0;
        for step in 0..60 {
            let random = draw(step);
            let (from, to) = (random as usize % 4, (random >> 8) as usize % 4);
            if from != to {
                send(&mut net, from, to, [3, 80, 400][(random >> 16) as usize % 3]);
            }
            net.run_for(Duration::from_millis([5, 40, 150][(random >> 24) as usize % 3]));
        }
        net.run_for(Duration::from_secs(5));
        net.check_mesh();
        assert_eq!(linked(&net), BTreeSet::from([(0, 1), (0, 2), (0, 3)]), "seed {seed}");
        assert_eq!(opened(&net), before, "seed {seed}: a path was made again");
        moved += (0..4).map(|index| net.node(index).app.moved).sum::<u64>();
    }
    assert!(moved >= 400, "paths moved {moved} times");
}

/// Traffic that swells and ebbs makes links come and go while frames are under way. All frames
/// arrive, in order and once: [`common::App`] checks each.
#[test]
fn nothing_is_lost_while_paths_move() {
    for seed in 0..60 {
        let mut net = star(5, Seed(seed));
        let before = opened(&net);
        let draw = |step: u64| Seed(seed).split("traffic").split_index(step).0;
        for step in 0..80 {
            let random = draw(step);
            let (from, to) = (random as usize % 5, (random >> 8) as usize % 5);
            if from != to {
                send(&mut net, from, to, [3, 80, 400][(random >> 16) as usize % 3]);
            }
            net.run_for(Duration::from_millis([20, 200, 900][(random >> 24) as usize % 3]));
        }
        let moved: u64 = (0..5).map(|index| net.node(index).app.moved).sum();
        assert!(moved >= 8, "seed {seed}: paths moved {moved} times");
        net.run_for(Duration::from_secs(8));
        net.check_mesh();
        assert_eq!(opened(&net), before, "seed {seed}: a path was made again");
        assert_eq!(linked(&net).len(), 4, "seed {seed}: only the base is left");
        net.check_silence();
    }
}

/// The same while links break. Paths are then made again; within each, frames keep their order.
#[test]
fn links_that_break_leave_all_with_paths() {
    for seed in 0..60 {
        let mut net = star(5, Seed(seed));
        let draw = |step: u64| Seed(seed).split("faults").split_index(step).0;
        for step in 0..60 {
            let random = draw(step);
            let (a, b) = (random as usize % 5, (random >> 8) as usize % 5);
            let known = net.node(a).app.sessions.contains_key(&net.key(b));
            if a != b && known && (random >> 16) % 3 > 0 {
                send(&mut net, a, b, [3, 80, 400][(random >> 20) as usize % 3]);
            } else if a != b && a != 0 && b != 0 {
                net.cut(a, b, [Failure::Loud, Failure::Silent, Failure::OneWay][(random >> 24) as usize % 3]);
            }
            if random >> 40 & 3 == 0 {
                (1..5).flat_map(|a| (1..a).map(move |b| (a, b))).for_each(|(a, b)| net.heal(a, b));
            }
            net.run_for(Duration::from_millis([20, 200, 900][(random >> 32) as usize % 3]));
        }
        (1..5).flat_map(|a| (1..a).map(move |b| (a, b))).for_each(|(a, b)| net.heal(a, b));
        net.run_for(Duration::from_secs(25));
        net.check_mesh();
        assert_eq!(linked(&net).len(), 4, "seed {seed}: only the base is left");
        net.check_silence();
    }
}

#[test]
fn without_the_way_over_others_nodes_link_and_keep_the_link() {
    for seed in 0..20 {
        let mut net = star(4, Seed(seed));
        for node in 1..4 {
            send(&mut net, node, node % 3 + 1, 5);
        }
        let failure = [Failure::Loud, Failure::Silent][seed as usize % 2];
        let config = net.crash(0, failure);
        net.run_for(Duration::from_secs(12));
        net.check_mesh();
        assert_eq!(net.component(1).len(), 3, "the three find each other without the first node");
        // Two of the three links suffice for all to reach all, and nobody gives up the last way.
        net.run_for(Duration::from_secs(30));
        net.check_mesh();
        assert_eq!(net.component(1).len(), 3);
        net.restart(0, config);
        net.run_for(Duration::from_secs(30));
        net.check_mesh();
        assert_eq!(net.component(0).len(), 4);
        let base = linked(&net).into_iter().filter(|(a, _)| *a == 0).count();
        assert_eq!((base, linked(&net).len()), (3, 3), "seed {seed}: the detours are given up");
        net.check_silence();
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let refused = |topology, settings| {
        let mut config = Config::new(base::NodeKey(1), "A", topology, Seed(1));
        config.on_demand = Some(settings);
        match Overlay::new(config) {
            Err(error @ ConfigError::OnDemand { .. }) => error.to_string(),
            other => panic!("accepted: {other:?}"),
        }
    };
    assert!(refused(TopologyKind::Tree, SETTINGS).contains("need a mesh (this network is a tree)"));
    assert!(refused(TopologyKind::Mesh, OnDemand { below: 401, ..SETTINGS }).contains("401 bytes/s"));
    let short = OnDemand { window: Duration::from_millis(9), ..SETTINGS };
    assert!(refused(TopologyKind::Mesh, short).contains("9ms"));
}
