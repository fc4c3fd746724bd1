use std::collections::BTreeSet;

use base::Seed;

use super::*;
use crate::arrivals::Gaps;
use crate::fluid::Sharing;
use crate::fluid::lanes::Subqueue;
use crate::pattern::Pattern;
use crate::routing::Routing;
use crate::simulation::{Model, PacketModel};
use crate::sizes::Sizes;
use crate::study::network::{Load, Network, set_up};
use crate::topology::{Line, Site, Torus, Wire};
use crate::units::{Picos, Rate};

fn class(mbit: u64, us: u64) -> LinkClass {
    LinkClass {
        name: mbit.to_string(),
        rate: Rate::mbit(mbit),
        delay: Picos::from_micros(us),
        wire: Wire::default(),
    }
}

fn torus(sides: &[u32], hosts_per_switch: u32) -> Shape {
    Shape::Torus(Torus { sides: sides.to_vec(), hosts_per_switch, wraps: true })
}

/// A torus of 4 by 4 with the gateway 5, a fat tree, and one switch, in a row of lines of 1 and 2 ms.
fn three() -> Clusters {
    let site = |name: &str| Site { name: name.to_owned(), hosts: 0 };
    let line =
        |ends, ms| Line { ends, rate: Rate::mbit(100), delay: Picos::from_millis(ms), wire: Wire::default() };
    let wan = Wan {
        sites: ["T", "F", "S"].map(site).to_vec(),
        lines: vec![line((0, 1), 1), line((1, 2), 2)],
        detours: Vec::new(),
    };
    let clusters = [(torus(&[4, 4], 1), 5), (Shape::FatTree { ports: 4 }, 0), (Shape::Star { hosts: 3 }, 0)];
    let clusters = clusters.map(|(shape, gateway)| Cluster { shape, gateway });
    Clusters::new(wan, clusters.to_vec()).unwrap()
}

#[test]
fn all_pairs_are_joined_and_sites_keep_their_routes() {
    let clusters = three();
    let shape = Shape::Clusters(clusters.clone());
    assert_eq!(shape.parts(), (16 + 16 + 3, 16 + 20 + 1, 2 * (16 + 32 + 16 + 32 + 3 + 2)));
    let topology = shape.build(class(1_000, 1), class(1_000, 1)).unwrap();
    let (hosts, switches, links) = shape.parts();
    assert_eq!(
        (u64::from(topology.hosts()), u64::from(topology.switches()), u64::from(topology.links())),
        (hosts, switches, links)
    );
    let routes = Routes::Clusters(Box::new(clusters.routes(&topology).unwrap()));
    for source in 0..topology.hosts() {
        for destination in (0..topology.hosts()).filter(|host| *host != source) {
            let mut path = Vec::new();
            routes.path(&topology, source, destination, 7, &mut path);
            let mut node = source;
            let mut passed = BTreeSet::new();
            for link in &path {
                assert_eq!(topology.from(*link), node, "{source} to {destination}");
                node = topology.to(*link);
                assert!(passed.insert(node));
            }
            assert_eq!(node, destination);
        }
    }
    // Within a site as in its shape: host 0 to host 10 of the torus is two switches each way.
    let mut path = Vec::new();
    routes.path(&topology, 0, 10, 7, &mut path);
    assert_eq!(path.len(), 2 + 4);
    let names = shape.switch_names();
    assert_eq!((&names[5][..], &names[4][..], &names[16][..], &names[36][..]), ("T", "T/4", "F", "S"));
}

