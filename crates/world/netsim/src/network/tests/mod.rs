mod model;

use super::*;
use crate::Port;
use crate::{Effect, Fault, Scope, Verdict};
use std::time::Duration;

const DELAY: Duration = Duration::from_micros(10);

fn micros(n: u64) -> Moment {
    Moment::from_micros(n)
}

/// Hosts on links of 10 µs and 8 Mbit/s: an octet takes a microsecond.
fn network(seed: u64, hosts: u32) -> (Network, Vec<HostId>) {
    let link = LinkSpec { rate: Some(8_000_000), delay: DELAY };
    let mut net = Network::new(Seed(seed), NetworkOptions { link, stream_window: 100 });
    let hosts = (0..hosts).map(|i| net.add_host(&format!("host {i}"))).collect();
    (net, hosts)
}

fn drain(net: &mut Network, until: Moment) -> Vec<(Moment, HostId, HostEvent)> {
    std::iter::from_fn(|| net.poll(until)).map(|d| (d.at, d.host, d.event)).collect()
}

/// Two hosts with an open connection, and its ends.
fn connected(seed: u64) -> (Network, SocketId, SocketId) {
    let (mut net, h) = network(seed, 2);
    let opener = net.connect(h[0], h[1], 80);
    let opened = drain(&mut net, Moment::MAX);
    let acceptor = opener.peer();
    let event = |socket, peer, accepted| HostEvent::Opened { socket, peer, port: 80, accepted };
    let expected =
        [(micros(10), h[1], event(acceptor, h[0], true)), (micros(20), h[0], event(opener, h[1], false))];
    assert_eq!(opened, expected);
    (net, opener, acceptor)
}

fn received(socket: SocketId, bytes: &'static [u8]) -> HostEvent {
    HostEvent::Received { socket, bytes: Bytes::from_static(bytes) }
}

fn events(net: &mut Network) -> Vec<HostEvent> {
    drain(net, Moment::MAX).into_iter().map(|(_, _, event)| event).collect()
}

/// All bytes that a socket receives, and whether it breaks.
fn stream(events: &[HostEvent], of: SocketId) -> (Vec<u8>, bool) {
    let (mut all, mut broken) = (Vec::new(), false);
    for event in events {
        match event {
            HostEvent::Received { socket, bytes } if *socket == of => {
                assert!(!broken && !bytes.is_empty());
                all.extend_from_slice(bytes);
            }
            HostEvent::Broken { socket, .. } if *socket == of => broken = true,
            _ => {}
        }
    }
    (all, broken)
}

#[test]
fn what_is_sent_at_once_arrives_as_it_leaves_the_line() {
    let (mut net, opener, acceptor) = connected(1);
    let began = net.now();
    net.send(opener, Bytes::from(vec![7; 40_000])).unwrap();
    let arrived: Vec<_> = drain(&mut net, Moment::MAX)
        .into_iter()
        .filter_map(|(at, _, event)| match event {
            HostEvent::Received { socket, bytes } if socket == acceptor => {
                Some((at.since(began), bytes.len()))
            }
            _ => None,
        })
        .collect();
    let after = |octets: u64| Duration::from_micros(octets) + DELAY;
    assert_eq!(arrived, [(after(16_384), 16_384), (after(32_768), 16_384), (after(40_000), 7_232)]);
}

#[test]
fn size_over_rate_plus_delay() {
    let (mut net, h) = network(1, 2);
    net.send_datagram(h[0], h[1], Bytes::from_static(&[0; 5]));
    net.send_datagram(h[0], h[1], Bytes::from_static(&[0; 7]));
    net.send_datagram(h[1], h[0], Bytes::from_static(&[0; 1])); // the other way is another queue
    let times: Vec<Moment> = drain(&mut net, Moment::MAX).iter().map(|&(at, _, _)| at).collect();
    assert_eq!(times, [micros(11), micros(15), micros(22)]);
}

#[test]
fn a_link_of_its_own() {
    let (mut net, h) = network(1, 3);
    net.set_link(h[0], h[2], LinkSpec { rate: None, delay: Duration::from_micros(3) });
    net.send_datagram(h[0], h[1], Bytes::new());
    net.send_datagram(h[2], h[0], Bytes::from_static(b"xyz"));
    let got = drain(&mut net, Moment::MAX);
    assert_eq!(
        got.iter().map(|&(at, host, _)| (at, host)).collect::<Vec<_>>(),
        [(micros(3), h[0]), (micros(10), h[1])]
    );
}

