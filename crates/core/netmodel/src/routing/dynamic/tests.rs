use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::Seed;
use proptest::prelude::*;

use super::*;
use crate::arrivals::{Gaps, below};
use crate::fluid::Sharing;
use crate::fluid::lanes::Subqueue;
use crate::pattern::Pattern;
use crate::simulation::{Model, Outcome, PacketModel};
use crate::sizes::Sizes;
use crate::study::network::{Load, Network, NetworkError, set_up};
use crate::topology::{Detour, Line, LinkClass, Shape, Site, Torus, Wan, Wire};
use crate::units::Rate;

fn class(name: &str) -> LinkClass {
    LinkClass {
        name: name.to_owned(),
        rate: Rate::mbit(1_000),
        delay: Picos::from_micros(1),
        wire: Wire::default(),
    }
}

fn built(shape: &Shape) -> Topology {
    shape.build(class("host"), class("cable")).unwrap()
}

fn micros(us: u64) -> Picos {
    Picos::from_micros(us)
}

/// The number of links on the shortest path between two switches over links that work.
fn distance(topology: &Topology, works: &BTreeSet<u32>, from: u32, to: u32) -> Option<usize> {
    let (mut known, mut due) = (BTreeMap::from([(from, 0)]), VecDeque::from([from]));
    while let Some(switch) = due.pop_front() {
        for link in topology.out_of(switch).filter(|link| works.contains(link)) {
            let next = topology.to(link);
            if next >= topology.hosts() && !known.contains_key(&next) {
                known.insert(next, known[&switch] + 1);
                due.push_back(next);
            }
        }
    }
    known.get(&to).copied()
}

