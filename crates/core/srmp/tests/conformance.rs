//! The guarantees of the protocol, observed from outside: endpoints in a network in virtual time.

mod common;

use bytes::Bytes;
use common::{Lines, Net, address, ms};
use srmp::model::{DataId, Epoch, MemberId, Profile, StreamKey};
use srmp::rate::Rate;
use srmp::wire::{Format, LENGTH_DEFAULT, Protection, Record};
use srmp::{Config, Event, Peer, SendError};

fn config(profile: Profile, member: u64) -> Config {
    let mut config = Config::new(profile, MemberId(member));
    // A network of known capacity, since congestion control is not measured here.
    config.rate.rate_min = Rate::new(20e6).expect("a rate");
    config
}

fn strict(member: u64) -> Config {
    let mut config = Config::strict(Profile::V2, MemberId(member));
    config.rate.rate_min = Rate::new(20e6).expect("a rate");
    config
}

fn long(len: usize) -> Bytes {
    (0..len).map(|at| (at * 31 % 251) as u8).collect::<Vec<_>>().into()
}

#[test]
fn the_longest_message_travels_in_segments_and_lost_ones_are_asked_for() {
    for make in [
        strict as fn(u64) -> Config,
        |member| config(Profile::V2, member),
        |member| config(Profile::V3, member),
    ] {
        for (seed, loss) in [(1, 0.0), (2, 0.05), (3, 0.3)] {
            let mut net = Net::new(seed, Lines::lossy(ms(20), loss));
            (1..=3).for_each(|member| {
                net.join(make(member));
            });
            net.run(ms(500));
            // Room for 32 announcements is reserved, however many there are.
            let body = long(131_071);
            net.send_mode1(0, 7, body.clone());
            net.run(ms(20_000));
            for node in 1..3 {
                let got = &net.node(node).newest[&(MemberId(1), DataId(7))];
                assert_eq!(got.1, body, "seed {seed}");
                let counters = net.node(node).endpoint.counters();
                assert_eq!(counters.receive.reassembled, 1);
            }
            let counters = net.node(0).endpoint.counters();
            let v2 = net.node(0).endpoint.format().profile() == Profile::V2;
            assert!(!v2 || counters.send.pieces_new == 102, "{}", counters.send.pieces_new);
            assert_eq!(counters.send.pieces_repaired == 0, loss == 0.0);
            assert_eq!(
                net.with(0, |endpoint, now| endpoint.send_mode1(now, DataId(7), long(131_072), false)),
                Err(SendError::TooLong { len: 131_072, max: 131_071 })
            );
        }
    }
}

#[test]
fn a_bundle_announces_nothing_that_it_carries_and_everything_in_turn() {
    for make in [strict as fn(u64) -> Config, |member| config(Profile::V3, member)] {
        let mut net = Net::new(4, Lines::perfect(ms(5)));
        net.join(make(1));
        net.join(make(2));
        for data in 0..100 {
            net.send_mode1(0, data, long(200));
        }
        net.run(ms(3_000));
        let settled = net.now;
        for round in 0..60 {
            net.send_mode1(0, round, long(200));
            net.run(ms(50));
        }
        let endpoint = &net.node(0).endpoint;
        let mut gaps = [None::<u32>; 100];
        let worst = if make(1).strict { 4 } else { 8 };
        for (at, node, _, datagram) in net.sent.iter().filter(|sent| sent.1 == 0) {
            let packet = endpoint.format().decode(datagram).expect("it is well-formed");
            let packet = packet.without_protection().expect("it is not protected");
            let (mut carried, mut announced) = (Vec::new(), Vec::new());
            for record in packet.records() {
                match record.expect("it is well-formed") {
                    Record::Mode1(message) => carried.push(message.dsn.data),
                    Record::Announcements(list) => announced.extend(list.iter().map(|dsn| dsn.data)),
                    _ => {}
                }
            }
            assert!(announced.iter().all(|data| !carried.contains(data)), "node {node} at {at}");
            // While the number of elements grows, turns take longer.
            for (data, gap) in gaps.iter_mut().enumerate().filter(|_| *at > settled) {
                let reported = announced.iter().chain(&carried).any(|reported| reported.0 as usize == data);
                *gap = if reported { Some(0) } else { gap.map(|gap| gap + 1) };
                assert!(gap.unwrap_or(0) < worst, "element {data} not announced in {gap:?} bundles");
            }
        }
        assert!(gaps.iter().all(Option::is_some));
    }
}

