//! Every interested sink gets each message exactly once and in order, whatever the topology.

mod common;

use base::Seed;
use common::Net;
use common::app::{GATED, Topic, Want, note};
use common::population::{self, About, Population};
use proptest::prelude::*;
use router::topology::{Topology, hypercube, mesh, tree};
use router::{PipeConfig, Priority};
use std::collections::BTreeSet;

fn want() -> impl Strategy<Value = Want> {
    (prop_oneof![4 => (0u8..3).prop_map(Some), 1 => Just(None)], 0u8..8, 0u8..4)
        .prop_map(|(group, from, more)| Want { group, from, to: from + more })
}

fn about() -> impl Strategy<Value = About> {
    (0u8..3, 0u8..10).prop_map(|(group, cell)| About::Topic(Topic { group, cell }))
}

fn topology() -> impl Strategy<Value = Topology> {
    prop_oneof![
        prop::collection::vec(1usize..4, 0..4).prop_map(|fan_outs| tree(&fan_outs)),
        Just(tree(&[3, 4, 4])),
        (1usize..=21).prop_map(mesh),
        (0u8..=6).prop_map(hypercube),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn every_topology_delivers_like_the_model(
        topology in topology(),
        seed in any::<u64>(),
        frame_bytes_max in prop_oneof![Just(128usize), 200usize..2_000],
        interests_per_key_max in prop_oneof![Just(64usize), 0usize..4],
        ops in prop::collection::vec(population::op(want().boxed(), about().boxed(), 0.0), 1..60),
    ) {
        let pipe = PipeConfig { frame_bytes_max, interests_per_key_max, ..PipeConfig::default() };
        let net = Net::new(&topology, Seed(seed), &pipe);
        let mut population = Population::new(net, topology.entries);
        ops.iter().for_each(|op| population.apply(op));
        population.settle();
    }
}

/// Table 1 of the paper: links crossed between two applications, their own two links included. The
/// routers count the links between them. The result is the same whether interest is gated or not.
#[test]
fn paths_are_as_long_as_in_the_paper() {
    let links_of = |group: u8, topology: &Topology, a: usize, b: usize| {
        let mut net = Net::new(topology, Seed(1), &PipeConfig::default());
        let (from, to) = (net.add_app(topology.entries[a]), net.add_app(topology.entries[b]));
        net.want(to, Want::group(group), true);
        net.advertisement(from, Want::group(group), true);
        net.settle();
        net.send(from, note(group, 1, Priority::State, 0));
        net.settle();
        let got = net.take(to);
        assert_eq!(got.len(), 1);
        let sent: u64 = net
            .wiring
            .links
            .iter()
            .flat_map(|ends| [ends.a, ends.b])
            .map(|(router, client)| net.routers[router].pipe_stats(client).expect("wired").sent_messages)
            .sum();
        assert_eq!(sent, u64::from(got[0].hops), "each link that carried it counted it");
        u32::from(got[0].hops) + 2
    };
    let links = |topology: &Topology, a, b| {
        let [open, gated] = [1, GATED].map(|group| links_of(group, topology, a, b));
        assert_eq!(open, gated);
        open
    };
    // Sixteen entries of six applications each, three layers above the leaves.
    let (tree, mesh) = (tree(&[2, 2, 4]), mesh(16));
    assert_eq!([0, 1, 4, 8].map(|other| links(&tree, 0, other)), [2, 4, 6, 8]);
    assert_eq!([0, 1, 4, 8].map(|other| links(&mesh, 0, other)), [2, 3, 3, 3]);
    // From any leaf: the nearest four are one hop apart, eight two, all others three.
    for (a, b) in [(5, 5), (5, 6), (5, 1), (5, 13), (15, 12), (15, 8), (15, 0)] {
        let hops = [4, 8, 16].iter().position(|near| a / near == b / near).map_or(3, |index| index + 1);
        let hops = if a == b { 0 } else { hops };
        assert_eq!(links(&tree, a, b), [2, 4, 6, 8][hops]);
        assert_eq!(links(&mesh, a, b), [2, 3, 3, 3][hops]);
    }
}

/// A ring in which every router relays: messages go round both ways and are delivered once.
#[test]
fn a_loop_delivers_once() {
    use router::ClientFlags;
    use router::topology::{Edge, End};
    let flags = ClientFlags::SOURCE | ClientFlags::SINK;
    let end = |router| End { router, flags };
    let edges = (0..5).map(|i| Edge { a: end(i), b: end((i + 1) % 5), rank: 0 }).collect();
    let topology = Topology::graph(5, edges);
    let mut net = Net::new(&topology, Seed(3), &PipeConfig::default());
    let apps: Vec<_> = (0..5).map(|router| net.add_app(router)).collect();
    apps.iter().for_each(|app| assert!(net.want(*app, Want::group(1), true)));
    net.settle();
    for number in 0..50 {
        net.send(apps[number as usize % 5], note(1, 0, Priority::Reliable, number));
    }
    net.settle();
    for (index, app) in apps.iter().enumerate() {
        let got: BTreeSet<_> = net.take(*app).iter().map(|envelope| envelope.message.number).collect();
        let expected: BTreeSet<_> = (0..50).filter(|number| *number as usize % 5 != index).collect();
        assert_eq!(got, expected);
    }
    assert!(net.routers.iter().any(|router| router.stats().duplicate_messages > 0));
}

/// Nothing but the seed determines a run, not even hash order.
#[test]
fn the_same_seed_is_the_same_run() {
    let run = |topology: &Topology, seed| {
        let pipe = PipeConfig { interests_per_key_max: 3, ..PipeConfig::default() };
        let mut net = Net::new(topology, Seed(seed), &pipe);
        let apps: Vec<_> =
            (0..20).map(|i| net.add_app(topology.entries[i % topology.entries.len()])).collect();
        for round in 0..10u8 {
            for (i, app) in (0u8..).zip(&apps) {
                let from = (i * 7 + round) % 11;
                net.want(
                    *app,
                    Want { group: (i % 5 != 0).then_some(i % 3), from, to: from + 2 },
                    round % 3 != 2,
                );
                net.send(*app, note(i % 3, round, Priority::ALL[usize::from(i % 4)], u32::from(round)));
                net.step();
            }
            net.flap(usize::from(round) % net.wiring.links.len());
        }
        net.settle();
        (net.frames, net.digest)
    };
    for topology in [tree(&[3, 3]), mesh(5), hypercube(4)] {
        let first = run(&topology, 7);
        assert_eq!(first, run(&topology, 7));
        assert_ne!(first, run(&topology, 8));
    }
}
