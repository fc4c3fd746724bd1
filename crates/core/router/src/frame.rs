//! Frames: the encoding of the parcels between routers on a link.
//!
//! All numbers are big-endian. A frame is a header followed by records up to its end:
//!
//! | bytes | header |
//! | --- | --- |
//! | 0..2 | magic number, [`MAGIC`] |
//! | 2 | version, [`VERSION`] |
//! | 3 | 0; or 1 for a best-effort frame: it may come late, twice or never, and needs no credit |
//! | 4..8 | length of the frame, header included |
//!
//! | bytes | record |
//! | --- | --- |
//! | 0 | type |
//! | 1..5 | length of the body |
//! | 5.. | body |
//!
//! | type | body |
//! | --- | --- |
//! | 1 hello | router u32, epoch u32, first credit u32 (0: no limit) |
//! | 2 keep-alive | none |
//! | 3 wanted, 4 no longer wanted | interest |
//! | 5 message | hops u8, router u32, epoch u32, sequence u64, message |
//! | 6 fragment | FIFO u8, transfer u32, total u32, offset u32, part |
//! | 7 advertised, 8 no longer advertised | interest |
//! | 9 credit | additional bytes u32 |
//!
//! The parts of a transfer, reassembled, are one record (type, length, body) of type 3, 4, 5, 7 or
//! 8. A FIFO carries one transfer at a time and in order. FIFO 0 is for interests and
//! advertisements, FIFOs 1 to 4 are for the classes, and FIFO 5 is for pipes with one order over
//! all classes.
//!
//! A best-effort frame holds only messages that may be dropped, and fragments of such messages, on
//! FIFOs 1 to 5. Its transfers may interleave, and their parts arrive in any order.
//!
//! Each record of type 5 with a message of a class other than `Control`, and each fragment on FIFOs
//! 2 to 5, uses credit for its length, header included, unless it is in a best-effort frame. A
//! sender with any credit left may send one whole record.

use crate::config::FRAME_BYTES_MAX;
use crate::error::FrameError;
use crate::message::{MessageId, Origin, Priority, RouterId};
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The magic number at the start of every frame: "MR".
pub const MAGIC: u16 = 0x4d52;
/// Version of the protocol between routers.
pub const VERSION: u8 = 2;
/// Bytes of the header of a frame.
pub const FRAME_HEAD_BYTES: usize = 8;
/// Bytes in front of the body of a record.
pub const RECORD_HEAD_BYTES: usize = 5;
/// Bytes before the message in the body of its record.
pub const MESSAGE_HEAD_BYTES: usize = 17;
/// Bytes before the part in the body of a fragment.
pub const FRAGMENT_HEAD_BYTES: usize = 13;
/// FIFOs of a link: interests and advertisements, one per class, and one for pipes with one order
/// over all classes.
pub(crate) const FIFOS: usize = 2 + Priority::COUNT;
/// The FIFO of pipes with one order over all classes.
pub(crate) const ORDERED_FIFO: usize = FIFOS - 1;
/// First FIFO that uses credit.
pub(crate) const FIRST_CREDIT_FIFO: usize = 2;
const HELLO_BYTES: usize = 12;
const CREDIT_BYTES: usize = 4;
/// The flag of a best-effort frame in byte 3 of its header.
const BEST_EFFORT: u8 = 1;

const HELLO: u8 = 1;
const KEEP_ALIVE: u8 = 2;
const WANTED: u8 = 3;
const UNWANTED: u8 = 4;
const MESSAGE: u8 = 5;
const FRAGMENT: u8 = 6;
const ADVERTISED: u8 = 7;
const NOT_ADVERTISED: u8 = 8;
const CREDIT: u8 = 9;

/// A record whose lengths are checked. Bodies share the frame's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Hello { origin: Origin, credit: u32 },
    KeepAlive,
    Interest { any: bool, body: Bytes },
    Advertisement { any: bool, body: Bytes },
    Message { hops: u8, id: MessageId, body: Bytes },
    Fragment(Fragment),
    Credit(u32),
}

impl Record {
    /// Its name in errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Record::Hello { .. } => "greeting",
            Record::KeepAlive => "keep-alive",
            Record::Interest { .. } => "interest",
            Record::Advertisement { .. } => "advertisement",
            Record::Message { .. } => "message",
            Record::Fragment(_) => "fragment",
            Record::Credit(_) => "credit",
        }
    }
}

/// Bytes of a record with a message whose encoding has `body` bytes.
pub(crate) const fn message_record_bytes(body: usize) -> usize {
    RECORD_HEAD_BYTES + MESSAGE_HEAD_BYTES + body
}