#[test]
fn a_joiner_has_the_full_state_within_a_second() {
    let mut times = Vec::new();
    for seed in 0..40 {
        let mut net = Net::new(seed, Lines::lossy(ms(50), 0.05));
        (1..=4).for_each(|member| {
            net.join(config(Profile::V3, member));
        });
        net.run(ms(2_000));
        for data in 0..60 {
            net.send_mode1(data as usize % 4, data, long(250));
            net.run(ms(20));
        }
        // The longest round-trip time is known by then.
        let start = net.now + ms(25_000);
        let traffic = |net: &mut Net, node: usize| {
            net.with(node, |endpoint, now| endpoint.send_mode0(now, Some(StreamKey(1)), 0, long(250)))
                .expect("it fits");
        };
        let mut joiner = None;
        let mut done = None;
        while done.is_none() {
            if net.now >= start && joiner.is_none() {
                joiner = Some(net.join(config(Profile::V3, 9)));
            }
            (0..4).for_each(|node| traffic(&mut net, node));
            net.run(ms(34));
            if joiner.is_some_and(|node| net.node(node).newest.len() == 60) {
                done = Some(net.now.since(start));
            }
            assert!(net.now < start + ms(10_000), "seed {seed}");
        }
        times.extend(done);
    }
    times.sort();
    // Sometimes a request or its answer is lost twice. Of 200 seeds 87 % take less than a second,
    // so of 40 at least 28 do (three standard deviations).
    assert!(times[20] < ms(1_000) && times[27] < ms(1_000) && times[39] < ms(3_000), "{times:?}");
}

#[test]
fn mode_2_is_delivered_once_or_reported() {
    for profile in [Profile::V2, Profile::V3] {
        let mut net = Net::new(5, Lines { duplicate: 0.1, jitter: ms(30), ..Lines::lossy(ms(30), 0.3) });
        net.join(config(profile, 1));
        net.join(config(profile, 2));
        net.run(ms(500));
        let mut tickets = Vec::new();
        for number in 0..200u32 {
            let body = Bytes::from(number.to_be_bytes().to_vec());
            let to = if number % 2 == 0 { Peer::Address(address(1)) } else { Peer::Member(MemberId(2)) };
            tickets.push(
                net.with(0, |endpoint, now| endpoint.send_mode2(now, to, DataId(5), body)).expect("it fits"),
            );
            net.run(ms(50));
        }
        net.run(ms(30_000));
        let mut bodies: Vec<_> = net
            .node(1)
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Mode2 { body, data: DataId(5), .. } => Some(body.clone()),
                _ => None,
            })
            .collect();
        let delivered = net.count(0, |event| matches!(event, Event::Delivered { .. }));
        let lost = net.count(0, |event| matches!(event, Event::TimedOut { .. }));
        assert_eq!(delivered + lost, tickets.len());
        assert!(bodies.len() >= delivered && delivered > 190, "{delivered} of {}", bodies.len());
        bodies.sort();
        bodies.dedup();
        assert_eq!(bodies.len() as u64, net.node(1).endpoint.counters().mode2.received);
        let refused = net.with(0, |endpoint, now| endpoint.send_mode1(now, DataId(5), long(3), false));
        assert_eq!(refused, Err(SendError::OtherMode(DataId(5))));
        let unknown = Peer::Member(MemberId(77));
        let refused = net.with(0, |endpoint, now| endpoint.send_mode2(now, unknown, DataId(6), long(3)));
        assert_eq!(refused, Err(SendError::Unknown(MemberId(77))));
    }
}

#[test]
fn a_sender_that_begins_again_is_heard() {
    for profile in [Profile::V2, Profile::V3] {
        let mut net = Net::new(6, Lines::perfect(ms(10)));
        let life = |epoch| Config { epoch: Epoch(epoch), ..config(profile, 1) };
        net.join(life(1));
        net.join(config(profile, 2));
        net.run(ms(200));
        for round in 0..120u32 {
            net.send_mode1(0, 1, Bytes::from(format!("old {round}")));
            net.run(ms(20));
        }
        net.start(0, life(2));
        net.send_mode1(0, 1, &b"new"[..]);
        net.run(ms(10_000));
        assert_eq!(net.node(1).newest[&(MemberId(1), DataId(1))].1, &b"new"[..], "{profile:?}");
        assert_eq!(net.count(1, |event| matches!(event, Event::Restarted { .. })), 1);
    }
}

