//! Writing profile v3.

use super::super::error::WriteError;
use super::super::format::Protection;
use super::super::header::{Flags, Header};
use super::super::record::{
    AckStatus, Advertisement, Congestion, Digest, Feedback, LoggerState, Mode1, Nack, Origin, Probe, Record,
    SIGNATURE_BYTES,
};
use super::{
    ACK, ACK_VALUE, ADVERTISEMENT, ADVERTISEMENT_VALUE, ANNOUNCEMENTS, CONGESTION, CONGESTION_VALUE, DIGEST,
    DIGEST_VALUE, DSN_BYTES, ECHO, ECHO_VALUE, FEEDBACK, FEEDBACK_VALUE, HELD_BYTES, INDEX, IS_CLR, LEAVE,
    MODE0, MODE1, MODE1_HEAD_BYTES, MODE2, MODE2_HEAD, NACK, NACK_ITEM_BYTES, ORIGIN, ORIGIN_BYTES,
    ORIGIN_VALUE, PENDING, PENDING_VALUE, PROBE, PROBE_VALUE, RECORD_HEAD_BYTES, REPLY, SIGNED, SYNC_END,
    SYNC_REQUEST, VERSION, WHOLE,
};
use crate::model::{Dsn, MemberId, Profile, Segment};
use bytes::{BufMut, BytesMut};
use std::time::Duration;

pub(in crate::wire) fn mode1_bytes(message: &Mode1) -> usize {
    let signature = if message.signature.is_some() { SIGNATURE_BYTES } else { 0 };
    let origin = if message.origin.is_some() { ORIGIN_BYTES } else { 0 };
    MODE1_HEAD_BYTES + message.body.len() + signature + origin
}

pub(in crate::wire) fn record_bytes(record: &Record<'_>) -> usize {
    RECORD_HEAD_BYTES
        + match record {
            Record::Mode0(message) => 4 + message.body.len(),
            Record::Mode1(message) => return mode1_bytes(message),
            Record::Announcements(list) => DSN_BYTES * list.len(),
            Record::Nack(nack) => 12 + NACK_ITEM_BYTES * nack.items.len(),
            Record::Echo(_) => ECHO_VALUE,
            Record::Congestion(_) => CONGESTION_VALUE,
            Record::Feedback(_) => FEEDBACK_VALUE,
            Record::Mode2(message) => MODE2_HEAD + message.body.len(),
            Record::Ack(_) => ACK_VALUE,
            Record::Digest(_) => DIGEST_VALUE,
            Record::Pending(_) => PENDING_VALUE,
            Record::Advertisement(_) => ADVERTISEMENT_VALUE,
            Record::Probe(_) | Record::Reply(_) => PROBE_VALUE,
            Record::SyncRequest(list) => HELD_BYTES * list.len(),
            Record::Index(index) => HELD_BYTES + DSN_BYTES * index.versions.len(),
            Record::SyncEnd { .. } => 4,
            Record::Leave => 0,
        }
}

fn cannot<T>(item: &'static str) -> Result<T, WriteError> {
    Err(WriteError::Unrepresentable { profile: Profile::V3, item })
}

fn segments_of(dsn: Dsn) -> u16 {
    if dsn.segments == 1 { 0 } else { dsn.segments }
}

/// A time in microseconds, at most 71 minutes.
fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// A rate, rounded to a mantissa of 24 bits; 0 for NaN and negative values.
fn rate(rate: f64) -> f32 {
    if rate >= 0.0 { rate as f32 } else { 0.0 }
}

/// Writes the head of a record whose length was checked against the room of a datagram.
fn put_record_head(out: &mut BytesMut, kind: u8, flags: u8, len: usize) {
    out.put_u8(kind);
    out.put_u8(flags);
    out.put_u16(u16::try_from(len).expect("a record fits a datagram"));
}

