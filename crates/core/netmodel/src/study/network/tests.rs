//! Networks of all kinds under all models.

use std::collections::BTreeMap;

use super::*;
use crate::fluid::Sharing;
use crate::simulation::PacketModel;
use crate::units::Rate;

fn network(shape: Shape, model: Model) -> Network {
    let class = |name: &str, mbit| LinkClass {
        name: name.to_owned(),
        rate: Rate::mbit(mbit),
        delay: Picos::from_micros(1),
        wire: crate::topology::Wire::default(),
    };
    Network {
        shape,
        host_link: class("host", 1_000),
        cable: class("cable", 1_000),
        load: Load::Drawn {
            pattern: Pattern::Uniform,
            gaps: Gaps::Poisson(Picos::from_millis(1)),
            sizes: Sizes::Constant(12_500),
        },
        window: (Picos::ZERO, Picos::from_millis(20)),
        host_time: Picos::from_micros(10),
        host: None,
        model,
        subqueue: Subqueue::Flow,
        routing: crate::routing::Routing::default(),
    }
}

#[test]
fn every_shape_under_every_model() {
    let packets = PacketModel::new(1_250);
    for shape in [
        Shape::Star { hosts: 8 },
        Shape::FatTree { ports: 4 },
        Shape::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 4 },
        Shape::Dragonfly { hosts_per_switch: 1, group: 2, global: 1 },
    ] {
        let mut counts = Vec::new();
        for model in [
            Model::Fluid(Sharing::MinShare),
            Model::Fluid(Sharing::MaxMin),
            Model::HopByHop { buffer: None },
            Model::HopByHop { buffer: Some(5_000) },
            Model::StoreAndForward,
            Model::Packets(packets),
        ] {
            let mut simulation = set_up(&network(shape.clone(), model), Seed(1)).unwrap();
            while simulation.step(|_, _| {}) {}
            let outcome = simulation.outcome();
            counts.push(outcome.latency.summary.count());
            // 100 us on the wire, 10 us in hosts, and at least two links with 1 us each. A packet,
            // or all of a stored message, is on the wire once more for each further link.
            let (alone, more) = match model {
                Model::Packets(_) => (122, 70),
                Model::StoreAndForward => (212, 170),
                _ => (112, 70),
            };
            let least = outcome.latency.summary.min().unwrap();
            assert!(least >= Picos::from_micros(alone), "{shape:?} {model:?}: {least}");
            assert!(least < Picos::from_micros(alone + more), "{shape:?} {model:?}: {least}");
            assert!((0.05..0.3).contains(&outcome.host_utilisation_max));
        }
        assert!(counts[0] > 20 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    }
}

#[test]
fn recordings_over_time_add_up_and_change_nothing() {
    let packets = PacketModel::new(1_250);
    for model in [
        Model::Fluid(Sharing::MinShare),
        Model::Fluid(Sharing::MaxMin),
        Model::HopByHop { buffer: None },
        Model::StoreAndForward,
        Model::Packets(packets),
    ] {
        let network = network(Shape::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 4 }, model);
        let run = |record: bool| {
            let mut simulation = set_up(&network, Seed(1)).unwrap();
            if record {
                simulation.record();
            }
            while simulation.step(|_, _| {}) {}
            simulation
        };
        let (bare, recorded) = (run(false), run(true));
        let outcome = recorded.outcome();
        assert_eq!(outcome.digest, bare.outcome().digest);
        assert!(bare.slices().is_empty() && bare.link_shares().is_empty());
        let slices = recorded.slices();
        assert_eq!(slices.len() as u64, crate::timeline::SLICES, "{model:?}");
        assert!(slices.is_sorted_by_key(|slice| slice.until));
        assert_eq!(slices.last().map(|slice| slice.until), Some(network.window.1));
        let ended: u64 = slices.iter().map(|slice| slice.ended).sum();
        assert_eq!(ended + outcome.left_over, outcome.latency.summary.count());
        assert_eq!(slices.last().map(|slice| slice.in_flight), Some(outcome.left_over));
        let mean = slices.iter().map(|slice| slice.utilisation).sum::<f64>() / slices.len() as f64;
        assert!((mean / outcome.utilisation - 1.0).abs() < 1e-3, "{mean} {}", outcome.utilisation);
        let shares = recorded.link_shares();
        assert_eq!(shares.len(), recorded.topology().links() as usize);
        let most = shares.iter().copied().fold(0.0, f64::max);
        assert_eq!(most, outcome.utilisation_max.max(outcome.host_utilisation_max));
    }
}

