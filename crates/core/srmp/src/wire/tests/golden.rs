//! Hand-written datagrams of profile v3. A change here changes the protocol.

use super::*;
use std::time::Duration;

const BUNDLE: &str = "
    30 00 00aa cafef00d 000000000a000001 00000007 00000009 0001e240 00 03 0000
    05 00 0010 000000000a000002 00005678 00000001
    06 00 0010 49742400 48f42400 000186a0 012c 0000
    01 00 0008 0000000c 504f5331
    02 01 0010 00000008 00000000 0000 0000 48554c4c
    04 00 0016 000000000a000002 00000005 00000009 00010000 ffff
    0a 00 000c 00000001 0123456789abcdef
    03 00 0014 00000007 00000005 0000 00000009 000001ff 0003";

const REPORT: &str = "
    31 08 0044 cafef00d 000000000a000001 00000007 0000000a 0001e240 00 00 0000
    07 00 0020 000000000a000002 48742400 3e800000 000186a0 00001240 00005690 03 03 0000";

const MESSAGE: &str = "
    32 00 0033 cafef00d 000000000a000001 00000007 0000000b 0001e240 00 00 0000
    08 00 000f 0000000000000001 00000101 484954";

const ACK: &str = "
    32 00 002e cafef00d 000000000a000001 00000007 0000000c 0001e240 00 00 0000
    09 00 000a 0000000000000001 0001";

const LOGGER: &str = "
    33 20 0078 cafef00d 000000000a000001 00000007 0000000d 0001e240 00 00 0000
    10 00 0020 02 02 000102030405060708090a0b0c0d0e0f 03 01 000000000a000002 000003e8
    0c 00 0018 000000000a000002 00000005 00000009 00010000 00009c40
    11 00 0008 00000001 00000002
    12 00 0008 00000003 00000004";

const SYNC: &str = "
    34 10 00ac cafef00d 000000000a000001 00000007 0000000e 0001e240 00 00 0000
    0b 00 000c 000000000a000002 00000005
    02 05 0050 00000009 00010000 0001 0002 48554c4c
      abababababababababababababababababababababababababababababababab
      abababababababababababababababababababababababababababababababab
    13 00 0018 000000000a000002 00000005 00000001 0123456789abcdef
    14 00 0004 00000001
    15 00 0000";

const INDEX: &str = "
    34 00 0050 cafef00d 000000000a000001 00000007 0000000f 0001e240 00 00 0000
    16 00 002c 000000000a000002 00000005 00000001 0123456789abcdef
      00000007 00000005 0000 00000009 000001ff 0003";

/// All of these datagrams.
pub(super) const PLAIN: [&str; 7] = [BUNDLE, REPORT, MESSAGE, ACK, LOGGER, SYNC, INDEX];

const ONE: MemberId = MemberId(0x0a00_0001);
const TWO: MemberId = MemberId(0x0a00_0002);
const DIGEST: Digest = Digest { active: 1, hash: 0x0123_4567_89ab_cdef };

