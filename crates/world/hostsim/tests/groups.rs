//! Nodes that share multicast groups. Every update arrives once, whatever the groups lose, and an
//! update for several nodes leaves its node once.

mod common;

use std::time::Duration;

use base::Seed;
use common::{FREE, chain, done};
use hostsim::{
    COPY_PART, Costs, Federation, HostModel, Joined, Multicast, Placement, Report, Task, Work, run,
};
use netmodel::units::parse_share;

const UPDATES: u32 = 1_000;
const OTHERS: u64 = 5;

fn groups(loss: &str) -> Option<Multicast> {
    Some(Multicast { loss: parse_share(loss).unwrap(), ..Multicast::default() })
}

/// Six nodes. A federate at the first updates, and one at each other node subscribes.
fn site(multicast: Option<Multicast>) -> Federation {
    let task = Task::Paced { count: UPDATES, mean_gap: Duration::from_millis(1), subscribers: 1 };
    let work = Work { task, size_bytes: 250, from: 0, to: vec![1, 2, 3, 4, 5] };
    let hosts = HostModel { cores: 8, ..HostModel::EXAMPLE };
    Federation { joined: Joined::Mesh, multicast, ..chain(6, hosts, work) }
}

fn has_all(report: &Report) {
    let task = &report.done[0];
    assert_eq!((task.reflects, task.expected), (u64::from(UPDATES) * OTHERS, u64::from(UPDATES) * OTHERS));
    assert_eq!(task.out_of_turn, 0, "each came once and in its turn");
    assert_eq!(task.federates_ns.len(), 6);
}

#[test]
fn all_reflects_come_once_and_links_carry_little() {
    let links = done(&site(None));
    has_all(&links);
    assert_eq!(links.carried, None);
    for placement in [Placement::Together, Placement::ByNode, Placement::Apart] {
        let calm = done(&Federation { placement, ..site(groups("0%")) });
        has_all(&calm);
        let carried = calm.carried.unwrap();
        assert_eq!((carried.lost_datagrams, carried.asked_again), (0, 0), "{placement:?}");
        let sent = carried.groups;
        assert!(sent.sent_frames >= u64::from(UPDATES) * 9 / 10, "{placement:?}: {sent:?}");
        assert_eq!(
            sent.received_frames,
            OTHERS * sent.sent_frames,
            "{placement:?}: each frame came to all others"
        );
        assert_eq!(sent.repaired_frames + sent.nacks, 0, "{placement:?}: {sent:?}");
        assert!(calm.link_bytes < links.link_bytes / 5, "{} of {}", calm.link_bytes, links.link_bytes);
        assert!(sent.sent_bytes + calm.link_bytes < links.link_bytes / 2, "{placement:?}: {sent:?}");
    }
}

#[test]
fn losses_of_groups_arrive_once_nevertheless() {
    let lossy = done(&site(groups("5%")));
    has_all(&lossy);
    let carried = lossy.carried.unwrap();
    let arrived = carried.groups.received_datagrams;
    let share = carried.lost_datagrams as f64 / (carried.lost_datagrams + arrived) as f64;
    assert!((share / 0.05 - 1.0).abs() < 0.2, "{share}");
    let sent = carried.groups;
    assert!(sent.nacks > 0 && sent.repaired_frames > 0 && sent.recovered_frames > 0, "{sent:?}");
    assert!(lossy.link_bytes < done(&site(None)).link_bytes / 3, "{}", lossy.link_bytes);
    assert!(carried.asked_again < sent.recovered_frames / 5, "{carried:?}");
    assert_eq!(done(&site(groups("5%"))), lossy, "a run repeats itself");
    let other = done(&Federation { seed: Seed(2), ..site(groups("5%")) });
    assert_ne!(other.digest, lossy.digest);
}

