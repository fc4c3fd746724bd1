//! Properties of ports whatever happens to packets, on small nets with random traffic.

mod forms;
mod pressure;

use base::Seed;
use proptest::prelude::*;

use super::*;
use crate::packet::store::Packet;
use crate::packet::{Packets, Queue as Plain};
use crate::stage::TokenRate;
use crate::units::{Picos, Rate, Share, parse_share};

const FULL: u32 = 1_000;
/// 10 ns per byte.
const RATE: Rate = Rate::mbit(800);

fn rules(discipline: Discipline) -> Rules {
    Rules { switching: Switching::StoreAndForward, discipline, full: Full::Drop, mark_above: None }
}

fn round_robin(quantum: u64, flows: Flows) -> Discipline {
    Discipline::DeficitRoundRobin { quantum, flows }
}

fn port(rate: Rate) -> Port {
    let queue = Plain { rate, delay: Picos::from_nanos(100), overhead: 0, buffer: None };
    Port { queue, tokens: None, loss: None }
}

/// A message to be sent: its time (in ns), its path, its bytes.
type Sent = (u64, usize, u64);

/// A simulated case.
#[derive(Clone, Debug)]
struct Case {
    rules: Rules,
    ports: Vec<Port>,
    paths: Vec<Vec<u32>>,
    sent: Vec<Sent>,
}

/// The end of each message in the order of ends: its time, its number, and whether all of it
/// arrived.
type Ended = Vec<(u64, usize, Gone)>;

/// Runs a case to its end. `look` is called after each event.
fn run(case: &Case, mut look: impl FnMut(&Ports, u64)) -> (Ports, Ended) {
    let mut ports = Ports::new(case.rules, FULL, case.ports.iter().copied());
    let (mut numbers, mut ended) = (Vec::new(), Vec::new());
    let mut step = |ports: &mut Ports, numbers: &[usize], now: u64| {
        if let Some(gone) = ports.step() {
            ended.push((now, numbers[gone.message as usize], gone));
        }
        look(ports, now);
    };
    for (number, (at, path, bytes)) in case.sent.iter().enumerate() {
        let at = Picos::from_nanos(*at);
        while let Some(now) = ports.next_event().filter(|now| *now <= at) {
            step(&mut ports, &numbers, now.0);
        }
        let id = ports.send(at, (*path as u32, 0), &case.paths[*path], *bytes) as usize;
        numbers.resize(numbers.len().max(id + 1), 0);
        numbers[id] = number;
    }
    while let Some(now) = ports.next_event() {
        step(&mut ports, &numbers, now.0);
    }
    (ports, ended)
}

fn items(list: list::List, of: &[impl list::Linked]) -> Vec<u32> {
    let mut list = list;
    std::iter::from_fn(|| list.pop(of)).take(of.len()).collect()
}

/// Whatever happens, no link idles that could send, and exactly the packets that hold room are
/// counted.
fn is_sound(ports: &Ports, now: u64) {
    let packets = &ports.store.packets;
    let path = |packet: &Packet| &ports.store.messages[packet.message as usize].path;
    let mut holding = vec![0; ports.links.len()];
    let mut queued = vec![0; ports.links.len()];
    for queue in &ports.queues {
        for packet in items(queue.packets, packets).iter().map(|id| &packets[*id as usize]) {
            let wire = ports.links[queue.link as usize].wire(packet.bytes);
            queued[queue.link as usize] += wire;
            holding[queue.link as usize] += if packet.hop > 0 { wire } else { 0 };
        }
        if let Some(first) = queue.packets.first().filter(|_| queue.has_room) {
            let packet = &packets[first as usize];
            let onward = path(packet)[packet.hop as usize + 1];
            holding[onward as usize] += ports.links[onward as usize].wire(packet.bytes);
        }
    }
    for link in &ports.links {
        assert!(link.is_busy || link.ring.is_empty(), "an idle link has a queue that may send");
        for packet in items(link.way, packets).iter().map(|id| &packets[*id as usize]) {
            if let Some(onward) = path(packet).get(packet.hop as usize + 1) {
                holding[*onward as usize] += ports.links[*onward as usize].wire(packet.bytes);
            }
        }
    }
    for (number, link) in ports.links.iter().enumerate() {
        assert_eq!(link.queued, queued[number]);
        if ports.rules.full == Full::Drop {
            continue;
        }
        let sending = if link.is_busy && link.sending.holds_room { link.sending.bytes } else { 0 };
        assert_eq!(link.taken, holding[number] + sending, "link {number} at {now}");
        assert!(link.taken <= link.limit, "link {number} at {now}");
        if let Some(first) = link.waiters.first() {
            let head = ports.queues[first as usize].packets.first().expect("who waits has a packet");
            let wire = link.wire(packets[head as usize].bytes);
            assert!(link.taken + wire > link.limit, "there is room, and somebody waits for it");
        }
    }
}

