//! Nodes that do not belong are refused with a sentence at both ends; the others keep running.

mod common;

use base::{NodeKey, Seed};
use common::{Net, url};
use overlay::{Config, Event, TopologyKind, Warning};
use std::time::Duration;

/// Two running nodes, and a third one that is set up by `tweak` and connects to the first.
fn third(tweak: fn(usize, &mut Config)) -> Net {
    let mut net = Net::new(Seed(9), tweak);
    net.add(TopologyKind::Tree, vec![]);
    net.add(TopologyKind::Tree, vec![url(0)]);
    net.run_for(Duration::from_secs(1));
    net.add(TopologyKind::Tree, vec![url(0)]);
    net.run_for(Duration::from_secs(1));
    net
}

/// The third node learned the reason, in the same words as the node that it called.
fn reported(net: &Net) -> String {
    assert_eq!(net.node(1).overlay.reachable().count(), 1, "the others keep running");
    assert_eq!(net.node(2).overlay.reachable().count(), 0);
    let own = net.node(2).app.refusals.iter().map(ToString::to_string);
    let of_peer = net.node(2).app.refused_by_peer.iter().map(|(_, text)| text.clone());
    let here: Vec<String> = own.chain(of_peer).collect();
    let there = net.node(0).app.refusals.iter().map(ToString::to_string);
    let there: Vec<String> =
        there.chain(net.node(0).app.refused_by_peer.iter().map(|t| t.1.clone())).collect();
    assert!(!here.is_empty() && there.contains(&here[0]), "{here:?} {there:?}");
    assert_eq!(
        net.node(2).overlay.targets()[0].last_error.as_deref().map(|e| e.contains(&here[0])),
        Some(true)
    );
    here[0].clone()
}

#[test]
fn another_network() {
    let net = third(|index, config| config.network = if index == 2 { 8 } else { 7 });
    let text = reported(&net);
    assert!(text.contains("0000000000000007") && text.contains("--join"), "{text}");
}

#[test]
fn no_network_is_no_obstacle_and_is_adopted() {
    let mut net = third(|index, config| config.network = if index == 0 { 7 } else { 0 });
    net.check_trees();
    for index in 1..3 {
        assert!(net.node(index).app.other.contains(&Event::NetworkAdopted { network: 7 }));
        assert_eq!(net.node(index).overlay.network(), 7);
    }
}

#[test]
fn a_network_that_is_created_late_reaches_all_and_two_do_not_mix() {
    let mut net = Net::new(Seed(1), |_, _| {});
    net.add(TopologyKind::Tree, vec![]);
    for index in 1..6 {
        net.add(TopologyKind::Tree, vec![url(index - 1)]);
    }
    net.run_for(Duration::from_secs(1));
    net.check_trees();
    for (index, network) in [(0, 1), (5, 2)] {
        let now = net.now;
        net.node_mut(index).overlay.set_network(now, network);
        net.settle(index);
    }
    net.run_for(Duration::from_secs(1));
    let networks: Vec<u64> = (0..6).map(|index| net.node(index).overlay.network()).collect();
    assert_eq!((networks[0], networks[5]), (1, 2));
    assert!(networks.is_sorted(), "{networks:?}");
    for index in 0..6 {
        let same = networks.iter().filter(|network| **network == networks[index]).count();
        assert_eq!(net.node(index).overlay.reachable().count(), same - 1);
    }
}

/// A node between two networks of which it has given up one takes part in the other, though it can
/// reach a node of the former first. Once the time is over, it takes what it finds.
#[test]
fn a_network_that_was_given_up_is_not_adopted_again_at_once() {
    for (other_comes_after, network) in [(Duration::from_secs(1), 7), (Duration::from_secs(20), 8)] {
        let mut net = Net::new(Seed(3), |index, config| config.network = [8, 0, 7][index]);
        net.add(TopologyKind::Tree, vec![]);
        net.add(TopologyKind::Tree, vec![url(0)]);
        let now = net.now;
        net.node_mut(1).overlay.avoid_network(now, 8);
        net.run_for(other_comes_after);
        net.add(TopologyKind::Tree, vec![url(1)]);
        net.run_for(Duration::from_secs(2));
        assert_eq!(net.node(1).overlay.network(), network);
        let texts: Vec<_> = net.node(1).app.refusals.iter().map(ToString::to_string).collect();
        assert!(texts[0].contains("yields to another one, which node NODE-1 looks for"), "{texts:?}");
    }
}

#[test]
fn two_nodes_with_one_name() {
    let net = third(|index, config| {
        config.network = 7;
        if index == 2 {
            config.name = "NODE-1".to_owned();
        }
    });
    assert!(reported(&net).contains("two nodes with the name NODE-1"));
}

#[test]
fn two_nodes_with_one_name_that_join_at_once() {
    for seed in 0..30 {
        let mut net = Net::new(Seed(seed), |index, config| {
            config.network = 7;
            if index == 4 {
                config.name = "NODE-3".to_owned();
            }
        });
        net.add(TopologyKind::Tree, vec![]);
        net.add(TopologyKind::Tree, vec![url(0)]);
        net.add(TopologyKind::Tree, vec![url(1)]);
        net.run_for(Duration::from_secs(1));
        net.add(TopologyKind::Tree, vec![url(0)]);
        net.add(TopologyKind::Tree, vec![url(2)]);
        net.run_for(Duration::from_secs(8));
        let winner = if net.key(3) < net.key(4) { 3 } else { 4 };
        let loser = 7 - winner;
        for index in [0, 1, 2, winner] {
            assert_eq!(net.node(index).overlay.reachable().count(), 3, "{index} keeps running");
            assert!(!net.node(index).overlay.is_reachable(net.key(loser)));
        }
        let holder = net.key(winner);
        assert!(net.node(loser).app.other.contains(&Event::NameTaken { holder }));
    }
}

