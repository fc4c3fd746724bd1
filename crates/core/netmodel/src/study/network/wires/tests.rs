//! Links with names, losses, buckets and limits, through whole simulations.

use base::Seed;

use super::super::set_up;
use super::*;
use crate::arrivals::Gaps;
use crate::fluid::Sharing;
use crate::fluid::lanes::Subqueue;
use crate::packet::PacketCounts;
use crate::packet::ports::Flows;
use crate::pattern::Pattern;
use crate::simulation::Outcome;
use crate::sizes::Sizes;
use crate::topology::{Line, LinkSet, Site, Sustained, Torus, Transport, Wan};
use crate::units::{Picos, parse_share};

fn named(name: &str) -> LinkClass {
    let set = LinkSet::named(name).expect("it is one of the table");
    LinkClass { name: name.to_owned(), rate: set.rate, delay: set.delay, wire: set.wire(Transport::Udp) }
}

/// Hosts at one switch that send `bytes` to the next one, at gaps of `gap_us`.
fn star(link: LinkClass, bytes: u64, gap_us: u64, model: Model) -> Network {
    Network {
        shape: Shape::Star { hosts: 4 },
        host_link: link.clone(),
        cable: link,
        load: Load::Drawn {
            pattern: Pattern::Shift(1),
            gaps: Gaps::Constant(Picos::from_micros(gap_us)),
            sizes: Sizes::Constant(bytes),
        },
        window: (Picos::ZERO, Picos::from_millis(100)),
        host_time: Picos::ZERO,
        host: None,
        model,
        subqueue: Subqueue::Flow,
        routing: crate::routing::Routing::default(),
    }
}

fn packets(bytes: u32) -> PacketModel {
    PacketModel::new(bytes)
}

fn outcome(network: &Network) -> Outcome {
    let mut simulation = set_up(network, Seed(1)).expect("it is a network");
    while simulation.step(|_, _| {}) {}
    simulation.outcome()
}

fn refusal(network: &Network) -> String {
    set_up(network, Seed(1)).map(|_| ()).expect_err("it cannot be").to_string()
}

/// Seven full packets of 1,538 bytes and one of 666, over two links.
#[test]
fn overhead_takes_time_and_room_in_packets_and_in_fluid() {
    let (link, bytes) = (named("gigabit-ethernet"), 7 * 1_472 + 600);
    let wire_us = (7.0 * 1_538.0 + 666.0) * 8e-3;
    let full_us = 1_538.0 * 8e-3;
    let by_packets = outcome(&star(link.clone(), bytes, 1_000, Model::Packets(packets(1_472))));
    // The last packet, which is shorter, crosses the second link by itself after the one before it.
    let expected = 7.0 * full_us + full_us + 666.0 * 8e-3 + 2.0 * 4.5;
    let (least, most) = (by_packets.latency.summary.min(), by_packets.latency.summary.max());
    assert_eq!(least, most);
    assert!((least.map_or(0.0, Picos::as_micros) - expected).abs() < 1e-3, "{least:?} {expected}");
    let by_fluid = outcome(&star(link, bytes, 1_000, Model::Fluid(Sharing::MaxMin)));
    let took = by_fluid.latency.summary.max().map_or(0.0, Picos::as_micros);
    assert!((took - (wire_us + 9.0)).abs() < 1e-3, "{took}");
    // Both report how busy the wire is.
    for outcome in [&by_packets, &by_fluid] {
        assert!((outcome.host_utilisation_max - wire_us / 1_000.0).abs() < 0.002, "{outcome:?}");
    }
    assert_eq!(
        (by_fluid.packets, by_packets.packets.map(|counts| counts.arrived)),
        (None, Some(4 * 100 * 8))
    );
}

