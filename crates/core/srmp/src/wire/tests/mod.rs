//! Tests of both formats: against hand-written vectors, round trips, and damage.

mod damage;
mod golden;
mod limits;
mod roundtrip;
mod vectors;

use super::*;
use crate::model::*;
use bytes::{Bytes, BytesMut};

const SESSION: u32 = 0xcafe_f00d;

fn format(profile: Profile) -> Format {
    Format::new(profile, SESSION, LENGTH_DEFAULT, Protection::None).expect("sound")
}

/// The bytes of hexadecimal digits; blanks are ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| u8::try_from(digit).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn packet(format: &Format, datagram: &[u8]) -> Packet {
    let envelope = format.decode(&Bytes::copy_from_slice(datagram)).expect("a sound header");
    envelope.without_protection().expect("no tag")
}

fn records(packet: &Packet) -> Vec<Record<'_>> {
    packet.records().map(|record| record.expect("a sound record")).collect()
}

fn write(format: Format, header: &Header, records: &[Record<'_>], announcements: &[Dsn]) -> BytesMut {
    let mut writer = Writer::new(format);
    writer.begin(header.kind, announcements.len() + 3);
    for record in records {
        writer.push(record).expect("there is room");
    }
    writer.finish(header, announcements).expect("representable")
}
