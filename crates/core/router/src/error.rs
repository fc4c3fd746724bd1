//! Failures: what a caller did, and what a neighbour did.

use crate::ClientId;
use crate::message::{Origin, WireError};

/// A call named something that is not there or may not do that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No such client, or no longer.
    #[error("client {0} is not connected to this router")]
    Unknown(ClientId),
    /// The client has not the flag `SOURCE`.
    #[error("client {0} is not a source")]
    NotASource(ClientId),
    /// The client has not the flag `SINK`.
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
    /// The client has made as many offers as it may.
    #[error("client {client} has made its {limit} offers already")]
    TooManyOffers {
        /// The client.
        client: ClientId,
        /// Its limit.
        limit: usize,
    },
    /// The router has as many clients as it may have.
    #[error("the router has its {0} clients already")]
    TooManyClients(usize),
}

/// A neighbour broke the protocol: close the link; the router lives on. Positions are byte offsets in the frame (or in
/// the record put together from fragments).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The first two bytes are not the mark of a frame.
    #[error("frame starts with {got:#06x}, not {:#06x}", crate::frame::MAGIC)]
    Magic {
        /// What stands there.
        got: u16,
    },
    /// Another version of the protocol.
    #[error("frame of version {got}, this router speaks {want}")]
    Version {
        /// What the peer speaks.
        got: u8,
        /// What this router speaks.
        want: u8,
    },
    /// A reserved bit is set.
    #[error("reserved bits {got:#04x} at byte 3 of the frame")]
    Reserved {
        /// The bits.
        got: u8,
    },
    /// The length in the header is not the length of the frame.
    #[error("frame says {said} bytes and has {got}")]
    Length {
        /// What the header says.
        said: u32,
        /// What came.
        got: usize,
    },
    /// Longer than allowed.
    #[error("{len} bytes at byte {at}, limit {limit}")]
    TooLong {
        /// Where.
        at: usize,
        /// How long.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// Ends too early.
    #[error("record at byte {at} needs {need} bytes, {left} are left")]
    Truncated {
        /// Where.
        at: usize,
        /// Bytes needed.
        need: usize,
        /// Bytes left.
        left: usize,
    },
    /// Has bytes that nothing explains.
    #[error("record at byte {at} has {extra} bytes too many")]
    Trailing {
        /// Where.
        at: usize,
        /// How many.
        extra: usize,
    },
    /// An unknown type of record.
    #[error("record at byte {at} of unknown type {got}")]
    RecordType {
        /// Where.
        at: usize,
        /// The type.
        got: u8,
    },
    /// A fragment contradicts its predecessors or itself.
    #[error("fragment at byte {at}: {why}")]
    Fragment {
        /// Where.
        at: usize,
        /// In which way.
        why: &'static str,
    },
    /// A message or an interest that cannot be read.
    #[error("{what} at byte {at}: {source}")]
    Body {
        /// "message", "interest" or "offer".
        what: &'static str,
        /// Where.
        at: usize,
        /// What is wrong with it.
        source: WireError,
    },
    /// Something came before the peer said who it is.
    #[error("the peer must say who it is before anything else")]
    NoHello,
    /// A frame without order and credit, as datagrams are, holds something that needs them.
    #[error("record at byte {at}: {what} in a datagram")]
    Loose {
        /// Where.
        at: usize,
        /// What stands there.
        what: &'static str,
    },
    /// A datagram holds a frame that is meant for the ordered side of the link.
    #[error("a frame that needs order came as a datagram")]
    Ordered,
    /// The peer sent more than it was granted.
    #[error("message at byte {at}: the peer sent {over} bytes more than it was granted")]
    Credit {
        /// Where.
        at: usize,
        /// Bytes beyond the grant.
        over: usize,
    },
    /// The peer is this very router, or claims to be.
    #[error("the peer says it is {0:?}, which is this router")]
    OwnOrigin(Origin),
    /// The peer does what its flags do not allow, or more than its limits allow.
    #[error(transparent)]
    Client(#[from] ClientError),
}
