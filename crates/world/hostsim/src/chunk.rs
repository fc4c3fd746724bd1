//! Chunks, the units of writing to a socket, and the messages in them that have a cost.

use bytes::Bytes;
use fedpro::frame::{HeaderView, MESSAGE_BYTES_MAX, MessageType};

use crate::scheduler::ProcessId;

/// Messages of the Federate Protocol that have a cost of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counted {
    /// Calls of a federate.
    pub(crate) calls: u32,
    /// Callbacks to a federate.
    pub(crate) callbacks: u32,
}

impl Counted {
    /// Counts complete messages.
    pub(crate) fn of(mut bytes: &[u8]) -> Self {
        let mut counted = Self::default();
        while let Ok(header) = HeaderView::parse(bytes, MESSAGE_BYTES_MAX) {
            match header.message_type() {
                MessageType::CallRequest => counted.calls += 1,
                MessageType::CallbackRequest => counted.callbacks += 1,
                _ => {}
            }
            let size = header.size();
            bytes = bytes.get(size..).unwrap_or_default();
        }
        counted
    }
}

/// A datagram of a multicast group.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    /// Index of the group, from 0.
    pub(crate) group: usize,
    /// The sending process.
    pub(crate) from: ProcessId,
    /// Unicast: addressed to one member only.
    pub(crate) alone: bool,
    pub(crate) bytes: Bytes,
}

/// The content of one write.
#[derive(Clone, Debug)]
pub(crate) enum Chunk {
    /// The other end has connected.
    Opened {
        /// The peer is a node.
        by_node: bool,
    },
    /// A part of a federate's byte stream, made of complete messages.
    Bytes(Bytes, Counted),
    /// Frames between nodes.
    Frames(Vec<Bytes>),
    /// A datagram of a multicast group.
    Datagram(Datagram),
    /// The other direction has room again.
    Room,
    /// The other end is closed.
    Closed,
}

/// Size of the length field before each frame.
const LENGTH_BYTES: usize = 4;

impl Chunk {
    /// Its length in the stream, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Chunk::Opened { .. } | Chunk::Room | Chunk::Closed => 0,
            Chunk::Bytes(bytes, _) => bytes.len(),
            Chunk::Datagram(datagram) => datagram.bytes.len(),
            Chunk::Frames(frames) => frames.iter().map(|frame| frame.len() + LENGTH_BYTES).sum(),
        }
    }
}