#[test]
fn streams_close_one_direction_at_a_time() {
    let (mut net, a, b) = connected(1);
    net.send(a, Bytes::from_static(b"question")).unwrap();
    net.close(a);
    assert_eq!(net.send(a, Bytes::from_static(b"!")), Err(SendError::Closed));
    assert_eq!(events(&mut net), [received(b, b"question"), HostEvent::Ended { socket: b }]);
    net.send(b, Bytes::from_static(b"answer")).unwrap();
    net.close(b);
    assert!(net.is_alive(a) && !net.is_alive(b));
    assert_eq!(events(&mut net), [received(a, b"answer"), HostEvent::Ended { socket: a }]);
    assert!(!net.is_alive(a));
    assert_eq!(net.stats().broken_connections, 0);
}

#[test]
fn a_reset_comes_after_the_bytes_under_way() {
    let (mut net, a, b) = connected(1);
    net.send(b, Bytes::from_static(b"lost")).unwrap();
    net.send(a, Bytes::from_static(b"last")).unwrap();
    net.reset(a);
    let broken = HostEvent::Broken { socket: b, reason: BreakReason::Reset };
    assert_eq!(events(&mut net), [received(b, b"last"), broken]);
    assert_eq!(net.send(b, Bytes::from_static(b"x")), Err(SendError::Broken));
    assert_eq!(net.send(a, Bytes::from_static(b"x")), Err(SendError::Closed));
}

#[test]
fn the_dead_reset_and_refuse() {
    let (mut net, a, b) = connected(1);
    let (ha, hb) = (net.host_of(a), net.host_of(b));
    net.kill(hb);
    assert_eq!(events(&mut net), [HostEvent::Broken { socket: a, reason: BreakReason::Reset }]);
    let again = net.connect(ha, hb, 80);
    net.send(again, Bytes::from_static(b"hello?")).unwrap();
    assert_eq!(events(&mut net), [HostEvent::Broken { socket: again, reason: BreakReason::Refused }]);
    net.revive(hb);
    net.connect(ha, hb, 80);
    assert_eq!(events(&mut net).len(), 2);
}

#[test]
fn the_window_pushes_back() {
    let (mut net, a, b) = connected(1);
    net.send(a, Bytes::from_static(&[1; 60])).unwrap();
    assert_eq!(net.room(a), 40);
    net.send(a, Bytes::from_static(&[2; 60])).unwrap();
    assert_eq!(net.room(a), 0);
    let got = drain(&mut net, Moment::MAX);
    // 60 µs to send, 10 to arrive, 10 until the sender learns of it.
    assert_eq!(got[1].0, micros(20 + 60 + 20));
    assert_eq!(got[1].2, HostEvent::Writable { socket: a });
    assert_eq!(net.room(a), 100);
    net.set_reading(b, false);
    net.send(a, Bytes::from_static(&[3; 100])).unwrap();
    net.send(a, Bytes::from_static(b"more")).unwrap();
    assert_eq!(events(&mut net), []);
    assert_eq!(net.room(a), 0);
    net.set_reading(b, true);
    net.send(a, Bytes::from_static(b"last")).unwrap();
    let got = events(&mut net);
    assert_eq!(stream(&got, b).0.len(), 108);
    assert_eq!(got.iter().filter(|e| matches!(e, HostEvent::Writable { .. })).count(), 1);
    assert_eq!(got.last(), Some(&received(b, b"last")));
}

#[test]
fn wake_ups_move_and_go() {
    let (mut net, h) = network(1, 2);
    net.wake(h[0], Some(micros(5)));
    net.wake(h[0], Some(micros(9)));
    net.wake(h[0], Some(micros(7)));
    net.wake(h[1], Some(micros(6)));
    net.wake(h[1], None);
    assert_eq!(drain(&mut net, micros(100)), [(micros(7), h[0], HostEvent::Woken)]);
    assert_eq!(net.now(), micros(100));
    net.wake(h[1], Some(micros(50))); // past: now
    net.wake(h[0], Some(micros(100)));
    assert_eq!(drain(&mut net, micros(100)).len(), 2);
}

#[test]
fn a_clock_that_jumps_brings_wake_ups_forward() {
    let (mut net, h) = network(1, 2);
    net.wake(h[0], Some(micros(50)));
    net.wake(h[1], Some(micros(50)));
    net.advance_clock(h[0], Duration::from_micros(30));
    assert_eq!((net.local_time(h[0]), net.local_time(h[1])), (micros(30), micros(0)));
    let woken = |at, host| (micros(at), host, HostEvent::Woken);
    assert_eq!(drain(&mut net, micros(100)), [woken(20, h[0]), woken(50, h[1])]);
    let mut port = Port::new(&mut net, h[0]);
    assert_eq!(port.now(), micros(130));
    port.wake(Some(micros(140)));
    net.advance_clock(h[0], Duration::from_secs(1));
    assert_eq!(drain(&mut net, micros(200)), [woken(100, h[0])]);
}