#[test]
fn another_topology_or_redundancy() {
    let net = third(|index, config| {
        config.network = 7;
        if index == 2 {
            config.topology = TopologyKind::Mesh;
        }
    });
    assert!(reported(&net).contains("give all nodes the same topology"));
    let net = third(|index, config| {
        config.network = 7;
        config.redundancy = index == 2;
    });
    let text = reported(&net);
    assert!(text.contains("redundancy"), "{text}");
}

#[test]
fn another_node_than_expected_and_oneself() {
    let net = third(|index, config| {
        config.network = 7;
        if index == 2 {
            config.targets[0].name = Some("NORFOLK".to_owned());
        }
    });
    assert!(reported(&net).contains("at n0 is node NODE-0, not NORFOLK"));
    let mut net = Net::new(Seed(2), |_, _| {});
    net.add(TopologyKind::Mesh, vec![url(0)]);
    net.run_for(Duration::from_secs(1));
    let text = net.node(0).app.refusals[0].to_string();
    assert!(text.contains("back to itself"), "{text}");
    assert_eq!(net.node(0).app.neighbours.len(), 0);
}

#[test]
fn a_link_that_closes_a_loop() {
    let mut net = third(|_, config| config.network = 7);
    net.check_trees();
    let target = overlay::Target { url: url(1), ..overlay::Target::default() };
    net.node_mut(2).overlay.add_target(target).expect("sound");
    net.settle(2);
    net.run_for(Duration::from_secs(1));
    let text = net.node(2).app.refused_by_peer[0].1.clone();
    assert!(text.contains("NODE-1 and NODE-2 are connected by another path already"), "{text}");
    net.check_trees();
}

#[test]
fn clocks_and_topology_files_that_differ_are_worth_a_warning() {
    let mut net = third(|index, config| {
        config.network = 7;
        config.clock_millis = Some(if index == 2 { 1_000_000 } else { 1_005_000 });
        config.topology_digest = if index == 2 { 1 } else { 2 };
    });
    net.check_trees();
    let texts = |net: &Net, index: usize| -> Vec<String> {
        let warned = net.node(index).app.other.iter().filter_map(|event| match event {
            Event::Warned { warning, .. } => Some(warning),
            _ => None,
        });
        warned.map(Warning::to_string).collect()
    };
    assert!(texts(&net, 2)[1].contains("ms ahead of that of this node"), "{:?}", texts(&net, 2));
    assert!(texts(&net, 0)[1].contains("ms behind"), "{:?}", texts(&net, 0));
    assert!(texts(&net, 0)[0].contains("topology file"));
    assert_eq!(texts(&net, 1).len(), 0);
    assert_ne!(net.key(0), NodeKey(0));
}

#[test]
fn a_node_that_comes_with_another_time_is_told_by_how_much_and_the_others_go_on() {
    let mut net = Net::new(Seed(9), |index, config| {
        config.network = if index < 2 { 7 } else { 0 };
        config.clock_millis = Some(if index == 2 { 1_000_000_000 } else { 1_000_120_000 });
    });
    net.add(TopologyKind::Tree, vec![]);
    net.add(TopologyKind::Tree, vec![url(0)]);
    net.run_for(Duration::from_secs(1));
    net.add(TopologyKind::Tree, vec![url(0)]);
    net.run_for(Duration::from_secs(1));
    let (_, text) = net.node(2).app.refused_by_peer[0].clone();
    assert!(text.starts_with("the clock of node NODE-2 is 120"), "{text}");
    assert!(text.contains("ms behind that of node NODE-0, more than the 60000 ms that may be"), "{text}");
    assert_eq!(net.node(2).overlay.reachable().count(), 0);
    for index in [0, 1] {
        assert_eq!(net.node(index).overlay.reachable().count(), 1, "the others keep running");
        assert_eq!(net.node(index).app.neighbours.len(), 1);
    }
}

#[test]
fn a_name_that_is_not_proven() {
    for proven in [&["node-2"][..], &["NODE-9", "node-9.example"], &[]] {
        let mut net = Net::new(Seed(9), |_, config| config.network = 7);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        net.proven = [(0, names(&["NODE-0"])), (1, names(&["NODE-1"])), (2, names(proven))].into();
        net.add(TopologyKind::Tree, vec![]);
        net.add(TopologyKind::Tree, vec![url(0)]);
        net.add(TopologyKind::Tree, vec![url(0)]);
        net.run_for(Duration::from_secs(1));
        if proven == ["node-2"] {
            assert_eq!(net.node(2).overlay.reachable().count(), 2, "certificates do not know case");
            continue;
        }
        let text = reported(&net);
        assert!(text.contains("calls itself NODE-2 is for") && text.contains("not for NODE-2"), "{text}");
    }
}
