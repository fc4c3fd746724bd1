use super::*;
use proptest::prelude::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn peer(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn send(machine: &mut Mode2, now: Moment, number: u64) {
    let message = (Transaction(number), DataId(1), Bytes::from_static(b"x"));
    machine.send(now, peer(1), message, number, ms(100));
}

#[test]
fn is_sent_again_at_doubling_intervals_and_given_up() {
    let mut machine = Mode2::new(Mode2Config::default());
    send(&mut machine, Moment::ZERO, 1);
    let mut times = Vec::new();
    while let Some(at) = machine.deadline() {
        match machine.expire(at) {
            Some(Due::Again { .. }) => times.push(at.as_nanos() / 1_000_000),
            Some(Due::TimedOut { ticket }) => times.push(ticket + 1_000_000),
            None => {}
        }
    }
    assert_eq!(times, [150, 450, 1_050, 2_250, 4_650, 7_650, 1_000_001]);
    assert_eq!((machine.counters().retried, machine.counters().timed_out), (6, 1));
}

#[test]
fn learns_how_far_a_peer_is() {
    let mut machine = Mode2::new(Mode2Config::default());
    let mut now = Moment::ZERO;
    for number in 0..20 {
        send(&mut machine, now, number);
        now += ms(10);
        assert_eq!(machine.acknowledge(now, peer(1), Transaction(number)), Some(number));
        assert_eq!(machine.acknowledge(now, peer(1), Transaction(number)), None);
    }
    send(&mut machine, now, 99);
    while machine.deadline().is_some_and(|at| at < now + ms(20)) {
        machine.expire(now + ms(19));
    }
    assert_eq!(machine.deadline(), Some(now + ms(20)), "the least timeout");
    assert_eq!(machine.acknowledge(now, peer(2), Transaction(99)), None, "not the peer");
}

#[test]
fn duplicates_are_told_for_a_while_and_memory_is_bounded() {
    let config = Mode2Config { remembered_max: 4, ..Mode2Config::default() };
    let mut machine = Mode2::new(config);
    assert!(machine.receive(Moment::ZERO, peer(1), 0, Transaction(1)));
    assert!(!machine.receive(Moment::ZERO, peer(1), 0, Transaction(1)));
    assert!(machine.receive(Moment::ZERO, peer(1), 1, Transaction(1)), "another life");
    assert!(machine.receive(Moment::ZERO, peer(2), 0, Transaction(1)));
    assert!(!machine.receive(Moment::from_secs(41), peer(1), 0, Transaction(1)));
    assert!(machine.receive(Moment::from_secs(43), peer(1), 0, Transaction(1)));
    for number in 0..100 {
        machine.receive(Moment::from_secs(43), peer(1), 0, Transaction(number));
        assert!(machine.known.len() <= 4 && machine.known_since.len() == machine.known.len());
    }
}

proptest! {
    /// Over a line that loses, duplicates and delays, every message is delivered at most once. It
    /// is either acknowledged after its delivery, or given up.
    #[test]
    fn delivered_once_or_given_up(fates in proptest::collection::vec((0u8..10, 0u8..10, 1u64..300), 1..200), count in 1u64..20) {
        let (mut here, mut there) = (Mode2::new(Mode2Config::default()), Mode2::new(Mode2Config::default()));
        let mut fates = fates.into_iter().cycle();
        let mut line: BTreeSet<(Moment, u64, u64, bool)> = BTreeSet::new();
        let mut order = 0;
        let mut put = |line: &mut BTreeSet<_>, now: Moment, number: u64, ack: bool| {
            let (lost, doubled, delay) = fates.next().unwrap_or((9, 9, 1));
            for copy in 0..1 + u64::from(doubled < 2) {
                order += 1;
                if lost >= 3 {
                    line.insert((now + ms(delay * (copy + 1)), order, number, ack));
                }
            }
        };
        for number in 0..count {
            send(&mut here, Moment::ZERO, number);
            put(&mut line, Moment::ZERO, number, false);
        }
        let (mut handed, mut done, mut lost) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        loop {
            let next = line.first().map(|first| first.0);
            let Some(now) = next.into_iter().chain(here.deadline()).min() else { break };
            while let Some(due) = here.expire(now) {
                match due {
                    Due::Again { transaction, .. } => put(&mut line, now, transaction.0, false),
                    Due::TimedOut { ticket } => prop_assert!(lost.insert(ticket) && !done.contains(&ticket)),
                }
            }
            while line.first().is_some_and(|first| first.0 <= now) {
                let Some((_, _, number, ack)) = line.pop_first() else { break };
                if !ack {
                    if there.receive(now, peer(9), 0, Transaction(number)) {
                        prop_assert!(handed.insert(number), "twice");
                    }
                    put(&mut line, now, number, true);
                } else if let Some(ticket) = here.acknowledge(now, peer(1), Transaction(number)) {
                    prop_assert!(handed.contains(&ticket) && done.insert(ticket) && !lost.contains(&ticket));
                }
            }
        }
        prop_assert_eq!(done.len() + lost.len(), count as usize);
    }
}
