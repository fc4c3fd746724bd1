//! Messages between members.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use srmp::auth::{GroupKey, Keyring};
use srmp::model::{DataId, MemberId, Profile, StreamKey};
use srmp::wire::AckStatus;
use srmp::{Event, Peer};

use super::*;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 255, 44, 10));
const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 0x44, 0x10));

/// Three members. Each sends a message of each mode to each other one.
async fn all_modes(group: SocketAddr, profile: Profile) {
    let mut members: Vec<Member> = (1..=3).map(|member| join(group, member, profile)).collect();
    for member in &members {
        member.sees(2).await;
    }
    let text = |mode: u8, from: u64| Bytes::from(format!("mode {mode} of {from}"));
    for (from, member) in (1..).zip(&members) {
        member.host.send1(DataId(7), text(1, from), false).expect("it can be sent");
        for to in (1..=3).filter(|&to| to != from) {
            let to = Peer::Member(MemberId(to));
            member.host.send2(to, DataId(9), text(2, from)).expect("it can be sent");
        }
    }
    for (me, member) in (1..).zip(&mut members) {
        let mut missing: BTreeMap<(u64, u8), ()> = BTreeMap::new();
        for from in (1..=3).filter(|&from| from != me) {
            missing.extend([((from, 1), ()), ((from, 2), ())]);
        }
        let mut delivered = 0;
        while !missing.is_empty() || delivered < 2 {
            let (from, mode, body) = member
                .next(|event| match event {
                    Event::Mode1 { from, data: DataId(7), body, .. } => Some((from.0, 1, body)),
                    Event::Mode2 { address, data: DataId(9), body, .. } => {
                        Some((u64::from(address.port()), 2, body))
                    }
                    Event::Delivered { status: AckStatus::Delivered, .. } => Some((0, 0, Bytes::new())),
                    _ => None,
                })
                .await;
            match mode {
                0 => delivered += 1,
                // Profile v2 does not name the sender of a mode 2 message; its text does.
                2 => {
                    let from = (1..=3).find(|&from| body == text(2, from)).expect("a text of ours");
                    assert!(missing.remove(&(from, 2)).is_some(), "once: {from}");
                }
                _ => {
                    assert_eq!(body, text(1, from));
                    assert!(missing.remove(&(from, 1)).is_some(), "once: {from}");
                }
            }
        }
    }
    // A mode 0 message is reported only after a reliable one of its sender. Now there is one.
    members[0].host.send0(Some(StreamKey(5)), 0, text(0, 1)).expect("it can be sent");
    for member in &mut members[1..] {
        let (from, body) = member
            .next(|event| match event {
                Event::Mode0 { from, body, .. } => Some((from, body)),
                _ => None,
            })
            .await;
        assert_eq!((from, body), (MemberId(1), text(0, 1)));
    }
}

#[tokio::test]
async fn all_modes_over_ipv4() {
    if has_multicast(V4) {
        all_modes(group(), Profile::V3).await;
    }
}

#[tokio::test]
async fn all_modes_of_rfc_4410() {
    if has_multicast(V4) {
        all_modes(group(), Profile::V2).await;
    }
}

#[tokio::test]
async fn all_modes_over_ipv6() {
    if has_multicast(V6) {
        all_modes(group_at(V6, Ipv6Addr::LOCALHOST.into()), Profile::V3).await;
    }
}

#[tokio::test]
async fn long_messages_come_whole() {
    if !has_multicast(V4) {
        return;
    }
    let group = group();
    let (sender, mut receiver) = (join(group, 1, Profile::V3), join(group, 2, Profile::V3));
    sender.sees(1).await;
    let long: Bytes = (0..100_000_u32).map(|number| number as u8).collect::<Vec<u8>>().into();
    sender.host.send1(DataId(1), long.clone(), false).expect("it can be sent");
    let body = receiver
        .next(|event| match event {
            Event::Mode1 { body, .. } => Some(body),
            _ => None,
        })
        .await;
    assert!(body == long);
    let to = Peer::Member(MemberId(2));
    sender.host.send2(to, DataId(2), long.slice(..30_000)).expect("it can be sent");
    let body = receiver
        .next(|event| match event {
            Event::Mode2 { body, .. } => Some(body),
            _ => None,
        })
        .await;
    assert!(body == long[..30_000]);
}

