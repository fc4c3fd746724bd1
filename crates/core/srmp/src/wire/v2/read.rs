//! Reading profile v2.

use super::super::envelope::Envelope;
use super::super::error::WireError;
use super::super::float16;
use super::super::format::TRAILER_BYTES;
use super::super::header::{Header, Kind};
use super::super::list::List;
use super::super::packet::{Packet, Records, Stage};
use super::super::record::{
    Ack, AckStatus, Congestion, Echo, Feedback, FeedbackFlags, Mode0, Mode1, Mode1Flags, Mode2, Nack, Record,
};
use super::{
    BUNDLE_HEAD_BYTES, CONTROL, DATA, DSN_BYTES, FEEDBACK_BYTES, IS_CLR, MODE_0, MODE_1, MODE_2,
    MODE0_HEAD_BYTES, MODE1_HEAD_BYTES, MODE2_HEAD_BYTES, NACK, NACK_BYTES, VERSION, WHOLE,
};
use crate::model::{
    DataId, Dsn, Epoch, MemberId, NackItem, Profile, Segment, Seq, Sn, Stamp, StreamKey, Transaction,
};
use bytes::{Buf, Bytes};
use std::time::Duration;

pub(in crate::wire) fn open(datagram: &Bytes, tagged: bool) -> Result<Envelope, WireError> {
    let number = datagram[0] & 0xf;
    let (header, end) = match Kind::of(number) {
        Some(Kind::Bundle) => bundle_header(datagram)?,
        Some(Kind::Feedback) => feedback_header(datagram)?,
        Some(Kind::Mode2) => mode2_header(datagram)?,
        _ => return Err(WireError::Type { got: number }),
    };
    if header.sender == MemberId::NOBODY && header.kind != Kind::Mode2 {
        return Err(WireError::Sender);
    }
    let tag = match tagged {
        false => None,
        true => Some(*datagram[end..].first_chunk::<TRAILER_BYTES>().ok_or(WireError::Length {
            declared: end,
            got: datagram.len(),
            need: end + TRAILER_BYTES,
        })?),
    };
    if header.kind == Kind::Feedback && datagram.len() != end + tag.map_or(0, |tag| tag.len()) {
        return Err(WireError::Length { declared: end, got: datagram.len(), need: end });
    }
    Ok(Envelope { profile: Profile::V2, header, covered: datagram.slice(..end), tag })
}

fn at_least(datagram: &Bytes, need: usize) -> Result<&[u8], WireError> {
    if datagram.len() < need {
        return Err(WireError::Short { need, got: datagram.len() });
    }
    Ok(&datagram[1..])
}

fn bundle_header(datagram: &Bytes) -> Result<(Header, usize), WireError> {
    let mut head = at_least(datagram, BUNDLE_HEAD_BYTES)?;
    let round = head.get_u8() >> 4;
    let seq = Seq(head.get_u16().into());
    let sender = MemberId(head.get_u32().into());
    head.advance(4);
    let stamp = Stamp(head.get_u16().into());
    head.advance(6);
    let count = usize::from(head.get_u8());
    head.advance(1);
    let (declared, need) = (usize::from(head.get_u16()), BUNDLE_HEAD_BYTES + DSN_BYTES * count);
    if declared < need || declared > datagram.len() {
        return Err(WireError::Length { declared, got: datagram.len(), need });
    }
    Ok((Header { seq, stamp, round, ..Header::new(Kind::Bundle, sender) }, declared))
}

fn feedback_header(datagram: &Bytes) -> Result<(Header, usize), WireError> {
    let mut head = at_least(datagram, FEEDBACK_BYTES)?;
    head.advance(5);
    let stamp = Stamp(head.get_u16().into());
    head.advance(4);
    let receiver = MemberId(head.get_u32().into());
    Ok((Header { stamp, ..Header::new(Kind::Feedback, receiver) }, FEEDBACK_BYTES))
}

fn mode2_header(datagram: &Bytes) -> Result<(Header, usize), WireError> {
    let mut head = at_least(datagram, MODE2_HEAD_BYTES)?;
    let mode = u32::from(head.get_u8() >> 5);
    if mode != MODE_2 {
        return Err(WireError::Kind { at: 0, kind: kind_and_mode(CONTROL, mode) });
    }
    let declared = MODE2_HEAD_BYTES + usize::from(head.get_u16());
    if declared > datagram.len() {
        return Err(WireError::Length { declared, got: datagram.len(), need: declared });
    }
    Ok((Header::new(Kind::Mode2, MemberId::NOBODY), declared))
}

