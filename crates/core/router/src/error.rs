//! Errors: mistakes of a caller, and of a neighbour.

use crate::ClientId;
use crate::message::{Origin, WireError};

/// A call named a client that does not exist, or asked for something that this client may not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no such client, or no longer.
    #[error("client {0} is not connected to this router")]
    Unknown(ClientId),
    /// The client does not have the flag `SOURCE`.
    #[error("client {0} is not a source")]
    NotASource(ClientId),
    /// The client does not have the flag `SINK`.
    #[error("client {0} is not a sink")]
    NotASink(ClientId),
    /// The call is meant for another kind of client.
    #[error("client {0} is of another kind than this call is for")]
    WrongKind(ClientId),
    /// The client has as many interests as it may have.
    #[error("client {client} has its {limit} interests already")]
    TooManyInterests {
        /// The client.
        client: ClientId,
        /// Its limit.
        limit: usize,
    },
    /// The client has made as many advertisements as it may.
    #[error("client {client} has made its {limit} advertisements already")]
    TooManyAdvertisements {
        /// The client.
        client: ClientId,
        /// Its limit.
        limit: usize,
    },
    /// The router has as many clients as it may have.
    #[error("the router has its {0} clients already")]
    TooManyClients(usize),
}

/// A neighbour broke the protocol: close the link; the router lives on. Positions are byte offsets
/// in the frame, or in the record reassembled from fragments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The first two bytes are not the mark of a frame.
    #[error("frame starts with {got:#06x}, not {:#06x}", crate::frame::MAGIC)]
    Magic {
        /// The two bytes found.
        got: u16,
    },
    /// The frame has another version of the protocol.
    #[error("frame of version {got}, this router speaks {want}")]
    Version {
        /// The peer's version.
        got: u8,
        /// This router's version.
        want: u8,
    },
    /// A reserved bit is set.
    #[error("reserved bits {got:#04x} at byte 3 of the frame")]
    Reserved {
        /// The bits.
        got: u8,
    },
    /// The length in the header is not the length of the frame.
    #[error("frame says {declared} bytes and has {got}")]
    Length {
        /// The length in the header.
        declared: u32,
        /// The length received.
        got: usize,
    },
    /// A frame or a transfer is longer than allowed.
    #[error("{len} bytes at byte {at}, limit {limit}")]
    TooLong {
        /// Position.
        at: usize,
        /// Length in bytes.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// A frame or record ends too early.
    #[error("record at byte {at} needs {need} bytes, {left} are left")]
    Truncated {
        /// Position.
        at: usize,
        /// Bytes needed.
        need: usize,
        /// Bytes left.
        left: usize,
    },
    /// A record is longer than its contents.
    #[error("record at byte {at} has {extra} bytes too many")]
    Trailing {
        /// Position.
        at: usize,
        /// Number of surplus bytes.
        extra: usize,
    },
    /// A record has an unknown type.
    #[error("record at byte {at} of unknown type {got}")]
    RecordType {
        /// Position.
        at: usize,
        /// The type.
        got: u8,
    },
    /// A fragment contradicts its predecessors or itself.
    #[error("fragment at byte {at}: {why}")]
    Fragment {
        /// Position.
        at: usize,
        /// The contradiction.
        why: &'static str,
    },
    /// A message, interest or advertisement cannot be decoded.
    #[error("{item} at byte {at}: {source}")]
    Body {
        /// "message", "interest" or "advertisement".
        item: &'static str,
        /// Position.
        at: usize,
        /// The decoding error.
        source: WireError,
    },
    /// A record arrived before the peer identified itself.
    #[error("the peer must say who it is before anything else")]
    NoHello,
    /// A best-effort frame (a datagram, without order and credit) holds a record that needs them.
    #[error("record at byte {at}: {item} in a datagram")]
    BestEffort {
        /// Position.
        at: usize,
        /// The record found.
        item: &'static str,
    },
    /// A datagram holds a frame that belongs on the ordered side of the link.
    #[error("a frame that needs order came as a datagram")]
    Ordered,
    /// The peer sent more than it was granted.
    #[error("message at byte {at}: the peer sent {over} bytes more than it was granted")]
    Credit {
        /// Position.
        at: usize,
        /// Bytes beyond the grant.
        over: usize,
    },
    /// The peer is this very router, or claims to be.
    #[error("the peer says it is {0:?}, which is this router")]
    OwnOrigin(Origin),
    /// The peer did something that its flags or its limits do not allow.
    #[error(transparent)]
    Client(#[from] ClientError),
}
