//! Closed forms: shares of flows that take turns, processor sharing in the limit, tokens.

use super::*;
use crate::arrivals::{Gaps, Sources};
use crate::packet::run::Run;
use crate::stats::Recorder;
use crate::traffic::{Parcel, Traffic};

/// Flows that always have something to send get equal shares, up to a quantum and a packet,
/// whatever the sizes of their packets.
#[test]
fn those_who_have_more_to_send_than_they_can_share_equally() {
    let quantum = 1_500;
    let case = Case {
        rules: rules(round_robin(quantum, Flows::Pairs)),
        ports: vec![port(RATE)],
        paths: vec![vec![0]; 3],
        // Packets of 1,000, 300 and 700 bytes.
        sent: (0..3_000u64)
            .map(|number| (0, number as usize % 3, [1_000, 300, 700][number as usize % 3]))
            .collect(),
    };
    let mut ports = Ports::new(case.rules, FULL, case.ports.iter().copied());
    let mut flow_of = Vec::new();
    for (_, path, bytes) in &case.sent {
        ports.send(Picos::ZERO, (*path as u32, 0), &case.paths[*path], *bytes);
        flow_of.push(*path);
    }
    let mut served = [0u64; 3];
    // The second flow has 300 kB. Until these are sent all three flows have something to send.
    while served[1] < 290_000 {
        if let Some(gone) = ports.step() {
            let flow = flow_of[gone.message as usize];
            served[flow] += case.sent[gone.message as usize].2;
            let (least, most) = (served.iter().min(), served.iter().max());
            let apart = most.zip(least).map_or(0, |(most, least)| most - least);
            assert!(apart <= quantum + 1_000, "{served:?}");
        }
    }
}

/// First come, first served, all the bytes of a large sender stand before those of a small one.
/// With turns they do not.
#[test]
fn turns_shelter_those_who_send_little() {
    let end_of_small = |discipline| {
        let case = Case {
            rules: rules(discipline),
            ports: vec![port(RATE); 3],
            paths: vec![vec![0, 2], vec![1, 2]],
            sent: vec![(0, 0, 500_000), (0, 1, 200_000), (2_000_000, 1, 1_000)],
        };
        let (_, ended) = run(&case, is_sound);
        ended.iter().find(|(_, number, _)| *number == 2).map(|(at, _, _)| at / 1_000_000)
    };
    let (fifo, messages) =
        (end_of_small(Discipline::Fifo), end_of_small(round_robin(1_000, Flows::Messages)));
    // 400 kB have come and 200 kB have gone: 2 ms; or three packets at most.
    assert!(fifo > Some(3_900) && messages < Some(2_070), "{fifo:?} {messages:?}");
}

/// Messages of one size over one link, born as a Poisson process.
struct Poisson {
    sources: Sources,
    bytes: u64,
    until: Picos,
}

impl Traffic for Poisson {
    fn first(&mut self, source: u32) -> Option<Picos> {
        Some(self.sources.first(source, Picos::ZERO))
    }

    fn message(&mut self, _: u32, path: &mut Vec<u32>, _: &mut Vec<u32>) -> Parcel {
        path.push(0);
        Parcel { destination: 0, bytes: self.bytes, outside: Picos::ZERO }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        Some(self.sources.next(source, now)).filter(|next| *next < self.until)
    }
}

/// The mean time of messages of 16 KiB at 60 % of a link, each with turns of its own, in units of
/// the time that one takes; and half the width of its interval.
fn shared(packet_bytes: u32, discipline: Discipline) -> (f64, f64) {
    let bytes = 16_384;
    let alone = RATE.time_of(bytes);
    let gap = Picos((alone.0 as f64 / 0.6) as u64);
    let sources = Sources::new(Gaps::Poisson(gap), 1, Seed(3));
    let traffic = Poisson { sources, bytes, until: Picos(gap.0 * 20_000) };
    let queue = Plain { delay: Picos::ZERO, ..port(RATE).queue };
    let ports = Ports::new(rules(discipline), packet_bytes, [Port { queue, ..port(RATE) }]);
    let (mut run, mut times) = (Run::new(ports, traffic, 1), Recorder::default());
    assert!(!run.run_until(Picos::MAX, |message| times.add(message.sojourn())));
    let half = times.batches.interval().map_or(f64::NAN, |interval| interval.half_width_us);
    (times.summary.mean_us() / alone.as_micros(), half / alone.as_micros())
}

/// Processor sharing is the limit for small packets: S / (1 - rho), whereas first come, first
/// served, waits for half as long. On the way there the mean rises with each smaller packet size,
/// because a message has its last turn later.
#[test]
fn small_packets_in_turn_are_processor_sharing() {
    let (fifo, half) = shared(256, Discipline::Fifo);
    let expected = 1.0 + 0.6 / (2.0 * 0.4); // M/D/1
    assert!((fifo - expected).abs() < 2.0 * half && half < 0.1, "{fifo} for {expected}: {half}");
    let turns = |packet: u32| shared(packet, round_robin(packet.into(), Flows::Messages));
    let means: Vec<f64> = [8_192, 2_048, 512].map(|packet| turns(packet).0).to_vec();
    assert!(means.is_sorted() && means[0] > fifo, "{means:?}");
    let (mean, half) = turns(256);
    assert!((mean - 2.5).abs() < 2.0 * half && half < 0.15, "{mean} for 2.5: {half}");
    // The same births are shared as an ideal fluid: the last two means differ by far less than the
    // interval.
    assert!((means[2] - mean).abs() < 0.02 * mean, "{means:?} {mean}");
}