#[test]
fn a_run_that_is_stopped_tells_what_it_knows() {
    let network = network(Shape::Star { hosts: 8 }, Model::Fluid(Sharing::MaxMin));
    let mut whole = set_up(&network, Seed(1)).unwrap();
    while whole.step(|_, _| {}) {}
    let mut part = set_up(&network, Seed(1)).unwrap();
    part.record();
    for _ in 0..500 {
        part.step(|_, _| {});
    }
    part.stop();
    let (whole, stopped) = (whole.outcome(), part.outcome());
    assert!((49..=50).contains(&part.slices().len()));
    assert!(stopped.latency.summary.count() < whole.latency.summary.count());
    let ratio = stopped.host_utilisation_max / whole.host_utilisation_max;
    assert!((0.7..1.5).contains(&ratio), "shares are of the time that was simulated: {ratio}");
    let mut fresh = set_up(&network, Seed(1)).unwrap();
    fresh.stop();
    assert_eq!(fresh.outcome().latency.summary.count(), 0, "stopped before it began");
}

#[test]
fn parts_are_known_before_they_are_built() {
    let site = |hosts: u32| crate::topology::Site { name: hosts.to_string(), hosts };
    let line = crate::topology::Line {
        ends: (0, 1),
        rate: Rate::mbit(1),
        delay: Picos::ZERO,
        wire: crate::topology::Wire::default(),
    };
    let wan = crate::topology::Wan { sites: vec![site(3), site(4)], lines: vec![line], detours: Vec::new() };
    let torus = crate::topology::Torus { sides: vec![3, 4], hosts_per_switch: 2, wraps: true };
    for shape in [
        Shape::Wan(wan),
        Shape::Torus(torus),
        Shape::Star { hosts: 8 },
        Shape::FatTree { ports: 4 },
        Shape::Dragonfly { hosts_per_switch: 1, group: 2, global: 1 },
    ] {
        let host = LinkClass {
            name: "host".to_owned(),
            rate: Rate::mbit(1),
            delay: Picos::ZERO,
            wire: crate::topology::Wire::default(),
        };
        let built = shape.build(host.clone(), host).unwrap();
        let built = (built.hosts().into(), built.switches().into(), built.links().into());
        assert_eq!(shape.parts(), built, "{shape:?}");
    }
    let million = crate::topology::Torus { sides: vec![512, 512], hosts_per_switch: 4, wraps: true };
    let needed = memory_bytes(&Shape::Torus(million), Model::Fluid(Sharing::MinShare)).unwrap();
    assert!((250 << 20..400 << 20).contains(&needed), "a million hosts: {needed}");
    assert_eq!(
        memory_bytes(&Shape::Star { hosts: u32::MAX }, Model::Packets(PacketModel::new(1))),
        None,
        "too many to be built"
    );
}

#[test]
fn a_recording_of_a_run_is_that_run() {
    let model = Model::Fluid(Sharing::MaxMin);
    let drawn = network(Shape::LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 4 }, model);
    let mut messages = Vec::new();
    let mut first = set_up(&drawn, Seed(1)).unwrap();
    while first.step(|message, _| {
        let (to, bytes) = (message.parcel.destination, message.parcel.bytes);
        messages.push((message.source, crate::recording::Sent { at: message.born, to, bytes }));
    }) {}
    let recording = Arc::new(Recording::new(messages));
    let again = Network { load: Load::Recorded(Arc::clone(&recording)), ..drawn.clone() };
    let mut second = set_up(&again, Seed(99)).unwrap();
    while second.step(|_, _| {}) {}
    assert_eq!(second.outcome().digest, first.outcome().digest);
    let expected = again.load.expected(12, again.window);
    assert_eq!(expected, (first.outcome().latency.summary.count() as f64, 12_500.0));
    let drawn_expected = drawn.load.expected(12, drawn.window);
    assert!((drawn_expected.0 / expected.0 - 1.0).abs() < 0.2, "{drawn_expected:?} {expected:?}");

    let say = |shape: Shape, window| {
        let wrong = Network { shape, window, ..again.clone() };
        set_up(&wrong, Seed(1)).map(|_| ()).unwrap_err().to_string()
    };
    assert!(say(Shape::Star { hosts: 5 }, again.window).contains("there are 5 hosts"));
    let late = (Picos::from_secs(5), Picos::from_secs(6));
    assert!(say(again.shape.clone(), late).contains("no message from 5s to 6s"));
    let home = Recording::new([(3, crate::recording::Sent { at: Picos::ZERO, to: 3, bytes: 1 })]);
    assert_eq!(home.check(9, again.window), Err(RecordingError::Home { host: 3 }));
}

