//! Kernels that are nodes of one network, joined by hand: links are queues with a delay.

mod world;

use kernel::{LinkCounts, TopologyKind};
use std::time::Duration;
use world::World;

const KINDS: [TopologyKind; 4] =
    [TopologyKind::Tree, TopologyKind::Mesh, TopologyKind::Hypercube, TopologyKind::Graph];

#[test]
fn nodes_that_find_each_other_become_members_of_one_network() {
    for kind in KINDS {
        let mut world = World::new(kind);
        world.start("a", &[]);
        world.start("b", &["a"]);
        world.start("c", &["b"]);
        world.run(Duration::from_secs(5));
        world.expect_members(&["a", "b", "c"]);
        world.expect_silence(Duration::from_secs(20));
    }
}

#[test]
fn a_node_that_starts_before_the_one_it_joins_waits_for_it() {
    let mut world = World::new(TopologyKind::Tree);
    world.start("b", &["a"]);
    world.run(Duration::from_secs(3));
    assert!(!world.status("b").member);
    world.start("a", &[]);
    world.run(Duration::from_secs(10));
    world.expect_members(&["a", "b"]);
}

#[test]
fn the_network_survives_its_first_node() {
    let mut world = World::new(TopologyKind::Mesh);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["a"]), ("d", &["b"]), ("e", &["c"])] {
        world.start(name, joins);
        world.run(Duration::from_secs(4));
    }
    world.expect_members(&["a", "b", "c", "d", "e"]);
    world.crash("a");
    world.run(Duration::from_secs(10));
    world.expect_members(&["b", "c", "d", "e"]);
    // Started anew under its name it is another node, and may come back by any way.
    world.start("a", &["d"]);
    world.run(Duration::from_secs(10));
    world.expect_members(&["a", "b", "c", "d", "e"]);
}

#[test]
fn a_member_that_breaks_the_protocol_loses_its_link_and_may_come_back() {
    let frames: [(&[u8], bool); 8] = [
        (b"\x01\0", false),
        (b"\x01\xff\xff\xff\xff\xff\xff\xff\xff", false),
        (b"\x01GET / HTTP/1.1", false),
        (b"\0\x63", false),
        (b"", false),
        // Of a channel that is not in use here, and of groups that this node has not.
        (b"\x02\0", true),
        (b"\x03\x01", true),
        (b"\xfe", true),
    ];
    let mut world = World::new(TopologyKind::Tree);
    world.start("a", &[]);
    world.start("b", &["a"]);
    world.start("c", &["a"]);
    world.run(Duration::from_secs(5));
    let before = world.status("c");
    for (frame, lives) in frames {
        assert_eq!(world.say("b", "a", frame), lives, "{frame:?}");
        world.run(Duration::from_secs(5));
        world.expect_members(&["a", "b", "c"]);
    }
    let after = world.status("c");
    let keys = |status: &kernel::NetworkStatus| status.members.iter().map(|m| m.key).collect::<Vec<_>>();
    assert_eq!(keys(&before), keys(&after), "nobody was taken for dead");
}

#[test]
fn a_founder_that_starts_again_comes_back_into_its_network() {
    for kind in KINDS {
        // At once, and when the others call it less often.
        for down in [Duration::from_millis(20), Duration::from_secs(40)] {
            let mut world = World::new(kind);
            world.start("a", &[]);
            world.start("b", &["a"]);
            world.start("c", &["b"]);
            world.run(Duration::from_secs(5));
            world.expect_members(&["a", "b", "c"]);
            let network = world.status("b").network;
            world.crash("a");
            world.run(down);
            world.start("a", &[]);
            world.run(Duration::from_secs(12));
            world.expect_members(&["a", "b", "c"]);
            assert_eq!(world.status("a").network, network, "{kind:?}: the second one ended");
            world.expect_silence(Duration::from_secs(20));
        }
    }
}

