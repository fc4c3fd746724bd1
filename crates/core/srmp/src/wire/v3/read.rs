//! Reading profile v3.

use super::super::envelope::Envelope;
use super::super::error::WireError;
use super::super::format::TRAILER_BYTES;
use super::super::header::{Flags, Header, Kind};
use super::super::list::List;
use super::super::packet::{Packet, Records, Stage};
use super::super::record::{
    Ack, AckStatus, Advertisement, Congestion, Digest, Echo, Feedback, FeedbackFlags, Held, Index,
    LoggerFlags, LoggerState, Mode0, Mode1, Mode1Flags, Mode2, Nack, Origin, Pending, Probe, Record,
    SIGNATURE_BYTES, Signature,
};
use super::{
    ACK, ACK_VALUE, ADVERTISEMENT, ADVERTISEMENT_VALUE, ANNOUNCEMENTS, CONGESTION, CONGESTION_VALUE, DIGEST,
    DIGEST_VALUE, DSN_BYTES, ECHO, ECHO_VALUE, FEEDBACK, FEEDBACK_VALUE, HEAD_BYTES, HELD_BYTES, INDEX,
    IS_CLR, LEAVE, MODE0, MODE1, MODE2, MODE2_HEAD, NACK, NACK_ITEM_BYTES, ORIGIN, ORIGIN_VALUE, PENDING,
    PENDING_VALUE, PROBE, PROBE_VALUE, RECORD_HEAD_BYTES, REPLY, SIGNED, SYNC_END, SYNC_REQUEST, WHOLE,
};
use crate::model::{
    DataId, Dsn, Epoch, MemberId, NackItem, Profile, Segment, Seq, Sn, Stamp, StreamKey, Transaction,
};
use bytes::{Buf, Bytes};
use std::ops::Range;
use std::time::Duration;

pub(in crate::wire) fn open(datagram: &Bytes, session: u32) -> Result<Envelope, WireError> {
    let got = datagram.len();
    if got < HEAD_BYTES {
        return Err(WireError::Short { need: HEAD_BYTES, got });
    }
    let mut head = &datagram[..];
    let number = head.get_u8() & 0xf;
    let kind = Kind::of(number).ok_or(WireError::Type { got: number })?;
    let bits = head.get_u8();
    let declared = usize::from(head.get_u16());
    let flags = Flags::from_bits(bits).ok_or(WireError::Flags { got: bits })?;
    if flags.contains(Flags::ENCRYPTED) && !flags.contains(Flags::AUTH) {
        return Err(WireError::Flags { got: bits });
    }
    let trailer = if flags.contains(Flags::AUTH) { TRAILER_BYTES } else { 0 };
    if declared != got || got < HEAD_BYTES + trailer {
        return Err(WireError::Length { declared, got, need: HEAD_BYTES + trailer });
    }
    let its = head.get_u32();
    if its != session {
        return Err(WireError::Session { got: its, want: session });
    }
    let sender = MemberId(head.get_u64());
    if sender == MemberId::NOBODY {
        return Err(WireError::Sender);
    }
    let (epoch, seq, stamp) = (Epoch(head.get_u32()), Seq(head.get_u32()), Stamp(head.get_u32()));
    let (key, round) = (head.get_u8(), head.get_u8());
    if round > 0xf {
        return Err(WireError::Value { at: 29, item: "a feedback round above 15" });
    }
    let header = Header { kind, flags, sender, epoch, seq, stamp, round, key };
    let covered = datagram.slice(..got - trailer);
    let tag = datagram[got - trailer..].first_chunk::<TRAILER_BYTES>().copied();
    Ok(Envelope { profile: Profile::V3, header, covered, tag })
}

pub(in crate::wire) fn records(packet: &Packet) -> Records<'_> {
    Records {
        packet,
        stage: Stage::Body,
        at: HEAD_BYTES,
        end: packet.bytes.len(),
        passed: false,
        origin: None,
    }
}