/// Every message is gone, or a reported deadlock is the reason why it cannot move.
fn has_ended(case: &Case, ports: &Ports, ended: &Ended) {
    let stuck = ports.deadlock();
    assert_eq!(ended.len() < case.sent.len(), stuck.is_some(), "{stuck:?}");
    let Some(Deadlock { since, links }) = stuck else { return };
    let onward = links.iter().cycle().skip(1);
    for (link, onward) in links.iter().zip(onward) {
        let waits = |queue: &&queue::Queue| queue.link == *link && queue.waits_for == *onward;
        assert!(
            ports.queues.iter().any(|queue| waits(&queue) && queue.since <= since.0),
            "{link} for {onward}"
        );
    }
}

fn paths() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let path = prop::sample::subsequence(vec![0u32, 1, 2, 3, 4], 1..=4).prop_shuffle();
    prop::collection::vec(path, 1..5)
}

fn cases() -> impl Strategy<Value = Case> {
    let discipline = prop_oneof![
        Just(Discipline::Fifo),
        (1_040u64..5_000).prop_map(|quantum| round_robin(quantum, Flows::Pairs)),
        (1_040u64..5_000).prop_map(|quantum| round_robin(quantum, Flows::Messages)),
    ];
    let switching = prop_oneof![
        Just(Switching::StoreAndForward),
        (0u64..200).prop_map(|header| Switching::CutThrough { header })
    ];
    let rules = (switching, discipline, any::<bool>(), prop::option::of(500u64..4_000)).prop_map(
        |(switching, discipline, waits, mark_above)| {
            let full = if waits { Full::Wait } else { Full::Drop };
            Rules { switching, discipline, full, mark_above }
        },
    );
    let tokens = (100u64..700, 0u64..5_000).prop_map(|(mbit, depth)| TokenRate {
        peak: RATE,
        sustained: Rate::mbit(mbit),
        depth,
    });
    let port = (
        200u64..1_000,
        0u64..500,
        0u32..40,
        prop::option::of(1_040u64..4_000),
        prop::option::of(tokens),
        prop::option::weighted(0.2, any::<u64>()),
    )
        .prop_map(|(mbit, delay, overhead, buffer, tokens, seed)| {
            let queue = Plain { rate: Rate::mbit(mbit), delay: Picos::from_nanos(delay), overhead, buffer };
            let share = parse_share("10%").expect("it is a share");
            Port { queue, tokens, loss: seed.map(|seed| Loss { share, seed: Seed(seed) }) }
        });
    let sent = prop::collection::vec((0u64..100_000, 0usize..4, 1u64..6_000), 1..40);
    (rules, prop::collection::vec(port, 5), paths(), sent).prop_map(|(rules, ports, paths, mut sent)| {
        sent.sort_unstable();
        sent.iter_mut().for_each(|(_, path, _)| *path %= paths.len());
        Case { rules, ports, paths, sent }
    })
}

