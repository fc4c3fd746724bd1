//! Errors in messages.

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
    /// The size field exceeds the limit that applies here.
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
        /// Number of bytes present.
        len: usize,
    },
    /// A type, reason or status without a meaning.
    #[error("unknown {field} {code}")]
    UnknownCode {
        /// The name of the field.
        field: &'static str,
        /// Its value.
        code: u32,
    },
    /// The payload has a size that its message type does not allow.
    #[error("{message_type:?} has a payload of {len} bytes instead of {expected}")]
    PayloadSize {
        /// Type of the message.
        message_type: MessageType,
        /// Its payload in bytes.
        len: usize,
        /// The required size; for HLA messages, the smallest.
        expected: usize,
    },
    /// A message of this type is not allowed here: it has the wrong direction or comes at the wrong
    /// moment.
    #[error("{message_type:?} is not expected {context}")]
    Unexpected {
        /// Type of the message.
        message_type: MessageType,
        /// Where or when it arrived.
        context: &'static str,
    },
    /// The message names a session other than the one that its connection carries.
    #[error("{message_type:?} is for session {got:#018x}, the connection is of another session")]
    WrongSession {
        /// Type of the message.
        message_type: MessageType,
        /// The session it names.
        got: u64,
    },
    /// The message needs a sequence number and has none (its top bit is set).
    #[error("{message_type:?} has no sequence number")]
    NoSequenceNumber {
        /// Type of the message.
        message_type: MessageType,
    },
    /// A response refers to no message (the top bit of the number is set).
    #[error("{message_type:?} answers no number: {value:#010x}")]
    NoReference {
        /// Type of the message.
        message_type: MessageType,
        /// The field.
        value: u32,
    },
}
