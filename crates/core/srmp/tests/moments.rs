//! Momentary messages: each is a data element until all members have it, and is not needed after
//! that.

mod common;

use bytes::Bytes;
use common::{Lines, Net, ms};
use srmp::auth::{GroupKey, Keyring};
use srmp::frames::{DIRECTED_MAX, FRAME_BYTES, Framed, Frames, REPAIRED};
use srmp::model::{Epoch, MemberId, Profile};
use srmp::rate::Rate;
use srmp::{Config, Event};
use std::collections::BTreeMap;
use std::time::Duration;

/// The time from one message to the next.
const SPACING: Duration = Duration::from_millis(2);

fn config(member: u64) -> Config {
    let mut config = Config::new(Profile::V3, MemberId(member));
    config.set_momentary(REPAIRED);
    config.epoch = Epoch(1);
    config.rate.rate_min = Rate::new(100e6).expect("a rate");
    config
}

/// Six members at one site, the first of which sends.
fn site(seed: u64, loss: f64) -> Net {
    let (delay, jitter) = (Duration::from_micros(50), Duration::from_micros(20));
    let mut net = Net::new(seed, Lines { delay, jitter, loss, duplicate: 0.01 });
    for member in 1..=6 {
        net.join(config(member));
    }
    net.run(ms(3_000));
    net
}

/// Sends the messages with these numbers.
fn speak(net: &mut Net, frames: &mut Frames, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let frame = Bytes::copy_from_slice(&number.to_be_bytes());
        net.with(0, |endpoint, now| frames.send_reliable(&mut (endpoint, now), frame)).expect("it may");
        net.run(SPACING);
    }
}

/// The messages that a node has received, and their delays. Each came once and whole.
fn heard(net: &Net, node: usize, began: base::Moment) -> BTreeMap<u32, Duration> {
    let mut heard = BTreeMap::new();
    for (at, event) in &net.node(node).events {
        let Event::Mode1 { body, .. } = event else { continue };
        let number = u32::from_be_bytes(body[..].try_into().expect("a whole message"));
        let before = heard.insert(number, at.since(began).saturating_sub(SPACING * number));
        assert_eq!(before, None, "message {number} comes once");
    }
    heard
}

#[test]
fn losses_are_repaired_while_messages_are_young() {
    for seed in 0..8 {
        let (mut net, mut frames) = (site(seed, 0.05), Frames::new());
        let began = net.now;
        speak(&mut net, &mut frames, 0..5_000);
        net.run(ms(1_000));
        let mut late: Vec<Duration> = Vec::new();
        for node in 1..6 {
            let heard = heard(&net, node, began);
            assert_eq!(heard.len(), 5_000, "seed {seed}: node {node}");
            late.extend(heard.values());
        }
        late.sort();
        assert!(late[late.len() * 99 / 100] <= ms(8), "seed {seed}: {:?}", late[late.len() * 99 / 100]);
        let counters = net.node(0).endpoint.counters();
        // 22.6 % are missed by at least one of the five receivers. A repair is for all of them, and
        // may be lost as well.
        assert!((1_000..1_350).contains(&counters.send.pieces_repaired), "{:?}", counters.send);
        assert_eq!(counters.send.sweeps, 0);
        // Only messages and repairs: the same datagrams carry the announcements.
        let datagrams = counters.endpoint.sent.datagrams;
        assert!(datagrams <= 5_000 + counters.send.pieces_repaired + 10, "{datagrams}");
    }
}

#[test]
fn a_joiner_requests_recent_data_only() {
    let (mut net, mut frames) = (site(1, 0.01), Frames::new());
    let began = net.now;
    speak(&mut net, &mut frames, 0..2_000);
    let late = net.join(config(7));
    speak(&mut net, &mut frames, 2_000..3_000);
    net.run(ms(1_000));
    let heard = heard(&net, late, began);
    let young = (REPAIRED.as_millis() / SPACING.as_millis()) as u32;
    assert!(heard.range(2_000..).count() == 1_000, "all that was sent since: {}", heard.len());
    assert!(
        heard.range(..2_000 - young - 2).next().is_none(),
        "nothing of the past: {:?}",
        heard.first_key_value()
    );
    let counters = net.node(late).endpoint.counters();
    assert_eq!(counters.receive.digest_mismatches, 0);
    assert!(counters.receive.wants_opened < u64::from(young) + 50, "{:?}", counters.receive);
}

