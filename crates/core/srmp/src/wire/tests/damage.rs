//! Truncated datagrams, flipped bits and noise are refused or read. They never panic, and reading
//! ends.

use super::*;
use crate::Fault;
use proptest::prelude::*;

/// Reads everything from a datagram; returns the errors.
fn devour(format: &Format, bytes: &[u8]) -> Vec<WireError> {
    let packet = match format.decode(&Bytes::copy_from_slice(bytes)).and_then(Envelope::without_protection) {
        Ok(packet) => packet,
        Err(error) => return vec![error],
    };
    let mut faults = Vec::new();
    for (count, record) in packet.records().enumerate() {
        assert!(count <= bytes.len() + 3, "every record but three takes a byte");
        match record {
            Ok(Record::Announcements(list)) => assert_eq!(list.iter().count(), list.len()),
            Ok(Record::Nack(nack)) => assert_eq!(nack.items.iter().count(), nack.items.len()),
            Ok(Record::Index(index)) => assert_eq!(index.versions.iter().count(), index.versions.len()),
            Ok(Record::SyncRequest(list)) => assert_eq!(list.iter().count(), list.len()),
            Ok(_) => {}
            Err(error) => faults.push(error),
        }
    }
    faults
}

fn samples() -> Vec<(Format, Vec<u8>)> {
    let v2 = [
        "20310102 0a000001 0a000002 12345678 13e80690 02000034 00070280 0009ff83 20000004 504f5331
         20200004 00080000 48554c4c",
        "20000001 0a000002 00000000 00000000 13e808f4 00000024 22e00000 0008007f 0a000001",
        "21331247 12405690 0a000001 0a000002",
        "22400003 01010000 484954",
    ];
    let v2 = v2.iter().map(|text| (format(Profile::V2), hex(text)));
    let v3 = golden::PLAIN.iter().map(|text| (format(Profile::V3), hex(text)));
    v2.chain(v3).collect()
}

