//! The writer at the limits of its room, and its steady state.

use super::*;

fn mode0(bytes: usize) -> Record<'static> {
    Record::Mode0(Mode0 { stream: StreamKey(1), body: Bytes::from(vec![7; bytes]) })
}

fn header(kind: Kind) -> Header {
    Header::new(kind, MemberId(9))
}

#[test]
fn a_full_bundle_is_as_long_as_the_limit() {
    for (profile, protection) in [
        (Profile::V2, Protection::None),
        (Profile::V2, Protection::Mac),
        (Profile::V3, Protection::None),
        (Profile::V3, Protection::Mac),
        (Profile::V3, Protection::Encrypted),
    ] {
        let format = Format::new(profile, SESSION, LENGTH_DEFAULT, protection).unwrap();
        let announcements = vec![Dsn::whole(DataId(3), Sn(4)); 32];
        let mut writer = Writer::new(format);
        writer.begin(Kind::Bundle, 32);
        assert_eq!(writer.room(), format.bundle_room(32));
        let body = writer.room() - format.mode0_bytes(0);
        let need = format.mode0_bytes(body + 1);
        assert_eq!(writer.push(&mode0(body + 1)), Err(WriteError::Full { need, room: need - 1 }));
        writer.push(&mode0(body)).unwrap();
        assert_eq!(writer.room(), 0);
        assert_eq!(writer.finish(&header(Kind::Bundle), &announcements).unwrap().len(), LENGTH_DEFAULT);
    }
}

#[test]
fn room_that_announcements_did_not_need_is_not_sent() {
    for profile in [Profile::V2, Profile::V3] {
        let mut writer = Writer::new(format(profile));
        writer.begin(Kind::Bundle, 32);
        writer.push(&mode0(10)).unwrap();
        let datagram = writer.finish(&header(Kind::Bundle), &[Dsn::default()]).unwrap();
        let format = format(profile);
        let expected = format.header_bytes() + format.announcements_bytes(1) + format.mode0_bytes(10);
        assert_eq!(datagram.len(), expected);
        let packet = packet(&format, &datagram);
        assert!(matches!(records(&packet).last(), Some(Record::Announcements(list)) if list.len() == 1));
    }
}

#[test]
fn more_announcements_than_reserved_are_refused() {
    let mut writer = Writer::new(format(Profile::V2));
    writer.begin(Kind::Bundle, 1);
    let two = [Dsn::default(); 2];
    let refused = WriteError::Announcements { got: 2, reserved: 1 };
    assert_eq!(writer.finish(&header(Kind::Bundle), &two), Err(refused));
    assert!(writer.finish(&header(Kind::Bundle), &two[..1]).is_ok(), "it is still there");
    writer.begin(Kind::Bundle, usize::MAX);
    assert_eq!(writer.room(), LENGTH_DEFAULT - 24 - 4 * 255);
}

#[test]
fn unrepresentable_records_are_refused_and_leave_nothing() {
    let mut writer = Writer::new(format(Profile::V2));
    writer.begin(Kind::Bundle, 0);
    let wide = Mode1 {
        origin: None,
        dsn: Dsn::whole(DataId(65_536), Sn(0)),
        index: 0,
        flags: Mode1Flags::empty(),
        body: Bytes::new(),
        signature: None,
    };
    let long = Mode1 { dsn: Dsn::whole(DataId(1), Sn(512)), ..wide.clone() };
    let beyond = Mode1 { dsn: Dsn { segments: 2, ..Dsn::default() }, index: 2, ..wide.clone() };
    let signed = Mode1 { dsn: Dsn::default(), signature: Some(Signature([0; 64])), ..wide.clone() };
    let items = [
        NackItem { data: DataId(1), sn: Sn(1), segment: Segment::Whole },
        NackItem { data: DataId(1), sn: Sn(1), segment: Segment::Index(127) },
    ];
    let nack = Nack { origin: MemberId(1), epoch: Epoch(0), items: List::of(&items) };
    for record in [
        Record::Mode1(wide),
        Record::Mode1(long),
        Record::Mode1(beyond),
        Record::Mode1(signed),
        Record::Nack(nack),
        Record::Leave,
        Record::Digest(Digest::default()),
        Record::Announcements(List::of(&[])),
    ] {
        let got = writer.push(&record);
        assert!(matches!(got, Err(WriteError::Unrepresentable { .. })), "{record:?}: {got:?}");
        assert!(writer.is_empty());
    }
    for sender in [0, 1 << 32] {
        assert!(writer.finish(&Header::new(Kind::Bundle, MemberId(sender)), &[]).is_err());
    }
}

