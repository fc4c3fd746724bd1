//! Invalid settings, and members that leave.

use std::time::Duration;

use bytes::Bytes;
use srmp::model::{DataId, MemberId, Profile, StreamKey};
use srmp::{Event, Fault, Peer, SendError};

use super::super::OpenError;
use super::*;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 255, 44, 10));

fn refusal(config: HostConfig) -> OpenError {
    SrmpHost::open(config).map(|_| ()).expect_err("it cannot be")
}

#[tokio::test]
async fn impossible_settings_are_reported_at_the_start() {
    let config = |text: &str| config(text.parse().expect("an address"), 1, Profile::V3);
    let error = refusal(config("10.1.2.3:4410"));
    assert!(matches!(error, OpenError::NotMulticast(_)), "{error}");
    assert!(error.to_string().starts_with("10.1.2.3 is not a multicast address"), "{error}");
    assert!(matches!(refusal(config("[fe80::1]:4410")), OpenError::NotMulticast(_)));
    assert!(matches!(refusal(config("239.1.2.3:0")), OpenError::NoPort(_)));
    let mut nowhere = config("239.1.2.3:4410");
    nowhere.interface = "no-such-0".parse().expect("any name is one");
    let error = refusal(nowhere).to_string();
    assert!(error.contains("no-such-0") && error.contains("lo"), "{error}");
    let mut other_family = config("239.1.2.3:4410");
    other_family.interface = Interface::Address(Ipv6Addr::LOCALHOST.into());
    let error = refusal(other_family);
    assert!(
        matches!(error, OpenError::NoAddress { .. } | OpenError::UnknownInterface { .. }),
        "a machine with or without IPv6: {error}"
    );
    let mut nobody = config("239.1.2.3:4410");
    nobody.protocol.member = MemberId::NOBODY;
    assert!(matches!(refusal(nobody), OpenError::Protocol(_)));
}

#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "whose ports exclude whose differs from system to system")]
async fn a_port_that_is_not_shared_is_told() {
    if !has_multicast(V4) {
        return;
    }
    let alone = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("there are ports");
    let port = alone.local_addr().expect("it has one").port();
    let error = refusal(config(SocketAddr::new(V4, port), 1, Profile::V3));
    assert!(
        matches!(error, OpenError::PortInUse(_)) && error.to_string().contains(&port.to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn the_profiles_ignore_each_other() {
    if !has_multicast(V4) {
        return;
    }
    let group = group();
    let pairs = [Profile::V2, Profile::V3].map(|profile| [join(group, 1, profile), join(group, 2, profile)]);
    for (number, [sender, receiver]) in pairs.iter().enumerate() {
        sender.sees(1).await;
        receiver.sees(1).await;
        sender.host.send1(DataId(1), Bytes::from(format!("{number}")), true).expect("it can be sent");
    }
    for (number, [_, mut receiver]) in pairs.into_iter().enumerate() {
        let body = receiver
            .next(|event| match event {
                Event::Mode1 { body, .. } => Some(body),
                _ => None,
            })
            .await;
        assert_eq!(body, format!("{number}"));
        receiver.host.inspect(|endpoint| {
            let faults = &endpoint.counters().endpoint.faults;
            assert!(faults.get(Fault::OtherProfile) > 0);
            assert_eq!(faults.total(), faults.get(Fault::OtherProfile), "and nothing else is wrong");
            assert_eq!(endpoint.live_members(), 1);
        });
    }
}

#[tokio::test]
async fn a_leaving_member_announces_it() {
    if !has_multicast(V4) {
        return;
    }
    let group = group();
    let (first, mut second) = (join(group, 1, Profile::V3), join(group, 2, Profile::V3));
    let Member { host, mut events } = first;
    second.sees(1).await;
    tokio::time::timeout(PATIENCE, host.leave()).await.expect("it does not hang");
    let lost = second
        .next(|event| match event {
            Event::MemberLost { member, left } => Some((member, left)),
            _ => None,
        })
        .await;
    assert_eq!(lost, (MemberId(1), true));
    let ended = async { while events.recv().await.is_some() {} };
    tokio::time::timeout(PATIENCE, ended).await.expect("events end with the host");
}

#[tokio::test]
async fn nobody_there_is_told_in_time() {
    if !has_multicast(V4) {
        return;
    }
    let mut config = config(group(), 1, Profile::V3);
    config.protocol.limits.mode2_retries = 2;
    let mut alone = open(config);
    let unknown = Peer::Member(MemberId(9));
    let error = alone.host.send2(unknown, DataId(1), "?".into()).expect_err("nobody is there");
    assert_eq!(error, SendError::Unknown(MemberId(9)));
    let nobody = group_at(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into());
    let ticket = alone.host.send2(Peer::Address(nobody), DataId(1), "?".into()).expect("it can be sent");
    let timed_out = alone
        .next(|event| match event {
            Event::TimedOut { ticket } => Some(ticket),
            _ => None,
        })
        .await;
    assert_eq!(timed_out, ticket);
}

#[tokio::test]
async fn a_member_that_reads_nothing_loses_mode_0_alone() {
    if !has_multicast(V4) {
        return;
    }
    let group = group();
    let mut idle = config(group, 2, Profile::V3);
    idle.events_max = 50;
    let (sender, mut idle) = (join(group, 1, Profile::V3), open(idle));
    sender.sees(1).await;
    for number in 0..500_u32 {
        sender
            .host
            .send0(Some(StreamKey(number)), 0, Bytes::from_static(b"position"))
            .expect("it can be sent");
        sender.host.room(10).await;
    }
    sender.host.send1(DataId(1), "state".into(), true).expect("it can be sent");
    let dropped = async {
        while idle.host.io().events_dropped < 400 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, dropped).await.expect("what nobody reads is dropped");
    let mut mode0 = 0;
    let body = idle
        .next(|event| match event {
            Event::Mode1 { body, .. } => Some(body),
            Event::Mode0 { .. } => {
                mode0 += 1;
                None
            }
            _ => None,
        })
        .await;
    assert_eq!(body, "state");
    // The first fifty, and those that arrived after they were read.
    assert!((50..=100).contains(&mode0), "{mode0}");
}
