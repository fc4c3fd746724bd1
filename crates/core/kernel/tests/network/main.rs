//! Kernels that are nodes of one network, joined by hand: links are queues with a delay.

mod world;

use kernel::TopologyKind;
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