/// Bytes of a message on a link.
fn wire(bytes: u64, port: &Port) -> u64 {
    bytes + bytes.div_ceil(u64::from(FULL)) * u64::from(port.queue.overhead)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_all_is_accounted_for(case in cases()) {
        // A deadlock is reported while others still move, and never for queues that will go on.
        let mut told = None;
        let (ports, ended) = run(&case, |ports, now| {
            is_sound(ports, now);
            told = told.take().or_else(|| ports.deadlock());
        });
        has_ended(&case, &ports, &ended);
        prop_assert!(told.is_none() || ports.deadlock().is_some(), "{told:?} went on");
        // No message is gone twice.
        let mut numbers: Vec<usize> = ended.iter().map(|(_, number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), ended.len());
        // Packets arrive, are dropped, are lost, or are stuck. A packet that waits for room is
        // never dropped.
        let counts = |of: fn(Counts) -> u64| (0..5).map(|link| of(ports.counts(link))).sum::<u64>();
        let (dropped, lost) = (counts(|counts| counts.dropped), counts(|counts| counts.lost));
        let gone: u64 = ended.iter().map(|(_, _, gone)| u64::from(gone.dropped)).sum();
        prop_assert!(gone <= dropped + lost);
        prop_assert!(case.rules.full == Full::Drop || dropped == 0);
        prop_assert!(case.ports.iter().any(|port| port.loss.is_some()) || lost == 0);
        // Ports that are not the memory of a sender keep to their limits, under either rule.
        let is_first = |link: &u32| case.paths.iter().any(|path| path[0] == *link);
        for link in (0..5).filter(|link| !is_first(link)) {
            let buffer = case.ports[link as usize].queue.buffer.unwrap_or(u64::MAX);
            prop_assert!(ports.counts(link).backlog_max <= buffer);
            let above = case.rules.mark_above.is_some_and(|bytes| ports.counts(link).backlog_max > bytes);
            prop_assert_eq!(ports.counts(link).marked > 0, above);
        }
        if ended.len() < case.sent.len() {
            return Ok(());
        }
        prop_assert_eq!(gone, dropped + lost);
        let packets: u64 = case.sent.iter().map(|(_, _, bytes)| bytes.div_ceil(FULL.into())).sum();
        prop_assert_eq!(ports.arrived().0 + gone, packets);
        prop_assert_eq!(ports.marked_messages(&ended), ports.arrived().1);
        if gone == 0 {
            // Every link sent everything that was to cross it, and is empty.
            for (link, port) in case.ports.iter().enumerate() {
                let crosses = |path: usize| case.paths[path].contains(&(link as u32));
                let expected: u64 = case.sent.iter().filter(|sent| crosses(sent.1)).map(|sent| wire(sent.2, port)).sum();
                prop_assert_eq!(ports.sent(Picos::MAX, link as u32), expected);
                prop_assert_eq!(ports.backlog(Picos::MAX, link as u32), 0);
            }
        }
        // Messages of one path do not overtake each other, unless each message is a flow.
        if matches!(case.rules.discipline, Discipline::DeficitRoundRobin { flows: Flows::Messages, .. }) {
            return Ok(());
        }
        for path in 0..case.paths.len() {
            let of: Vec<usize> = ended.iter().filter(|(_, number, gone)| case.sent[*number].1 == path && gone.dropped == 0)
                .map(|(_, number, _)| *number).collect();
            prop_assert!(of.is_sorted(), "{:?}", of);
        }
    }

    /// Without turns, tokens and losses these are the times of the queues that need only one event.
    #[test]
    fn first_come_is_first_served_as_by_the_leaner_engine(case in cases(), drops in any::<bool>()) {
        // With cut-through the leaner engine has room for everything.
        let switching = if drops { Switching::StoreAndForward } else { case.rules.switching };
        let rules = Rules { switching, discipline: Discipline::Fifo, full: Full::Drop, mark_above: None };
        let plain = |port: &Port| Plain {
            // Where bytes take a whole number of nanoseconds, both engines count the waiting bytes
            // alike.
            rate: if drops { RATE } else { port.queue.rate },
            buffer: port.queue.buffer.filter(|_| drops),
            ..port.queue
        };
        let queues: Vec<Plain> = case.ports.iter().map(plain).collect();
        let ports = queues.iter().map(|queue| Port { queue: *queue, tokens: None, loss: None }).collect();
        let (mut rich, ended) = run(&Case { rules, ports, ..case.clone() }, is_sound);
        let mut lean = Packets::new(rules.switching, FULL, queues);
        let (mut numbers, mut expected) = (vec![0; case.sent.len()], Vec::new());
        let mut sent = case.sent.iter().enumerate().peekable();
        loop {
            let due = sent.peek().map_or(Picos::MAX, |(_, sent)| Picos::from_nanos(sent.0));
            match lean.next_event().filter(|now| *now <= due) {
                Some(now) => expected.extend(lean.step().map(|gone| (now.0, numbers[gone.message as usize], gone))),
                None => {
                    let Some((number, (at, path, bytes))) = sent.next() else { break };
                    let id = lean.send(Picos::from_nanos(*at), &case.paths[*path], *bytes);
                    numbers[id as usize] = number;
                }
            }
        }
        prop_assert_eq!(ended, expected);
        prop_assert_eq!(rich.crossings(), lean.crossings());
        prop_assert!(rich.step().is_none() && rich.next_event().is_none());
        for link in 0..5 {
            prop_assert_eq!(rich.sent(Picos::MAX, link), lean.bytes(link));
            prop_assert_eq!(rich.busy(link), lean.busy(link));
            prop_assert_eq!(rich.counts(link).dropped, lean.dropped(link));
        }
    }
}