/// Bytes of a record with a fragment whose part has `part` bytes.
pub(crate) const fn fragment_record_bytes(part: usize) -> usize {
    RECORD_HEAD_BYTES + FRAGMENT_HEAD_BYTES + part
}

/// A part of a record that is longer than a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) fifo: usize,
    pub(crate) transfer: u32,
    pub(crate) total: usize,
    pub(crate) offset: usize,
    pub(crate) part: Bytes,
}

/// Reads the records of a frame, or of a reassembled record.
#[derive(Debug)]
pub(crate) struct Records {
    rest: Bytes,
    at: usize,
    /// The records arrived without order and credit.
    pub(crate) best_effort: bool,
}

impl Records {
    /// Checks the header of a frame.
    pub(crate) fn of_frame(mut frame: Bytes) -> Result<Self, FrameError> {
        let len = frame.len();
        if len < FRAME_HEAD_BYTES {
            return Err(FrameError::Truncated { at: 0, need: FRAME_HEAD_BYTES, left: len });
        }
        if len > FRAME_BYTES_MAX {
            return Err(FrameError::TooLong { at: 0, len, limit: FRAME_BYTES_MAX });
        }
        let (magic, version, flags, declared) =
            (frame.get_u16(), frame.get_u8(), frame.get_u8(), frame.get_u32());
        if magic != MAGIC {
            return Err(FrameError::Magic { got: magic });
        }
        if version != VERSION {
            return Err(FrameError::Version { got: version, want: VERSION });
        }
        if flags & !BEST_EFFORT != 0 {
            return Err(FrameError::Reserved { got: flags & !BEST_EFFORT });
        }
        if declared as usize != len {
            return Err(FrameError::Length { declared, got: len });
        }
        Ok(Self { rest: frame, at: FRAME_HEAD_BYTES, best_effort: flags & BEST_EFFORT != 0 })
    }

    /// Takes one record that was reassembled from fragments.
    pub(crate) fn of_transfer(record: Bytes, best_effort: bool) -> Self {
        Self { rest: record, at: 0, best_effort }
    }

    /// The next record and its position; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, Record)>, FrameError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let at = self.at;
        let left = self.rest.len();
        if left < RECORD_HEAD_BYTES {
            return Err(FrameError::Truncated { at, need: RECORD_HEAD_BYTES, left });
        }
        let kind = self.rest.get_u8();
        let len = self.rest.get_u32() as usize;
        if self.rest.len() < len {
            return Err(FrameError::Truncated { at, need: RECORD_HEAD_BYTES.saturating_add(len), left });
        }
        let body = self.rest.split_to(len);
        self.at += RECORD_HEAD_BYTES + len;
        read(at, kind, body).map(|record| Some((at, record)))
    }
}

fn read(at: usize, kind: u8, mut body: Bytes) -> Result<Record, FrameError> {
    let need = |bytes: usize, body: &Bytes| match body.len() {
        left if left < bytes => Err(FrameError::Truncated { at, need: bytes, left }),
        _ => Ok(()),
    };
    let whole = |bytes: usize, body: &Bytes| match body.len().checked_sub(bytes) {
        None => Err(FrameError::Truncated { at, need: bytes, left: body.len() }),
        Some(0) => Ok(()),
        Some(extra) => Err(FrameError::Trailing { at, extra }),
    };
    match kind {
        HELLO => {
            whole(HELLO_BYTES, &body)?;
            Ok(Record::Hello { origin: read_origin(&mut body), credit: body.get_u32() })
        }
        KEEP_ALIVE => whole(0, &body).map(|()| Record::KeepAlive),
        WANTED | UNWANTED => Ok(Record::Interest { any: kind == WANTED, body }),
        ADVERTISED | NOT_ADVERTISED => Ok(Record::Advertisement { any: kind == ADVERTISED, body }),
        CREDIT => {
            whole(CREDIT_BYTES, &body)?;
            Ok(Record::Credit(body.get_u32()))
        }
        MESSAGE => {
            need(MESSAGE_HEAD_BYTES, &body)?;
            let hops = body.get_u8();
            let origin = read_origin(&mut body);
            let id = MessageId { origin, sequence: body.get_u64() };
            Ok(Record::Message { hops, id, body })
        }
        FRAGMENT => {
            need(FRAGMENT_HEAD_BYTES + 1, &body)?;
            let fifo = usize::from(body.get_u8());
            let transfer = body.get_u32();
            let (total, offset) = (body.get_u32() as usize, body.get_u32() as usize);
            if fifo >= FIFOS {
                return Err(FrameError::Fragment { at, why: "there is no such FIFO" });
            }
            if offset.checked_add(body.len()).is_none_or(|end| end > total) {
                return Err(FrameError::Fragment { at, why: "it ends behind the end of the whole" });
            }
            Ok(Record::Fragment(Fragment { fifo, transfer, total, offset, part: body }))
        }
        got => Err(FrameError::RecordType { at, got }),
    }
}

