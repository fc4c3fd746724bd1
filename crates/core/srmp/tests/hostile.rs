//! Forged datagrams: an endpoint counts them and goes on, and its memory stays bounded.

mod common;

use bytes::Bytes;
use common::{Lines, Net, address, ms};
use proptest::prelude::*;
use srmp::model::{DataId, Dsn, Epoch, MemberId, NackItem, Profile, Segment, Seq, Sn};
use srmp::wire::{
    Format, Header, Kind, LENGTH_DEFAULT, List, Mode1, Mode1Flags, Nack, Protection, Record, Writer,
};
use srmp::{Channel, Config, Endpoint, Event};

/// All datagrams of a lively group.
fn recorded(profile: Profile) -> Vec<Bytes> {
    let mut net = Net::new(1, Lines::lossy(ms(20), 0.1));
    (1..=3).for_each(|member| {
        net.join(Config::new(profile, MemberId(member)));
    });
    for round in 0..40u32 {
        net.send_mode1(round as usize % 3, round % 7, vec![round as u8; 100 + 200 * (round as usize % 20)]);
        net.with(0, |endpoint, now| endpoint.send_mode0(now, None, 0, Bytes::from_static(b"tick")))
            .expect("it fits");
        let to = srmp::Peer::Address(address(1));
        net.with(2, |endpoint, now| endpoint.send_mode2(now, to, DataId(99), Bytes::from_static(b"hit")))
            .expect("it fits");
        net.run(ms(100));
    }
    net.sent.into_iter().map(|(.., datagram)| datagram).collect()
}

/// A victim in the same session, which receives the forged datagrams.
fn victim(profile: Profile) -> Net {
    let mut net = Net::new(2, Lines::perfect(ms(1)));
    let mut config = Config::new(profile, MemberId(9));
    config.limits.receive_bytes_max = 100_000;
    config.limits.elements_max = 500;
    config.limits.members_max = 20;
    net.join(config);
    net
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn changed_datagrams_are_counted(
        v3: bool,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..400),
    ) {
        let profile = if v3 { Profile::V3 } else { Profile::V2 };
        let datagrams = recorded(profile);
        let mut net = victim(profile);
        for (which, place, byte, how) in changes {
            let mut datagram = which.get(&datagrams).to_vec();
            match how {
                0 => datagram.truncate(place.index(datagram.len() + 1)),
                1 => datagram.extend([byte; 9]),
                _ => {
                    let at = place.index(datagram.len());
                    datagram[at] = byte;
                }
            }
            let from = address(usize::from(byte) % 5 + 1);
            let datagram = Bytes::from(datagram);
            net.with(0, |endpoint, now| endpoint.handle_datagram(now, from, Channel::Group, &datagram));
            net.run(ms(5));
        }
        net.run(ms(3_000));
        let endpoint = &net.node(0).endpoint;
        prop_assert!(endpoint.held_bytes() <= 120_000);
        prop_assert!(endpoint.members().count() <= 20);
    }
}

/// A datagram of a malicious member.
fn forge(profile: Profile, member: u64, seq: u32, records: &[Record<'_>], announced: &[Dsn]) -> Bytes {
    let session = srmp::auth::session_tag("", "");
    let format = Format::new(profile, session, LENGTH_DEFAULT, Protection::None).expect("the default");
    let mut writer = Writer::new(format);
    writer.begin(Kind::Bundle, announced.len());
    for record in records {
        writer.push(record).expect("it fits");
    }
    let header = Header { seq: Seq(seq), epoch: Epoch(0), ..Header::new(Kind::Bundle, MemberId(member)) };
    writer.finish(&header, announced).expect("it fits").freeze()
}

fn hear(endpoint: &mut Endpoint, now: base::Moment, member: u64, datagram: &Bytes) {
    endpoint.handle_datagram(now, address(member as usize), Channel::Group, datagram);
}

#[test]
fn members_elements_and_bytes_are_bounded() {
    let mut net = victim(Profile::V3);
    for member in 100..200 {
        let announced: Vec<_> =
            (0..100).map(|data| Dsn::whole(DataId(member * 1_000 + data), Sn(u32::MAX))).collect();
        let part = Record::Mode1(Mode1 {
            origin: None,
            dsn: Dsn { data: DataId(member), sn: Sn(3), segments: 1_000 },
            index: 7,
            flags: Mode1Flags::empty(),
            body: Bytes::from(vec![0; 200]),
            signature: None,
        });
        let datagram = forge(Profile::V3, member.into(), 0, &[part], &announced[..90]);
        net.with(0, |endpoint, now| hear(endpoint, now, member.into(), &datagram));
    }
    let counters = net.node(0).endpoint.counters();
    assert_eq!(net.node(0).endpoint.members().count(), 20);
    assert_eq!(counters.endpoint.members_refused, 80);
    assert!(counters.receive.refused > 1_000 && counters.receive.parts_discarded > 0);
    assert!(net.node(0).endpoint.held_bytes() <= 100_000);
    net.run(ms(300_000));
    let silent = net.sent.len();
    net.run(ms(60_000));
    assert!(net.sent.len() - silent < 20, "nobody is asked any more");
    assert_eq!(net.count(0, |event| matches!(event, Event::MemberLost { .. })), 20);
}

#[test]
fn a_flood_of_wishes_is_answered_seldom() {
    let mut net = victim(Profile::V3);
    for data in 0..50 {
        net.send_mode1(0, data, vec![1; 200]);
    }
    net.run(ms(2_000));
    let before = net.node(0).endpoint.counters().send.pieces_repaired;
    for round in 0..5_000u32 {
        let items: Vec<_> =
            (0..50).map(|data| NackItem { data: DataId(data), sn: Sn(0), segment: Segment::Whole }).collect();
        let nack = Record::Nack(Nack { origin: MemberId(9), epoch: Epoch(0), items: List::of(&items) });
        let datagram = forge(Profile::V3, 3, round, &[nack], &[]);
        net.with(0, |endpoint, now| hear(endpoint, now, 3, &datagram));
        net.run(ms(2));
    }
    let counters = net.node(0).endpoint.counters();
    let repaired = counters.send.pieces_repaired - before;
    assert!(repaired <= 250 + 110, "{repaired} repairs in ten seconds");
    assert!(counters.endpoint.nacks_limited > 200_000);
    let future = [NackItem { data: DataId(1), sn: Sn(9), segment: Segment::Whole }];
    let nack = Record::Nack(Nack { origin: MemberId(9), epoch: Epoch(0), items: List::of(&future) });
    let datagram = forge(Profile::V3, 4, 0, &[nack], &[]);
    net.with(0, |endpoint, now| hear(endpoint, now, 4, &datagram));
    assert_eq!(net.node(0).endpoint.counters().send.nacks_future, 1);
}

#[test]
fn listeners_are_counted() {
    let mut net = Net::new(3, Lines::perfect(ms(5)));
    (1..=40).for_each(|member| {
        net.join(Config::new(Profile::V3, MemberId(member)));
    });
    net.run(ms(100));
    net.send_mode1(0, 1, &b"x"[..]);
    net.run(ms(60_000));
    assert!((0..40).all(|node| net.node(node).endpoint.live_members() == 39));
    net.crash(0);
    net.crash(1);
    net.run(ms(12_500));
    let lost =
        |member| move |event: &Event| *event == Event::MemberLost { member: MemberId(member), left: false };
    assert_eq!(net.count(5, lost(1)), 1);
    net.run(ms(5_000));
    assert_eq!(net.count(5, lost(2)), 1);
    assert_eq!(net.node(5).endpoint.live_members(), 37);
}
