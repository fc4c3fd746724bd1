//! Nodes find each other, become members of one network, leave it, are cut off and come back.

mod network;
mod recovery;

use kernel::{LinkCounts, NetworkConfig, NetworkStatus, TopologyKind};
use network::Network;
use std::time::Duration;
use testkit::Kind;

const KINDS: [Kind; 4] = [Kind::Tree, Kind::Mesh, Kind::Hypercube, Kind::Graph];

#[test]
fn nodes_that_find_each_other_become_members_of_one_network() {
    for kind in KINDS {
        let mut network = Network::new(kind);
        network.start("a", &[]);
        network.start("b", &["a"]);
        network.start("c", &["b"]);
        network.run(Duration::from_secs(5));
        network.expect_members(&["a", "b", "c"]);
        network.expect_silence(&["a", "b", "c"], Duration::from_secs(20));
    }
}

#[test]
fn a_node_that_starts_before_the_one_it_joins_waits_for_it() {
    let mut network = Network::new(Kind::Tree);
    network.start("b", &["a"]);
    network.run(Duration::from_secs(3));
    assert!(!network.status("b").member);
    network.start("a", &[]);
    network.run(Duration::from_secs(10));
    network.expect_members(&["a", "b"]);
}

#[test]
fn the_network_survives_its_first_node() {
    let mut network = Network::new(Kind::Mesh);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["a"]), ("d", &["b"]), ("e", &["c"])] {
        network.start(name, joins);
        network.run(Duration::from_secs(4));
    }
    network.expect_members(&["a", "b", "c", "d", "e"]);
    network.crash("a");
    network.run(Duration::from_secs(10));
    network.expect_members(&["b", "c", "d", "e"]);
    // Restarted under its name it is another node, and may come back by any way.
    network.start("a", &["d"]);
    network.run(Duration::from_secs(10));
    network.expect_members(&["a", "b", "c", "d", "e"]);
}

#[test]
fn a_member_that_breaks_the_protocol_loses_its_link_and_may_come_back() {
    let frames: [(&[u8], bool); 8] = [
        (b"\x01\0", false),
        (b"\x01\xff\xff\xff\xff\xff\xff\xff\xff", false),
        (b"\x01GET / HTTP/1.1", false),
        (b"\0\x63", false),
        (b"", false),
        // Frames of a channel that is not in use here, and of groups that this node does not have.
        (b"\x02\0", true),
        (b"\x03\x01", true),
        (b"\xfe", true),
    ];
    let mut network = Network::new(Kind::Tree);
    network.start("a", &[]);
    network.start("b", &["a"]);
    network.start("c", &["a"]);
    network.run(Duration::from_secs(5));
    let before = network.status("c");
    for (frame, lives) in frames {
        assert_eq!(network.forge("b", "a", frame), lives, "{frame:?}");
        network.run(Duration::from_secs(5));
        network.expect_members(&["a", "b", "c"]);
    }
    let after = network.status("c");
    let keys = |status: &NetworkStatus| status.members.iter().map(|m| m.key).collect::<Vec<_>>();
    assert_eq!(keys(&before), keys(&after), "nobody was taken for dead");
}

/// The others have not had the time to give up the node, so all its pending proposals are decided
/// now.
#[test]
fn a_leader_that_was_cut_off_calls_nobody_dead() {
    let mut network = Network::new(Kind::Mesh);
    for (name, joins, timeout) in [("a", &[][..], 200), ("b", &["a"], 60_000), ("c", &["a", "b"], 60_000)] {
        network.start_with(name, joins, |config| config.node_timeout = Duration::from_millis(timeout));
        network.run(Duration::from_secs(2));
    }
    network.expect_members(&["a", "b", "c"]);
    let keys = |status: &NetworkStatus| status.members.iter().map(|m| m.key).collect::<Vec<_>>();
    let (leader, before) = (network.status("a").key, network.status("b"));
    assert!(before.members.iter().any(|member| member.leader && member.key == leader));
    network.cut("a", true);
    network.run(Duration::from_millis(500));
    network.cut("a", false);
    network.run(Duration::from_secs(10));
    network.expect_members(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        assert_eq!(keys(&network.status(name)), keys(&before), "nobody was taken for dead");
    }
}

#[test]
fn a_creator_that_starts_again_comes_back_into_its_network() {
    for kind in KINDS {
        // At once, and after the others have begun to call it less often.
        for down in [Duration::from_millis(20), Duration::from_secs(40)] {
            let mut network = Network::new(kind);
            network.start("a", &[]);
            network.start("b", &["a"]);
            network.start("c", &["b"]);
            network.run(Duration::from_secs(5));
            network.expect_members(&["a", "b", "c"]);
            let first = network.status("b").network;
            network.crash("a");
            network.run(down);
            network.start("a", &[]);
            network.run(Duration::from_secs(12));
            network.expect_members(&["a", "b", "c"]);
            assert_eq!(network.status("a").network, first, "{kind:?}: the second one ended");
            network.expect_silence(&["a", "b", "c"], Duration::from_secs(20));
        }
    }
}