#[test]
fn nodes_that_joined_the_second_network_of_a_founder_follow_it_back() {
    let mut world = World::new(TopologyKind::Tree);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["a"]), ("d", &["c"]), ("e", &["c"])] {
        world.start(name, joins);
        world.run(Duration::from_secs(2));
    }
    world.expect_members(&["a", "b", "c", "d", "e"]);
    let network = world.status("c").network;
    world.crash("a");
    world.crash("b");
    world.cut("c", true);
    world.run(Duration::from_millis(500));
    world.start("a", &[]);
    world.start("b", &["a"]);
    world.run(Duration::from_secs(3));
    world.expect_members(&["a", "b"]);
    let second = world.status("a").network;
    assert_ne!(second, network);
    world.cut("c", false);
    world.run(Duration::from_secs(40));
    world.expect_members(&["a", "b", "c", "d", "e"]);
    assert_eq!(world.status("a").network, network);
}

#[test]
fn a_network_that_lost_its_majority_with_its_founder_begins_anew_with_it() {
    let mut world = World::new(TopologyKind::Tree);
    world.start("a", &[]);
    world.start("b", &["a"]);
    world.run(Duration::from_secs(5));
    let network = world.status("b").network;
    world.crash("a");
    world.run(Duration::from_millis(500));
    world.start("a", &[]);
    world.run(Duration::from_secs(5));
    assert_eq!((world.status("b").network, world.status("b").member), (network, true), "it still hopes");
    assert!(world.status("a").member);
    let second = world.status("a").network;
    world.run(Duration::from_secs(15));
    world.expect_members(&["a", "b"]);
    assert_eq!(world.status("a").network, second, "nobody there was disturbed");
}

/// What is left of a network has no majority and lets nobody in. Who comes to it then does not wait for it for ever.
#[test]
fn who_is_let_in_by_nobody_looks_for_a_network_again() {
    let mut world = World::new(TopologyKind::Tree);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["b"])] {
        world.start(name, joins);
        world.run(Duration::from_secs(2));
    }
    world.expect_members(&["a", "b", "c"]);
    let network = world.status("c").network;
    world.crash("a");
    world.crash("b");
    world.start("d", &["c"]);
    world.run(Duration::from_secs(8));
    let [c, d] = ["c", "d"].map(|name| world.status(name));
    assert_eq!((c.member, c.network, d.member, d.network), (true, network, false, network), "it asks");
    world.crash("c");
    world.run(Duration::from_secs(20));
    assert_ne!(world.status("d").network, network, "it asks no longer");
    world.start("a", &[]);
    world.start("c", &["a"]);
    world.run(Duration::from_secs(12));
    world.expect_members(&["a", "c", "d"]);
}

#[test]
fn networks_of_different_founders_stay_apart() {
    let mut world = World::new(TopologyKind::Tree);
    world.start("a", &[]);
    world.start("b", &["a"]);
    world.start("x", &[]);
    world.run(Duration::from_secs(5));
    world.start("y", &["x", "b"]);
    world.run(Duration::from_secs(20));
    for (one, other) in [("a", "b"), ("x", "y")] {
        let [one, other] = [world.status(one), world.status(other)];
        assert_eq!((one.network, one.members.len()), (other.network, other.members.len()));
    }
    let networks = [world.status("a").network, world.status("x").network];
    assert_ne!(networks[0], networks[1]);
}

#[test]
fn a_node_leaves_in_order() {
    let mut world = World::new(TopologyKind::Tree);
    world.start("a", &[]);
    world.start("b", &["a"]);
    world.start("c", &["a"]);
    world.run(Duration::from_secs(5));
    world.leave("c");
    world.run(Duration::from_secs(1));
    assert!(world.has_left("c"));
    world.crash("c");
    world.run(Duration::from_secs(2));
    world.expect_members(&["a", "b"]);
    // The leader, too.
    world.leave("a");
    world.run(Duration::from_secs(2));
    assert!(world.has_left("a"));
    world.crash("a");
    world.run(Duration::from_secs(3));
    world.expect_members(&["b"]);
}