#[test]
fn all_to_all_reaches_everybody_as_often() {
    let load = Load::Drawn {
        pattern: Pattern::AllToAll,
        gaps: Gaps::Constant(Picos::from_millis(1)),
        sizes: Sizes::Constant(1_250),
    };
    let network = Network { load, ..network(Shape::Star { hosts: 5 }, Model::Fluid(Sharing::MaxMin)) };
    let mut simulation = set_up(&network, Seed(1)).unwrap();
    let mut counts = BTreeMap::new();
    while simulation.step(|message, _| {
        *counts.entry((message.source, message.parcel.destination)).or_insert(0) += 1;
    }) {}
    assert_eq!(counts.len(), 20);
    assert!(counts.values().all(|count| *count == 5), "{counts:?}");
}

#[test]
fn a_hot_spot_fills_small_buffers() {
    let packets = PacketModel { buffer: Some(20_000), ..PacketModel::new(1_250) };
    let pattern = Pattern::HotSpot { host: 0, share: 0.9 };
    let load =
        Load::Drawn { pattern, gaps: Gaps::Poisson(Picos::from_millis(1)), sizes: Sizes::Constant(12_500) };
    let hot = Network { load, ..network(Shape::Star { hosts: 16 }, Model::Packets(packets)) };
    let mut simulation = set_up(&hot, Seed(1)).unwrap();
    let mut arrived = 0;
    while simulation.step(|_, _| arrived += 1) {}
    let outcome = simulation.outcome();
    assert!(
        outcome.lost > 20 && outcome.host_utilisation_max > 0.7,
        "{} {}",
        outcome.lost,
        outcome.host_utilisation_max
    );
    assert_eq!(outcome.latency.summary.count(), arrived);
}

#[test]
fn impossible_settings_are_reported() {
    let model = Model::Fluid(Sharing::MaxMin);
    let say = |network: &Network| set_up(network, Seed(1)).map(|_| ()).unwrap_err().to_string();
    assert!(say(&network(Shape::Star { hosts: 1 }, model)).contains("needs another one"));
    assert!(say(&network(Shape::FatTree { ports: 3 }, model)).contains("even"));
    let ports = Network { subqueue: Subqueue::Port, ..network(Shape::Star { hosts: 2 }, model) };
    assert!(say(&ports).contains("tori"));
}

/// The messages of each of the first hosts: time, destination, bytes.
fn sent(network: &Network) -> BTreeMap<u32, Vec<(Picos, u32, u64)>> {
    let mut sent: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    let mut simulation = set_up(network, Seed(1)).unwrap();
    while simulation.step(|message, _| {
        let entry = (message.born, message.parcel.destination, message.parcel.bytes);
        sent.entry(message.source).or_default().push(entry);
    }) {}
    sent.values_mut().for_each(|list| list.sort_unstable());
    sent
}

#[test]
fn one_host_more_changes_nothing_in_what_the_others_send() {
    let sizes = Sizes::LogNormal { mean: 2_000, cv: 1.5 };
    let pattern = Pattern::HotSpot { host: 0, share: 1.0 };
    let (on, off) = (Picos::from_millis(3), Picos::from_millis(1));
    let gaps = [
        Gaps::Poisson(Picos::from_millis(1)),
        Gaps::Constant(Picos::from_millis(1)),
        Gaps::OnOff { gap: Picos::from_micros(300), on, off },
    ];
    for gaps in gaps {
        let load = Load::Drawn { pattern, gaps, sizes: sizes.clone() };
        let of = |hosts| {
            let base = network(Shape::Star { hosts }, Model::Fluid(Sharing::MinShare));
            sent(&Network { load: load.clone(), ..base })
        };
        let (few, many) = (of(4), of(7));
        for host in 1..4 {
            assert!(few[&host].len() > 5 && few[&host] == many[&host], "{gaps:?}: host {host}");
        }
    }
}

