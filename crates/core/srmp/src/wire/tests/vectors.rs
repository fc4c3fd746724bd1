//! Hand-written datagrams of RFC 4410.

use super::*;
use std::time::Duration;

const ONE: MemberId = MemberId(0x0a00_0001);
const TWO: MemberId = MemberId(0x0a00_0002);

/// The datagram is read as these records, and these records are written as the datagram.
fn same(text: &str, header: &Header, declared: &[Record<'_>], announcements: &[Dsn]) {
    let (format, bytes) = (format(Profile::V2), hex(text));
    let packet = packet(&format, &bytes);
    assert_eq!(packet.header(), header);
    let mut expected = declared.to_vec();
    if !announcements.is_empty() {
        expected.push(Record::Announcements(List::of(announcements)));
    }
    assert_eq!(records(&packet), expected);
    assert_eq!(&write(format, header, declared, announcements)[..], &bytes[..]);
}

fn declared(suppress: f64, rtt_max: u64) -> Record<'static> {
    let rtt_max = Duration::from_millis(rtt_max);
    Record::Congestion(Congestion { suppress, rtt_max, rate: None, mean_bytes: None, bundle: 0 })
}

#[test]
fn a_bundle_with_announcements_mode_0_and_mode_1() {
    let header =
        Header { seq: Seq(0x0102), stamp: Stamp(0x1234), round: 3, ..Header::new(Kind::Bundle, ONE) };
    let hull = Mode1 {
        origin: None,
        dsn: Dsn::whole(DataId(8), Sn(0)),
        index: 0,
        flags: Mode1Flags::empty(),
        body: Bytes::from_static(b"HULL"),
        signature: None,
    };
    same(
        "20310102 0a000001 0a000002 12345678 13e80690 02000034 00070280 0009ff83 20000004 504f5331
         20200004 00080000 48554c4c",
        &header,
        &[
            Record::Echo(Echo { receiver: TWO, stamp: Stamp(0x5678), is_clr: true }),
            declared(999_424.0, 100),
            Record::Mode0(Mode0 { stream: StreamKey(0), body: Bytes::from_static(b"POS1") }),
            Record::Mode1(hull),
        ],
        &[Dsn::whole(DataId(7), Sn(5)), Dsn { data: DataId(9), sn: Sn(511), segments: 3 }],
    );
}

#[test]
fn a_bundle_with_a_nack_for_a_whole_message() {
    let items = [NackItem { data: DataId(8), sn: Sn(0), segment: Segment::Whole }];
    let nack = Nack { origin: ONE, epoch: Epoch(0), items: List::of(&items) };
    same(
        "20000001 0a000002 00000000 00000000 13e808f4 00000024 22e00000 0008007f 0a000001",
        &Header { seq: Seq(1), ..Header::new(Kind::Bundle, TWO) },
        &[declared(999_424.0, 500), Record::Nack(nack)],
        &[],
    );
}

#[test]
fn a_report() {
    let report = Feedback {
        sender: ONE,
        round: 3,
        flags: FeedbackFlags::HAVE_RTT | FeedbackFlags::HAVE_LOSS,
        rate: 334_848.0,
        loss: None,
        rtt: None,
        echo: Stamp(0x1240),
        stamp: Stamp(0x5690),
    };
    let header = Header { stamp: Stamp(0x5690), ..Header::new(Kind::Feedback, TWO) };
    same("21331247 12405690 0a000001 0a000002", &header, &[Record::Feedback(report)], &[]);
}

#[test]
fn a_mode_2_message_and_its_acknowledgement() {
    let transaction = Transaction::of_v2(DataId(0x0101), 0);
    let header = Header::new(Kind::Mode2, MemberId::NOBODY);
    let message = Mode2 { transaction, data: DataId(0x0101), body: Bytes::from_static(b"HIT") };
    same("22400003 01010000 484954", &header, &[Record::Mode2(message)], &[]);
    let ack = Ack { transaction, status: AckStatus::Delivered };
    same("22400000 01010000", &header, &[Record::Ack(ack)], &[]);
}

#[test]
fn a_heartbeat() {
    same(
        "20000002 0a000001 00000000 03e80000 ffff08f4 0100001c 00080000",
        &Header { seq: Seq(2), stamp: Stamp(1000), ..Header::new(Kind::Bundle, ONE) },
        &[declared(f64::INFINITY, 500)],
        &[Dsn::whole(DataId(8), Sn(0))],
    );
}

#[test]
fn lengths_of_the_default_bundle() {
    let v2 = format(Profile::V2);
    assert_eq!((v2.mode0_bytes_max(32), v2.segment_bytes(32, false)), (1298, 1294));
    assert_eq!(v2.announcements_in(usize::MAX), 255);
    assert_eq!((v2.bundle_room(0) / v2.nack_bytes(1), v2.bundle_room(32) / v2.nack_bytes(1)), (119, 108));
    assert_eq!(127 * v2.segment_bytes(255, false), 51_054);
    assert_eq!(MESSAGE_BYTES_MAX.div_ceil(v2.segment_bytes(32, false)), 102);
}

/// Forms that are wrong or odd, but unambiguous, are read.
#[test]
fn odd_forms() {
    let format = format(Profile::V2);
    let head = |len: u8| hex(&format!("20000002 0a000001 00000000 03e80000 ffff08f4 000000{len:02x}"));
    let one_segment = [head(24 + 9), hex("20200001 00080001 41")].concat();
    let packet_1 = packet(&format, &one_segment);
    let Some(Record::Mode1(message)) = records(&packet_1).pop() else { panic!("mode 1") };
    assert_eq!(message.dsn.segments, 0, "one segment is none");

    let first_segment = [head(24 + 12), hex("22e00000 00080000 0a000001")].concat();
    let packet_2 = packet(&format, &first_segment);
    let Some(Record::Nack(nack)) = records(&packet_2).pop() else { panic!("a NACK") };
    assert_eq!(nack.items.get(0).unwrap().segment, Segment::Index(0));

    let behind_the_end = [head(24), vec![1, 2, 3]].concat();
    assert_eq!(records(&packet(&format, &behind_the_end)).len(), 1);
}