/// A message of the VIA paper over four switch links, with the time of its hosts beside the five
/// switches.
#[test]
fn links_of_via_give_the_latency_of_its_paper() {
    let torus = Torus { sides: vec![16], hosts_per_switch: 1, wraps: true };
    let network = Network {
        shape: Shape::Torus(torus),
        load: Load::Drawn {
            pattern: Pattern::Shift(4),
            gaps: Gaps::Constant(Picos::from_millis(10)),
            sizes: Sizes::Constant(32_768),
        },
        host_time: Picos::from_nanos(25_520 - 6 * 500),
        host: None,
        ..star(named("via-clan"), 1, 1, Model::Fluid(Sharing::MinShare))
    };
    let least = outcome(&network).latency.summary.min().map_or(0.0, Picos::as_micros);
    assert!((least - 331.76).abs() < 0.01, "{least}");
}

/// A row of `sites` sites. The first two lines lose these shares of the packets that cross them.
fn row(shares: [&str; 2], sites: u32) -> Network {
    let line = |ends, share: &str| Line {
        ends,
        rate: Rate::mbit(100),
        delay: Picos::from_millis(1),
        wire: Wire { loss: parse_share(share).expect("it is a share"), ..Wire::default() },
    };
    let site = |number: u32| Site { name: format!("S{number}"), hosts: 2 };
    let mut lines = vec![line((0, 1), shares[0]), line((1, 2), shares[1])];
    lines.extend((3..sites).map(|more| line((more - 1, more), "0")));
    let wan = Wan { sites: (0..sites).map(site).collect(), lines, detours: Vec::new() };
    Network {
        shape: Shape::Wan(wan),
        load: Load::Drawn {
            pattern: Pattern::Shift(2),
            gaps: Gaps::Constant(Picos::from_micros(100)),
            sizes: Sizes::Constant(1_000),
        },
        ..star(named("via-clan"), 1, 1, Model::Packets(packets(1_000)))
    }
}

#[test]
fn losses_of_a_line_are_counted_and_are_its_own() {
    let (clean, lossy) = (outcome(&row(["0", "0"], 3)), outcome(&row(["0", "2%"], 3)));
    assert_eq!(clean.lost, 0);
    let counts = lossy.packets.expect("they are packets");
    // 2,000 messages each from the second site to the third, from the third to the first, ...:
    // 4,000 cross the line.
    assert!((40..130).contains(&lossy.lost), "{}", lossy.lost);
    assert_eq!(
        counts,
        PacketCounts { arrived: 6_000 - lossy.lost, lost: lossy.lost, ..PacketCounts::default() }
    );
    assert_eq!(lossy.latency.summary.count(), 6_000 - lossy.lost);
    // A line without losses draws nothing, and its times are those without: the engines agree.
    assert_eq!(outcome(&row(["0", "0.0000000001%"], 3)).digest, clean.digest);
    // Losses on another line, and one more site, change nothing for messages that cross only this
    // line.
    let lost_between = |network: &Network| {
        let mut simulation = set_up(network, Seed(1)).expect("it is a network");
        let mut there = Vec::new();
        while simulation.step(|message, _| {
            if message.source / 2 == 1 && message.parcel.destination / 2 == 2 {
                there.push((message.source, message.born));
            }
        }) {}
        there.sort_unstable();
        there
    };
    let mut more_sites = row(["0", "2%"], 4);
    // The last site sends nothing that crosses the line: hosts of three sites send as before.
    more_sites.load = Load::Recorded(std::sync::Arc::new(recorded(&row(["0", "2%"], 3))));
    let mut as_before = row(["0", "2%"], 3);
    as_before.load = more_sites.load.clone();
    let there = lost_between(&as_before);
    assert!(there.len() > 1_900 && there.len() < 2_000, "{}", there.len());
    assert_eq!(lost_between(&more_sites), there);
    as_before.shape = row(["3%", "2%"], 3).shape;
    assert!(lost_between(&as_before).len() > 1_900);
}

/// The messages of a network between its second and third site.
fn recorded(network: &Network) -> crate::recording::Recording {
    let Load::Drawn { sizes, .. } = &network.load else { panic!("they are drawn") };
    let bytes = sizes.most();
    let sent = (0..2_000u64).map(|number| {
        let at = Picos::from_micros(50 * number);
        ((number % 2 + 2) as u32, crate::recording::Sent { at, to: (number % 2 + 4) as u32, bytes })
    });
    crate::recording::Recording::new(sent)
}