#[test]
fn nothing_is_kept_of_what_is_old() {
    let (mut net, mut frames) = (site(2, 0.2), Frames::new());
    speak(&mut net, &mut frames, 0..1_000);
    net.run(ms(2_000));
    let kept = net.node(0).endpoint.own_messages().count();
    assert_eq!(kept, 0, "the sender has forgotten them");
    let of = net.node(1).endpoint.messages(MemberId(1));
    assert!(of.into_iter().all(|(_, _, body)| body.is_empty()), "and nobody else has kept them");
    let asked = |net: &Net| net.node(1).endpoint.counters().receive.nacks_sent;
    let before = asked(&net);
    net.run(ms(60_000));
    assert_eq!(asked(&net), before, "what nobody has is not asked for");
}

#[test]
fn the_longest_frame_fits_into_one_datagram_in_every_mode() {
    for (has_key, encrypt) in [(false, false), (true, false), (true, true)] {
        let mut config = config(1);
        config.keys = has_key.then(|| Keyring::new(GroupKey::new(1, &[7; 32]).expect("it is long enough")));
        config.encrypt = encrypt;
        let length_max = config.length_max;
        let (mut net, mut frames) = (Net::new(1, Lines::perfect(ms(1))), Frames::new());
        net.join(config);
        let frame = Bytes::from(vec![1; FRAME_BYTES]);
        // With as many versions to announce as possible.
        for number in 0..20 {
            net.with(0, |endpoint, now| match number {
                0..19 => frames.send_reliable(&mut (endpoint, now), frame.clone()),
                _ => frames.send_best_effort(&mut (endpoint, now), frame.clone()),
            })
            .expect("it fits");
        }
        // Best-effort frames wait until the rate has made up for the reliable ones.
        net.run(ms(100));
        let lengths = net.sent.iter().map(|(.., datagram)| datagram.len());
        assert!(lengths.clone().all(|length| length <= length_max), "{:?}", lengths.clone().max());
        assert_eq!(lengths.filter(|length| *length > FRAME_BYTES).count(), 20, "none in parts");
    }
}

#[test]
fn frames_for_one_member_wait_for_their_acknowledgements() {
    let (mut net, mut frames) = (site(3, 0.2), Frames::new());
    let (mut number, mut heard) = (0_u32, Vec::new());
    while number < 1_000 {
        while frames.has_room() && number < 1_000 {
            let frame = Bytes::copy_from_slice(&number.to_be_bytes());
            net.with(0, |endpoint, now| frames.send_directed(&mut (endpoint, now), MemberId(2), frame))
                .expect("it may");
            number += 1;
        }
        assert!(number <= DIRECTED_MAX as u32 || frames.directed() == u64::from(number));
        net.run(ms(5));
        for (_, event) in std::mem::take(&mut net.nodes[0].as_mut().expect("it lives").events) {
            frames.handle(event);
        }
    }
    net.run(ms(2_000));
    let mut others = Frames::new();
    for (_, event) in std::mem::take(&mut net.nodes[1].as_mut().expect("it lives").events) {
        if let Framed::Frame(from, frame) = others.handle(event) {
            assert_eq!(from, MemberId(1));
            heard.push(u32::from_be_bytes(frame[..].try_into().expect("a whole frame")));
        }
    }
    heard.sort_unstable();
    assert_eq!(heard, (0..1_000).collect::<Vec<_>>(), "each once");
    assert_eq!((frames.sent(), frames.directed(), others.received()), (1_000, 1_000, 1_000));
    assert_eq!(net.count(2, |event| matches!(event, Event::Mode2 { .. })), 0, "nobody else hears them");
}
