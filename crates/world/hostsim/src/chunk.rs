//! What is written to a socket at once, and what of it counts.

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
    /// Counts whole messages.
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
    /// Which, from 0.
    pub(crate) group: usize,
    /// Who sent it.
    pub(crate) from: ProcessId,
    /// It is for one member alone.
    pub(crate) alone: bool,
    pub(crate) bytes: Bytes,
}

/// What comes by a socket.
#[derive(Clone, Debug)]
pub(crate) enum Chunk {
    /// The other end has connected.
    Opened {
        /// It is a node.
        by_node: bool,
    },
    /// A part of a federate's byte stream: whole messages.
    Bytes(Bytes, Counted),
    /// Frames between nodes.
    Frames(Vec<Bytes>),
    /// Of a multicast group.
    Datagram(Datagram),
    /// There is room again in the other direction.
    Room,
    /// The other end is gone.
    Closed,
}

/// Bytes of a frame's length.
const LENGTH_BYTES: usize = 4;

impl Chunk {
    /// Bytes in the stream.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Chunk::Opened { .. } | Chunk::Room | Chunk::Closed => 0,
            Chunk::Bytes(bytes, _) => bytes.len(),
            Chunk::Datagram(datagram) => datagram.bytes.len(),
            Chunk::Frames(frames) => frames.iter().map(|frame| frame.len() + LENGTH_BYTES).sum(),
        }
    }
}