/// Appends a record other than announcements after the room was checked. Appends nothing when it
/// cannot be represented. Does not write the origin of relayed data.
pub(in crate::wire) fn put_record(out: &mut BytesMut, record: &Record<'_>) -> Result<(), WriteError> {
    let head = |out: &mut BytesMut, kind| {
        put_record_head(out, kind, 0, record_bytes(record) - RECORD_HEAD_BYTES);
    };
    match record {
        Record::Mode0(message) => {
            head(out, MODE0);
            out.put_u32(message.stream.0);
            out.put_slice(&message.body);
        }
        Record::Mode1(message) => put_mode1(out, message)?,
        Record::Index(index) if index.held.origin.member == MemberId::NOBODY => {
            return cannot("an index of member 0");
        }
        Record::Announcements(_) => return cannot("announcements as a record: give them at the end"),
        Record::Nack(nack) => put_nack(out, nack)?,
        Record::Echo(echo) => {
            head(out, ECHO);
            out.put_u64(echo.receiver.0);
            out.put_u32(echo.stamp.0);
            out.put_u32(if echo.is_clr { IS_CLR } else { 0 });
        }
        Record::Congestion(congestion) => {
            head(out, CONGESTION);
            put_congestion(out, congestion);
        }
        Record::Feedback(report) => {
            if report.round > 0xf || report.sender == MemberId::NOBODY {
                return cannot("a feedback round above 15, or a report to member 0");
            }
            head(out, FEEDBACK);
            put_feedback(out, report);
        }
        Record::Mode2(message) => {
            if message.body.is_empty() {
                return cannot("an empty mode 2 message");
            }
            head(out, MODE2);
            out.put_u64(message.transaction.0);
            out.put_u32(message.data.0);
            out.put_slice(&message.body);
        }
        Record::Ack(ack) => {
            head(out, ACK);
            out.put_u64(ack.transaction.0);
            out.put_u16(status(ack.status));
        }
        _ => put_steering(out, record, head),
    }
    Ok(())
}

/// Appends a record of loggers, or one about a sender's whole state.
fn put_steering(out: &mut BytesMut, record: &Record<'_>, head: impl Fn(&mut BytesMut, u8)) {
    match record {
        Record::Digest(digest) => {
            head(out, DIGEST);
            put_digest(out, digest);
        }
        Record::Pending(pending) => {
            head(out, PENDING);
            put_origin_value(out, pending.origin);
            out.put_u32(pending.data.0);
            out.put_u32(pending.sn.0);
            out.put_u32(micros(pending.upstream));
        }
        Record::Advertisement(advertisement) => {
            head(out, ADVERTISEMENT);
            put_advertisement(out, advertisement);
        }
        Record::Probe(probe) => {
            head(out, PROBE);
            put_probe(out, probe);
        }
        Record::Reply(probe) => {
            head(out, REPLY);
            put_probe(out, probe);
        }
        Record::SyncRequest(list) => {
            head(out, SYNC_REQUEST);
            for held in list.iter() {
                put_origin_value(out, held.origin);
                put_digest(out, &held.digest);
            }
        }
        Record::Index(index) => {
            head(out, INDEX);
            put_origin_value(out, index.held.origin);
            put_digest(out, &index.held.digest);
            index.versions.iter().for_each(|dsn| put_dsn(out, dsn));
        }
        Record::SyncEnd { sent } => {
            head(out, SYNC_END);
            out.put_u32(*sent);
        }
        Record::Leave => head(out, LEAVE),
        _ => unreachable!("the caller writes all other records"),
    }
}

fn put_mode1(out: &mut BytesMut, message: &Mode1) -> Result<(), WriteError> {
    if message.index >= message.dsn.segments.max(1) {
        return cannot("a segment beyond the last");
    }
    if message.origin.is_some_and(|origin| origin.member == MemberId::NOBODY) {
        return cannot("data of member 0");
    }
    let signature = message.signature.as_ref().map_or(&[][..], |signature| &signature.0);
    let flags = message.flags.bits() | if signature.is_empty() { 0 } else { SIGNED };
    put_record_head(out, MODE1, flags, 12 + message.body.len() + signature.len());
    out.put_u32(message.dsn.data.0);
    out.put_u32(message.dsn.sn.0);
    out.put_u16(message.index);
    out.put_u16(segments_of(message.dsn));
    out.put_slice(&message.body);
    out.put_slice(signature);
    Ok(())
}

fn put_nack(out: &mut BytesMut, nack: &Nack<'_>) -> Result<(), WriteError> {
    if nack.origin == MemberId::NOBODY {
        return cannot("a NACK to member 0");
    }
    if nack.items.iter().any(|item| item.segment == Segment::Index(WHOLE)) {
        return cannot("segment 65535");
    }
    put_record_head(out, NACK, 0, 12 + NACK_ITEM_BYTES * nack.items.len());
    out.put_u64(nack.origin.0);
    out.put_u32(nack.epoch.0);
    for item in nack.items.iter() {
        out.put_u32(item.data.0);
        out.put_u32(item.sn.0);
        out.put_u16(match item.segment {
            Segment::Whole => WHOLE,
            Segment::Index(index) => index,
        });
    }
    Ok(())
}

