//! The wire form of the session layer: one header, twelve messages.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | size of the whole message, header included |
//! | 4 | 4 | sequence number (31 bits; top bit set: none) |
//! | 8 | 8 | session id (0: none) |
//! | 16 | 4 | sequence number of the last received HLA message (top bit set: none) |
//! | 20 | 4 | message type |
//! | 24 | … | payload |
//!
//! All integers are big-endian. [`HeaderView`] is a checked view of the bytes, and [`Header`] the
//! plain value. A [`Frame`] is a header with its payload; a [`Message`] is the content of a frame.

mod code;
mod decoder;
mod error;
mod header;
mod message;

pub use code::{MessageType, NewSessionReason, ResumeStatus};
pub use decoder::Decoder;
pub use error::FrameError;
pub use header::{Header, HeaderView, Numbers};
pub(crate) use message::hla_bytes;
pub use message::{Control, Frame, Message, put_control, put_hla};

/// Version of the Federate Protocol that this crate speaks.
pub const PROTOCOL_VERSION: u32 = 1;

/// Size of the header in bytes, and therefore of the smallest message.
pub const HEADER_BYTES: usize = 24;

/// Largest message by default, header included: 64 MiB.
///
/// A message carries all FOM modules of a call. The largest public ones take about 2 MiB, and a
/// federate may send a set of them in one call. The protocol itself allows 2 GiB.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Largest body, in bytes, that may be written at all: Java clients refuse messages of 2 GiB and
/// more.
pub const BODY_BYTES_LIMIT: usize = (i32::MAX as usize) - HEADER_BYTES - 4;

/// Largest first message of a connection, which has no session yet. A resume request takes 32
/// bytes.
pub const FIRST_MESSAGE_BYTES_MAX: usize = 32;