#[test]
fn datagrams_are_dropped_delayed_and_doubled() {
    let (mut net, h) = network(1, 3);
    let send = |net: &mut Network| net.send_datagram(h[0], h[1], Bytes::new());
    let drop = net.add_rule(Fault::new(Scope::Link(h[0], h[1]), Effect::Drop));
    send(&mut net);
    net.send_datagram(h[1], h[0], Bytes::new());
    net.send_datagram(h[0], h[2], Bytes::new());
    assert_eq!(drain(&mut net, Moment::MAX).len(), 2);
    assert!(net.remove_rule(drop) && !net.remove_rule(drop));

    let start = net.now();
    net.add_rule(Fault::new(Scope::All, Effect::Delay(DELAY..=DELAY)));
    net.add_rule(Fault::new(Scope::Host(h[1]), Effect::Delay(DELAY..=DELAY)));
    net.add_rule(Fault::new(Scope::Between(h[1], h[0]), Effect::Duplicate(2)));
    send(&mut net);
    let got = drain(&mut net, Moment::MAX);
    assert_eq!(got.len(), 3);
    assert!(got.iter().all(|&(at, _, _)| at == start + 3 * DELAY));

    net.add_rule(Fault::new(Scope::All, Effect::Duplicate(u32::MAX)));
    send(&mut net);
    assert_eq!(drain(&mut net, Moment::MAX).len() as u32, 1 + crate::DUPLICATES_MAX);
    net.heal();
    send(&mut net);
    assert_eq!(drain(&mut net, Moment::MAX).len(), 1);
    let stats = net.stats();
    assert_eq!((stats.sent_datagrams, stats.dropped_datagrams, stats.delayed_packets), (6, 1, 2));
}

#[test]
fn datagrams_overtake_when_reordered() {
    let (mut net, h) = network(3, 2);
    net.add_rule(Fault::new(Scope::All, Effect::Reorder(Duration::from_millis(1))));
    for i in 0..20u8 {
        net.send_datagram(h[0], h[1], Bytes::copy_from_slice(&[i]));
    }
    let mut got: Vec<u8> = Vec::new();
    for event in events(&mut net) {
        let HostEvent::Datagram { bytes, .. } = event else { panic!("{event:?}") };
        got.push(bytes[0]);
    }
    assert!(!got.is_sorted());
    got.sort_unstable();
    assert!(got.into_iter().eq(0..20));
}

#[test]
fn streams_hide_what_tcp_hides() {
    let (mut net, a, b) = connected(1);
    for effect in [Effect::Drop, Effect::Duplicate(3), Effect::Reorder(Duration::from_secs(1))] {
        net.add_rule(Fault::new(Scope::All, effect));
    }
    let jitter = Duration::ZERO..=Duration::from_millis(1);
    net.add_rule(Fault::new(Scope::Conn(a.conn()), Effect::Delay(jitter)));
    net.add_rule(Fault::new(Scope::All, Effect::Fragment(3)));
    let sent: Vec<u8> = (0..90).collect();
    for chunk in sent.chunks(10) {
        net.send(a, Bytes::copy_from_slice(chunk)).unwrap();
    }
    let got = events(&mut net);
    assert_eq!(stream(&got, b), (sent, false));
    assert_eq!(got.len(), 9 * 4);
}

