//! Profile v2: RFC 4410, section 3, byte for byte. Where the RFC leaves the form open or
//! contradicts itself, a comment states how it is read.

mod read;
mod write;

pub(super) use read::{next, open, records};
pub(super) use write::{put_bundle_head, put_feedback, put_message, record_bytes};

use std::time::Duration;

pub(super) const BUNDLE_HEAD_BYTES: usize = 24;
pub(super) const DSN_BYTES: usize = 4;
pub(super) const DSN_MAX: usize = 255;
pub(super) const MODE0_HEAD_BYTES: usize = 4;
pub(super) const MODE1_HEAD_BYTES: usize = 8;
pub(super) const NACK_BYTES: usize = 12;
/// The length field has 14 bits.
pub(super) const MODE1_BYTES_MAX: usize = 0x3fff;
const FEEDBACK_BYTES: usize = 16;
const MODE2_HEAD_BYTES: usize = 8;

const VERSION: u32 = 2;
/// The types of messages in a bundle.
const DATA: u32 = 0;
const CONTROL: u32 = 2;
/// The mode, in three bits.
const MODE_0: u32 = 0b000;
const MODE_1: u32 = 0b001;
const MODE_2: u32 = 0b010;
const NACK: u32 = 0b111;
/// The low four bits of a bundle's second byte.
const IS_CLR: u8 = 1;
/// The segment number that stands for all segments; one more than the greatest one.
const WHOLE: u32 = 0x7f;
/// The value in a bundle when the sender's congestion control has given none: the initial value.
const RTT_MAX_DEFAULT: Duration = Duration::from_millis(500);

/// The first word of a message. Within a bundle, bits 20-11 are left for `low` as well.
const fn word(kind: u32, mode: u32, low: u32) -> u32 {
    VERSION << 28 | kind << 24 | mode << 21 | low
}