#[test]
fn own_and_relayed_data_do_not_mix_and_an_origin_is_said_once() {
    let origin = Origin { member: MemberId(5), epoch: Epoch(6) };
    let message = |origin| {
        Record::Mode1(Mode1 {
            origin,
            dsn: Dsn::default(),
            index: 0,
            flags: Mode1Flags::REPAIR,
            body: Bytes::from_static(b"x"),
            signature: None,
        })
    };
    let mut writer = Writer::new(format(Profile::V3));
    writer.begin(Kind::Sync, 0);
    writer.push(&message(Some(origin))).unwrap();
    let room = writer.room();
    writer.push(&message(Some(origin))).unwrap();
    assert_eq!(room - writer.room(), 17, "no second origin");
    assert!(writer.push(&message(None)).is_err());
    let other = Origin { member: MemberId(7), ..origin };
    writer.push(&message(Some(other))).unwrap();
    let datagram = writer.finish(&header(Kind::Sync), &[]).unwrap();
    let packet = packet(&format(Profile::V3), &datagram);
    assert!(packet.header().flags.contains(Flags::RELAY));
    assert_eq!(records(&packet), [message(Some(origin)), message(Some(origin)), message(Some(other))]);
}

#[test]
fn datagrams_are_cut_from_one_buffer() {
    let mut writer = Writer::new(format(Profile::V3));
    let record = mode0(1000);
    let mut places = std::collections::BTreeSet::new();
    for _ in 0..10_000 {
        writer.begin(Kind::Bundle, 4);
        writer.push(&record).unwrap();
        let datagram = writer.finish(&header(Kind::Bundle), &[]).unwrap().freeze();
        places.insert(datagram.as_ptr() as usize);
    }
    let spread = places.last().unwrap() - places.first().unwrap();
    assert!(spread < 256 * 1024, "the same memory again and again: {spread}");
}

#[test]
fn long_mode_2_messages_fit() {
    for profile in [Profile::V2, Profile::V3] {
        let mut writer = Writer::new(format(profile));
        writer.begin(Kind::Mode2, 0);
        let transaction = Transaction::of_v2(DataId(1), 7);
        let body = Bytes::from(vec![1; MODE2_BYTES_MAX]);
        let record = Record::Mode2(Mode2 { transaction, data: DataId(1), body });
        writer.push(&record).unwrap();
        let datagram = writer.finish(&header(Kind::Mode2), &[]).unwrap();
        assert_eq!(records(&packet(&format(profile), &datagram)), [record]);
    }
}

#[test]
fn formats_that_cannot_be() {
    for length in [0, LENGTH_MIN - 1, LENGTH_UDP_MAX + 1] {
        let got = Format::new(Profile::V3, 0, length, Protection::None);
        assert_eq!(got, Err(FormatError::Length { got: length }));
    }
    let got = Format::new(Profile::V2, 0, LENGTH_DEFAULT, Protection::Encrypted);
    assert_eq!(got, Err(FormatError::Encryption));
    let small = Format::new(Profile::V2, 0, LENGTH_MIN, Protection::Mac).unwrap();
    assert_eq!(small.segment_bytes(255, false), 0, "no panic where nothing fits");
}
