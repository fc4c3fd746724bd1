//! Every interested sink gets each message exactly once and in order, whatever the topology.

mod common;

use base::Seed;
use common::app::{GATED, Topic, Want, note};
use common::{At, Net};
use proptest::prelude::*;
use router::topology::{Topology, hypercube, mesh, tree};
use router::{PipeConfig, Priority};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
enum Op {
    Join(usize),
    Leave(usize),
    Want {
        app: usize,
        want: Want,
        any: bool,
    },
    Send {
        app: usize,
        topic: Topic,
        class: usize,
        bytes: usize,
    },
    /// A link goes down and comes up.
    Flap(usize),
    /// Lets some frames arrive, but not all.
    Steps(usize),
    Settle,
}

fn want() -> impl Strategy<Value = Want> {
    (prop_oneof![4 => (0u8..3).prop_map(Some), 1 => Just(None)], 0u8..8, 0u8..4)
        .prop_map(|(group, from, more)| Want { group, from, to: from + more })
}

fn op() -> impl Strategy<Value = Op> {
    let app = 0usize..64;
    prop_oneof![
        2 => any::<usize>().prop_map(Op::Join),
        1 => app.clone().prop_map(Op::Leave),
        6 => (app.clone(), want(), prop::bool::weighted(0.75)).prop_map(|(app, want, any)| Op::Want { app, want, any }),
        10 => (app, 0u8..3, 0u8..10, 0usize..4, prop_oneof![9 => 0usize..50, 1 => 500usize..3000])
            .prop_map(|(app, group, cell, class, bytes)| Op::Send { app, topic: Topic { group, cell }, class, bytes }),
        2 => (1usize..6).prop_map(Op::Steps),
        1 => any::<usize>().prop_map(Op::Flap),
        3 => Just(Op::Settle),
    ]
}

fn topology() -> impl Strategy<Value = Topology> {
    prop_oneof![
        prop::collection::vec(1usize..4, 0..4).prop_map(|fan_outs| tree(&fan_outs)),
        Just(tree(&[3, 4, 4])),
        (1usize..=21).prop_map(mesh),
        (0u8..=6).prop_map(hypercube),
    ]
}

/// Who should get what, ignoring the topology: the model.
#[derive(Default)]
struct Model {
    wants: BTreeMap<At, BTreeSet<Want>>,
    /// What each application must have got since the last look.
    due: BTreeMap<At, BTreeSet<(u32, u32)>>,
}

impl Model {
    fn send(&mut self, from: At, topic: Topic, id: (u32, u32)) {
        for (app, wants) in &self.wants {
            if *app != from && wants.iter().any(|want| router::Interest::matches(want, &topic)) {
                self.due.entry(*app).or_default().insert(id);
            }
        }
    }
}

struct Run {
    net: Net,
    model: Model,
    apps: Vec<At>,
    entries: Vec<usize>,
    number: u32,
    /// Interest changed since the last settling: what is sent now reaches whom it reaches.
    unsettled: bool,
    last: BTreeMap<(At, u32, Priority), u32>,
}

impl Run {
    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Join(at) => {
                let app = self.net.add_app(self.entries[at % self.entries.len()]);
                self.apps.push(app);
                self.model.wants.insert(app, BTreeSet::new());
            }
            Op::Leave(_) | Op::Want { .. } | Op::Send { .. } if self.apps.is_empty() => {}
            Op::Leave(app) => {
                self.settle();
                let app = self.apps.swap_remove(app % self.apps.len());
                self.net.routers[app.0].remove_client(self.net.now, app.1);
                self.model.wants.remove(&app);
                self.unsettled = true;
            }
            Op::Want { app, want, any } => {
                if !self.unsettled {
                    self.settle();
                }
                let app = self.apps[app % self.apps.len()];
                let wants = self.model.wants.get_mut(&app).expect("joined");
                let changes = if any { wants.insert(want) } else { wants.remove(&want) };
                assert_eq!(self.net.want(app, want, any), changes);
                self.unsettled = true;
            }
            Op::Send { app, topic, class, bytes } => {
                if self.unsettled {
                    self.settle();
                }
                let from = self.apps[app % self.apps.len()];
                let sender = (from.0 * 1_000 + from.1.slot()) as u32;
                let class = Priority::ALL[class];
                let mut note = note(topic.group, topic.cell, class, self.number);
                note.sender = sender;
                note.body = vec![bytes as u8; bytes].into();
                self.model.send(from, topic, (sender, self.number));
                self.net.send(from, note);
                self.number += 1;
            }
            Op::Steps(steps) => (0..steps).for_each(|_| {
                self.net.step();
            }),
            Op::Flap(_) if self.net.wiring.links.is_empty() => {}
            Op::Flap(link) => {
                self.settle();
                self.net.flap(link % self.net.wiring.links.len());
                self.unsettled = true;
            }
            Op::Settle => self.settle(),
        }
    }

    fn settle(&mut self) {
        self.net.settle();
        self.unsettled = false;
        for &app in &self.apps {
            let due = self.model.due.remove(&app).unwrap_or_default();
            let mut got = BTreeSet::new();
            for envelope in self.net.take(app) {
                let note = envelope.message;
                assert!(got.insert((note.sender, note.number)), "{app:?} got {note:?} twice");
                let last = self.last.entry((app, note.sender, note.class)).or_default();
                assert!(*last <= note.number, "{app:?} got {note:?} after number {last}");
                *last = note.number;
                assert!(note.body.iter().all(|byte| *byte == note.body.len() as u8), "a body came damaged");
            }
            assert_eq!(got, due, "{app:?} at router {}", app.0);
        }
        assert!(
            self.net.routers.iter().all(|router| router.stats().duplicate_messages == 0),
            "a message came twice"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn every_topology_delivers_like_the_model(
        topology in topology(),
        seed in any::<u64>(),
        frame_bytes_max in prop_oneof![Just(128usize), 200usize..2_000],
        interests_per_key_max in prop_oneof![Just(64usize), 0usize..4],
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let pipe = PipeConfig { frame_bytes_max, interests_per_key_max, ..PipeConfig::default() };
        let net = Net::new(&topology, Seed(seed), &pipe);
        let mut run = Run {
            net, model: Model::default(), apps: Vec::new(), entries: topology.entries, number: 0,
            unsettled: false, last: BTreeMap::new(),
        };
        (0..4).for_each(|i| run.apply(&Op::Join(i * 7)));
        ops.iter().for_each(|op| run.apply(op));
        run.settle();
    }
}

/// Table 1 of the paper: links crossed between two applications, their own two links included. The routers count the links
/// between them. The same whether interest is gated or not.
#[test]
fn paths_are_as_long_as_in_the_paper() {
    let links_of = |group: u8, topology: &Topology, a: usize, b: usize| {
        let mut net = Net::new(topology, Seed(1), &PipeConfig::default());
        let (from, to) = (net.add_app(topology.entries[a]), net.add_app(topology.entries[b]));
        net.want(to, Want::group(group), true);
        net.offer(from, Want::group(group), true);
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
        let hops = [4, 8, 16].iter().position(|near| a / near == b / near).map_or(3, |place| place + 1);
        let hops = if a == b { 0 } else { hops };
        assert_eq!(links(&tree, a, b), [2, 4, 6, 8][hops]);
        assert_eq!(links(&mesh, a, b), [2, 3, 3, 3][hops]);
    }
}

/// A ring in which everybody relays: messages go round both ways and are delivered once.
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

/// Nothing depends on hash order or on anything else but the seed.
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
