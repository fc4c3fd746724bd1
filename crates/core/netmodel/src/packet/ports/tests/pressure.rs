//! Back-pressure: nothing is lost, packets behind others wait, and circles are reported.

use super::*;

fn held(discipline: Discipline, ports: Vec<Port>, paths: Vec<Vec<u32>>, sent: Vec<Sent>) -> Case {
    Case { rules: Rules { full: Full::Wait, ..rules(discipline) }, ports, paths, sent }
}

fn limited(buffer: u64) -> Port {
    let queue = Plain { buffer: Some(buffer), ..port(RATE).queue };
    Port { queue, ..port(RATE) }
}

/// Two senders into one link: nothing is lost, the link is never idle, and packets without room
/// stay at the senders.
#[test]
fn a_full_port_stops_its_feeders() {
    let case = held(
        Discipline::Fifo,
        vec![limited(3_000); 3],
        vec![vec![0, 2], vec![1, 2]],
        vec![(0, 0, 50_000), (0, 1, 50_000)],
    );
    let mut held_back = 0;
    let (ports, ended) = run(&case, |ports, now| {
        is_sound(ports, now);
        if now <= 300_000_000 {
            held_back = ports.backlog(Picos(now), 0) + ports.backlog(Picos(now), 1);
        }
    });
    assert!(ended.iter().all(|(_, _, gone)| gone.dropped == 0));
    assert_eq!(ports.arrived().0, 100);
    // One packet and a delay until it begins, 100 packets, a delay.
    assert_eq!(ended.last().map(|(at, _, _)| at / 1_000), Some(10_000 + 100 + 1_000_000 + 100));
    // After 300 us 28 or 29 of 100 packets are through, and up to three are at the port or on their
    // way to it.
    assert!((68_000..=71_000).contains(&held_back), "{held_back}");
    // One of the three is always on its way.
    assert_eq!(ports.counts(2).backlog_max, 2_000);
    // Senders that took turns end together.
    assert!(ended[1].0 - ended[0].0 <= 20_000_000, "{ended:?}");
}

/// Room is reserved from the moment a packet sets out, and word of it takes as long as the way. A
/// port with room for everything under way in both directions keeps a link busy; half of it does
/// half the time.
#[test]
fn a_long_link_needs_room_for_what_is_under_way() {
    let took = |buffer| {
        let long = Plain { delay: Picos::from_micros(500), ..port(RATE).queue };
        let ports = vec![Port { queue: long, ..port(RATE) }, limited(buffer)];
        let (_, ended) =
            run(&held(Discipline::Fifo, ports, vec![vec![0, 1]], vec![(0, 0, 1_000_000)]), is_sound);
        ended[0].0 / 1_000_000
    };
    // There and back is 1 ms: 100 kB, and a packet at each end.
    let (enough, half) = (took(102_000), took(51_000));
    assert!((10_500..10_600).contains(&enough), "{enough}");
    assert!((19_500..20_600).contains(&half), "{half}");
}

/// A queue that waits for room for a large packet is not overtaken by small ones.
#[test]
fn room_is_given_in_the_order_of_asking() {
    let slow = Port { queue: Plain { rate: Rate::mbit(8), ..limited(1_500).queue }, ..port(RATE) };
    // Small messages of 500 bytes, and a large one that asks when two of them have room.
    let mut sent: Vec<Sent> = vec![(0, 1, 500); 20];
    sent.push((6_000, 0, 1_000));
    let case = held(Discipline::Fifo, vec![port(RATE), port(RATE), slow], vec![vec![0, 2], vec![1, 2]], sent);
    let (_, ended) = run(&case, is_sound);
    let large = ended.iter().position(|(_, number, _)| *number == 20);
    // The link takes 0.5 ms for a small one: two of them, and then the large one.
    assert_eq!(large, Some(2));
    assert_eq!(ended[2].0 / 1_000_000, 2_005);
}

/// A message to a free link waits behind one to a full link when both stand in one queue, and does
/// not when flows have queues of their own.
#[test]
fn one_queue_for_all_holds_up_whoever_is_behind() {
    let slow = |buffer| {
        let queue = Plain { rate: Rate::mbit(8), ..limited(buffer).queue };
        Port { queue, ..port(RATE) }
    };
    let end_of_other = |discipline| {
        let case = held(
            discipline,
            vec![port(RATE), limited(4_000), slow(4_000), limited(4_000)],
            vec![vec![0, 1, 2], vec![0, 1, 3]],
            vec![(0, 0, 20_000), (1_000, 1, 1_000)],
        );
        let (_, ended) = run(&case, is_sound);
        ended.iter().find(|(_, number, _)| *number == 1).map(|(at, _, _)| at / 1_000_000)
    };
    // The slow link takes 1 ms for each packet: four of 20 fit, and four before.
    let (fifo, turns) = (end_of_other(Discipline::Fifo), end_of_other(round_robin(1_000, Flows::Pairs)));
    assert!(fifo > Some(10_000), "{fifo:?}");
    assert!(turns < Some(100), "{turns:?}");
}

