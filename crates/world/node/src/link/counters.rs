//! What a link did, in numbers.

use super::SequenceCounters;

/// What a link did since it came up. All count up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Frames put into the stream.
    pub sent_frames: u64,
    /// Bytes that the stream took, lengths included.
    pub sent_bytes: u64,
    /// Frames that came in the stream.
    pub received_frames: u64,
    /// Bytes that came in the stream, lengths included.
    pub received_bytes: u64,
    /// Times that the stream took no more, because the peer or the network between is slow.
    pub full: u64,
    /// Datagrams given to the network.
    pub sent_datagrams: u64,
    /// Datagrams that the system refused to send.
    pub refused_datagrams: u64,
    /// Datagrams that the emulation of this side lost.
    pub emulated_losses: u64,
    /// Datagrams that came, and those that did not.
    pub datagrams: SequenceCounters,
    /// Datagrams that came and were none of this link.
    pub foreign_datagrams: u64,
}
