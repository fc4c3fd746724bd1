//! Unicasts and links at their limits, driven by hand.

mod common;

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use common::{Failure, Net, url};
use overlay::{
    Config, Event, FRAME_BYTES_MAX, LinkId, LinkState, Overlay, SendError, Target, TargetId, TargetPhase,
    TopologyKind,
};
use std::time::Duration;

const L: LinkId = LinkId(1);

fn config(key: u64) -> Config {
    let mut config = Config::new(NodeKey(key), format!("N{key}"), TopologyKind::Graph, Seed(key));
    config.network = 7;
    config
}

fn frames(now: Moment, overlay: &mut Overlay, link: LinkId) -> Vec<Bytes> {
    std::iter::from_fn(|| overlay.poll_frame(now, link)).collect()
}

fn events(overlay: &mut Overlay) -> Vec<Event> {
    std::iter::from_fn(|| overlay.poll_event()).collect()
}

/// Lets two nodes with one link exchange frames until both are quiet.
fn talk(now: Moment, a: &mut Overlay, b: &mut Overlay) {
    loop {
        let (to_b, to_a) = (frames(now, a, L), frames(now, b, L));
        if to_a.is_empty() && to_b.is_empty() {
            return;
        }
        to_b.into_iter().for_each(|frame| b.handle_frame(now, L, frame));
        to_a.into_iter().for_each(|frame| a.handle_frame(now, L, frame));
        for node in [&mut *a, &mut *b] {
            node.handle_timeout(now);
        }
    }
}

/// Node 1 and node 2 with a link, at 1 s.
fn linked(tweak: fn(&mut Config)) -> (Overlay, Overlay) {
    let mut first = config(1);
    first.targets.push(Target { url: url(2), terms: Bytes::from_static(b"terms"), ..Target::default() });
    tweak(&mut first);
    let mut a = Overlay::new(first).expect("sound");
    let mut b = Overlay::new(config(2)).expect("sound");
    assert_eq!(events(&mut a), [Event::Connect { target: TargetId(0), url: url(2) }]);
    let now = Moment::from_secs(1);
    a.handle_link_up(now, L, Some(TargetId(0)));
    b.handle_link_up(now, L, None);
    talk(now, &mut a, &mut b);
    for step in 1..9 {
        let later = now + Duration::from_millis(10) * step;
        a.handle_timeout(later);
        b.handle_timeout(later);
        talk(later, &mut a, &mut b);
    }
    assert!(a.is_reachable(NodeKey(2)) && b.is_reachable(NodeKey(1)));
    assert_eq!(a.links()[0].state, LinkState::Active);
    events(&mut a);
    let up = events(&mut b);
    let terms = up.iter().find_map(|event| match event {
        Event::PathUp { terms, initiator: false, .. } => Some(terms.clone()),
        _ => None,
    });
    assert_eq!(terms.as_deref(), Some(&b"terms"[..]), "the acceptor learns the terms: {up:?}");
    (a, b)
}

const NOW: Moment = Moment::from_millis(1_100);

#[test]
fn urgent_goes_first_and_long_bodies_are_cut_into_pieces() {
    let (mut a, mut b) = linked(|_| {});
    a.send(NOW, NodeKey(2), Bytes::from(vec![1; 100_000]), false).expect("reachable");
    assert_eq!(a.poll_ready(), Some(L));
    let first = a.poll_frame(NOW, L).expect("the first piece");
    assert!(first.len() < 20_000);
    b.handle_frame(NOW, L, first);
    a.send(NOW, NodeKey(2), Bytes::from_static(b"now"), true).expect("reachable");
    talk(NOW, &mut a, &mut b);
    let got: Vec<usize> = events(&mut b)
        .into_iter()
        .filter_map(|event| match event {
            Event::Received { from: NodeKey(1), body } => Some(body.len()),
            _ => None,
        })
        .collect();
    assert_eq!(got, [3, 100_000]);
    assert_eq!(a.poll_ready(), None, "it was drained");
    assert_eq!(b.stats().received_messages, 2);
}