#[test]
fn nodes_that_joined_the_second_network_of_a_creator_follow_it_back() {
    let mut network = Network::new(Kind::Tree);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["a"]), ("d", &["c"]), ("e", &["c"])] {
        network.start(name, joins);
        network.run(Duration::from_secs(2));
    }
    network.expect_members(&["a", "b", "c", "d", "e"]);
    let first = network.status("c").network;
    network.crash("a");
    network.crash("b");
    network.cut("c", true);
    network.run(Duration::from_millis(500));
    network.start("a", &[]);
    network.start("b", &["a"]);
    network.run(Duration::from_secs(3));
    network.expect_members(&["a", "b"]);
    let second = network.status("a").network;
    assert_ne!(second, first);
    network.cut("c", false);
    network.run(Duration::from_secs(40));
    network.expect_members(&["a", "b", "c", "d", "e"]);
    assert_eq!(network.status("a").network, first);
}

#[test]
fn a_network_that_lost_its_majority_with_its_creator_begins_anew_with_it() {
    let mut network = Network::new(Kind::Tree);
    network.start("a", &[]);
    network.start("b", &["a"]);
    network.run(Duration::from_secs(5));
    let first = network.status("b").network;
    network.crash("a");
    network.run(Duration::from_millis(500));
    network.start("a", &[]);
    network.run(Duration::from_secs(5));
    assert_eq!((network.status("b").network, network.status("b").member), (first, true), "it still hopes");
    assert!(network.status("a").member);
    let second = network.status("a").network;
    network.run(Duration::from_secs(15));
    network.expect_members(&["a", "b"]);
    assert_eq!(network.status("a").network, second, "nobody there was disturbed");
}

/// The rest of a network without a majority admits no node. A node that joins it does not wait
/// forever.
#[test]
fn a_node_that_nobody_admits_looks_for_a_network_again() {
    let mut network = Network::new(Kind::Tree);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["b"])] {
        network.start(name, joins);
        network.run(Duration::from_secs(2));
    }
    network.expect_members(&["a", "b", "c"]);
    let first = network.status("c").network;
    network.crash("a");
    network.crash("b");
    network.start("d", &["c"]);
    network.run(Duration::from_secs(8));
    let [c, d] = ["c", "d"].map(|name| network.status(name));
    assert_eq!((c.member, c.network, d.member, d.network), (true, first, false, first), "it asks");
    network.crash("c");
    network.run(Duration::from_secs(20));
    assert_ne!(network.status("d").network, first, "it asks no longer");
    network.start("a", &[]);
    network.start("c", &["a"]);
    network.run(Duration::from_secs(12));
    network.expect_members(&["a", "c", "d"]);
}

#[test]
fn networks_of_different_creators_stay_apart() {
    let mut network = Network::new(Kind::Tree);
    network.start("a", &[]);
    network.start("b", &["a"]);
    network.start("x", &[]);
    network.run(Duration::from_secs(5));
    network.start("y", &["x", "b"]);
    network.run(Duration::from_secs(20));
    for (one, other) in [("a", "b"), ("x", "y")] {
        let [one, other] = [network.status(one), network.status(other)];
        assert_eq!((one.network, one.members.len()), (other.network, other.members.len()));
    }
    let networks = [network.status("a").network, network.status("x").network];
    assert_ne!(networks[0], networks[1]);
}

#[test]
fn a_node_leaves_in_order() {
    let mut network = Network::new(Kind::Tree);
    network.start("a", &[]);
    network.start("b", &["a"]);
    network.start("c", &["a"]);
    network.run(Duration::from_secs(5));
    network.leave("c");
    network.run(Duration::from_secs(1));
    assert!(network.has_left("c"));
    network.crash("c");
    network.run(Duration::from_secs(2));
    network.expect_members(&["a", "b"]);
    // The leader leaves, too.
    network.leave("a");
    network.run(Duration::from_secs(2));
    assert!(network.has_left("a"));
    network.crash("a");
    network.run(Duration::from_secs(3));
    network.expect_members(&["b"]);
}

/// Each process ends as soon as its node has left: nothing answers in its place.
#[test]
fn nodes_that_are_stopped_at_once_all_leave() {
    let names = ["a", "b", "c", "d", "e"];
    for count in 2..=names.len() {
        for (first, pause) in (0..count).flat_map(|first| [0, 2, 9].map(|pause| (first, pause))) {
            let mut network = Network::new(Kind::Mesh);
            for (at, name) in names[..count].iter().enumerate() {
                network.start(name, &names[..at.min(1)]);
            }
            network.run(Duration::from_secs(6));
            network.expect_members(&names[..count]);
            let mut staying = names[..count].to_vec();
            staying.rotate_left(first);
            for name in staying.clone() {
                network.leave(name);
                network.run(Duration::from_millis(pause));
            }
            let end = network.now() + Duration::from_secs(2);
            while !staying.is_empty() {
                assert!(network.now() < end, "{staying:?} of {count} still wait: {first} {pause}");
                staying.retain(|name| {
                    let has_left = network.has_left(name);
                    if has_left {
                        network.crash(name);
                    }
                    !has_left
                });
                network.run(Duration::from_millis(1));
            }
        }
    }
}