#[test]
fn a_cut_breaks_both_ends_after_a_first_part() {
    let mut lengths = BTreeSet::new();
    for seed in 0..64 {
        let (mut net, a, b) = connected(seed);
        net.send(a, Bytes::from_static(b"whole")).unwrap();
        let cut = net.add_rule(Fault::new(Scope::All, Effect::Cut));
        net.send(a, Bytes::from_static(b"part")).unwrap();
        net.send(a, Bytes::from_static(b"nothing")).unwrap(); // it does not know yet
        net.remove_rule(cut);
        net.send(b, Bytes::from_static(b"nothing")).unwrap();
        let got = events(&mut net);
        let (bytes, broken) = stream(&got, b);
        assert!(broken && b"wholepart".starts_with(&bytes[..]) && bytes.len() >= 5);
        assert_eq!(stream(&got, a), (vec![], true));
        assert_eq!(net.send(a, Bytes::from_static(b"x")), Err(SendError::Broken));
        lengths.insert(bytes.len());
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
}

#[test]
fn a_cut_opening_is_heard_by_the_opener_alone() {
    let (mut net, h) = network(1, 2);
    net.add_rule(Fault::new(Scope::All, Effect::Cut));
    let socket = net.connect(h[0], h[1], 1);
    assert_eq!(events(&mut net), [HostEvent::Broken { socket, reason: BreakReason::Cut }]);
}

#[test]
fn a_cut_opening_leaves_nothing_behind_at_a_host_that_died_meanwhile() {
    let (mut net, h) = network(1, 2);
    net.add_rule(Fault::new(Scope::All, Effect::Cut));
    let socket = net.connect(h[0], h[1], 1);
    net.kill(h[1]);
    assert_eq!(events(&mut net).len(), 1);
    assert!(!net.is_alive(socket) && !net.is_alive(socket.peer()));
}

#[test]
fn a_stall_is_silent_and_heals_without_loss() {
    let (mut net, a, b) = connected(1);
    let rule = net.add_rule(Fault::new(Scope::Link(net.host_of(a), net.host_of(b)), Effect::Stall));
    net.send(a, Bytes::from_static(b"one ")).unwrap();
    net.send(a, Bytes::from_static(b"two")).unwrap();
    net.close(a);
    net.send(b, Bytes::from_static(b"back")).unwrap(); // the other direction still works
    assert_eq!(events(&mut net), [received(a, b"back")]);
    let other = net.add_rule(Fault::new(Scope::All, Effect::Stall));
    net.remove_rule(rule);
    assert_eq!(events(&mut net), []); // now the other rule holds it
    net.remove_rule(other);
    assert_eq!(events(&mut net), [received(b, b"one "), received(b, b"two"), HostEvent::Ended { socket: b }]);
    assert_eq!(net.stats().stalls, 2);
}

#[test]
fn a_stalled_end_hears_of_a_cut_when_healed() {
    let (mut net, a, b) = connected(1);
    let (ha, hb) = (net.host_of(a), net.host_of(b));
    net.add_rule(Fault::new(Scope::Link(hb, ha), Effect::Stall));
    net.send(b, Bytes::from_static(b"held")).unwrap();
    net.add_rule(Fault::new(Scope::Link(ha, hb), Effect::Cut));
    net.send(a, Bytes::from_static(b"part")).unwrap();
    let got = events(&mut net);
    assert!(stream(&got, b).1 && !stream(&got, a).1);
    net.add_rule(Fault::new(Scope::All, Effect::Cut));
    net.heal();
    let got = events(&mut net);
    assert!(stream(&got, a).1);
}

#[test]
fn rules_and_deaths_come_by_schedule() {
    let (mut net, h) = network(1, 3);
    let parted = net.schedule_rule(micros(100), Fault::new(Scope::Parting(vec![h[0]]), Effect::Drop));
    net.schedule(micros(200), Action::RemoveRule(parted));
    net.schedule(micros(300), Action::Kill(h[1]));
    net.schedule(micros(400), Action::Revive(h[1]));
    let mut got = Vec::new();
    for i in 0..5 {
        let start = micros(i * 100 + 50);
        got.extend(drain(&mut net, start));
        net.send_datagram(h[0], h[1], Bytes::new());
        net.send_datagram(h[2], h[1], Bytes::new());
    }
    got.extend(drain(&mut net, Moment::MAX));
    let at: Vec<u64> = got.iter().map(|(at, _, _)| at.as_nanos() / 1000).collect();
    assert_eq!(at, [60, 60, 160, 260, 260, 460, 460]);
}

#[test]
fn closures_are_rules() {
    let (mut net, h) = network(1, 2);
    let mut seen = 0;
    net.add_rule(move |packet: &Packet<'_>, _: &mut crate::Draws<'_>| {
        seen += 1;
        if seen % 2 == 0 && packet.kind == PacketKind::Datagram { Verdict::Drop } else { Verdict::Pass }
    });
    for _ in 0..10 {
        net.send_datagram(h[0], h[1], Bytes::new());
    }
    assert_eq!(events(&mut net).len(), 5);
}

/// Losses on a link, by packet number.
fn losses(seed: u64, prepare: impl FnOnce(&mut Network, &[HostId])) -> Vec<bool> {
    let (mut net, h) = network(seed, 3);
    net.add_rule(Fault::new(Scope::Link(h[0], h[1]), Effect::Drop).with_chance(500_000));
    prepare(&mut net, &h);
    let lost = |net: &mut Network| {
        let before = net.stats().dropped_datagrams;
        net.send_datagram(h[0], h[1], Bytes::new());
        net.stats().dropped_datagrams > before
    };
    (0..64).map(|_| lost(&mut net)).collect()
}

#[test]
fn chance_of_a_link_is_its_own() {
    let plain = losses(7, |_, _| {});
    let count = plain.iter().filter(|&&lost| lost).count();
    assert!((16..48).contains(&count), "{count}");
    assert_ne!(plain, losses(8, |_, _| {}));
    // Another host, traffic elsewhere, and another rule that draws change no loss.
    let disturbed = losses(7, |net, h| {
        let new = net.add_host("new");
        net.add_rule(Fault::new(Scope::All, Effect::Delay(Duration::ZERO..=DELAY)).with_chance(300_000));
        for _ in 0..10 {
            net.send_datagram(h[2], h[1], Bytes::new());
            net.send_datagram(new, h[0], Bytes::new());
        }
    });
    assert_eq!(plain, disturbed);
}
