//! The cluster of the paper, for one second instead of eight and a half: about a tenth of its
//! messages.

use super::*;
use crate::packet::Switching;
use crate::simulation::PacketModel;

fn short(seconds: u64) -> Study {
    let begin = Picos::from_millis(1_500);
    Study { window: (begin, begin + Picos::from_secs(seconds)), ..Study::default() }
}

/// Traces messages by hand, one host after the other: the flows on the links under `slot`.
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
        let outcome = run(&Study { model: Model::Fluid(sharing), ..short(1) }, Seed(1)).unwrap();
        let (mean, std) = (outcome.latency.summary.mean_us(), outcome.latency.summary.std_us());
        assert!((mean / 410.0 - 1.0).abs() < 0.05 && (std / 130.0 - 1.0).abs() < 0.2, "{mean} {std}");
        // One second is a ninth of the paper's run, so that random deviations are three times as
        // large.
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
            let study =
                Study { gaps: Gaps::Poisson(gap), model: Model::Fluid(sharing), window, ..Study::default() };
            run(&study, Seed(3)).unwrap().latency.summary.mean_us()
        });
        assert!(means[0] >= means[1] && means[1] >= 331.76, "{means:?}");
        assert!(means[0] > last[0] && means[1] > last[1], "{means:?} after {last:?}");
        last = means;
    }
}

/// Queues at each link: backlogs at switches save a little of the cost of holding whole paths, and
/// save less with less room.
#[test]
fn fluid_hop_by_hop_is_a_little_faster_than_end_to_end() {
    let mean = |model| run(&Study { model, ..short(1) }, Seed(1)).unwrap().latency.summary.mean_us();
    let whole = [Sharing::MinShare, Sharing::MaxMin].map(|sharing| mean(Model::Fluid(sharing)));
    let hops = [1, 4_096, 1 << 30].map(|bytes| mean(Model::HopByHop { buffer: Some(bytes) }));
    assert!((hops[0] / whole[0] - 1.0).abs() < 1e-4, "without buffers it is min-share: {hops:?} {whole:?}");
    assert!(hops[0] > hops[1] && hops[1] > hops[2] && hops[2] > 331.76, "{hops:?}");
    assert!(hops[2] < whole[1] && hops[2] > 0.99 * whole[1], "{hops:?} {whole:?}");
    assert_eq!(hops[2], mean(Model::HopByHop { buffer: None }));
}

/// Messages that are stored at each link and wait for no other message. Shared links are symmetric
/// queues, so that each has the mean of a queue by itself, S / (1 - rho), although messages keep
/// their size on the way (Kelly 1979, section 3.3).
#[test]
fn stored_messages_meet_kelly_s_closed_form() {
    let study = Study { model: Model::StoreAndForward, subqueue: Subqueue::Message, ..short(1) };
    let outcome = run(&study, Seed(1)).unwrap();
    let (service, rho) = (306.243, 0.030_624_3);
    let expected = 25.52 + service * (2.0 / (1.0 - rho) + 4.0 / (1.0 - 4.0 * rho));
    let (mean, interval) = (outcome.latency.summary.mean_us(), outcome.latency.batches.interval().unwrap());
    assert!((mean - expected).abs() < 2.0 * interval.half_width_us, "{mean} not {expected}: {interval:?}");
    assert!(interval.half_width_us < 0.01 * expected, "{interval:?} says nothing");
    let least = outcome.latency.summary.min().unwrap().as_micros();
    assert!((least - (25.52 + 6.0 * service)).abs() < 0.01, "{least}");
    assert_eq!(outcome.events, 7 * outcome.latency.summary.count());
    assert_eq!(
        run(&Study { subqueue: Subqueue::Port, ..study }, Seed(1)).map(|_| ()),
        Err(StudyError::Ports)
    );
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
        Study { model: Model::Fluid(Sharing::MaxMin), ..base.clone() },
        Study { model: Model::HopByHop { buffer: None }, ..base.clone() },
        Study { model: Model::HopByHop { buffer: Some(4_096) }, ..base.clone() },
        Study { model: Model::StoreAndForward, ..base.clone() },
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
    // Under `slot` no two hosts share a link of a host, so that sharing makes no difference.
    assert_eq!(digests[0], run(&Study { host_links_shared: false, ..base }, Seed(2)).unwrap().digest.value());
}

/// Other shapes than the paper's: one dimension, three, a mesh, sides of different lengths.
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

/// With packets a lone message takes one packet more at each of five links, or one header more.
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
        let outcome = run(&Study { model: Model::Packets(model), ..base.clone() }, Seed(1)).unwrap();
        let summary = outcome.latency.summary;
        assert_eq!(summary.count(), fluid.latency.summary.count());
        let least = summary.min().unwrap().as_micros();
        assert!((least - (331.763 + more_us)).abs() < 0.01, "{least}");
        assert!((outcome.utilisation - fluid.utilisation).abs() < 1e-3);
        assert_eq!(outcome.events, summary.count() * (1 + 6 * 32));
    }
}