/// The datagram is read as these records, and these records are written as the datagram.
fn same(text: &str, header: &Header, declared: &[Record<'_>], announcements: &[Dsn]) {
    let (format, bytes) = (format(Profile::V3), hex(text));
    let header = Header { epoch: Epoch(7), stamp: Stamp(123_456), ..*header };
    let packet = packet(&format, &bytes);
    assert_eq!(packet.header(), &header);
    let mut expected = declared.to_vec();
    if !announcements.is_empty() {
        expected.push(Record::Announcements(List::of(announcements)));
    }
    assert_eq!(records(&packet), expected);
    assert_eq!(&write(format, &header, declared, announcements)[..], &bytes[..]);
}

#[test]
fn a_bundle() {
    let hull = Mode1 {
        origin: None,
        dsn: Dsn::whole(DataId(8), Sn(0)),
        index: 0,
        flags: Mode1Flags::REPAIR,
        body: Bytes::from_static(b"HULL"),
        signature: None,
    };
    let items = [NackItem { data: DataId(9), sn: Sn(65_536), segment: Segment::Whole }];
    let congestion = Congestion {
        suppress: 1e6,
        rtt_max: Duration::from_millis(100),
        rate: Some(5e5),
        mean_bytes: Some(300),
        bundle: 0,
    };
    same(
        BUNDLE,
        &Header { seq: Seq(9), round: 3, ..Header::new(Kind::Bundle, ONE) },
        &[
            Record::Echo(Echo { receiver: TWO, stamp: Stamp(0x5678), is_clr: true }),
            Record::Congestion(congestion),
            Record::Mode0(Mode0 { stream: StreamKey(12), body: Bytes::from_static(b"POS1") }),
            Record::Mode1(hull),
            Record::Nack(Nack { origin: TWO, epoch: Epoch(5), items: List::of(&items) }),
            Record::Digest(DIGEST),
        ],
        &[Dsn::whole(DataId(7), Sn(5)), Dsn { data: DataId(9), sn: Sn(511), segments: 3 }],
    );
}

#[test]
fn a_report() {
    let report = Feedback {
        sender: TWO,
        round: 3,
        flags: FeedbackFlags::HAVE_RTT | FeedbackFlags::HAVE_LOSS,
        rate: 250_000.0,
        loss: Some(0.25),
        rtt: Some(Duration::from_millis(100)),
        echo: Stamp(0x1240),
        stamp: Stamp(0x5690),
    };
    let header = Header { seq: Seq(10), flags: Flags::APP_LIMITED, ..Header::new(Kind::Feedback, ONE) };
    same(REPORT, &header, &[Record::Feedback(report)], &[]);
}

#[test]
fn a_mode_2_message_and_its_acknowledgement() {
    let (transaction, body) = (Transaction(1), Bytes::from_static(b"HIT"));
    let header = Header { seq: Seq(11), ..Header::new(Kind::Mode2, ONE) };
    same(MESSAGE, &header, &[Record::Mode2(Mode2 { transaction, data: DataId(0x0101), body })], &[]);
    let ack = Ack { transaction, status: AckStatus::NotWanted };
    same(ACK, &Header { seq: Seq(12), ..header }, &[Record::Ack(ack)], &[]);
}

#[test]
fn a_logger() {
    let advertisement = Advertisement {
        state: LoggerState::Active,
        tier: 2,
        rank: 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f,
        children: 3,
        flags: LoggerFlags::OVERLOADED,
        parent: TWO,
        parent_rtt: Duration::from_millis(1),
    };
    let pending = Pending {
        origin: Origin { member: TWO, epoch: Epoch(5) },
        data: DataId(9),
        sn: Sn(65_536),
        upstream: Duration::from_millis(40),
    };
    same(
        LOGGER,
        &Header { seq: Seq(13), flags: Flags::LOCAL, ..Header::new(Kind::Logger, ONE) },
        &[
            Record::Advertisement(advertisement),
            Record::Pending(pending),
            Record::Probe(Probe { nonce: 1, stamp: Stamp(2) }),
            Record::Reply(Probe { nonce: 3, stamp: Stamp(4) }),
        ],
        &[],
    );
}

#[test]
fn state_for_who_joins() {
    let origin = Origin { member: TWO, epoch: Epoch(5) };
    let message = Mode1 {
        origin: Some(origin),
        dsn: Dsn { data: DataId(9), sn: Sn(65_536), segments: 2 },
        index: 1,
        flags: Mode1Flags::REPAIR,
        body: Bytes::from_static(b"HULL"),
        signature: Some(Signature([0xab; 64])),
    };
    let held = [Held { origin, digest: DIGEST }];
    same(
        SYNC,
        &Header { seq: Seq(14), flags: Flags::RELAY, ..Header::new(Kind::Sync, ONE) },
        &[
            Record::Mode1(message),
            Record::SyncRequest(List::of(&held)),
            Record::SyncEnd { sent: 1 },
            Record::Leave,
        ],
        &[],
    );
}

#[test]
fn an_index_of_what_there_is() {
    let versions = [Dsn::whole(DataId(7), Sn(5)), Dsn { data: DataId(9), sn: Sn(511), segments: 3 }];
    let held = Held { origin: Origin { member: TWO, epoch: Epoch(5) }, digest: DIGEST };
    same(
        INDEX,
        &Header { seq: Seq(15), ..Header::new(Kind::Sync, ONE) },
        &[Record::Index(Index { held, versions: List::of(&versions) })],
        &[],
    );
}

/// FNV-1a as specified elsewhere, of eight bytes: four of the data element and four of the version.
#[test]
fn a_digest() {
    let mut expected = 0xcbf2_9ce4_8422_2325_u64;
    for byte in [0, 0, 0, 8, 0, 0, 1, 0] {
        expected = (expected ^ byte).wrapping_mul(1_099_511_628_211);
    }
    assert_eq!(Digest::hash(DataId(8), Sn(256)), expected);
}