/// A message from each host in turn, a microsecond apart.
#[derive(Debug)]
struct InTurn;

impl crate::script::Script for InTurn {
    fn expected(&self, hosts: u32, _: (Picos, Picos)) -> (f64, f64) {
        (f64::from(hosts), 100.0)
    }

    fn read(
        &self,
        hosts: u32,
        (from, _): (Picos, Picos),
        _: Seed,
    ) -> Result<Box<dyn crate::script::Reading>, String> {
        struct Lines(std::ops::Range<u32>, Picos);
        impl crate::script::Reading for Lines {
            fn next(&mut self) -> Option<crate::script::Line> {
                let source = self.0.next()?;
                Some(crate::script::Line {
                    at: self.1 + Picos::from_micros(source.into()),
                    source,
                    bytes: 100 + u64::from(source),
                })
            }
        }
        if hosts > 100 {
            return Err("there are more than 100 hosts".to_owned());
        }
        Ok(Box::new(Lines(0..hosts, from)))
    }
}

#[test]
fn a_script_says_who_sends_when_and_a_pattern_to_whom() {
    let of = |hosts, pattern, model| {
        let load = Load::Scripted { script: Shared(Arc::new(InTurn)), pattern };
        Network { load, ..network(Shape::Star { hosts }, model) }
    };
    let packets = PacketModel::new(1_250);
    for model in [Model::HopByHop { buffer: None }, Model::Packets(packets)] {
        // Of four hosts the first and the last would send to themselves.
        let sent = sent(&of(4, Pattern::BitReversal, model));
        let line = |host: u32, to| (host, vec![(Picos::from_micros(host.into()), to, 100 + u64::from(host))]);
        assert_eq!(sent, BTreeMap::from([line(1, 2), line(2, 1)]));
    }
    let large = of(101, Pattern::Uniform, Model::StoreAndForward);
    assert_eq!(set_up(&large, Seed(1)).map(|_| ()).unwrap_err().to_string(), "there are more than 100 hosts");
}

/// At 8 Mbit/s a message of 1,000 bytes takes a millisecond. More than one in a millisecond cannot
/// be carried, and the outcome reports it.
#[test]
fn a_load_that_cannot_be_carried_is_seen_by_its_backlog() {
    let slow = |gap_us, model| {
        let class = LinkClass {
            name: "host".to_owned(),
            rate: Rate::mbit(8),
            delay: Picos::ZERO,
            wire: crate::topology::Wire::default(),
        };
        let load = Load::Drawn {
            pattern: Pattern::Permutation,
            gaps: Gaps::Poisson(Picos::from_micros(gap_us)),
            sizes: Sizes::Constant(1_000),
        };
        let base = network(Shape::Star { hosts: 8 }, model);
        let window = (Picos::from_secs(1), Picos::from_secs(3));
        let network = Network { host_link: class.clone(), cable: class, load, window, ..base };
        let mut simulation = set_up(&network, Seed(1)).unwrap();
        while simulation.step(|_, _| {}) {}
        simulation.outcome()
    };
    let packets = PacketModel::new(1_000);
    for model in [Model::Fluid(Sharing::MinShare), Model::HopByHop { buffer: None }, Model::Packets(packets)]
    {
        let (carried, not) = (slow(1_500, model), slow(800, model));
        assert!(!carried.backlog_grows && not.backlog_grows, "{model:?}");
        let truncation = carried.warm_up.unwrap();
        assert!(truncation.share <= 0.5 && truncation.until >= Picos::from_secs(1), "{truncation:?}");
        let mean = carried.latency.summary.mean_us();
        assert!((truncation.mean_us / mean - 1.0).abs() < 0.3, "{truncation:?} {mean}");
    }
}