/// The switches that a path passes, after a check that it leads from one host to another.
fn switches(topology: &Topology, path: &[u32], source: u32, destination: u32) -> Vec<u32> {
    let mut node = source;
    let mut passed = Vec::new();
    for link in path {
        assert_eq!(topology.from(*link), node);
        node = topology.to(*link);
        passed.push(node);
    }
    assert_eq!((passed.pop(), node), (Some(destination), destination));
    passed
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::FatTree { ports: 4 }),
        Just(Shape::LeafSpine { leaves: 4, spines: 3, hosts_per_leaf: 2 }),
        Just(Shape::Dragonfly { hosts_per_switch: 1, group: 3, global: 1 }),
        Just(Shape::Torus(Torus { sides: vec![4, 3], hosts_per_switch: 1, wraps: true })),
        Just(Shape::Torus(Torus { sides: vec![3, 3], hosts_per_switch: 2, wraps: false })),
        (0_u64..1_000).prop_map(|seed| Shape::RandomRegular {
            switches: 10,
            degree: 3,
            hosts_per_switch: 1,
            seed: Seed(seed)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With any failures, under any load: a path has no switch twice, is as short as can be over the
    /// links that are known to work, and there is one if there can be one.
    #[test]
    fn paths_have_no_loops_and_are_minimal(
        shape in shapes(),
        draws in 0_u64..1_000_000,
        faults in 0_usize..8,
        is_adaptive in any::<bool>(),
    ) {
        let topology = built(&shape);
        let hosts = topology.hosts();
        let cables: Vec<(u32, u32)> = (0..topology.links())
            .filter(|link| topology.is_between_switches(*link))
            .map(|link| (topology.from(link) - hosts, topology.to(link) - hosts))
            .collect();
        let mut stream = Seed(draws).rng();
        let fault = |_| {
            let between = cables[below(&mut stream, cables.len() as u32) as usize];
            let from = u64::from(below(&mut stream, 50));
            Fault { between, from: micros(from), until: micros(from + 1 + u64::from(below(&mut stream, 50))) }
        };
        let faults: Vec<Fault> = (0..faults).map(fault).collect();
        let rule = if is_adaptive { Rule::Adaptive } else { Rule::Shortest };
        let routing = Routing { rule, detection: Picos::ZERO, faults };
        let given = Routes::Shortest(ShortestPaths::new(&topology).unwrap());
        let mut routes = DynamicRoutes::new(&routing, &topology, given).unwrap();
        let mut ended = 0;
        for at in 0..100 {
            let now = micros(at);
            let works: BTreeSet<u32> = (0..topology.links())
                .filter(|link| {
                    let ends = (topology.from(*link), topology.to(*link));
                    let fails = |fault: &Fault| {
                        let (a, b) = (fault.between.0 + hosts, fault.between.1 + hosts);
                        (ends == (a, b) || ends == (b, a)) && fault.from <= now && now < fault.until
                    };
                    !routing.faults.iter().any(fails)
                })
                .collect();
            let source = below(&mut stream, hosts);
            let destination = (source + 1 + below(&mut stream, hosts - 1)) % hosts;
            let mut path = Vec::new();
            routes.path(&topology, now, (source, destination, 100), &mut path);
            let ends = [source, destination].map(|host| topology.to(topology.out_of(host).start));
            match distance(&topology, &works, ends[0], ends[1]) {
                None => prop_assert!(path.is_empty()),
                Some(least) => {
                    let passed = switches(&topology, &path, source, destination);
                    let different: BTreeSet<&u32> = passed.iter().collect();
                    prop_assert_eq!(different.len(), passed.len(), "a loop");
                    prop_assert_eq!(passed.len(), least + 1, "a detour");
                    prop_assert!(path.iter().all(|link| works.contains(link)));
                }
            }
            if below(&mut stream, 3) > 0 {
                routes.ended(ended);
                ended += 1;
            }
        }
        (ended..100).for_each(|number| routes.ended(number));
        prop_assert!(routes.load.iter().all(|load| *load == 0) && routes.under_way.is_empty());
    }

    /// In trees, fat trees and leaf-spine networks without failures, paths go up and then down, so
    /// that full ports cannot wait for each other in a circle.
    #[test]
    fn in_fat_trees_paths_go_up_then_down(source in 0_u32..16, step in 1_u32..16, load in 0_u64..1_000) {
        let topology = built(&Shape::FatTree { ports: 4 });
        let routing = Routing { rule: Rule::Adaptive, ..Routing::default() };
        let given = Routes::Shortest(ShortestPaths::new(&topology).unwrap());
        let mut routes = DynamicRoutes::new(&routing, &topology, given).unwrap();
        let mut stream = Seed(load).rng();
        for bytes in &mut routes.load {
            *bytes = u64::from(below(&mut stream, 10));
        }
        let (destination, mut path) = ((source + step) % 16, Vec::new());
        routes.path(&topology, Picos::ZERO, (source, destination, 1), &mut path);
        // Eight edge switches, eight above them, four cores.
        let level = |switch: &u32| (switch - 16) / 8;
        let levels: Vec<u32> = switches(&topology, &path, source, destination).iter().map(level).collect();
        let top = levels.iter().position(|level| Some(level) == levels.iter().max()).unwrap();
        prop_assert!(levels[..=top].windows(2).all(|pair| pair[0] < pair[1]), "{levels:?}");
        prop_assert!(levels[top..].windows(2).all(|pair| pair[0] > pair[1]), "{levels:?}");
    }
}

fn network(shape: Shape, routing: Routing, model: Model, load: Load) -> Network {
    Network {
        shape,
        host_link: class("host"),
        cable: class("cable"),
        load,
        window: (Picos::ZERO, Picos::from_millis(40)),
        host_time: Picos::ZERO,
        host: None,
        routing,
        model,
        subqueue: Subqueue::Flow,
    }
}

fn drawn(pattern: Pattern, gap_us: u64) -> Load {
    Load::Drawn { pattern, gaps: Gaps::Constant(micros(gap_us)), sizes: Sizes::Constant(12_500) }
}

fn run(network: &Network) -> Outcome {
    let mut simulation = set_up(network, Seed(1)).unwrap();
    while simulation.step(|_, _| {}) {}
    simulation.outcome()
}

/// Two leaves, two spines, one host each that sends 100 times. One spine fails for a quarter of
/// the time.
#[test]
fn messages_over_a_failed_link_are_lost_until_routes_follow() {
    let shape = Shape::LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 1 };
    let fault =
        |spine| Fault { between: (0, spine), from: Picos::from_millis(10), until: Picos::from_millis(20) };
    for model in
        [Model::Fluid(Sharing::MaxMin), Model::Packets(PacketModel::new(1_500)), Model::StoreAndForward]
    {
        let lost = |rule, detection, faults: &[Fault]| {
            let routing = Routing { rule, detection, faults: faults.to_vec() };
            let outcome = run(&network(shape.clone(), routing, model, drawn(Pattern::Shift(1), 400)));
            assert_eq!(outcome.lost, outcome.unrouted);
            assert_eq!(outcome.latency.summary.count() + outcome.lost, 200);
            outcome.lost
        };
        let (both, one) = ([fault(2), fault(3)], [fault(2)]);
        // Each host sends 25 messages while both fail; by detection the routes come back later.
        assert_eq!(lost(Rule::Static, Picos::ZERO, &both), 50);
        assert_eq!(lost(Rule::Adaptive, Picos::ZERO, &both), 50);
        assert_eq!(lost(Rule::Shortest, Picos::from_millis(4), &both), 50 + 20);
        // With the other spine in work nothing needs to be lost, but for the time of detection.
        assert_eq!(lost(Rule::Shortest, Picos::ZERO, &one), 0);
        assert_eq!(lost(Rule::Adaptive, Picos::ZERO, &one), 0);
        let until_known = lost(Rule::Shortest, Picos::from_millis(4), &one);
        let never_known = lost(Rule::Static, Picos::ZERO, &one);
        assert!(until_known <= 20 && never_known <= 50 && until_known <= never_known);
        // A hash puts each flow on one of the spines.
        assert!([0, 25, 50].contains(&never_known), "{never_known}");
    }
}