#[test]
fn a_node_that_was_cut_off_for_long_joins_again() {
    let mut network = Network::new(Kind::Tree);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["a"])] {
        network.start(name, joins);
    }
    network.run(Duration::from_secs(5));
    network.expect_members(&["a", "b", "c"]);
    network.cut("c", true);
    network.run(Duration::from_secs(20));
    network.expect_members(&["a", "b"]);
    assert!(!network.status("c").member, "it knows");
    network.cut("c", false);
    network.run(Duration::from_secs(15));
    network.expect_members(&["a", "b", "c"]);
}

#[test]
fn a_node_removed_while_cut_off_learns_it_on_its_return() {
    let mut network = Network::new(Kind::Tree);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["a"])] {
        network.start(name, joins);
    }
    network.run(Duration::from_secs(5));
    network.cut("c", true);
    network.run(Duration::from_secs(3));
    network.expect_members(&["a", "b"]);
    let before = network.status("c");
    assert!(before.member, "it does not know");
    network.cut("c", false);
    let is_linked =
        |network: &Network| network.status("c").map.nodes.iter().any(|node| node.reachable && node.hops > 0);
    for _ in 0..1_000 {
        if network.status("c").key != before.key || is_linked(&network) {
            break;
        }
        network.run(Duration::from_millis(5));
    }
    network.run(Duration::from_millis(20));
    assert_ne!(network.status("c").key, before.key, "it has rejoined as soon as it was back");
    network.run(Duration::from_secs(6));
    network.expect_members(&["a", "b", "c"]);
}

#[test]
fn a_second_node_of_a_name_is_told_so() {
    let mut network = Network::new(Kind::Tree);
    network.start("a", &[]);
    network.start("b", &["a"]);
    network.run(Duration::from_secs(3));
    network.start_with("b2", &["a"], |config| "b".clone_into(&mut config.overlay.name));
    network.run(Duration::from_secs(8));
    network.expect_members(&["a", "b"]);
    assert!(!network.status("b2").member);
}

#[test]
fn a_node_that_is_told_nothing_takes_the_shape_of_the_network() {
    for kind in KINDS {
        let mut network = Network::new(kind);
        network.start("a", &[]);
        let notified_of_nothing = |config: &mut NetworkConfig| {
            config.any_shape = true;
            config.overlay.topology = TopologyKind::Tree;
            config.overlay.redundancy = false;
        };
        network.start_with("b", &["a"], notified_of_nothing);
        network.start_with("c", &["b"], notified_of_nothing);
        network.run(Duration::from_secs(5));
        network.expect_members(&["a", "b", "c"]);
        assert_eq!(network.status("c").topology, network.status("a").topology, "{kind:?}");
    }
}

#[test]
fn all_learn_what_a_link_counts_but_not_time_and_again_that_it_is_alive() {
    let mut network = Network::new(Kind::Tree);
    network.start("a", &[]);
    network.start("b", &["a"]);
    network.start("c", &["a"]);
    network.run(Duration::from_secs(5));
    let counts = |second: u64| LinkCounts {
        sent_frames: 4 * second,
        sent_bytes: 300 * second,
        ..LinkCounts::default()
    };
    let mut reported = None;
    for second in 1..20 {
        network.count_links("b", counts(second));
        network.run(Duration::from_secs(1));
        if second == 8 {
            reported = Some(network.summary("c", "b"));
            assert_eq!(reported.as_ref().map(|reported| reported.links.len()), Some(1));
        }
    }
    assert_eq!(Some(network.summary("c", "b")), reported, "a quiet network is silent");
    // The node itself has exact counts.
    let own = network.status("b");
    let (link, traffic) = own.traffic.first_key_value().expect("it has a link");
    assert_eq!(own.links[0].link, *link);
    assert_eq!(traffic.counts, counts(19));
    assert_eq!(traffic.rates.map(|rates| (rates.sent_frames, rates.sent_bytes)), Some((4.0, 300.0)));

    network.count_links("b", LinkCounts { lost_datagrams: 3, late_datagrams: 2, ..counts(20) });
    network.run(Duration::from_secs(4));
    let links = network.summary("c", "b").links;
    let datagrams = links[0].datagrams.clone().expect("a loss is told");
    assert_eq!((links[0].to.as_str(), datagrams.lost, datagrams.late), ("a", 3, 2));
    assert_eq!((links[0].sent_frames, links[0].sent_bytes_per_s), (80, 300.0));

    network.cut("b", true);
    network.run(Duration::from_secs(1));
    assert!(network.status("b").traffic.is_empty(), "a link that is gone counts nothing");
}
