//! Writing profile v2.

use super::super::error::WriteError;
use super::super::float16;
use super::super::format::MODE0_BYTES_MAX_V2;
use super::super::header::{Header, Kind};
use super::super::record::{Congestion, Echo, Feedback, Mode1, Mode2, Nack, Record};
use super::{
    CONTROL, DATA, FEEDBACK_BYTES, IS_CLR, MODE_0, MODE_1, MODE_2, MODE0_HEAD_BYTES, MODE1_BYTES_MAX,
    MODE1_HEAD_BYTES, MODE2_HEAD_BYTES, NACK, NACK_BYTES, RTT_MAX_DEFAULT, VERSION, WHOLE, word,
};
use crate::model::{DataId, Dsn, MemberId, NackItem, Profile, Segment, Sn, SnSpace, Stamp, Transaction};
use bytes::{BufMut, BytesMut};

pub(in crate::wire) fn record_bytes(record: &Record<'_>) -> usize {
    match record {
        Record::Mode0(message) => MODE0_HEAD_BYTES + message.body.len(),
        Record::Mode1(message) => MODE1_HEAD_BYTES + message.body.len(),
        Record::Nack(nack) => NACK_BYTES * nack.items.len(),
        Record::Mode2(message) => MODE2_HEAD_BYTES + message.body.len(),
        Record::Ack(_) => MODE2_HEAD_BYTES,
        Record::Feedback(_) => FEEDBACK_BYTES,
        _ => 0,
    }
}

fn cannot<T>(item: &'static str) -> Result<T, WriteError> {
    Err(WriteError::Unrepresentable { profile: Profile::V2, item })
}

fn member(id: MemberId) -> Result<u32, WriteError> {
    match u32::try_from(id.0) {
        Ok(id) if id != 0 => Ok(id),
        _ => cannot("an id of a member that is 0 or has more than 32 bits"),
    }
}

fn half(value: u32, item: &'static str) -> Result<u16, WriteError> {
    u16::try_from(value).or_else(|_| cannot(item))
}

fn stamp(stamp: Stamp) -> Result<u16, WriteError> {
    half(stamp.0, "a time stamp of more than 16 bits")
}

fn round(round: u8) -> Result<u8, WriteError> {
    if round > 0xf { cannot("a feedback round above 15") } else { Ok(round << 4) }
}

fn versioned(data: DataId, sn: Sn, low: u32) -> Result<u32, WriteError> {
    let data = half(data.0, "a data element of more than 16 bits")?;
    if !SnSpace::V2.contains(sn) {
        return cannot("a version number of more than 9 bits");
    }
    Ok(u32::from(data) << 16 | sn.0 << 7 | low)
}

fn dsn(dsn: Dsn) -> Result<u32, WriteError> {
    if dsn.segments > Profile::V2.segments_max() {
        return cannot("more than 127 segments");
    }
    let segments = if dsn.segments == 1 { 0 } else { dsn.segments };
    versioned(dsn.data, dsn.sn, segments.into())
}

fn item(item: NackItem) -> Result<u32, WriteError> {
    let low = match item.segment {
        Segment::Whole => WHOLE,
        Segment::Index(index) if u32::from(index) < WHOLE => index.into(),
        Segment::Index(_) => return cannot("a segment above 126"),
    };
    versioned(item.data, item.sn, low)
}

/// Appends a message after the room was checked. Appends nothing when it cannot be represented.
pub(in crate::wire) fn put_message(out: &mut BytesMut, record: &Record<'_>) -> Result<(), WriteError> {
    match record {
        Record::Mode0(message) => {
            if message.body.len() > MODE0_BYTES_MAX_V2 {
                return cannot("a mode 0 message of more than 2047 bytes");
            }
            out.put_u32(word(DATA, MODE_0, message.body.len() as u32));
            out.put_slice(&message.body);
        }
        Record::Mode1(message) => put_mode1(out, message)?,
        Record::Nack(nack) => put_nacks(out, nack)?,
        Record::Mode2(Mode2 { transaction, data, body }) => {
            if body.is_empty() {
                return cannot("an empty mode 2 message, which would be an acknowledgement");
            }
            if transaction.data_of_v2() != *data {
                return cannot("a transaction that is not of the message's data element");
            }
            put_mode2_head(out, *transaction, body.len())?;
            out.put_slice(body);
        }
        Record::Ack(ack) => put_mode2_head(out, ack.transaction, 0)?,
        _ => return cannot("a record of profile v3"),
    }
    Ok(())
}

