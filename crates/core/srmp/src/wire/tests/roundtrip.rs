//! Everything that can be written is read back unchanged.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::Duration;

/// A record that owns its lists.
#[derive(Clone, Debug)]
enum Owned {
    Record(Record<'static>),
    Nack(MemberId, Epoch, Vec<NackItem>),
    SyncRequest(Vec<Held>),
    Index(Held, Vec<Dsn>),
}

impl Owned {
    fn record(&self) -> Record<'_> {
        match self {
            Self::Record(record) => record.clone(),
            Self::Nack(origin, epoch, items) => {
                Record::Nack(Nack { origin: *origin, epoch: *epoch, items: List::of(items) })
            }
            Self::SyncRequest(held) => Record::SyncRequest(List::of(held)),
            Self::Index(held, versions) => Record::Index(Index { held: *held, versions: List::of(versions) }),
        }
    }
}

fn body(from: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), from..40).prop_map(Bytes::from)
}

/// Values that `f32` and microseconds represent exactly.
fn rate() -> impl Strategy<Value = f64> {
    (1u32..1 << 24).prop_map(f64::from)
}

fn micros() -> impl Strategy<Value = Duration> {
    any::<u32>().prop_map(|us| Duration::from_micros(us.into()))
}

fn dsn(profile: Profile) -> impl Strategy<Value = Dsn> {
    let (data, sn, segments) = match profile {
        Profile::V2 => (u16::MAX.into(), 511, 127),
        Profile::V3 => (u32::MAX, u32::MAX, u16::MAX),
    };
    (0..=data, 0..=sn, prop_oneof![Just(0), 2..=segments]).prop_map(|(data, sn, segments)| Dsn {
        data: DataId(data),
        sn: Sn(sn),
        segments,
    })
}

fn nack(profile: Profile) -> impl Strategy<Value = Owned> {
    let members = if profile == Profile::V2 { u32::MAX.into() } else { u64::MAX };
    let item = (dsn(profile), any::<u16>()).prop_map(move |(dsn, low)| NackItem {
        data: dsn.data,
        sn: dsn.sn,
        segment: match low % profile.segments_max() {
            0 => Segment::Whole,
            index => Segment::Index(index),
        },
    });
    let epochs = if profile == Profile::V2 { 0 } else { u32::MAX };
    // In v2 a NACK has one item.
    let items = if profile == Profile::V2 { 1..2 } else { 0..20 };
    (1..=members, 0..=epochs, vec(item, items))
        .prop_map(|(member, epoch, items)| Owned::Nack(MemberId(member), Epoch(epoch), items))
}

fn mode1(profile: Profile) -> impl Strategy<Value = Mode1> {
    let extras = (any::<bool>(), 0u8..4).prop_map(move |(signed, flags)| {
        let signature = (signed && profile == Profile::V3).then_some(Signature([flags; 64]));
        let flags = if profile == Profile::V3 { flags } else { 0 };
        (Mode1Flags::from_bits_truncate(flags), signature)
    });
    (dsn(profile), any::<u16>(), body(0), extras).prop_map(|(dsn, index, body, (flags, signature))| {
        let index = index % dsn.segments.max(1);
        Mode1 { origin: None, dsn, index, flags, body, signature }
    })
}

fn feedback(profile: Profile) -> impl Strategy<Value = Feedback> {
    let stamps = if profile == Profile::V2 { u16::MAX.into() } else { u32::MAX };
    let rtt = (1..=u32::MAX).prop_map(|us| Duration::from_micros(us.into()));
    let v3 = (0u32..=100, proptest::option::of(rtt));
    (1..=u64::from(u32::MAX), 0u8..16, 0u8..8, rate(), v3, 0..=stamps, 0..=stamps).prop_map(
        move |(sender, round, flags, rate, (loss, rtt), echo, stamp)| {
            let is_v3 = profile == Profile::V3;
            Feedback {
                sender: MemberId(sender),
                round,
                flags: FeedbackFlags::from_bits_truncate(flags),
                rate: if is_v3 { rate } else { float16::decode(float16::encode(rate)) },
                loss: is_v3.then_some(f64::from(loss as f32 / 100.0)),
                rtt: rtt.filter(|_| is_v3),
                echo: Stamp(echo),
                stamp: Stamp(stamp),
            }
        },
    )
}