/// Frames that exceed the rate of a group wait in the kernel, and a flood gets through.
#[test]
fn a_flood_waits_for_the_rate() {
    let task = Task::Flood { count: 3_000, subscribers: 2 };
    for rate_min in [20_000_000, 1_000_000_000] {
        let multicast = groups("1%").map(|groups| Multicast { rate_min, ..groups });
        let federation = Federation {
            work: vec![Work { task, size_bytes: 200, from: 2, to: vec![0, 1, 5] }],
            ..site(multicast)
        };
        let report = done(&federation);
        assert_eq!(report.done[0].reflects, 3_000 * 2 * 3, "{rate_min}");
    }
}

/// A node that cannot keep up with a group loses datagrams to its full socket and still delivers
/// every update.
#[test]
fn a_full_socket_drops_datagrams() {
    // Ten callbacks for each update occupy a subscribing node for longer than one call occupies the
    // publishing node.
    let costs = Costs { callback_ns: 20_000.0, ..HostModel::EXAMPLE.costs };
    let multicast = groups("0%").map(|groups| Multicast { rate_min: 1_000_000_000, ..groups });
    let task = Task::Flood { count: 8_000, subscribers: 10 };
    let report = done(&Federation {
        nodes: 3,
        work: vec![Work { task, size_bytes: 1_000, from: 0, to: vec![1, 2] }],
        hosts: HostModel { cores: 8, costs },
        ..site(multicast)
    });
    assert_eq!((report.done[0].reflects, report.done[0].out_of_turn), (8_000 * 20, 0));
    assert!(report.carried.unwrap().lost_datagrams > 0, "{:?}", report.carried);
}

/// Trees share groups as well: each node reaches only its neighbours.
#[test]
fn nodes_of_trees_share_groups() {
    for joined in [Joined::Chain, Joined::Star] {
        let report = done(&Federation { joined, ..site(groups("1%")) });
        has_all(&report);
    }
}

#[test]
fn impossible_groups_are_refused() {
    let say = |change: &dyn Fn(&mut Federation)| {
        let mut federation = site(groups("0%"));
        change(&mut federation);
        run(&federation, |_| true).unwrap_err().to_string()
    };
    let with = |groups| Some(Multicast { groups, ..Multicast::default() });
    assert_eq!(say(&|f| f.multicast = with(0)), "the number of multicast groups must be from 1 to 64, not 0");
    assert_eq!(
        say(&|f| f.multicast = with(65)),
        "the number of multicast groups must be from 1 to 64, not 65"
    );
    let alone = say(&|f| {
        f.nodes = 1;
        f.work[0].to = vec![0];
    });
    assert_eq!(alone, "multicast groups are for two nodes or more, but there is one");
    let deaf = say(&|f| f.multicast = groups("100%"));
    assert_eq!(deaf, "the loss of multicast groups is 100%: nobody would hear anybody");
    assert_eq!(say(&|f| f.work[0].to = vec![1, 2, 1]), "task 1: `to` names node 1 twice");
    assert_eq!(say(&|f| f.work[0].to = Vec::new()), "task 1: `to` names no node");
    let trips = Task::RoundTrips { count: 1, warm_up: 0 };
    let error = say(&|f| f.work[0].task = trips);
    assert_eq!(error, "task 1: round trips are with one node, but `to` names 5");
}

/// The multicast protocol's work is paid where a datagram is sent and where it is received. Copies
/// are made one after the other.
#[test]
fn datagrams_cost_what_they_are_said_to() {
    let us = |costs| {
        let hosts = HostModel { cores: 16, costs };
        let report = done(&Federation { hosts, ..site(groups("0%")) });
        [0.05, 0.5, 0.95].map(|share| report.done[0].quantile_us(share).unwrap())
    };
    let [_, sent, _] = us(Costs { datagram_send_ns: 10_000.0, ..FREE });
    assert!((10.0..10.5).contains(&sent), "{sent}");
    let [_, taken, _] = us(Costs { datagram_take_ns: 10_000.0, ..FREE });
    assert!((10.0..10.5).contains(&taken), "{taken}");
    let [first, _, last] = us(Costs { write_ns: 10_000.0, ..FREE });
    let copies = (OTHERS - 1) as f64 * COPY_PART * 10.0;
    assert!((last - first - copies).abs() < 1.0, "{first} to {last}, where copies take {copies}");
}
