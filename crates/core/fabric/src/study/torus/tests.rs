//! The cluster of the paper, for a second instead of eight and a half: that is a tenth of its messages.

use super::*;
use crate::packet::Switching;

fn short(seconds: u64) -> Study {
    let begin = Picos::from_millis(1_500);
    Study { window: (begin, begin + Picos::from_secs(seconds)), ..Study::default() }
}

/// Messages by hand, one host after the other: what the links of `slot` carry.
#[test]
fn every_link_between_switches_carries_four_flows() {
    let study = Study::default();
    let class =
        || LinkClass { name: String::new(), rate: study.rate, delay: Picos::ZERO, wire: Wire::default() };
    let topology = Arc::new(study.torus.build(class(), class()).unwrap());
    let mut hosts = Hosts::new(&study, &topology, Seed(1));
    let mut flows = vec![0; topology.links() as usize];
    for host in 0..topology.hosts() {
        let (mut path, mut lanes) = (Vec::new(), Vec::new());
        let parcel = hosts.message(host, &mut path, &mut lanes);
        assert_eq!((path.len(), lanes.as_slice(), parcel.bytes), (6, [host].as_slice(), 32_768));
        assert_eq!(parcel.destination % 4, host % 4);
        let ends = [topology.from(path[0]), topology.to(path[5])];
        assert_eq!(ends, [host, parcel.destination]);
        assert!(path.windows(2).all(|pair| topology.to(pair[0]) == topology.from(pair[1])));
        path.iter().for_each(|link| flows[*link as usize] += 1);
    }
    for link in 0..topology.links() {
        assert_eq!(flows[link as usize], if topology.is_between_switches(link) { 4 } else { 1 });
    }
}

#[test]
fn the_paper_s_figures_are_met_by_both_couplings() {
    for sharing in [Sharing::MinShare, Sharing::MaxMin] {
        let outcome = run(&Study { sharing, ..short(1) }, Seed(1)).unwrap();
        let (mean, std) = (outcome.latency.summary.mean_us(), outcome.latency.summary.std_us());
        assert!((mean / 410.0 - 1.0).abs() < 0.05 && (std / 130.0 - 1.0).abs() < 0.2, "{mean} {std}");
        // One second is a ninth of the paper's run, so that chance is three times as large.
        assert!((outcome.utilisation - 0.1225).abs() < 0.0015, "{}", outcome.utilisation);
        assert_eq!(outcome.latency.summary.min(), Some(Picos(25_520_000 + 306_242_991)));
    }
}

#[test]
fn latency_rises_with_load_and_idle_shares_cost_something() {
    let mut last = [0.0; 2];
    for per_s in [25, 100, 300, 400] {
        let gap = Picos(Picos::from_secs(1).0 / per_s);
        let means = [Sharing::MinShare, Sharing::MaxMin].map(|sharing| {
            let window = (Picos::ZERO, Picos(gap.0 * 20));
            let study = Study { gaps: Gaps::Poisson(gap), sharing, window, ..Study::default() };
            run(&study, Seed(3)).unwrap().latency.summary.mean_us()
        });
        assert!(means[0] >= means[1] && means[1] >= 331.76, "{means:?}");
        assert!(means[0] > last[0] && means[1] > last[1], "{means:?} after {last:?}");
        last = means;
    }
}

#[test]
fn little_s_law_holds() {
    let outcome = run(&short(2), Seed(5)).unwrap();
    let in_network = outcome.latency.summary.mean_us() - 25.52;
    let expected = 1024.0 * 100.0 * in_network * 1e-6;
    assert!((outcome.in_flight / expected - 1.0).abs() < 0.01, "{} {expected}", outcome.in_flight);
}

#[test]
fn readings_differ_and_runs_repeat() {
    let base = Study {
        torus: Torus { sides: vec![8, 8], hosts_per_switch: 4, wraps: true },
        window: (Picos::ZERO, Picos::from_millis(300)),
        ..Study::default()
    };
    let readings = [
        base.clone(),
        Study { direction: Direction::Host, ..base.clone() },
        Study { direction: Direction::Message, ..base.clone() },
        Study { subqueue: Subqueue::Message, ..base.clone() },
        Study { subqueue: Subqueue::Port, ..base.clone() },
        Study { sharing: Sharing::MaxMin, ..base.clone() },
    ];
    let digests = readings.map(|study| {
        let digests = [0; 2].map(|_| run(&study, Seed(2)).unwrap().digest.value());
        assert_eq!(digests[0], digests[1]);
        digests[0]
    });
    for (at, digest) in digests.iter().enumerate() {
        assert!(!digests[at + 1..].contains(digest), "{at}");
    }
    assert_ne!(digests[0], run(&base, Seed(3)).unwrap().digest.value());
    // In `slot` nobody shares a link of a host: whether it is shared makes no difference.
    assert_eq!(digests[0], run(&Study { host_links_shared: false, ..base }, Seed(2)).unwrap().digest.value());
}

/// Other shapes than the paper's: one dimension, three, a mesh, sides that differ.
#[test]
fn any_torus_or_mesh_runs() {
    for (sides, wraps) in [(vec![9], true), (vec![3, 4, 5], true), (vec![6, 5], false)] {
        for subqueue in [Subqueue::Flow, Subqueue::Port] {
            let torus = Torus { sides: sides.clone(), hosts_per_switch: 7, wraps };
            let window = (Picos::ZERO, Picos::from_millis(50));
            let study = Study { torus, window, subqueue, direction: Direction::Message, ..Study::default() };
            let mut simulation = set_up(&study, Seed(1)).unwrap();
            let mut ended = 0;
            while simulation.step(|_, _| ended += 1) {}
            let outcome = simulation.outcome();
            assert_eq!((outcome.events, simulation.progress()), (2 * ended, 1.0));
            assert_eq!(outcome.latency.summary.count(), ended);
        }
    }
}

/// With packets a message that is alone takes a packet more at each of five links, or a header more.
#[test]
fn packets_go_the_same_ways() {
    let window = (Picos::ZERO, Picos::from_millis(100));
    let base = Study { window, ..Study::default() };
    let fluid = run(&base, Seed(1)).unwrap();
    for (switching, more_us) in [
        (Switching::StoreAndForward, 5.0 * 1_024.0 / 107.0),
        (Switching::CutThrough { header: 16 }, 5.0 * 16.0 / 107.0),
    ] {
        let model = PacketModel { switching, ..PacketModel::new(1_024) };
        let outcome = run(&Study { packets: Some(model), ..base.clone() }, Seed(1)).unwrap();
        let summary = outcome.latency.summary;
        assert_eq!(summary.count(), fluid.latency.summary.count());
        let least = summary.min().unwrap().as_micros();
        assert!((least - (331.763 + more_us)).abs() < 0.01, "{least}");
        assert!((outcome.utilisation - fluid.utilisation).abs() < 1e-3);
        assert_eq!(outcome.events, summary.count() * (1 + 6 * 32));
    }
}