/// Passes over the records twice: first for all but announcements, then for the announcements.
pub(in crate::wire) fn next<'a>(records: &mut Records<'a>) -> Option<Result<Record<'a>, WireError>> {
    loop {
        if records.at >= records.end {
            match records.stage {
                Stage::Echo | Stage::Congestion | Stage::Body if records.passed => {
                    records.stage = Stage::Announcements;
                    records.at = HEAD_BYTES;
                    continue;
                }
                _ => {
                    records.stage = Stage::Done;
                    return None;
                }
            }
        }
        let raw = match raw(records) {
            Ok(raw) => raw,
            Err(error) => {
                records.end = records.at;
                return Some(Err(error));
            }
        };
        records.passed |= raw.kind == ANNOUNCEMENTS;
        if (raw.kind == ANNOUNCEMENTS) == (records.stage == Stage::Announcements) {
            match read(records, &raw) {
                Ok(None) => {}
                Ok(Some(record)) => return Some(Ok(record)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// A record that has been delimited, but not read.
struct Raw<'a> {
    kind: u8,
    flags: u8,
    at: usize,
    value: &'a [u8],
}

fn raw<'a>(records: &mut Records<'a>) -> Result<Raw<'a>, WireError> {
    let (at, packet) = (records.at, records.packet);
    let left = &packet.bytes[at..records.end];
    let truncated = |need| WireError::Truncated { at, need, left: left.len() };
    let (head, value) = left.split_first_chunk::<RECORD_HEAD_BYTES>().ok_or(truncated(RECORD_HEAD_BYTES))?;
    let [kind, flags, high, low] = *head;
    let len = usize::from(u16::from_be_bytes([high, low]));
    let value = value.get(..len).ok_or(truncated(RECORD_HEAD_BYTES + len))?;
    records.at = at + RECORD_HEAD_BYTES + len;
    Ok(Raw { kind, flags, at, value })
}

impl<'a> Raw<'a> {
    fn bad<T>(&self, item: &'static str) -> Result<T, WireError> {
        Err(WireError::Value { at: self.at, item })
    }

    /// The value, which must have this length in bytes.
    fn exact(&self, bytes: usize) -> Result<&'a [u8], WireError> {
        match self.value.len() {
            len if len < bytes => self.short(bytes),
            len if len > bytes => self.bad("a record longer than its kind"),
            _ => Ok(self.value),
        }
    }

    fn short<T>(&self, bytes: usize) -> Result<T, WireError> {
        Err(WireError::Truncated { at: self.at + RECORD_HEAD_BYTES, need: bytes, left: self.value.len() })
    }

    /// The head of the value, and the range of the rest in the datagram.
    fn headed(&self, bytes: usize) -> Result<(&'a [u8], Range<usize>), WireError> {
        let Some((head, rest)) = self.value.split_at_checked(bytes) else {
            return self.short(bytes);
        };
        let start = self.at + RECORD_HEAD_BYTES + bytes;
        Ok((head, start..start + rest.len()))
    }

    /// The list of entries of `stride` bytes after a head of `head` bytes.
    fn list<T: Copy>(
        &self,
        head: usize,
        stride: usize,
        read: fn(&[u8]) -> T,
    ) -> Result<List<'a, T>, WireError> {
        let Some((_, entries)) = self.value.split_at_checked(head) else {
            return self.short(head);
        };
        if entries.len() % stride != 0 {
            return self.bad("a list that ends within an entry");
        }
        Ok(List::on_wire(entries, stride, read))
    }

    /// A rate or other size, which must be neither negative nor NaN.
    fn size(&self, value: f32) -> Result<f64, WireError> {
        if value >= 0.0 { Ok(value.into()) } else { self.bad("a rate that is negative or no number") }
    }
}