/// A message alone: links of the way, their delays, and its bytes at the slowest.
#[test]
fn a_message_alone_takes_the_sum_of_its_way() {
    let bytes = 12_500;
    for (shift, model, links, delay_us, bytes_us) in [
        // Host 0 to host 16: its link, two in the torus to switch 5, the line, the link of the host.
        (16, Model::Fluid(Sharing::MaxMin), 5, 4 + 1_000, 1_000),
        // Each packet of 1,250 bytes: 10 us at 1 Gbit/s, 100 at 100 Mbit/s; the first one waits nowhere.
        (16, Model::Packets(PacketModel::new(1_250)), 5, 4 + 1_000, 1_000 + 4 * 10),
        // To host 32: both lines, which meet at switch 0 of the fat tree.
        (32, Model::Fluid(Sharing::MaxMin), 6, 4 + 3_000, 1_000),
        (32, Model::StoreAndForward, 6, 4 + 3_000, 4 * 100 + 2 * 1_000),
    ] {
        let network = Network {
            shape: Shape::Clusters(three()),
            host_link: class(1_000, 1),
            cable: class(1_000, 1),
            load: Load::Recorded(std::sync::Arc::new(crate::recording::Recording::new([(
                0,
                crate::recording::Sent { at: Picos::ZERO, to: shift, bytes },
            )]))),
            window: (Picos::ZERO, Picos::from_millis(1)),
            host_time: Picos::ZERO,
            host: None,
            routing: Routing::default(),
            model,
            subqueue: Subqueue::Flow,
        };
        let mut simulation = set_up(&network, Seed(1)).unwrap();
        while simulation.step(|_, _| {}) {}
        let latency = simulation.outcome().latency.summary;
        let expected = Picos::from_micros(delay_us + bytes_us);
        assert_eq!((latency.count(), latency.max()), (1, Some(expected)), "{shift} {model:?}: {links} links");
    }
}

#[test]
fn every_model_runs_on_clusters_and_routes_can_follow_failures() {
    let fault =
        crate::routing::Fault { between: (0, 1), from: Picos::from_millis(5), until: Picos::from_millis(10) };
    for (rule, lost) in [(crate::routing::Rule::Static, true), (crate::routing::Rule::Shortest, false)] {
        for model in [
            Model::Fluid(Sharing::MinShare),
            Model::HopByHop { buffer: None },
            Model::Packets(PacketModel::new(1_000)),
        ] {
            let network = Network {
                shape: Shape::Clusters(three()),
                host_link: class(1_000, 1),
                cable: class(1_000, 1),
                load: Load::Drawn {
                    pattern: Pattern::Uniform,
                    gaps: Gaps::Poisson(Picos::from_millis(2)),
                    sizes: Sizes::Constant(1_000),
                },
                window: (Picos::ZERO, Picos::from_millis(20)),
                host_time: Picos::ZERO,
                host: None,
                routing: Routing { rule, detection: Picos::ZERO, faults: vec![fault] },
                model,
                subqueue: Subqueue::Flow,
            };
            let mut simulation = set_up(&network, Seed(1)).unwrap();
            while simulation.step(|_, _| {}) {}
            let outcome = simulation.outcome();
            assert!(outcome.latency.summary.count() > 200);
            assert_eq!(outcome.lost > 0, lost, "{rule:?} {model:?}");
        }
    }
}

#[test]
fn sites_that_cannot_be_are_refused() {
    let clusters = three();
    let say = |place: usize, cluster: Cluster| {
        let mut others = clusters.clusters().to_vec();
        others[place] = cluster;
        let built = Clusters::new(clusters.wan().clone(), others);
        let built = built.and_then(|all| Shape::Clusters(all).build(class(1, 1), class(1, 1)));
        built.map(|_| ()).unwrap_err().to_string()
    };
    let nested = Shape::Wan(clusters.wan().clone());
    assert_eq!(
        say(1, Cluster { shape: nested, gateway: 0 }),
        "F is a `wan` within a `wan`: a site is a network of another shape"
    );
    for gateway in [8, 20] {
        assert_eq!(
            say(1, Cluster { shape: Shape::FatTree { ports: 4 }, gateway }),
            format!("the gateway of F is switch {gateway}, which is no switch with hosts there")
        );
    }
    assert_eq!(say(0, Cluster { shape: torus(&[1, 4], 1), gateway: 0 }), "a side is 1; expected at least 2");
    let few = Clusters::new(clusters.wan().clone(), Vec::new()).unwrap_err();
    assert_eq!(few.to_string(), "the number of clusters is 0; expected as many as sites");
}
