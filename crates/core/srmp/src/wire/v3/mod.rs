//! Profile v3: this library's own format. A header of 32 bytes, the same in every datagram,
//! precedes the records. Each record has its kind and length, so that a receiver can skip unknown
//! ones.
//!
//! | Offset | Bytes | Header field |
//! |---|---|---|
//! | 0 | 1 | version 3, [kind](super::Kind) |
//! | 1 | 1 | [flags](super::Flags) |
//! | 2 | 2 | length of the datagram, tag included |
//! | 4 | 4 | tag of session and group |
//! | 8 | 8 | sender |
//! | 16 | 4 | epoch |
//! | 20 | 4 | number of the datagram |
//! | 24 | 4 | sender's clock, microseconds |
//! | 28 | 1 | number of the group key |
//! | 29 | 1 | feedback round, 0 to 15 |
//! | 30 | 2 | 0, ignored |
//!
//! A record: kind (1), flags (1), length of the value (2), value.

mod read;
mod write;

pub(super) use read::{next, open, records};
pub(super) use write::{
    Heading, mode1_bytes, put_announcements, put_head, put_origin, put_record, record_bytes,
};

pub(super) const HEAD_BYTES: usize = 32;
pub(super) const RECORD_HEAD_BYTES: usize = 4;
pub(super) const DSN_BYTES: usize = 10;
pub(super) const NACK_ITEM_BYTES: usize = 10;
pub(super) const MODE0_HEAD_BYTES: usize = RECORD_HEAD_BYTES + 4;
pub(super) const MODE1_HEAD_BYTES: usize = RECORD_HEAD_BYTES + 12;
pub(super) const NACK_HEAD_BYTES: usize = RECORD_HEAD_BYTES + 12;
pub(super) const ORIGIN_BYTES: usize = RECORD_HEAD_BYTES + ORIGIN_VALUE;
/// Bytes of the control records that any bundle may have to carry: an echo, congestion control and
/// a digest.
pub(super) const CONTROL_BYTES: usize = 3 * RECORD_HEAD_BYTES + ECHO_VALUE + CONGESTION_VALUE + DIGEST_VALUE;

const VERSION: u8 = 3;

const MODE0: u8 = 0x01;
const MODE1: u8 = 0x02;
const ANNOUNCEMENTS: u8 = 0x03;
const NACK: u8 = 0x04;
const ECHO: u8 = 0x05;
const CONGESTION: u8 = 0x06;
const FEEDBACK: u8 = 0x07;
const MODE2: u8 = 0x08;
const ACK: u8 = 0x09;
const DIGEST: u8 = 0x0a;
const ORIGIN: u8 = 0x0b;
const PENDING: u8 = 0x0c;
const ADVERTISEMENT: u8 = 0x10;
const PROBE: u8 = 0x11;
const REPLY: u8 = 0x12;
const SYNC_REQUEST: u8 = 0x13;
const SYNC_END: u8 = 0x14;
const LEAVE: u8 = 0x15;
const INDEX: u8 = 0x16;

const ECHO_VALUE: usize = 16;
const CONGESTION_VALUE: usize = 16;
const FEEDBACK_VALUE: usize = 32;
const MODE2_HEAD: usize = 12;
const ACK_VALUE: usize = 10;
const DIGEST_VALUE: usize = 12;
const ORIGIN_VALUE: usize = 12;
const PENDING_VALUE: usize = 24;
const ADVERTISEMENT_VALUE: usize = 32;
const PROBE_VALUE: usize = 8;
const HELD_BYTES: usize = 24;

/// The record flag of mode 1 data whose last 64 bytes are a signature. The other flags are
/// [`Mode1Flags`](super::Mode1Flags).
const SIGNED: u8 = 4;
/// The flag of an echo to the current limiting receiver.
const IS_CLR: u32 = 1;
/// The segment number that stands for all segments.
const WHOLE: u16 = u16::MAX;