#[test]
fn congestion_is_marked_before_it_loses() {
    let hot = |model| Network {
        load: Load::Drawn {
            pattern: Pattern::HotSpot { host: 0, share: 0.9 },
            gaps: Gaps::Poisson(Picos::from_micros(400)),
            sizes: Sizes::Constant(14_720),
        },
        ..star(named("gigabit-ethernet"), 1, 1, Model::Packets(model))
    };
    let marking = PacketModel { mark_above: Some(20_000), buffer: Some(128 << 10), ..packets(1_472) };
    let (plain, marked) =
        (outcome(&hot(PacketModel { mark_above: None, ..marking })), outcome(&hot(marking)));
    assert_eq!((plain.digest, plain.lost), (marked.digest, marked.lost), "marks change no times");
    let counts = marked.packets.expect("they are packets");
    assert!(counts.marked > 100 && counts.marked < counts.arrived, "{counts:?}");
    assert!(counts.messages_marked > 10 && counts.messages_marked < marked.latency.summary.count());
    assert_eq!(plain.packets.map(|counts| (counts.marked, counts.messages_marked)), Some((0, 0)));
}

/// Nothing is lost under back-pressure, whatever the hot spot; a ring of switches that fills up is
/// reported.
#[test]
fn back_pressure_loses_nothing_or_says_why_it_stands_still() {
    let holds = PacketModel { full: Full::Wait, buffer: Some(4_000), ..packets(1_000) };
    let ring = |shift, wraps| Network {
        shape: Shape::Torus(Torus { sides: vec![6], hosts_per_switch: 1, wraps }),
        load: Load::Drawn {
            pattern: Pattern::Shift(shift),
            gaps: Gaps::Constant(Picos::from_micros(200)),
            sizes: Sizes::Constant(100_000),
        },
        window: (Picos::ZERO, Picos::from_millis(5)),
        ..star(named("via-clan"), 1, 1, Model::Packets(holds))
    };
    for network in [ring(1, true), ring(2, false)] {
        let outcome = outcome(&network);
        let packets = outcome.packets.expect("they are packets");
        assert_eq!((outcome.lost, packets.dropped, outcome.deadlock.clone()), (0, 0, None));
        assert_eq!(packets.arrived, outcome.latency.summary.count() * 100);
        assert!(outcome.left_over > 0, "{outcome:?}");
    }
    let network = ring(2, true);
    let mut simulation = set_up(&network, Seed(1)).expect("it is a network");
    simulation.record();
    while simulation.step(|_, _| {}) {}
    let outcome = simulation.outcome();
    let deadlock = outcome.deadlock.expect("everybody waits for the next");
    assert_eq!(deadlock.links.len(), 6);
    for (at, link) in deadlock.links.iter().enumerate() {
        let next = deadlock.links[(at + 1) % 6];
        assert_eq!(simulation.topology().to(*link), simulation.topology().from(next));
    }
    assert!(deadlock.since > Picos::ZERO && deadlock.since < Picos::from_millis(5));
    assert!(outcome.left_over > 0 && outcome.latency.summary.count() < 6 * 25);
    let most = simulation.link_counts().iter().filter_map(|counts| counts.backlog_max).max();
    assert_eq!(most, Some(4_000));
}

