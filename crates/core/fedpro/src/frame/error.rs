//! What may be wrong with a message.

use super::MessageType;

/// The peer broke the protocol: its session ends and its connection is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameError {
    /// The size field is smaller than the header.
    #[error("message size {size} is less than the {min} bytes of the header")]
    TooShort {
        /// The size field.
        size: u32,
        /// Size of the header.
        min: u32,
    },
    /// The size field is larger than what is accepted here.
    #[error("message size {size} is over the limit of {limit} bytes")]
    TooLong {
        /// The size field.
        size: u32,
        /// The limit in bytes.
        limit: u32,
    },
    /// Not enough bytes for a header.
    #[error("a header takes 24 bytes, there are {len}")]
    Truncated {
        /// How many bytes there are.
        len: usize,
    },
    /// A type, reason or status with no meaning.
    #[error("unknown {field} {code}")]
    UnknownCode {
        /// Which field.
        field: &'static str,
        /// Its value.
        code: u32,
    },
    /// The payload of this type has another size.
    #[error("{message_type:?} has a payload of {len} bytes instead of {expected}")]
    PayloadSize {
        /// Type of the message.
        message_type: MessageType,
        /// Its payload in bytes.
        len: usize,
        /// The right (for HLA messages: the smallest) size.
        expected: usize,
    },
    /// A message of this type has no business here: wrong direction, or wrong moment.
    #[error("{message_type:?} is not expected {place}")]
    Unexpected {
        /// Type of the message.
        message_type: MessageType,
        /// Where or when it came.
        place: &'static str,
    },
    /// The message names another session than its connection belongs to.
    #[error("{message_type:?} is for session {got:#018x}, the connection is of another session")]
    WrongSession {
        /// Type of the message.
        message_type: MessageType,
        /// The session it names.
        got: u64,
    },
    /// The message needs a sequence number and has none (top bit set).
    #[error("{message_type:?} has no sequence number")]
    NoSequenceNumber {
        /// Type of the message.
        message_type: MessageType,
    },
    /// A message that is answered by number refers to none (top bit set).
    #[error("{message_type:?} answers no number: {value:#010x}")]
    NoReference {
        /// Type of the message.
        message_type: MessageType,
        /// The field.
        value: u32,
    },
}