/// The name of an unknown message in an error: type and mode as in its first two bytes.
const fn kind_and_mode(kind: u32, mode: u32) -> u8 {
    (kind << 4 | mode) as u8
}

pub(in crate::wire) fn records(packet: &Packet) -> Records<'_> {
    let at = match packet.header.kind {
        Kind::Bundle => BUNDLE_HEAD_BYTES + DSN_BYTES * usize::from(packet.bytes[20]),
        _ => 0,
    };
    let stage = if packet.header.kind == Kind::Bundle { Stage::Echo } else { Stage::Body };
    Records { packet, stage, at, end: packet.bytes.len(), passed: false, origin: None }
}

pub(in crate::wire) fn next<'a>(records: &mut Records<'a>) -> Option<Result<Record<'a>, WireError>> {
    let packet = records.packet;
    match packet.header.kind {
        Kind::Bundle => next_of_bundle(records),
        _ if records.stage == Stage::Done => None,
        kind => {
            records.stage = Stage::Done;
            Some(if kind == Kind::Feedback { feedback(packet) } else { Ok(mode2(packet)) })
        }
    }
}

fn next_of_bundle<'a>(records: &mut Records<'a>) -> Option<Result<Record<'a>, WireError>> {
    let bytes = &records.packet.bytes;
    if records.stage == Stage::Echo {
        records.stage = Stage::Congestion;
        let receiver = MemberId((&bytes[8..]).get_u32().into());
        if receiver != MemberId::NOBODY {
            let stamp = Stamp((&bytes[14..]).get_u16().into());
            return Some(Ok(Record::Echo(Echo { receiver, stamp, is_clr: bytes[1] & IS_CLR != 0 })));
        }
    }
    if records.stage == Stage::Congestion {
        records.stage = Stage::Body;
        let suppress = float16::decode((&bytes[16..]).get_u16());
        let rtt_max = millis(float16::decode((&bytes[18..]).get_u16()));
        return Some(Ok(Record::Congestion(Congestion {
            suppress,
            rtt_max,
            rate: None,
            mean_bytes: None,
            bundle: 0,
        })));
    }
    if records.stage == Stage::Body {
        if records.at < records.end {
            return Some(message(records));
        }
        records.stage = Stage::Announcements;
    }
    if records.stage == Stage::Announcements {
        records.stage = Stage::Done;
        let list = &bytes[BUNDLE_HEAD_BYTES..BUNDLE_HEAD_BYTES + DSN_BYTES * usize::from(bytes[20])];
        if !list.is_empty() {
            let list = List::on_wire(list, DSN_BYTES, |mut bytes| read_dsn(bytes.get_u32()));
            return Some(Ok(Record::Announcements(list)));
        }
    }
    None
}

/// The round-trip time of `value` milliseconds, limited because the form allows absurd ones.
fn millis(value: f64) -> Duration {
    Duration::from_micros((value * 1e3).min(f64::from(u32::MAX)) as u64)
}

/// Reads the next message of a bundle. A message that cannot be delimited ends the messages.
fn message<'a>(records: &mut Records<'a>) -> Result<Record<'a>, WireError> {
    let (at, packet) = (records.at, records.packet);
    let left = &packet.bytes[at..records.end];
    let end = std::mem::replace(&mut records.at, records.end);
    debug_assert_eq!(end, at);
    let (bytes, record) = read_message(packet, at, left)?;
    records.at = at + bytes;
    record
}

type Delimited<'a> = (usize, Result<Record<'a>, WireError>);