#[test]
fn profiles_ignore_each_other() {
    let mut net = Net::new(7, Lines::perfect(ms(5)));
    for (member, profile) in [(1, Profile::V2), (2, Profile::V2), (3, Profile::V3), (4, Profile::V3)] {
        net.join(config(profile, member));
    }
    net.run(ms(100));
    (0..4).for_each(|node| net.send_mode1(node, 1, &b"x"[..]));
    net.run(ms(3_000));
    for node in 0..4 {
        let newest: Vec<_> = net.node(node).newest.keys().map(|(member, _)| member.0).collect();
        assert_eq!(newest, [[2], [1], [4], [3]][node]);
        let faults = &net.node(node).endpoint.counters().endpoint.faults;
        assert_eq!(faults.total(), faults.get(srmp::Fault::OtherProfile));
        assert!(faults.total() > 0);
    }
}

#[test]
fn members_are_seen_lost_and_leave() {
    let mut net = Net::new(8, Lines::perfect(ms(5)));
    (1..=3).for_each(|member| {
        net.join(config(Profile::V3, member));
    });
    net.run(ms(100));
    (0..3).for_each(|node| net.send_mode1(node, 1, &b"x"[..]));
    net.run(ms(1_000));
    assert_eq!(net.node(0).endpoint.live_members(), 2);
    net.with(1, |endpoint, now| endpoint.leave(now));
    // A member that has left misses a message, and requests nothing.
    net.lines.loss = 1.0;
    net.send_mode1(0, 2, &b"y"[..]);
    net.run(ms(12));
    net.lines.loss = 0.0;
    net.crash(2);
    net.run(ms(20_000));
    let lost =
        |member, left| move |event: &Event| *event == Event::MemberLost { member: MemberId(member), left };
    assert_eq!(net.count(0, lost(2, true)), 1);
    assert_eq!(net.count(0, lost(3, false)), 1);
    assert_eq!(net.with(1, |endpoint, now| endpoint.send_mode0(now, None, 0, long(1))), Err(SendError::Left));
    assert_eq!(net.node(0).endpoint.messages(MemberId(3)).count(), 1, "what came stays");
}

#[test]
fn two_hosts_with_one_identity_are_told_and_the_first_is_kept() {
    let mut net = Net::new(9, Lines::perfect(ms(5)));
    net.join(config(Profile::V3, 1));
    net.join(config(Profile::V3, 2));
    net.run(ms(500));
    net.send_mode1(1, 1, &b"first"[..]);
    net.run(ms(500));
    net.join(config(Profile::V3, 2));
    net.send_mode1(2, 1, &b"second"[..]);
    net.send_mode1(2, 1, &b"third"[..]);
    net.run(ms(5_000));
    assert_eq!(net.node(0).newest[&(MemberId(2), DataId(1))].1, &b"first"[..]);
    let reported =
        net.count(0, |event| *event == Event::DuplicateMember { member: MemberId(2), address: address(2) });
    assert_eq!(reported, 1);
    assert!(net.node(0).endpoint.counters().endpoint.conflicts > 2);
}

#[test]
fn a_lost_last_update_is_found_in_milliseconds() {
    let mut net = Net::new(10, Lines::perfect(ms(5)));
    net.join(config(Profile::V3, 1));
    net.join(config(Profile::V3, 2));
    net.run(ms(3_000));
    net.lines.loss = 1.0;
    net.send_mode1(0, 1, &b"x"[..]);
    net.run(ms(12));
    net.lines.loss = 0.0;
    let sent = net.sent.len();
    net.run(ms(50));
    assert_eq!(net.node(1).newest.len(), 1);
    net.run(ms(900));
    assert!(net.sent.len() - sent <= 8, "{}", net.sent.len() - sent);
}

#[test]
fn impossible_settings_are_refused_at_the_start() {
    let wrong = |change: fn(&mut Config)| {
        let mut config = config(Profile::V2, 1);
        change(&mut config);
        srmp::Endpoint::new(config, base::Seed(0), base::Moment::ZERO).expect_err("it cannot be").to_string()
    };
    assert!(wrong(|config| config.member = MemberId(1 << 32)).contains("does not fit"));
    assert!(wrong(|config| config.announcements_max = 256).contains("1 to 255"));
    assert!(wrong(|config| config.length_max = 100).contains("256"));
    assert!(wrong(|config| config.encrypt = true).contains("without keys"));
    let format = Format::new(Profile::V2, 0, LENGTH_DEFAULT, Protection::None).expect("the default");
    assert_eq!(format.segment_bytes(32, false), 1_294);
}