/// The torus of the VIA study. With turns no message waits for all of another one, and smaller
/// packets come closer to a fluid.
#[test]
fn turns_come_near_a_fluid_as_packets_shrink() {
    let waits = |bytes: u32, discipline| {
        let model = PacketModel { discipline, ..packets(bytes) };
        let network = Network {
            load: Load::Drawn {
                pattern: Pattern::HotSpot { host: 0, share: 0.5 },
                gaps: Gaps::Poisson(Picos::from_micros(900)),
                sizes: Sizes::Constant(16_384),
            },
            window: (Picos::ZERO, Picos::from_millis(1_000)),
            ..star(LinkClass { delay: Picos::ZERO, ..named("via-clan") }, 1, 1, Model::Packets(model))
        };
        let alone = Rate::mbit(856).time_of(16_384 + u64::from(bytes)).as_micros();
        outcome(&network).latency.summary.mean_us() - alone
    };
    let turns = |bytes| {
        let quantum = u64::from(bytes);
        waits(bytes, Discipline::DeficitRoundRobin { quantum, flows: Flows::Messages })
    };
    let means = [4_096, 1_024, 512, 256].map(turns);
    assert!(means[0] < means[3] && (means[3] / means[2] - 1.0).abs() < 0.02, "{means:?}");
    assert!(waits(256, Discipline::Fifo) < 0.9 * means[3], "{means:?}");
}

#[test]
fn impossible_links_and_models_are_reported() {
    let ethernet = || named("gigabit-ethernet");
    let fluid = Model::Fluid(Sharing::MaxMin);
    let with = |wire: Wire| LinkClass { wire, ..ethernet() };
    let bucket = |mbit, depth| Some(Sustained { rate: Rate::mbit(mbit), depth });
    let quantum = |quantum| PacketModel {
        discipline: Discipline::DeficitRoundRobin { quantum, flows: Flows::Pairs },
        ..packets(1_000)
    };
    let some = parse_share("0.1%").expect("it is a share");
    let holds = |model| Model::Packets(PacketModel { full: Full::Wait, ..model });
    for (network, why) in [
        (
            star(with(Wire { loss: some, ..Wire::default() }), 1, 1, fluid),
            "packets are lost on links of hosts: a fluid has no packets",
        ),
        (
            star(with(Wire { bucket: bucket(1, 1), ..Wire::default() }), 1, 1, fluid),
            "a bucket of tokens on links of hosts: a fluid",
        ),
        (
            star(with(Wire { overhead: 1, ..Wire::default() }), 1, 1, fluid),
            "no link that says how much one holds) on links of hosts",
        ),
        (
            star(ethernet(), 1, 1, Model::Packets(packets(1_500))),
            "packets of 1500 bytes are too large for links of hosts: one holds 1472",
        ),
        (
            star(with(Wire { loss: Share::ALL, ..Wire::default() }), 1, 1, Model::Packets(packets(9))),
            "all packets are lost on links of hosts",
        ),
        (
            star(
                with(Wire { bucket: bucket(1_000, 9), ..Wire::default() }),
                1,
                1,
                Model::Packets(packets(9)),
            ),
            "a bucket of tokens on links of hosts changes nothing",
        ),
        (
            star(with(Wire { bucket: bucket(10, 0), ..Wire::default() }), 1, 1, Model::Packets(packets(9))),
            "a bucket of tokens on links of hosts changes nothing",
        ),
        (
            star(ethernet(), 1, 1, Model::Packets(PacketModel { buffer: Some(1_065), ..packets(1_000) })),
            "a buffer of 1065 bytes has no room for a packet on links of hosts, which takes 1066",
        ),
        (
            star(ethernet(), 1, 1, Model::Packets(quantum(1_065))),
            "a quantum of 1065 bytes is less than a packet on links of hosts, which takes 1066",
        ),
        (star(ethernet(), 1, 1, holds(packets(1_000))), "back-pressure needs a limit"),
        (
            star(
                ethernet(),
                1,
                1,
                Model::Packets(PacketModel {
                    buffer: Some(9_000),
                    mark_above: Some(9_000),
                    ..packets(1_000)
                }),
            ),
            "marked above 9000 bytes, and never more than 9000 bytes wait",
        ),
        (Network { model: fluid, ..row(["0", "1%"], 3) }, "packets are lost on the line between S1 and S2"),
    ] {
        let said = refusal(&network);
        assert!(said.contains(why), "{said}");
    }
    let plain = star(ethernet(), 1, 1, Model::Packets(packets(1_000)));
    let lossy = Network { host_link: with(Wire { loss: some, ..Wire::default() }), ..plain.clone() };
    assert!(lossy.memory_bytes() > plain.memory_bytes());
}