/// An unknown rate or size is written as 0, which is not a valid value of either.
fn put_congestion(out: &mut BytesMut, congestion: &Congestion) {
    out.put_f32(rate(congestion.suppress));
    out.put_f32(congestion.rate.map_or(0.0, rate));
    out.put_u32(micros(congestion.rtt_max));
    out.put_u16(congestion.mean_bytes.unwrap_or(0));
    out.put_u16(congestion.bundle);
}

fn put_feedback(out: &mut BytesMut, report: &Feedback) {
    out.put_u64(report.sender.0);
    out.put_f32(rate(report.rate));
    out.put_f32(rate(report.loss.unwrap_or(0.0)).min(1.0));
    out.put_u32(report.rtt.map_or(0, micros));
    out.put_u32(report.echo.0);
    out.put_u32(report.stamp.0);
    out.put_u8(report.round);
    out.put_u8(report.flags.bits());
    out.put_u16(0);
}

fn put_advertisement(out: &mut BytesMut, advertisement: &Advertisement) {
    out.put_u8(match advertisement.state {
        LoggerState::Claim => 1,
        LoggerState::Active => 2,
        LoggerState::Standby => 3,
        LoggerState::Resign => 4,
    });
    out.put_u8(advertisement.tier);
    out.put_u128(advertisement.rank);
    out.put_u8(advertisement.children);
    out.put_u8(advertisement.flags.bits());
    out.put_u64(advertisement.parent.0);
    out.put_u32(micros(advertisement.parent_rtt));
}

fn status(status: AckStatus) -> u16 {
    match status {
        AckStatus::Delivered => 0,
        AckStatus::NotWanted => 1,
        AckStatus::Busy => 2,
        AckStatus::Other(number) => number,
    }
}

fn put_probe(out: &mut BytesMut, probe: &Probe) {
    out.put_u32(probe.nonce);
    out.put_u32(probe.stamp.0);
}

fn put_digest(out: &mut BytesMut, digest: &Digest) {
    out.put_u32(digest.active);
    out.put_u64(digest.hash);
}

fn put_origin_value(out: &mut BytesMut, origin: Origin) {
    out.put_u64(origin.member.0);
    out.put_u32(origin.epoch.0);
}

/// Appends the ORIGIN record, which names the source of the mode 1 records that follow.
pub(in crate::wire) fn put_origin(out: &mut BytesMut, origin: Origin) {
    put_record_head(out, ORIGIN, 0, ORIGIN_VALUE);
    put_origin_value(out, origin);
}

/// Appends announcements, if there are any.
pub(in crate::wire) fn put_announcements(out: &mut BytesMut, announcements: &[Dsn]) {
    if announcements.is_empty() {
        return;
    }
    put_record_head(out, ANNOUNCEMENTS, 0, DSN_BYTES * announcements.len());
    announcements.iter().for_each(|dsn| put_dsn(out, *dsn));
}

fn put_dsn(out: &mut BytesMut, dsn: Dsn) {
    out.put_u32(dsn.data.0);
    out.put_u32(dsn.sn.0);
    out.put_u16(segments_of(dsn));
}

/// The fields of a header that its [`Header`] does not have.
pub(in crate::wire) struct Heading {
    pub(in crate::wire) session: u32,
    pub(in crate::wire) protection: Protection,
    pub(in crate::wire) relay: bool,
    /// The length of the datagram in bytes, tag included.
    pub(in crate::wire) len: usize,
}

/// Writes the header into the bytes reserved for it.
pub(in crate::wire) fn put_head(
    mut out: &mut [u8],
    header: &Header,
    heading: &Heading,
) -> Result<(), WriteError> {
    if header.sender == MemberId::NOBODY {
        return cannot("a sender without an id");
    }
    if header.round > 0xf {
        return cannot("a feedback round above 15");
    }
    let mut flags = header.flags;
    flags.set(Flags::AUTH, heading.protection != Protection::None);
    flags.set(Flags::ENCRYPTED, heading.protection == Protection::Encrypted);
    flags.set(Flags::RELAY, heading.relay);
    out.put_u8(VERSION << 4 | header.kind.number());
    out.put_u8(flags.bits());
    out.put_u16(u16::try_from(heading.len).expect("no datagram is longer than UDP allows"));
    out.put_u32(heading.session);
    out.put_u64(header.sender.0);
    out.put_u32(header.epoch.0);
    out.put_u32(header.seq.0);
    out.put_u32(header.stamp.0);
    out.put_u8(header.key);
    out.put_u8(header.round);
    out.put_u16(0);
    Ok(())
}