#[tokio::test]
async fn a_late_joiner_gets_the_state() {
    if !has_multicast(V4) {
        return;
    }
    let group = group();
    let early = join(group, 1, Profile::V3);
    for data in 0..40 {
        early.host.send1(DataId(data), Bytes::from(format!("old {data}")), false).expect("it can be sent");
    }
    for data in 0..40 {
        early.host.send1(DataId(data), Bytes::from(format!("new {data}")), false).expect("it can be sent");
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut late = join(group, 2, Profile::V3);
    let mut got = BTreeMap::new();
    while got.len() < 40 {
        let (data, body) = late
            .next(|event| match event {
                Event::Mode1 { data, body, .. } => Some((data.0, body)),
                _ => None,
            })
            .await;
        got.insert(data, body);
    }
    for (data, body) in got {
        assert_eq!(body, format!("new {data}"));
    }
}

#[tokio::test]
async fn reliable_data_is_complete_though_a_tenth_is_lost() {
    if !has_multicast(V4) {
        return;
    }
    let group = group();
    let lossy = |member| {
        let mut config = config(group, member, Profile::V3);
        config.incoming = Some("delay=3ms,jitter=1ms,loss=10%".parse().expect("it is a line"));
        config.seed = base::Seed(member);
        open(config)
    };
    let sender = lossy(1);
    let mut receivers = [lossy(2), lossy(3)];
    sender.sees(2).await;
    for version in 1..=20_u32 {
        for data in 0..10 {
            let body = Bytes::from(format!("{version}"));
            sender.host.send1(DataId(data), body, false).expect("it can be sent");
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    for receiver in &mut receivers {
        let mut newest = [0_u32; 10];
        while newest != [20; 10] {
            let (data, version) = receiver
                .next(|event| match event {
                    Event::Mode1 { data, body, .. } => {
                        let text = std::str::from_utf8(&body).expect("it is text");
                        Some((data.0 as usize, text.parse::<u32>().expect("it is a number")))
                    }
                    _ => None,
                })
                .await;
            assert!(version > newest[data], "versions only grow");
            newest[data] = version;
        }
        assert!(receiver.host.io().emulated_losses > 0, "the line loses some");
    }
}

#[tokio::test]
async fn keys_keep_others_out() {
    if !has_multicast(V4) {
        return;
    }
    let group = group();
    let keyed = |member, secret: Option<u8>, encrypt| {
        let mut config = config(group, member, Profile::V3);
        let key = |byte| GroupKey::new(1, &[byte; 32]).expect("it is long enough");
        config.protocol.keys = secret.map(|byte| Keyring::new(key(byte)));
        config.protocol.encrypt = encrypt;
        open(config)
    };
    let (alice, mut bob) = (keyed(1, Some(7), true), keyed(2, Some(7), true));
    let (eve, mallory) = (keyed(3, None, false), keyed(4, Some(8), true));
    alice.sees(1).await;
    eve.host.send1(DataId(1), "forged".into(), true).expect("it can be sent");
    mallory.host.send1(DataId(1), "forged".into(), true).expect("it can be sent");
    alice.host.send1(DataId(1), "true".into(), true).expect("it can be sent");
    let (from, body) = bob
        .next(|event| match event {
            Event::Mode1 { from, body, .. } => Some((from, body)),
            _ => None,
        })
        .await;
    assert_eq!((from, body), (MemberId(1), Bytes::from("true")));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (faults, members) =
        bob.host.inspect(|bob| (bob.counters().endpoint.faults.total(), bob.live_members()));
    assert!(faults >= 2 && members == 1, "{faults} {members}");
    assert_eq!(eve.host.inspect(srmp::Endpoint::live_members), 0, "she reads nothing");
}