#[test]
fn every_sample_cut_short_is_refused() {
    for (format, bytes) in samples() {
        assert_eq!(devour(&format, &bytes), [], "sound as it is");
        for len in 0..bytes.len() {
            let faults = devour(&format, &bytes[..len]);
            assert!(!faults.is_empty(), "{len} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn every_sample_with_up_to_two_bits_flipped_ends() {
    for (format, bytes) in samples() {
        for first in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[first / 8] ^= 0x80 >> (first % 8);
            devour(&format, &flipped);
            for second in first + 1..(bytes.len() * 8).min(first + 40) {
                let mut twice = flipped.clone();
                twice[second / 8] ^= 0x80 >> (second % 8);
                devour(&format, &twice);
            }
        }
    }
}

/// Each kind of damage with the error that is reported.
#[test]
fn mistakes_are_named() {
    let v2 = "20000002 0a000001 00000000 03e80000 ffff08f4 0100001c 00080000";
    let tail = |len: &str, message: &str| {
        format!("20000002 0a000001 00000000 03e80000 ffff08f4 0000{len} {message}")
    };
    for (text, fault) in [
        ("", Fault::Short),
        ("20", Fault::Short),
        ("10", Fault::BadVersion),
        ("30", Fault::OtherProfile),
        ("23", Fault::BadType),
        (&v2.replace("001c", "001b"), Fault::BadLength),
        (&v2.replace("001c", "001d"), Fault::BadLength),
        (&v2.replace("0a000001", "00000000"), Fault::BadSender),
        (&tail("001a", "2000"), Fault::Truncated),
        (&tail("001c", "20000001"), Fault::Truncated),
        (&tail("001c", "20200000"), Fault::Truncated),
        (&tail("0020", "22e00000 0008007f"), Fault::Truncated),
        (&tail("001c", "20400000"), Fault::UnknownKind),
        (&tail("001c", "22400000"), Fault::UnknownKind),
        (&tail("001c", "30000000"), Fault::BadVersion),
        (&tail("001c", "20000800"), Fault::BadValue),
        (&tail("0020", "20204000 00080000"), Fault::BadValue),
        ("22000003 01010000 484954", Fault::UnknownKind),
        ("22400004 01010000 484954", Fault::BadLength),
        ("21331247 12405690 0a000001 0a000002 00", Fault::BadLength),
    ] {
        let faults: Vec<Fault> =
            devour(&format(Profile::V2), &hex(text)).iter().map(WireError::fault).collect();
        assert_eq!(faults, [fault], "{text}");
    }
    let v3 = |flags: &str, len: &str, records: &str| {
        format!("30{flags}{len} cafef00d 0000000000000001 00000002 00000003 00000004 00000000 {records}")
    };
    for (text, fault) in [
        ("30", Fault::Short),
        ("20", Fault::OtherProfile),
        ("40", Fault::BadVersion),
        (&v3("00", "0021", ""), Fault::BadLength),
        (&v3("01", "0020", ""), Fault::BadFlags),
        (&v3("40", "0020", ""), Fault::BadFlags),
        (&v3("80", "0020", ""), Fault::BadLength),
        (&v3("00", "0020", "").replace("cafe", "beef"), Fault::OtherSession),
        (&v3("00", "0020", "").replace("0000000000000001", "0000000000000000"), Fault::BadSender),
        (&v3("00", "0020", "").replace("30000020", "35000020"), Fault::BadType),
        (&v3("00", "0022", "0100"), Fault::Truncated),
        (&v3("00", "0024", "01000001"), Fault::Truncated),
        (&v3("00", "0027", "01000003 000000"), Fault::Truncated),
        (&v3("00", "0024", "7f000000"), Fault::UnknownKind),
        (&v3("00", "0025", "03000001 00"), Fault::BadValue),
        (&v3("00", "0025", "15000001 00"), Fault::BadValue),
        (&v3("10", "0034", "02000010 00000001 00000001 00000000 00000000"), Fault::BadValue),
        (&v3("00", "0030", "0b00000c 0000000000000001 00000001"), Fault::BadValue),
        (&v3("00", "0034", "06000010 ffc00000 00000000 00000000 00000000"), Fault::BadValue),
        (&v3("00", "0034", "06000010 bf800000 00000000 00000000 00000000"), Fault::BadValue),
    ] {
        let faults: Vec<Fault> =
            devour(&format(Profile::V3), &hex(text)).iter().map(WireError::fault).collect();
        assert_eq!(faults, [fault], "{text}");
    }
}

/// A bad record does not affect the others when its end is known.
#[test]
fn readable_records_are_read() {
    let text = "30000035 cafef00d 0000000000000001 00000002 00000003 00000004 00000000
                7f000001 aa  01000005 00000000 41  03000001 bb";
    let bytes = hex(text);
    let mut bytes = bytes;
    let len = u16::try_from(bytes.len()).unwrap();
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    let packet = packet(&format(Profile::V3), &bytes);
    let got: Vec<_> = packet.records().collect();
    assert!(matches!(got[0], Err(WireError::Kind { at: 32, kind: 0x7f })), "{got:?}");
    assert!(matches!(&got[1], Ok(Record::Mode0(message)) if &message.body[..] == b"A"));
    assert!(matches!(got[2], Err(WireError::Value { at: 46, .. })));
    assert_eq!(got.len(), 3);

    // In v2 nothing after an unknown message can be found. The announcements precede it.
    let text = "20000002 0a000001 00000000 03e80000 ffff08f4 01000028 00080000 20400000 20000004 504f5331";
    let packet = super::packet(&format(Profile::V2), &hex(text));
    let got: Vec<_> = packet.records().collect();
    assert!(matches!(got[1], Err(WireError::Kind { at: 28, kind: 0x02 })), "{got:?}");
    assert!(matches!(&got[2], Ok(Record::Announcements(list)) if list.len() == 1));
    assert_eq!(got.len(), 3);
}

proptest! {
    #[test]
    fn noise_ends(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        first in prop_oneof![0x20u8..0x23, 0x30u8..0x35],
    ) {
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        devour(&format(Profile::V2), &bytes);
        if bytes.len() >= 8 {
            let len = u16::try_from(bytes.len()).expect("short");
            bytes[2..4].copy_from_slice(&len.to_be_bytes());
            bytes[4..8].copy_from_slice(&SESSION.to_be_bytes());
        }
        devour(&format(Profile::V3), &bytes);
    }
}