fn origin() -> impl Strategy<Value = Origin> {
    (1..=u64::MAX, any::<u32>())
        .prop_map(|(member, epoch)| Origin { member: MemberId(member), epoch: Epoch(epoch) })
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<(u32, u64)>().prop_map(|(active, hash)| Digest { active, hash })
}

fn mode0(profile: Profile) -> impl Strategy<Value = Mode0> {
    let streams = if profile == Profile::V2 { 0 } else { u32::MAX };
    (0..=streams, body(0)).prop_map(|(stream, body)| Mode0 { stream: StreamKey(stream), body })
}

fn steering() -> impl Strategy<Value = Owned> {
    let advertisement = (1usize..5, any::<(u8, u128, u8, u64)>(), 0u8..4, micros()).prop_map(
        |(state, (tier, rank, children, parent), flags, parent_rtt)| Advertisement {
            state: [LoggerState::Claim, LoggerState::Active, LoggerState::Standby, LoggerState::Resign]
                [state - 1],
            tier,
            rank,
            children,
            flags: LoggerFlags::from_bits_truncate(flags),
            parent: MemberId(parent),
            parent_rtt,
        },
    );
    let pending = (origin(), any::<(u32, u32)>(), micros()).prop_map(|(origin, (data, sn), upstream)| {
        Pending { origin, data: DataId(data), sn: Sn(sn), upstream }
    });
    let probe = any::<(u32, u32)>().prop_map(|(nonce, stamp)| Probe { nonce, stamp: Stamp(stamp) });
    let held = || (origin(), digest()).prop_map(|(origin, digest)| Held { origin, digest });
    let congestion = (rate(), rate(), micros(), 1..=u16::MAX).prop_map(|(suppress, rate, rtt_max, mean)| {
        Congestion { suppress, rtt_max, rate: Some(rate), mean_bytes: Some(mean), bundle: mean }
    });
    let echo = any::<(u64, u32, bool)>().prop_map(|(receiver, stamp, is_clr)| Echo {
        receiver: MemberId(receiver),
        stamp: Stamp(stamp),
        is_clr,
    });
    let mode2 = (any::<(u64, u32)>(), body(1)).prop_map(|((transaction, data), body)| Mode2 {
        transaction: Transaction(transaction),
        data: DataId(data),
        body,
    });
    let status = prop_oneof![
        Just(AckStatus::Delivered),
        Just(AckStatus::NotWanted),
        Just(AckStatus::Busy),
        (3..=u16::MAX).prop_map(AckStatus::Other)
    ];
    let ack = (any::<u64>(), status)
        .prop_map(|(transaction, status)| Ack { transaction: Transaction(transaction), status });
    prop_oneof![
        digest().prop_map(|record| Owned::Record(Record::Digest(record))),
        pending.prop_map(|record| Owned::Record(Record::Pending(record))),
        advertisement.prop_map(|record| Owned::Record(Record::Advertisement(record))),
        probe.clone().prop_map(|record| Owned::Record(Record::Probe(record))),
        probe.prop_map(|record| Owned::Record(Record::Reply(record))),
        vec(held(), 0..5).prop_map(Owned::SyncRequest),
        (held().prop_filter("member 0", |held| held.origin.member.0 > 0), vec(dsn(Profile::V3), 0..5))
            .prop_map(|(held, versions)| Owned::Index(held, versions)),
        any::<u32>().prop_map(|sent| Owned::Record(Record::SyncEnd { sent })),
        Just(Owned::Record(Record::Leave)),
        congestion.prop_map(|record| Owned::Record(Record::Congestion(record))),
        echo.prop_map(|record| Owned::Record(Record::Echo(record))),
        mode2.prop_map(|record| Owned::Record(Record::Mode2(record))),
        ack.prop_map(|record| Owned::Record(Record::Ack(record))),
        feedback(Profile::V3).prop_map(|record| Owned::Record(Record::Feedback(record))),
    ]
}