/// Four ports in a ring, each message two links on: all are full, and each waits for the next.
fn ring(bytes: u64, discipline: Discipline) -> Case {
    // Links 0 to 3 come from hosts, 4 to 7 are the ring.
    let paths = (0..4).map(|at| vec![at, 4 + at, 4 + (at + 1) % 4, 4 + (at + 2) % 4]).collect();
    held(discipline, vec![limited(2_000); 8], paths, (0..4).map(|path| (0, path, bytes)).collect())
}

#[test]
fn links_that_wait_for_each_other_are_told() {
    for discipline in
        [Discipline::Fifo, round_robin(1_000, Flows::Pairs), round_robin(1_000, Flows::Messages)]
    {
        let case = ring(30_000, discipline);
        let (ports, ended) = run(&case, is_sound);
        has_ended(&case, &ports, &ended);
        let deadlock = ports.deadlock().expect("the ring is full");
        assert_eq!(deadlock.links, [4, 5, 6, 7], "{discipline:?}");
        // Two packets have reserved room at each port when the first of them comes, and finds none
        // at the next.
        assert_eq!(deadlock.since, Picos::from_nanos(10_100), "{discipline:?}");
        assert!(ended.is_empty());
    }
    // With one packet for each port everything moves: nothing is stuck, and no deadlock is reported
    // on the way.
    let (ports, ended) = run(&ring(1_000, Discipline::Fifo), |ports, now| {
        is_sound(ports, now);
        assert_eq!(ports.deadlock(), None);
    });
    assert_eq!((ended.len(), ports.arrived().0), (4, 4));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A link that is reported as stuck never moves again, and is reported as soon as nothing can
    /// move.
    #[test]
    fn a_circle_is_for_ever(case in cases(), bytes in 5_000u64..40_000) {
        let mut case = case;
        case.rules.full = Full::Wait;
        case.sent.iter_mut().for_each(|sent| sent.2 += bytes);
        let mut stuck: Option<(Vec<u32>, Vec<u64>)> = None;
        let (ports, ended) = run(&case, |ports, _| {
            let begun = |links: &[u32]| links.iter().map(|link| ports.counts(*link).bytes).collect::<Vec<u64>>();
            match &stuck {
                // Links of one circle may still send packets that need not wait, when each flow has
                // a queue.
                Some((links, bytes)) if ports.flows.is_none() => assert_eq!(bytes, &begun(links)),
                // The queues of the circle go on waiting for each other.
                Some((links, _)) => assert!(links.iter().zip(links.iter().cycle().skip(1)).all(|(link, next)| {
                    ports.queues.iter().any(|queue| (queue.link, queue.waits_for) == (*link, *next))
                })),
                None => stuck = ports.deadlock().map(|circle| (circle.links.clone(), begun(&circle.links))),
            }
        });
        has_ended(&case, &ports, &ended);
        prop_assert_eq!(stuck.is_some(), ports.deadlock().is_some());
    }
}

/// Ports of which queues wait for room at others, 700 bytes each: by the link of the queue, and by
/// the link it waits for. `moving` has room that no waiting queue holds.
fn waiting(queues: &[(u32, u32)], moving: usize) -> Ports {
    let rules = Rules { full: Full::Wait, ..rules(round_robin(1_000, Flows::Pairs)) };
    let mut ports = Ports::new(rules, FULL, vec![limited(2_000); 5]);
    ports.waiting = queues.len() as u32;
    for (link, waits_for) in queues {
        let mut queue = queue::Queue::new(*link, true);
        (queue.bytes, queue.waits_for) = (700, *waits_for);
        ports.queues.push(queue);
        ports.links[*link as usize].taken += 700;
    }
    ports.links[moving].taken += 500;
    ports
}

/// A queue that waits, over other queues, for one that moves will move, whatever circle it is also
/// in.
#[test]
fn a_way_out_is_found_however_long_it_is() {
    let circle = [(1, 3), (3, 1)];
    let links = |ports: Ports| ports.deadlock().map(|deadlock| deadlock.links);
    assert_eq!(links(waiting(&circle, 2)), Some(vec![1, 3]));
    let one_step = [(1, 2), circle[0], circle[1]];
    assert_eq!(links(waiting(&one_step, 2)), None);
    let two_steps = [circle[0], circle[1], (1, 4), (4, 2)];
    assert_eq!(links(waiting(&two_steps, 2)), None);
    // Unless that one waits, too.
    let mut all = [circle[0], circle[1], (1, 4), (4, 3)];
    assert_eq!(links(waiting(&all, 2)), Some(vec![1, 3]));
    all.reverse();
    assert!(links(waiting(&all, 2)).is_some());
    let three_steps = [circle[0], circle[1], (1, 0), (0, 4), (4, 2)];
    assert_eq!(links(waiting(&three_steps, 2)), None);
}
