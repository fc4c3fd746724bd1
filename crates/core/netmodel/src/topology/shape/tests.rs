use super::*;
use crate::routing::ShortestPaths;
use crate::topology::Wire;
use crate::units::{Picos, Rate};

fn class(name: &str) -> LinkClass {
    LinkClass { name: name.to_owned(), rate: Rate::mbit(1_000), delay: Picos::ZERO, wire: Wire::default() }
}

/// Hosts, switches, cables between switches, and the longest shortest path between switches.
fn figures(shape: &Shape) -> (u32, u32, u32, Option<u16>) {
    let topology = shape.build(class("host"), class("cable")).unwrap();
    let between = (0..topology.links()).filter(|link| topology.is_between_switches(*link)).count() as u32;
    assert_eq!(between + 2 * topology.hosts(), topology.links());
    let paths = ShortestPaths::new(&topology).unwrap();
    (topology.hosts(), topology.switches(), between / 2, paths.diameter())
}

#[test]
fn counts_and_diameters_are_those_of_the_literature() {
    let fat = |ports| figures(&Shape::FatTree { ports });
    assert_eq!(fat(4), (16, 20, 32, Some(4)));
    assert_eq!(fat(8), (128, 80, 256, Some(4)));
    let dragonfly = Shape::Dragonfly { hosts_per_switch: 2, group: 4, global: 2 };
    assert_eq!(figures(&dragonfly), (72, 36, 9 * 6 + 36, Some(3)));
    assert_eq!(figures(&Shape::Star { hosts: 9 }), (9, 1, 0, Some(0)));
    assert_eq!(figures(&Shape::FullMesh { switches: 5, hosts_per_switch: 2 }), (10, 5, 10, Some(1)));
    let tree = Shape::Tree { fan_outs: vec![2, 2, 4], hosts_per_leaf: 6 };
    assert_eq!(figures(&tree), (96, 1 + 2 + 4 + 16, 22, Some(6)));
    let leaf_spine = Shape::LeafSpine { leaves: 4, spines: 3, hosts_per_leaf: 8 };
    assert_eq!(figures(&leaf_spine), (32, 7, 12, Some(2)));
    let torus = Torus { sides: vec![4, 5], hosts_per_switch: 1, wraps: true };
    assert_eq!(figures(&Shape::Torus(torus)), (20, 20, 40, Some(4)));
}

/// Every switch of a dragonfly has the required number of cables, and any two groups are joined
/// once.
#[test]
fn groups_of_a_dragonfly_are_joined_once() {
    let shape = Shape::Dragonfly { hosts_per_switch: 1, group: 3, global: 2 };
    let topology = shape.build(class("host"), class("cable")).unwrap();
    let hosts = topology.hosts();
    let mut joined = BTreeSet::new();
    for switch in 0..topology.switches() {
        let ends: Vec<u32> = topology.out_of(hosts + switch).map(|link| topology.to(link)).collect();
        assert_eq!(ends.len(), 1 + 2 + 2);
        for end in ends.into_iter().filter(|end| *end >= hosts) {
            let groups = (switch / 3, (end - hosts) / 3);
            assert!(groups.0 == groups.1 || joined.insert(groups));
        }
    }
    assert_eq!(joined.len(), 7 * 6);
}

#[test]
fn random_networks_are_regular_connected_and_repeat() {
    for (switches, degree) in [(20, 3), (51, 4), (100, 7)] {
        let shape = |seed| Shape::RandomRegular { switches, degree, hosts_per_switch: 2, seed: Seed(seed) };
        let (hosts, count, cables, diameter) = figures(&shape(1));
        assert_eq!((hosts, count, cables), (2 * switches, switches, switches * degree / 2));
        assert!(diameter.is_some_and(|diameter| diameter < 8), "{diameter:?}");
        let cables = |seed| random_regular(switches, degree, Seed(seed));
        assert_eq!(cables(1), cables(1));
        assert_ne!(cables(1), cables(2));
        let different: BTreeSet<(u32, u32)> = cables(1).into_iter().collect();
        assert_eq!(different.len(), cables(1).len());
        for switch in 0..switches {
            let own = different.iter().filter(|(a, b)| (*a == switch) != (*b == switch)).count();
            assert_eq!(own as u32, degree);
        }
    }
}

#[test]
fn impossible_numbers_are_told() {
    let say = |shape: Shape| shape.build(class("host"), class("cable")).unwrap_err().to_string();
    assert_eq!(say(Shape::FatTree { ports: 5 }), "the number of ports is 5; expected an even number");
    assert_eq!(say(Shape::Star { hosts: 0 }), "the number of hosts is 0; expected at least 1");
    let random =
        |switches, degree| say(Shape::RandomRegular { switches, degree, hosts_per_switch: 1, seed: Seed(1) });
    assert_eq!(random(4, 4), "the number of switches is 4; expected more than the cables of one");
    assert!(random(5, 3).contains("expected even"));
    assert!(say(Shape::FatTree { ports: 100_000 }).contains("too many"));
    assert!(say(Shape::Tree { fan_outs: vec![u32::MAX; 5], hosts_per_leaf: 1 }).contains("too many"));
    assert!(
        say(Shape::Dragonfly { hosts_per_switch: 9, group: u32::MAX, global: u32::MAX }).contains("too many")
    );
}

/// A triangle of switches with a host each, built by hand, behaves as the full mesh that it is.
#[test]
fn a_topology_may_be_built_by_a_program() {
    use crate::topology::{Builder, Built, TopologyError, Wire};
    use crate::units::{Picos, Rate};
    let class = || LinkClass {
        name: "any".to_owned(),
        rate: Rate::mbit(100),
        delay: Picos::from_micros(1),
        wire: Wire::default(),
    };
    let builder = || Builder::new(3, 3, 12, vec![class()]).unwrap();
    let mut whole = builder();
    for at in 0..3 {
        whole.cable(at, 3 + at, 0);
        whole.cable(3 + at, 3 + (at + 1) % 3, 0);
    }
    let built = Built::new(whole.build()).unwrap();
    let shape = Shape::Built(built.clone());
    assert_eq!((shape.parts(), shape.name()), ((3, 3, 12), "built"));
    assert_eq!(shape, Shape::Built(built));
    let topology = shape.build(class(), class()).unwrap();
    assert_eq!(crate::routing::ShortestPaths::new(&topology).unwrap().diameter(), Some(1));
    let wrong = |links: &[(u32, u32)]| {
        let mut builder = builder();
        links.iter().for_each(|(from, to)| builder.link(*from, *to, 0));
        Built::new(builder.build()).map(|_| ()).unwrap_err()
    };
    let none =
        TopologyError::Value { what: "the number of links of a host", value: 0, expected: "1, to a switch" };
    assert_eq!(wrong(&[]), none);
    assert_eq!(wrong(&[(0, 1)]).to_string(), "the link from node 0 to node 1 joins two hosts");
    let said = wrong(&[(0, 3), (1, 4), (2, 5)]).to_string();
    assert_eq!(said, "the link from node 0 to node 3 has none in the other direction");
}