/// The records that a bundle of a profile may carry after its header.
fn message(profile: Profile) -> impl Strategy<Value = Owned> {
    prop_oneof![
        mode0(profile).prop_map(|record| Owned::Record(Record::Mode0(record))),
        mode1(profile).prop_map(|record| Owned::Record(Record::Mode1(record))),
        nack(profile),
    ]
}

pub(super) fn headers(profile: Profile) -> impl Strategy<Value = Header> {
    let (members, wide) = match profile {
        Profile::V2 => (u32::MAX.into(), u16::MAX.into()),
        Profile::V3 => (u64::MAX, u32::MAX),
    };
    (1..=members, 0..=wide, 0..=wide, 0u8..16, any::<(u32, u8, u8)>(), 0usize..5).prop_map(
        move |(sender, seq, stamp, round, (epoch, key, flags), kind)| {
            let header = Header::new(Kind::ALL[kind], MemberId(sender));
            let header = Header { seq: Seq(seq), stamp: Stamp(stamp), round, ..header };
            match profile {
                Profile::V2 => Header { kind: Kind::Bundle, ..header },
                Profile::V3 => {
                    let may = Flags::LOCAL | Flags::APP_LIMITED | Flags::LEAVING;
                    let flags = Flags::from_bits_truncate(flags) & may;
                    Header { epoch: Epoch(epoch), key, flags, ..header }
                }
            }
        },
    )
}

fn come_back(profile: Profile, header: &Header, declared: &[Owned], announcements: &[Dsn]) {
    let format = format(profile);
    let mut expected: Vec<Record<'_>> = declared.iter().map(Owned::record).collect();
    let datagram = write(format, header, &expected, announcements);
    let size: usize = expected.iter().map(|record| format.record_bytes(record)).sum();
    assert_eq!(
        datagram.len(),
        format.header_bytes() + size + format.announcements_bytes(announcements.len())
    );
    if profile == Profile::V2 {
        let (suppress, rtt_max) = (f64::INFINITY, Duration::from_millis(500));
        let declared = Congestion { suppress, rtt_max, rate: None, mean_bytes: None, bundle: 0 };
        expected.insert(0, Record::Congestion(declared));
    }
    if !announcements.is_empty() {
        expected.push(Record::Announcements(List::of(announcements)));
    }
    let packet = packet(&format, &datagram);
    assert_eq!(packet.header(), header);
    assert_eq!(records(&packet), expected);
}

proptest! {
    #[test]
    fn bundles_of_v2(
        header in headers(Profile::V2),
        declared in vec(message(Profile::V2), 0..12),
        announcements in vec(dsn(Profile::V2), 0..40),
    ) {
        come_back(Profile::V2, &header, &declared, &announcements);
    }

    #[test]
    fn datagrams_of_v3(
        header in headers(Profile::V3),
        declared in vec(prop_oneof![message(Profile::V3), steering()], 0..5),
        announcements in vec(dsn(Profile::V3), 0..30),
    ) {
        let announcements = if header.kind == Kind::Bundle { &announcements[..] } else { &[] };
        come_back(Profile::V3, &header, &declared, announcements);
    }

    #[test]
    fn reports_of_v2(report in feedback(Profile::V2)) {
        let header = Header { stamp: report.stamp, ..Header::new(Kind::Feedback, MemberId(3)) };
        let declared = [Record::Feedback(report)];
        let datagram = write(format(Profile::V2), &header, &declared, &[]);
        let packet = packet(&format(Profile::V2), &datagram);
        prop_assert_eq!(packet.header(), &header);
        prop_assert_eq!(&records(&packet)[..], &declared[..]);
    }

    #[test]
    fn relayed_data(declared in vec((origin(), mode1(Profile::V3)), 1..6)) {
        let declared: Vec<_> = declared
            .into_iter()
            .map(|(origin, message)| Record::Mode1(Mode1 { origin: Some(origin), ..message }))
            .collect();
        let header = Header { flags: Flags::RELAY, ..Header::new(Kind::Sync, MemberId(3)) };
        let datagram = write(format(Profile::V3), &header, &declared, &[]);
        let packet = packet(&format(Profile::V3), &datagram);
        prop_assert_eq!(records(&packet), declared);
    }
}