fn read_origin(body: &mut Bytes) -> Origin {
    Origin { router: RouterId(body.get_u32()), epoch: body.get_u32() }
}

fn put_origin(out: &mut BytesMut, origin: Origin) {
    out.put_u32(origin.router.0);
    out.put_u32(origin.epoch);
}

/// Appends a record whose body `write` appends. Lengths fit: a body is at most one message and its
/// header.
fn put_record(out: &mut BytesMut, kind: u8, write: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind);
    let length_at = out.len();
    out.put_u32(0);
    write(out);
    fill_length(out, length_at);
}

/// Writes the number of bytes after the four-byte length field into that field.
fn fill_length(out: &mut BytesMut, length_at: usize) {
    let len = out.len() - length_at - 4;
    let len = u32::try_from(len).expect("a record is bounded by the message limit, far below 4 GiB");
    out[length_at..length_at + 4].copy_from_slice(&len.to_be_bytes());
}

pub(crate) fn put_hello(out: &mut BytesMut, origin: Origin, credit: u32) {
    put_record(out, HELLO, |out| {
        put_origin(out, origin);
        out.put_u32(credit);
    });
}

pub(crate) fn put_credit(out: &mut BytesMut, bytes: u32) {
    put_record(out, CREDIT, |out| out.put_u32(bytes));
}

pub(crate) fn put_keep_alive(out: &mut BytesMut) {
    put_record(out, KEEP_ALIVE, |_| ());
}

pub(crate) fn put_interest(out: &mut BytesMut, any: bool, body: impl FnOnce(&mut BytesMut)) {
    put_record(out, if any { WANTED } else { UNWANTED }, body);
}

pub(crate) fn put_advertisement(out: &mut BytesMut, any: bool, body: impl FnOnce(&mut BytesMut)) {
    put_record(out, if any { ADVERTISED } else { NOT_ADVERTISED }, body);
}

pub(crate) fn put_message(out: &mut BytesMut, hops: u8, id: MessageId, body: impl FnOnce(&mut BytesMut)) {
    // The hot path of every message: the header is written in one piece, since each separate write
    // costs as much as all of it.
    let mut head = [0; RECORD_HEAD_BYTES + MESSAGE_HEAD_BYTES];
    head[0] = MESSAGE;
    head[5] = hops;
    head[6..10].copy_from_slice(&id.origin.router.0.to_be_bytes());
    head[10..14].copy_from_slice(&id.origin.epoch.to_be_bytes());
    head[14..22].copy_from_slice(&id.sequence.to_be_bytes());
    let length_at = out.len() + 1;
    out.put_slice(&head);
    body(out);
    fill_length(out, length_at);
}

pub(crate) fn put_fragment(out: &mut BytesMut, fragment: &Fragment) {
    let word =
        |n: usize| u32::try_from(n).expect("a record is bounded by the message limit, far below 4 GiB");
    put_record(out, FRAGMENT, |out| {
        out.put_u8(u8::try_from(fragment.fifo).expect("there are six FIFOs"));
        out.put_u32(fragment.transfer);
        out.put_u32(word(fragment.total));
        out.put_u32(word(fragment.offset));
        out.put_slice(&fragment.part);
    });
}

/// An empty frame, its length still missing.
pub(crate) fn start(bytes: usize, best_effort: bool) -> BytesMut {
    let mut out = BytesMut::with_capacity(bytes);
    let [a, b] = MAGIC.to_be_bytes();
    out.put_slice(&[a, b, VERSION, if best_effort { BEST_EFFORT } else { 0 }, 0, 0, 0, 0]);
    out
}

/// Fills in the length; `None` when the frame has no record.
pub(crate) fn finish(mut frame: BytesMut) -> Option<Bytes> {
    if frame.len() <= FRAME_HEAD_BYTES {
        return None;
    }
    let len = u32::try_from(frame.len()).expect("a frame is at most FRAME_BYTES_MAX");
    frame[4..8].copy_from_slice(&len.to_be_bytes());
    Some(frame.freeze())
}