#[test]
fn who_was_cut_off_for_long_joins_again() {
    let mut world = World::new(TopologyKind::Tree);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["a"])] {
        world.start(name, joins);
    }
    world.run(Duration::from_secs(5));
    world.expect_members(&["a", "b", "c"]);
    world.cut("c", true);
    world.run(Duration::from_secs(20));
    world.expect_members(&["a", "b"]);
    assert!(!world.status("c").member, "it knows");
    world.cut("c", false);
    world.run(Duration::from_secs(15));
    world.expect_members(&["a", "b", "c"]);
}

#[test]
fn who_was_removed_while_cut_off_learns_it_when_it_is_back() {
    let mut world = World::new(TopologyKind::Tree);
    for (name, joins) in [("a", &[][..]), ("b", &["a"]), ("c", &["a"])] {
        world.start(name, joins);
    }
    world.run(Duration::from_secs(5));
    world.cut("c", true);
    world.run(Duration::from_secs(3));
    world.expect_members(&["a", "b"]);
    let before = world.status("c");
    assert!(before.member, "it does not know");
    world.cut("c", false);
    let is_linked =
        |world: &World| world.status("c").map.nodes.iter().any(|node| node.reachable && node.hops > 0);
    for _ in 0..1_000 {
        if world.status("c").key != before.key || is_linked(&world) {
            break;
        }
        world.run(Duration::from_millis(5));
    }
    world.run(Duration::from_millis(20));
    assert_ne!(world.status("c").key, before.key, "it has begun anew as soon as it was back");
    world.run(Duration::from_secs(6));
    world.expect_members(&["a", "b", "c"]);
}

#[test]
fn a_second_node_of_a_name_is_told_so() {
    let mut world = World::new(TopologyKind::Tree);
    world.start("a", &[]);
    world.start("b", &["a"]);
    world.run(Duration::from_secs(3));
    world.start_as("b2", "b", &["a"]);
    world.run(Duration::from_secs(8));
    world.expect_members(&["a", "b"]);
    assert!(!world.status("b2").member);
}

#[test]
fn a_node_that_is_told_nothing_takes_the_shape_of_the_network() {
    for kind in KINDS {
        let mut world = World::new(kind);
        world.start("a", &[]);
        world.start_anyhow("b", &["a"]);
        world.start_anyhow("c", &["b"]);
        world.run(Duration::from_secs(5));
        world.expect_members(&["a", "b", "c"]);
        assert_eq!(world.status("c").topology, kind);
    }
}

#[test]
fn all_learn_what_a_link_counts_but_not_time_and_again_that_it_is_alive() {
    let mut world = World::new(TopologyKind::Tree);
    world.start("a", &[]);
    world.start("b", &["a"]);
    world.start("c", &["a"]);
    world.run(Duration::from_secs(5));
    let counts = |second: u64| LinkCounts {
        sent_frames: 4 * second,
        sent_bytes: 300 * second,
        ..LinkCounts::default()
    };
    let mut told = None;
    for second in 1..20 {
        world.read_counters("b", counts(second));
        world.run(Duration::from_secs(1));
        if second == 8 {
            told = Some(world.told("c", "b"));
            assert_eq!(told.as_ref().map(|told| told.links.len()), Some(1));
        }
    }
    assert_eq!(Some(world.told("c", "b")), told, "a quiet network is silent");
    // The node itself knows better.
    let own = world.status("b");
    let (link, traffic) = own.traffic.first_key_value().expect("it has a link");
    assert_eq!(own.links[0].link, *link);
    assert_eq!(traffic.counts, counts(19));
    assert_eq!(traffic.rates.map(|rates| (rates.sent_frames, rates.sent_bytes)), Some((4.0, 300.0)));

    world.read_counters("b", LinkCounts { lost_datagrams: 3, late_datagrams: 2, ..counts(20) });
    world.run(Duration::from_secs(4));
    let links = world.told("c", "b").links;
    let datagrams = links[0].datagrams.clone().expect("a loss is told");
    assert_eq!((links[0].to.as_str(), datagrams.lost, datagrams.late), ("a", 3, 2));
    assert_eq!((links[0].sent_frames, links[0].sent_bytes_per_s), (80, 300.0));

    world.cut("b", true);
    world.run(Duration::from_secs(1));
    assert!(world.status("b").traffic.is_empty(), "a link that is gone counts nothing");
}