#[test]
fn an_impossible_message_is_refused_with_the_reason() {
    let (mut a, _b) = linked(|_| {});
    let far = NodeKey(9);
    assert_eq!(a.send(NOW, far, Bytes::new(), true), Err(SendError::Unreachable(far)));
    let limit = Config::new(NodeKey(1), "N", TopologyKind::Tree, Seed(1)).limits.body_bytes_max;
    let long = Bytes::from(vec![0; limit + 1]);
    assert_eq!(a.send(NOW, NodeKey(2), long, true), Err(SendError::TooLong { len: limit + 1, limit }));
    assert_eq!(a.send_channel(NOW, NodeKey(2), 1, Bytes::new()), Err(SendError::NoTunnel(NodeKey(2))));
    let long = Bytes::from(vec![0; FRAME_BYTES_MAX + 1]);
    assert!(matches!(a.send_channel(NOW, NodeKey(2), 1, long), Err(SendError::TooLong { .. })));
    a.send(NOW, NodeKey(1), Bytes::from_static(b"me"), false).expect("to oneself");
    assert_eq!(events(&mut a), [Event::Received { from: NodeKey(1), body: Bytes::from_static(b"me") }]);
}

#[test]
fn a_stalled_link_keeps_a_bounded_queue_and_drops_the_oldest_bulk() {
    let (mut a, mut b) = linked(|config| {
        config.limits.body_bytes_max = 0;
        config.limits.queue_bytes_max = 0;
    });
    // The smallest limits: bodies of 2 MiB, queues of 3 MiB.
    for i in 0..100u8 {
        a.send(NOW, NodeKey(2), Bytes::from(vec![i; 100_000]), false).expect("reachable");
    }
    a.send(NOW, NodeKey(2), Bytes::from_static(b"now"), true).expect("reachable");
    let waiting = a.links()[0].bulk_bytes;
    assert!(waiting <= 3 << 20, "{waiting}");
    talk(NOW, &mut a, &mut b);
    let got: Vec<u8> = events(&mut b)
        .into_iter()
        .filter_map(|event| match event {
            Event::Received { body, .. } if body.len() > 3 => Some(body[0]),
            _ => None,
        })
        .collect();
    let dropped = usize::try_from(a.stats().dropped_bulk).expect("few");
    assert_eq!(got, (dropped as u8..100).collect::<Vec<_>>(), "the newest are left");
    assert_eq!((got.len(), a.stats().dropped_urgent), (31, 0));
}

#[test]
fn hostile_frames_close_the_link_with_a_sentence_and_nothing_else() {
    let frames: [(&[u8], &str); 4] = [
        (b"\x02", "an acceptance where a greeting is due"),
        (b"GET / HTTP/1.1\r\n", "a frame of unknown type 71"),
        (b"\x01MRTI\x08", "one node speaks version 8 of the node protocol, the other 9"),
        (b"", "an empty frame"),
    ];
    for (frame, sentence) in frames {
        let (mut a, mut b) = linked(|_| {});
        let stranger = LinkId(66);
        a.handle_link_up(NOW, stranger, None);
        a.handle_frame(NOW, stranger, Bytes::from_static(frame));
        let refused = events(&mut a);
        let [Event::Refused { link, refusal, .. }] = &refused[..] else { panic!("{refused:?}") };
        assert_eq!(*link, stranger);
        assert!(refusal.to_string().starts_with(sentence), "{refusal}");
        let last = a.poll_frame(NOW, stranger).expect("the refusal");
        assert_eq!((last[0], a.poll_frame(NOW, stranger)), (3, None));
        assert!(matches!(&events(&mut a)[..], [Event::Close { link: LinkId(66), .. }]));
        talk(NOW, &mut a, &mut b);
        assert!(a.is_reachable(NodeKey(2)), "the other links stay");
    }
}

#[test]
fn a_frame_over_the_limit_closes_an_established_link_and_it_comes_back() {
    let (mut a, mut b) = linked(|_| {});
    b.handle_frame(NOW, L, Bytes::from(vec![8; FRAME_BYTES_MAX + 1]));
    talk(NOW, &mut a, &mut b);
    let reported = events(&mut a);
    let reported = reported.iter().any(|event| {
        matches!(event, Event::RefusedByPeer { code: 10, text, .. } if text.contains("the limit is 1048576"))
    });
    assert!(reported, "the sender learns why");
    assert!(!a.is_reachable(NodeKey(2)));
    assert_eq!(a.targets()[0].state, TargetPhase::Waiting);
    let mut again = NOW;
    while !events(&mut a).contains(&Event::Connect { target: TargetId(0), url: url(2) }) {
        again = a.poll_timeout().expect("it tries again");
        a.handle_timeout(again);
    }
    assert!(NOW + Duration::from_millis(50) <= again && again <= NOW + Duration::from_millis(60), "{again}");
}