fn put_mode1(out: &mut BytesMut, message: &Mode1) -> Result<(), WriteError> {
    if message.origin.is_some() || message.signature.is_some() {
        return cannot("relayed or signed data");
    }
    if message.body.len() > MODE1_BYTES_MAX {
        return cannot("a segment of more than 16383 bytes");
    }
    if message.index >= message.dsn.segments.max(1) {
        return cannot("a segment beyond the last");
    }
    let dsn = dsn(message.dsn)?;
    out.put_u32(word(DATA, MODE_1, u32::from(message.index) << 14 | message.body.len() as u32));
    out.put_u32(dsn);
    out.put_slice(&message.body);
    Ok(())
}

fn put_nacks(out: &mut BytesMut, nack: &Nack<'_>) -> Result<(), WriteError> {
    let (origin, start) = (member(nack.origin)?, out.len());
    for wanted in nack.items.iter() {
        let wanted = item(wanted).inspect_err(|_| out.truncate(start))?;
        out.put_u32(word(CONTROL, NACK, 0));
        out.put_u32(wanted);
        out.put_u32(origin);
    }
    Ok(())
}

fn put_mode2_head(out: &mut BytesMut, transaction: Transaction, len: usize) -> Result<(), WriteError> {
    let Ok(number) = u32::try_from(transaction.0) else {
        return cannot("a transaction of more than 32 bits");
    };
    let Ok(len) = u16::try_from(len) else {
        return cannot("a mode 2 message of more than 65535 bytes");
    };
    out.put_u32(word(CONTROL, MODE_2, len.into()));
    out.put_u32(number);
    Ok(())
}

/// Writes the header of a bundle and its announcements into the bytes reserved for them.
pub(in crate::wire) fn put_bundle_head(
    mut out: &mut [u8],
    header: &Header,
    (echo, congestion): (Option<Echo>, Option<Congestion>),
    announcements: &[Dsn],
    len: usize,
) -> Result<(), WriteError> {
    let count = u8::try_from(announcements.len()).expect("at most 255 were reserved");
    let len = u16::try_from(len).expect("no datagram is longer than UDP allows");
    let is_clr = if echo.is_some_and(|echo| echo.is_clr) { IS_CLR } else { 0 };
    out.put_u8((VERSION as u8) << 4 | Kind::Bundle.number());
    out.put_u8(round(header.round)? | is_clr);
    out.put_u16(half(header.seq.0, "a bundle number of more than 16 bits")?);
    out.put_u32(member(header.sender)?);
    out.put_u32(echo.map_or(Ok(0), |echo| member(echo.receiver))?);
    out.put_u16(stamp(header.stamp)?);
    out.put_u16(echo.map_or(Ok(0), |echo| stamp(echo.stamp))?);
    out.put_u16(congestion.map_or(float16::NO_LIMIT, |congestion| float16::encode(congestion.suppress)));
    let rtt = congestion.map_or(RTT_MAX_DEFAULT, |congestion| congestion.rtt_max);
    out.put_u16(float16::encode(rtt.as_secs_f64() * 1e3));
    out.put_u8(count);
    out.put_u8(0);
    out.put_u16(len);
    for announced in announcements {
        out.put_u32(dsn(*announced)?);
    }
    Ok(())
}

/// Appends a report, which is a datagram of its own.
pub(in crate::wire) fn put_feedback(
    out: &mut BytesMut,
    header: &Header,
    report: &Feedback,
) -> Result<(), WriteError> {
    let (receiver, sender) = (member(header.sender)?, member(report.sender)?);
    let (echo, clock) = (stamp(report.echo)?, stamp(report.stamp)?);
    let second = round(report.round)? | report.flags.bits();
    out.put_u8((VERSION as u8) << 4 | Kind::Feedback.number());
    out.put_u8(second);
    out.put_u16(float16::encode(report.rate));
    out.put_u16(echo);
    out.put_u16(clock);
    out.put_u32(sender);
    out.put_u32(receiver);
    Ok(())
}