/// Reads a record. An origin gives `None`; it applies to the records that follow.
fn read<'a>(records: &mut Records<'a>, raw: &Raw<'a>) -> Result<Option<Record<'a>>, WireError> {
    let packet = records.packet;
    let record = match raw.kind {
        MODE0 => {
            let (mut head, body) = raw.headed(4)?;
            Record::Mode0(Mode0 { stream: StreamKey(head.get_u32()), body: packet.bytes.slice(body) })
        }
        MODE1 => Record::Mode1(mode1(records, raw)?),
        ANNOUNCEMENTS => Record::Announcements(raw.list(0, DSN_BYTES, read_dsn)?),
        NACK => {
            let items = raw.list(12, NACK_ITEM_BYTES, read_item)?;
            let Origin { member: origin, epoch } = read_origin(raw.value);
            if origin == MemberId::NOBODY {
                return raw.bad("a NACK to member 0");
            }
            Record::Nack(Nack { origin, epoch, items })
        }
        ECHO => {
            let mut value = raw.exact(ECHO_VALUE)?;
            let (receiver, stamp) = (MemberId(value.get_u64()), Stamp(value.get_u32()));
            Record::Echo(Echo { receiver, stamp, is_clr: value.get_u32() & IS_CLR != 0 })
        }
        CONGESTION => Record::Congestion(congestion(raw)?),
        FEEDBACK => Record::Feedback(feedback(raw)?),
        MODE2 => {
            let (mut head, body) = raw.headed(MODE2_HEAD)?;
            if body.is_empty() {
                return raw.bad("an empty mode 2 message");
            }
            let (transaction, data) = (Transaction(head.get_u64()), DataId(head.get_u32()));
            Record::Mode2(Mode2 { transaction, data, body: packet.bytes.slice(body) })
        }
        ACK => {
            let mut value = raw.exact(ACK_VALUE)?;
            Record::Ack(Ack { transaction: Transaction(value.get_u64()), status: status(value.get_u16()) })
        }
        ORIGIN if packet.header.flags.contains(Flags::RELAY) => {
            records.origin = None;
            let origin = read_origin(raw.exact(ORIGIN_VALUE)?);
            if origin.member == MemberId::NOBODY {
                return raw.bad("data of member 0");
            }
            records.origin = Some(origin);
            return Ok(None);
        }
        ORIGIN => return raw.bad("an origin in a datagram that is not relayed"),
        _ => return steering(raw).map(Some),
    };
    Ok(Some(record))
}

/// Reads records between loggers and the members that they serve, and those about a sender's whole
/// state.
fn steering<'a>(raw: &Raw<'a>) -> Result<Record<'a>, WireError> {
    Ok(match raw.kind {
        DIGEST => Record::Digest(read_digest(raw.exact(DIGEST_VALUE)?)),
        PENDING => {
            let value = raw.exact(PENDING_VALUE)?;
            let (origin, mut rest) = (read_origin(value), &value[ORIGIN_VALUE..]);
            let (data, sn) = (DataId(rest.get_u32()), Sn(rest.get_u32()));
            Record::Pending(Pending { origin, data, sn, upstream: micros(rest.get_u32()) })
        }
        ADVERTISEMENT => Record::Advertisement(advertisement(raw)?),
        PROBE => Record::Probe(read_probe(raw.exact(PROBE_VALUE)?)),
        REPLY => Record::Reply(read_probe(raw.exact(PROBE_VALUE)?)),
        SYNC_REQUEST => Record::SyncRequest(raw.list(0, HELD_BYTES, read_held)?),
        INDEX => {
            let versions = raw.list(HELD_BYTES, DSN_BYTES, read_dsn)?;
            let held = read_held(raw.value);
            if held.origin.member == MemberId::NOBODY {
                return raw.bad("an index of member 0");
            }
            Record::Index(Index { held, versions })
        }
        SYNC_END => Record::SyncEnd { sent: raw.exact(4)?.get_u32() },
        LEAVE => {
            raw.exact(0)?;
            Record::Leave
        }
        kind => return Err(WireError::Kind { at: raw.at, kind }),
    })
}

fn mode1(records: &Records<'_>, raw: &Raw<'_>) -> Result<Mode1, WireError> {
    let packet = records.packet;
    let (mut head, mut body) = raw.headed(12)?;
    let (data, sn) = (DataId(head.get_u32()), Sn(head.get_u32()));
    let (index, segments) = (head.get_u16(), head.get_u16());
    let dsn = Dsn { data, sn, segments: segments_of(segments) };
    if index >= dsn.segments.max(1) {
        return raw.bad("a segment beyond the last");
    }
    let origin = records.origin;
    if packet.header.flags.contains(Flags::RELAY) && origin.is_none() {
        return raw.bad("relayed data without an origin");
    }
    let mut signature = None;
    if raw.flags & SIGNED != 0 {
        let Some(end) = raw.value[12..].last_chunk::<SIGNATURE_BYTES>() else {
            return raw.short(12 + SIGNATURE_BYTES);
        };
        signature = Some(Signature(*end));
        body.end -= SIGNATURE_BYTES;
    }
    let flags = Mode1Flags::from_bits_truncate(raw.flags);
    Ok(Mode1 { origin, dsn, index, flags, body: packet.bytes.slice(body), signature })
}