/// By load, four hosts that send at the rate of their links over four spines get a spine each.
#[test]
fn load_spreads_over_equal_paths() {
    let shape = Shape::LeafSpine { leaves: 2, spines: 4, hosts_per_leaf: 4 };
    let mean = |rule| {
        let routing = Routing { rule, ..Routing::default() };
        let load = drawn(Pattern::Shift(4), 110);
        let outcome = run(&network(shape.clone(), routing, Model::Fluid(Sharing::MaxMin), load));
        outcome.latency.summary.mean_us()
    };
    // 12,500 bytes at 1 Gbit/s and four links of 1 us.
    let alone = 100.0 + 4.0;
    assert!((mean(Rule::Adaptive) - alone).abs() < 3.0, "{}", mean(Rule::Adaptive));
    assert!(
        mean(Rule::Static) > 3.0 * alone,
        "a hash puts several flows on one spine: {}",
        mean(Rule::Static)
    );
    assert_eq!(mean(Rule::Static), mean(Rule::Shortest), "without failures they are the same");
}

#[test]
fn sites_take_the_quickest_lines_that_work() {
    let site = |name: &str| Site { name: name.to_owned(), hosts: 1 };
    let line =
        |ends, ms| Line { ends, rate: Rate::mbit(100), delay: Picos::from_millis(ms), wire: Wire::default() };
    let wan = Wan {
        sites: ["A", "B", "C"].map(site).to_vec(),
        lines: vec![line((0, 1), 1), line((0, 2), 2), line((2, 1), 2)],
        detours: Vec::new(),
    };
    let fault = Fault { between: (0, 1), from: Picos::from_millis(10), until: Picos::MAX };
    let of = |rule, wan: &Wan| {
        let routing = Routing { rule, detection: Picos::ZERO, faults: vec![fault] };
        let load = Load::Drawn {
            pattern: Pattern::Shift(1),
            gaps: Gaps::Constant(Picos::from_millis(1)),
            sizes: Sizes::Constant(100),
        };
        network(Shape::Wan(wan.clone()), routing, Model::Fluid(Sharing::MaxMin), load)
    };
    let (fixed, follows) = (run(&of(Rule::Static, &wan)), run(&of(Rule::Shortest, &wan)));
    assert_eq!((fixed.lost, follows.lost), (30, 0));
    // 2 ms by C, and another line.
    let longest = follows.latency.summary.max().unwrap().as_micros();
    assert!((4_000.0..4_100.0).contains(&longest), "{longest}");
    let error = |rule, wan: &Wan| set_up(&of(rule, wan), Seed(1)).err().unwrap();
    assert_eq!(error(Rule::Adaptive, &wan), NetworkError::Dynamic(DynamicError::Quickest));
    let written = Wan { detours: vec![Detour { at: 0, to: 1, via: 2 }], ..wan };
    assert_eq!(error(Rule::Shortest, &written), NetworkError::Dynamic(DynamicError::Written));
}

#[test]
fn failures_of_what_there_is_not_are_refused() {
    let shape = Shape::LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 1 };
    let say = |between, from, until| {
        let routing = Routing {
            faults: vec![Fault { between, from: micros(from), until: micros(until) }],
            ..Routing::default()
        };
        let network = network(shape.clone(), routing, Model::StoreAndForward, drawn(Pattern::Shift(1), 100));
        set_up(&network, Seed(1)).err().unwrap().to_string()
    };
    assert_eq!(say((0, 1), 1, 2), "fault 1: no cable joins switches 0 and 1 of 4");
    assert_eq!(say((0, 9), 1, 2), "fault 1: no cable joins switches 0 and 9 of 4");
    assert_eq!(say((0, 2), 2, 2), "fault 1 ends at 2us, not after it begins, at 2us");
}
