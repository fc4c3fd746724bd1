//! Arbitrary datagrams of profile v2 are read, written and read again, also at a group with a key.
#![no_main]

use base::Moment;
use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use srmp::auth::{Decryptor, DecryptorLimits, GroupKey, Keyring};
use srmp::model::Profile;
use srmp::wire::{Format, LENGTH_UDP_MAX, Packet, Protection, Record, Writer};

fn format(protection: Protection) -> Format {
    Format::new(Profile::V2, 0, LENGTH_UDP_MAX, protection).expect("sound")
}

/// The contents of the packet, in the one form that this writer uses for them.
fn rewritten(packet: &Packet) -> BytesMut {
    let mut writer = Writer::new(format(Protection::None));
    let announced: Vec<_> = packet
        .records()
        .filter_map(|record| match record {
            Ok(Record::Announcements(list)) => Some(list.iter().collect::<Vec<_>>()),
            _ => None,
        })
        .flatten()
        .collect();
    writer.begin(packet.header().kind, announced.len());
    for record in packet.records().filter_map(Result::ok) {
        if !matches!(record, Record::Announcements(_)) {
            writer.push(&record).expect("what is read can be written");
        }
    }
    writer.finish(packet.header(), &announced).expect("what is read can be written")
}

fuzz_target!(|data: &[u8]| {
    let datagram = Bytes::copy_from_slice(data);
    if data.len() < LENGTH_UDP_MAX
        && let Ok(envelope) = format(Protection::None).decode(&datagram)
    {
        let packet = envelope.without_protection().expect("v2 without protection has no tag");
        assert!(packet.records().count() <= data.len() + 3);
        // A report with only one record, which has an invalid value, cannot be written.
        if packet.records().all(|record| record.is_err()) {
            return;
        }
        let once = rewritten(&packet).freeze();
        let envelope = format(Protection::None).decode(&once).expect("what is written can be read");
        let again = envelope.without_protection().expect("no tag");
        assert!(again.records().all(|record| record.is_ok()));
        assert_eq!(rewritten(&again), once);
    }
    let guarded = format(Protection::Mac);
    if let Ok(envelope) = guarded.decode(&datagram) {
        let keyring = Keyring::new(GroupKey::new(1, &[7; 32]).expect("long enough"));
        let mut opener = Decryptor::new(&keyring, &guarded, DecryptorLimits::default());
        opener.open(Moment::ZERO, envelope).expect_err("a tag cannot be guessed");
    }
});