/// From a full bucket n bytes take n / P if n <= b P / (P - R), else (n - b) / R.
#[test]
fn tokens_give_the_peak_and_then_what_lasts() {
    let (peak, sustained, depth) = (Rate::mbit(800), Rate::mbit(200), 30_000u64);
    let limited = Port { tokens: Some(TokenRate { peak, sustained, depth }), ..port(peak) };
    let knee = 40_000; // b P / (P - R)
    for bytes in [1, 999, 10_000, knee, knee + 1_000, 100_000, 1_000_500] {
        let expected_ns = if bytes <= knee { bytes * 10 } else { (bytes - depth) * 40 };
        let case = Case {
            rules: rules(Discipline::Fifo),
            ports: vec![limited],
            paths: vec![vec![0]],
            // Once more after the bucket has filled again, which takes 1.2 ms.
            sent: vec![(0, 0, bytes), (expected_ns + 1_200_100, 0, bytes)],
        };
        let (ports, ended) = run(&case, is_sound);
        let [first, again] =
            [ended[0].0, ended[1].0 - Picos::from_nanos(case.sent[1].0).0].map(|at| at - 100_000);
        let packets = bytes.div_ceil(FULL.into());
        // Each packet is rounded up to a picosecond.
        for took in [first, again] {
            assert!((expected_ns * 1_000..=expected_ns * 1_000 + packets).contains(&took), "{bytes}: {took}");
        }
        assert_eq!(ports.busy(0).0, first + again);
    }
}

/// Tokens shape a link in the middle of a path: excess packets wait there, and are not dropped.
#[test]
fn packets_faster_than_tokens_wait() {
    let tokens = TokenRate { peak: RATE, sustained: Rate::mbit(400), depth: 5_000 };
    let case = Case {
        rules: rules(Discipline::Fifo),
        ports: vec![port(RATE), Port { tokens: Some(tokens), ..port(RATE) }],
        paths: vec![vec![0, 1]],
        sent: vec![(0, 0, 100_000)],
    };
    let (ports, ended) = run(&case, is_sound);
    // It begins one packet and one delay later, and ends one delay later.
    let expected = 10_000 + 200 + (100_000 - 5_000) * 20;
    assert!((expected * 1_000..expected * 1_000 + 100).contains(&ended[0].0), "{ended:?}");
    // The last packet comes 990 us after the first: 49.5 kB have gone, and the 5 kB of the bucket.
    assert_eq!(ports.counts(1).backlog_max, 100_000 - 49_500 - 5_000);
}

/// The order in which messages arrive.
fn order(case: &Case) -> Vec<usize> {
    run(case, is_sound).1.iter().map(|(_, number, _)| *number).collect()
}

/// A turn is worth the same to a flow that has just had nothing to send as to any other: the rest
/// of its last turn is gone.
#[test]
fn a_queue_with_nothing_to_send_keeps_nothing_of_its_turn() {
    let case = Case {
        rules: rules(round_robin(1_000, Flows::Pairs)),
        ports: vec![port(RATE)],
        paths: vec![vec![0], vec![0]],
        // The first leaves 400 of its turn. With these both of the later ones would go in one turn,
        // before the last of the others.
        sent: vec![(0, 0, 600), (1_000, 1, 1_000), (2_000, 0, 700), (3_000, 0, 700), (4_000, 1, 1_000)],
    };
    assert_eq!(order(&case), [0, 1, 2, 4, 3]);
}

/// The same for a flow that had to wait for room at the next link.
#[test]
fn a_queue_that_waits_for_room_keeps_nothing_of_its_turn() {
    let far = Port { queue: Plain { buffer: Some(1_400), ..port(RATE).queue }, ..port(RATE) };
    let (far_away, here, first) = (0, 1, 2);
    let case = Case {
        rules: Rules { full: Full::Wait, ..rules(round_robin(2_000, Flows::Pairs)) },
        ports: vec![port(RATE), far],
        paths: vec![vec![0, 1], vec![0], vec![0]],
        sent: vec![
            (0, first, 100),
            // 800 of a turn of 2,000 are used, and there is no room for 700 more beside them: the
            // others have their turn. When there is room, a whole turn suffices for two of the
            // three that are left; with the 1,200 of before it would be one, and then three.
            (100, far_away, 800),
            (100, far_away, 700),
            (100, far_away, 700),
            (100, far_away, 700),
            (200, here, 1_000),
            (200, here, 1_000),
            (200, here, 1_000),
            (200, here, 1_000),
        ],
    };
    assert_eq!(order(&case), [0, 1, 5, 6, 2, 3, 7, 8, 4]);
}