fn congestion(raw: &Raw<'_>) -> Result<Congestion, WireError> {
    let mut value = raw.exact(CONGESTION_VALUE)?;
    let suppress = raw.size(value.get_f32())?;
    let rate = Some(raw.size(value.get_f32())?).filter(|rate| *rate > 0.0);
    let rtt_max = micros(value.get_u32());
    let mean_bytes = Some(value.get_u16()).filter(|bytes| *bytes > 0);
    let bundle = value.get_u16();
    Ok(Congestion { suppress, rtt_max, rate, mean_bytes, bundle })
}

fn feedback(raw: &Raw<'_>) -> Result<Feedback, WireError> {
    let mut value = raw.exact(FEEDBACK_VALUE)?;
    let sender = MemberId(value.get_u64());
    if sender == MemberId::NOBODY {
        return raw.bad("a report to member 0");
    }
    let (rate, loss) = (raw.size(value.get_f32())?, raw.size(value.get_f32())?);
    if loss > 1.0 {
        return raw.bad("a loss event rate above 1");
    }
    let rtt = Some(value.get_u32()).filter(|rtt| *rtt > 0).map(micros);
    let (echo, stamp) = (Stamp(value.get_u32()), Stamp(value.get_u32()));
    let (round, flags) = (value.get_u8(), FeedbackFlags::from_bits_truncate(value.get_u8()));
    if round > 0xf {
        return raw.bad("a feedback round above 15");
    }
    Ok(Feedback { sender, round, flags, rate, loss: Some(loss), rtt, echo, stamp })
}

fn advertisement(raw: &Raw<'_>) -> Result<Advertisement, WireError> {
    let mut value = raw.exact(ADVERTISEMENT_VALUE)?;
    let state = match value.get_u8() {
        1 => LoggerState::Claim,
        2 => LoggerState::Active,
        3 => LoggerState::Standby,
        4 => LoggerState::Resign,
        _ => return raw.bad("a state that no logger has"),
    };
    let (tier, rank, children) = (value.get_u8(), value.get_u128(), value.get_u8());
    let flags = LoggerFlags::from_bits_truncate(value.get_u8());
    let (parent, parent_rtt) = (MemberId(value.get_u64()), micros(value.get_u32()));
    Ok(Advertisement { state, tier, rank, children, flags, parent, parent_rtt })
}

fn micros(us: u32) -> Duration {
    Duration::from_micros(us.into())
}

fn status(number: u16) -> AckStatus {
    match number {
        0 => AckStatus::Delivered,
        1 => AckStatus::NotWanted,
        2 => AckStatus::Busy,
        other => AckStatus::Other(other),
    }
}

/// A message in one segment counts as unsegmented, as in v2.
fn segments_of(number: u16) -> u16 {
    if number == 1 { 0 } else { number }
}

fn read_dsn(mut bytes: &[u8]) -> Dsn {
    let (data, sn) = (DataId(bytes.get_u32()), Sn(bytes.get_u32()));
    Dsn { data, sn, segments: segments_of(bytes.get_u16()) }
}

fn read_item(mut bytes: &[u8]) -> NackItem {
    let (data, sn) = (DataId(bytes.get_u32()), Sn(bytes.get_u32()));
    let segment = match bytes.get_u16() {
        WHOLE => Segment::Whole,
        index => Segment::Index(index),
    };
    NackItem { data, sn, segment }
}

fn read_origin(mut bytes: &[u8]) -> Origin {
    Origin { member: MemberId(bytes.get_u64()), epoch: Epoch(bytes.get_u32()) }
}

fn read_digest(mut bytes: &[u8]) -> Digest {
    Digest { active: bytes.get_u32(), hash: bytes.get_u64() }
}

fn read_probe(mut bytes: &[u8]) -> Probe {
    Probe { nonce: bytes.get_u32(), stamp: Stamp(bytes.get_u32()) }
}

fn read_held(bytes: &[u8]) -> Held {
    Held { origin: read_origin(bytes), digest: read_digest(&bytes[ORIGIN_VALUE..]) }
}