#[test]
fn silence_is_death_but_not_when_this_node_slept() {
    let (mut a, mut b) = linked(|_| {});
    // In time: silent for 2.5 s, checked every 100 ms.
    let mut now = NOW;
    while now < NOW + Duration::from_millis(2_600) {
        now += Duration::from_millis(100);
        a.handle_timeout(now);
        frames(now, &mut a, L);
    }
    let down = events(&mut a);
    assert!(down.iter().any(|event| matches!(event, Event::Close { link: L, .. })), "{down:?}");
    assert_eq!(a.stats().silent_links, 1);
    // The other node was stopped for ten seconds and reads the missed frames after its timers.
    let late = NOW + Duration::from_secs(10);
    b.handle_timeout(late);
    assert_eq!(b.links().len(), 1, "it gives the link time");
    b.handle_timeout(late + Duration::from_millis(900));
    assert_eq!(b.links().len(), 1);
    b.handle_timeout(late + Duration::from_millis(1_100));
    assert_eq!(b.links().len(), 0);
}

#[test]
fn a_peer_that_does_not_greet_or_take_the_last_frames_is_closed() {
    let mut a = Overlay::new(config(1)).expect("sound");
    a.handle_link_up(NOW, L, None);
    let due = a.poll_timeout().expect("a limit");
    assert_eq!(due, NOW + Duration::from_secs(3));
    a.handle_timeout(due);
    assert!(matches!(&events(&mut a)[..], [Event::Refused { .. }]));
    // The refusal is never taken.
    a.handle_timeout(a.poll_timeout().expect("a limit"));
    assert!(matches!(&events(&mut a)[..], [Event::Close { link: L, .. }]));
    assert_eq!((a.poll_timeout(), a.poll_frame(NOW, L), a.poll_ready()), (None, None, None));
}

#[test]
fn a_name_that_does_not_fit_is_an_error() {
    for name in ["", "a\nb", &"x".repeat(256)] {
        let mut bad = config(1);
        bad.name = name.to_owned();
        assert!(Overlay::new(bad).is_err());
    }
    let mut a = Overlay::new(config(1)).expect("sound");
    assert!(a.set_info(NOW, Bytes::from(vec![0; 20_000])).is_err());
    assert!(a.set_urls(NOW, vec![String::new(); 17]).is_err());
}

#[test]
fn information_about_a_node_reaches_all_and_is_announced_at_most_once_a_second() {
    let mut net = Net::graph(Seed(4), TopologyKind::Tree, 3, &[(1, 0), (2, 1)], |_, c| c.network = 7);
    net.run_for(Duration::from_secs(2));
    let before = net.node(0).overlay.stats().announcements;
    for i in 0..100u8 {
        let now = net.now;
        net.node_mut(0).overlay.set_info(now, Bytes::from(vec![i; 100])).expect("short");
        net.settle(0);
        net.run_for(Duration::from_millis(20));
    }
    net.run_for(Duration::from_secs(2));
    let announced = net.node(0).overlay.stats().announcements - before;
    assert!((2..=4).contains(&announced), "{announced}");
    for index in 0..3 {
        let map = net.node(index).overlay.map();
        let seen = map.nodes.iter().find(|node| node.name == "NODE-0").expect("in the map");
        assert_eq!(seen.info[..], [99; 100]);
    }
}

#[test]
fn a_node_that_is_not_heard_knows_it_from_the_map() {
    // Frames from node 0 to node 1 vanish: 1 gives the link up, and 0 learns that over node 2.
    let tweak = |_: usize, config: &mut Config| {
        config.network = 7;
        config.redundancy = true;
    };
    let mut net = Net::graph(Seed(4), TopologyKind::Graph, 3, &[(0, 1), (1, 2), (2, 0)], tweak);
    net.run_for(Duration::from_secs(1));
    net.cut(0, 1, Failure::OneWay);
    net.run_for(Duration::from_millis(3_200));
    net.check_trees();
    assert_eq!(net.node(0).overlay.stats().silent_links + net.node(1).overlay.stats().silent_links, 1);
}