impl Ports {
    /// Number of marked packets that the ended messages report.
    fn marked_messages(&self, ended: &Ended) -> u64 {
        ended.iter().map(|(_, _, gone)| u64::from(gone.marked)).sum()
    }
}

/// Memory estimates given before a network is built depend on these.
#[test]
fn links_and_queues_are_small() {
    let of_link = size_of::<Link>() + size_of::<Queue>();
    assert!(of_link <= 300, "{of_link}");
}

/// One more lossy link changes nothing on this one.
#[test]
fn losses_are_those_of_the_share_and_of_the_link_alone() {
    let share = parse_share("2%").expect("it is a share");
    let lossy = |seed| Port { loss: Some(Loss { share, seed: Seed(seed) }), ..port(RATE) };
    let lost = |ports: Vec<Port>| {
        let sent = (0..20_000).map(|number| (number * 20_000, number as usize % 2, 1_000)).collect();
        let case = Case { rules: rules(Discipline::Fifo), ports, paths: vec![vec![0, 2], vec![1, 2]], sent };
        let (ports, ended) = run(&case, |_, _| ());
        let by_first: Vec<usize> = ended
            .iter()
            .filter(|(_, number, gone)| number % 2 == 0 && gone.dropped > 0)
            .map(|(_, number, _)| *number)
            .collect();
        (by_first, [0, 1, 2].map(|link| ports.counts(link).lost))
    };
    let (one, counts) = lost(vec![lossy(1), port(RATE), port(RATE)]);
    // 10,000 packets: 200 are lost on average, and the standard deviation is 14.
    assert!((130..270).contains(&counts[0]) && counts[1..] == [0, 0], "{counts:?}");
    let (again, more) = lost(vec![lossy(1), lossy(2), port(RATE)]);
    assert_eq!((&one, counts[0]), (&again, more[0]));
    assert!(more[1] != 0 && lost(vec![lossy(2), port(RATE), port(RATE)]).0 != one);
    let all = Port { loss: Some(Loss { share: Share::ALL, seed: Seed(1) }), ..port(RATE) };
    assert_eq!(lost(vec![port(RATE), port(RATE), all]).1[2], 20_000);
}

#[test]
fn marks_are_of_those_who_find_much_waiting() {
    let limit = |mark_above| Case {
        rules: Rules { mark_above, ..rules(Discipline::Fifo) },
        ports: vec![port(RATE); 3],
        paths: vec![vec![0, 2], vec![1, 2]],
        sent: vec![(0, 0, 5_000), (0, 1, 5_000)],
    };
    // Two packets come every 10 us, and one goes: the k-th pair finds k - 1 packets, and so k and k
    // + 1 with itself.
    let marked = |mark_above| {
        let (ports, ended) = run(&limit(mark_above), is_sound);
        let counts = ports.counts(2);
        (
            counts.marked,
            ports.arrived().1,
            ended.iter().filter(|(_, _, gone)| gone.marked > 0).count(),
            counts.backlog_max,
        )
    };
    assert_eq!(marked(None), (0, 0, 0, 6_000));
    assert_eq!(marked(Some(3_000)), (5, 5, 2, 6_000));
    assert_eq!(marked(Some(5_000)), (1, 1, 1, 6_000));
    assert_eq!(marked(Some(6_000)), (0, 0, 0, 6_000));
}