/// Reads a message, and returns its length and content; an error when its length cannot be
/// determined.
fn read_message<'a>(packet: &'a Packet, at: usize, left: &'a [u8]) -> Result<Delimited<'a>, WireError> {
    let need = |need: usize| match left.len() {
        len if len < need => Err(WireError::Truncated { at, need, left: len }),
        _ => Ok(()),
    };
    need(MODE0_HEAD_BYTES)?;
    let first = (&left[..]).get_u32();
    let (version, kind, mode) = (first >> 28, (first >> 24) & 0xf, (first >> 21) & 7);
    if version != VERSION {
        return Err(WireError::Version { at, got: (first >> 28) as u8 });
    }
    match (kind, mode) {
        (DATA, MODE_0) => {
            // RFC 4410's fields add up to 30 bits: the length has 11, or 13 if the rest is one
            // field. When right-aligned, both readings agree on every legal length, and on nothing
            // else.
            if first & 0x1800 != 0 {
                return Err(WireError::Value { at, item: "a mode 0 length of more than 11 bits" });
            }
            let bytes = MODE0_HEAD_BYTES + (first & 0x7ff) as usize;
            need(bytes)?;
            let body = packet.bytes.slice(at + MODE0_HEAD_BYTES..at + bytes);
            Ok((bytes, Ok(Record::Mode0(Mode0 { stream: StreamKey(0), body }))))
        }
        (DATA, MODE_1) => {
            need(MODE1_HEAD_BYTES)?;
            let bytes = MODE1_HEAD_BYTES + (first & 0x3fff) as usize;
            need(bytes)?;
            let (dsn, index) = (read_dsn((&left[4..]).get_u32()), (first >> 14 & 0x7f) as u16);
            if index >= dsn.segments.max(1) {
                return Ok((bytes, Err(WireError::Value { at, item: "a segment beyond the last" })));
            }
            let body = packet.bytes.slice(at + MODE1_HEAD_BYTES..at + bytes);
            let flags = Mode1Flags::empty();
            let message = Mode1 { origin: None, dsn, index, flags, body, signature: None };
            Ok((bytes, Ok(Record::Mode1(message))))
        }
        (CONTROL, NACK) => {
            need(NACK_BYTES)?;
            let origin = MemberId((&left[8..]).get_u32().into());
            if origin == MemberId::NOBODY {
                return Ok((NACK_BYTES, Err(WireError::Value { at, item: "a NACK to member 0" })));
            }
            let items = List::on_wire(&left[4..8], 4, |mut bytes| read_item(bytes.get_u32()));
            Ok((NACK_BYTES, Ok(Record::Nack(Nack { origin, epoch: Epoch(0), items }))))
        }
        _ => Err(WireError::Kind { at, kind: kind_and_mode(kind, mode) }),
    }
}

/// `NoSegs` 1 is illegal, and read as 0.
fn read_dsn(word: u32) -> Dsn {
    let segments = match word & 0x7f {
        1 => 0,
        segments => segments as u16,
    };
    Dsn { data: DataId(word >> 16), sn: Sn(word >> 7 & 0x1ff), segments }
}

/// RFC 4410, section 3.7, has no field for the segment, although its text demands one. It is read
/// from the bits of `NoSegs`.
fn read_item(word: u32) -> NackItem {
    let segment = match word & 0x7f {
        WHOLE => Segment::Whole,
        index => Segment::Index(index as u16),
    };
    NackItem { data: DataId(word >> 16), sn: Sn(word >> 7 & 0x1ff), segment }
}

fn feedback(packet: &Packet) -> Result<Record<'_>, WireError> {
    let bytes = &packet.bytes;
    let sender = MemberId((&bytes[8..]).get_u32().into());
    if sender == MemberId::NOBODY {
        return Err(WireError::Value { at: 0, item: "a report to member 0" });
    }
    Ok(Record::Feedback(Feedback {
        sender,
        round: bytes[1] >> 4,
        flags: FeedbackFlags::from_bits_truncate(bytes[1] & 0xf),
        rate: float16::decode((&bytes[2..]).get_u16()),
        loss: None,
        rtt: None,
        echo: Stamp((&bytes[4..]).get_u16().into()),
        stamp: packet.header.stamp,
    }))
}

/// An acknowledgement has the form of a message (RFC 4410, section 5.3.2), but is empty.
fn mode2(packet: &Packet) -> Record<'_> {
    let transaction = Transaction((&packet.bytes[4..]).get_u32().into());
    let body = packet.bytes.slice(MODE2_HEAD_BYTES..);
    if body.is_empty() {
        return Record::Ack(Ack { transaction, status: AckStatus::Delivered });
    }
    Record::Mode2(Mode2 { transaction, data: transaction.data_of_v2(), body })
}
