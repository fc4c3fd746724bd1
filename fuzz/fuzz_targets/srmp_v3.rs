//! Arbitrary datagrams of profile v3 are read, written and read again, also at a group with a key.
//!
//! Input: a datagram. Unless the top bit of its first byte is set, its version, length and session
//! are corrected, so that the code behind these checks is reached.
#![no_main]

use base::Moment;
use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use srmp::auth::{Decryptor, DecryptorLimits, GroupKey, Keyring};
use srmp::model::Profile;
use srmp::wire::{Flags, Format, Kind, LENGTH_UDP_MAX, Packet, Protection, Record, Writer};

const SESSION: u32 = 0xcafe_f00d;

fn format(protection: Protection) -> Format {
    Format::new(Profile::V3, SESSION, LENGTH_UDP_MAX, protection).expect("sound")
}

fn put_right(data: &[u8]) -> Bytes {
    let mut bytes = BytesMut::from(data);
    if bytes.len() >= 8 && bytes[0] & 0x80 == 0 {
        bytes[0] = 0x30 | (bytes[0] & 0xf);
        bytes[2..4].copy_from_slice(&(data.len() as u16).to_be_bytes());
        bytes[4..8].copy_from_slice(&SESSION.to_be_bytes());
    }
    bytes.freeze()
}

/// The contents of the packet, in the one form that this writer uses for them.
fn rewritten(packet: &Packet) -> BytesMut {
    let mut writer = Writer::new(format(Protection::None));
    let mut announced = Vec::new();
    for record in packet.records() {
        if let Ok(Record::Announcements(list)) = record {
            announced.extend(list.iter());
        }
    }
    // Only bundles contain announcements.
    if packet.header().kind != Kind::Bundle {
        announced.clear();
    }
    writer.begin(packet.header().kind, announced.len());
    for record in packet.records().filter_map(Result::ok) {
        if !matches!(record, Record::Announcements(_)) {
            writer.push(&record).expect("what is read can be written");
        }
    }
    writer.finish(packet.header(), &announced).expect("what is read can be written")
}

fuzz_target!(|data: &[u8]| {
    let datagram = put_right(data);
    let plain = format(Protection::None);
    if data.len() < LENGTH_UDP_MAX
        && let Ok(envelope) = plain.decode(&datagram)
        && let Ok(packet) = envelope.without_protection()
    {
        assert!(packet.records().count() <= data.len());
        let once = rewritten(&packet).freeze();
        let again = plain.decode(&once).expect("what is written can be read");
        let again = again.without_protection().expect("no tag");
        assert!(again.records().all(|record| record.is_ok()));
        assert_eq!(rewritten(&again), once);
    }
    for protection in [Protection::Mac, Protection::Encrypted] {
        let guarded = format(protection);
        let Ok(envelope) = guarded.decode(&datagram) else { return };
        let is_tagged = envelope.header().flags.contains(Flags::AUTH);
        assert_eq!(envelope.tag().is_some(), is_tagged);
        let keyring = Keyring::new(GroupKey::new(0, &[7; 32]).expect("long enough"));
        let mut opener = Decryptor::new(&keyring, &guarded, DecryptorLimits::default());
        opener.open(Moment::ZERO, envelope).expect_err("a tag cannot be guessed");
        assert_eq!(opener.senders(), 0, "nothing is kept of what is not proved");
    }
});
