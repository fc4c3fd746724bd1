//! Batches: consecutive messages of one stream that leave this node as one packet and are kept as
//! one.
//!
//! For a router, a packet of ten messages costs as much as one message. It also touches less cold
//! memory: memory that is kept for half a minute is cold both when it is written and when it is
//! freed. A message is therefore held back while more calls of the same federate are at hand. This
//! costs no time, because these calls were read together and all of them are served before anything
//! is written.

use crate::control::NodeId;
use crate::wire::{FilteredMessage, Kind, Packet, StreamId, put_message};
use base::Moment;
use bytes::Bytes;

/// The largest total of a batch's messages, in octets: it fits into one datagram of a multicast
/// group and into the smallest bundle frame of a link.
pub(crate) const BATCH_BYTES_MAX: usize = 1024;

/// Messages of this size or more leave alone, because a batch has no room for two of them.
pub(crate) const ALONE_BYTES: usize = BATCH_BYTES_MAX / 2 - LENGTH_BYTES;

/// Octets of a message's length field in a batch. The length is below [`ALONE_BYTES`].
const LENGTH_BYTES: usize = 2;

/// A packet that can still grow.
#[derive(Debug)]
pub(crate) struct Batch {
    stream: StreamId,
    sender: NodeId,
    /// Whether some other node wants it.
    pub(crate) wanted: bool,
    /// When the first message was appended.
    pub(crate) at: Moment,
    pub(crate) first: u64,
    pub(crate) count: u64,
    messages: Vec<u8>,
}

impl Batch {
    /// Begins a batch with a message shorter than [`ALONE_BYTES`]. Uses `buffer` if it is large
    /// enough.
    pub(crate) fn begin(
        mut buffer: Vec<u8>,
        (stream, sender): (StreamId, NodeId),
        wanted: bool,
        (at, first): (Moment, u64),
        message: &[u8],
    ) -> Self {
        buffer.clear();
        buffer.reserve_exact(BATCH_BYTES_MAX);
        put_message(&mut buffer, message);
        Self { stream, sender, wanted, at, first, count: 1, messages: buffer }
    }

    pub(crate) fn stream(&self) -> StreamId {
        self.stream
    }

    /// Adds message `number` of a stream, if it is the next one and there is room. Returns whether
    /// it was added.
    pub(crate) fn add(&mut self, stream: StreamId, number: u64, wanted: bool, message: &[u8]) -> bool {
        let is_next = number == self.first + self.count && stream == self.stream && wanted == self.wanted;
        if !is_next || self.messages.len() + LENGTH_BYTES + message.len() > BATCH_BYTES_MAX {
            return false;
        }
        put_message(&mut self.messages, message);
        self.count += 1;
        true
    }

    /// The packet to send and keep, and the buffer if the packet does not own it.
    pub(crate) fn into_packet(self) -> (Packet, Vec<u8>) {
        let Self { stream, sender, first, count, messages, .. } = self;
        if count > 1 {
            return (Packet::new(stream, sender, Kind::Batch(first), messages.into()), Vec::new());
        }
        // The length is a varint. A message that is alone in its packet needs no length.
        let head = if messages[0] < 0x80 { 1 } else { LENGTH_BYTES };
        let message = Bytes::copy_from_slice(&messages[head..]);
        (Packet::new(stream, sender, Kind::Numbered(first), message), messages)
    }
}

/// A packet for one node that can still grow: messages of a stream that this node wants.
#[derive(Debug)]
pub(crate) struct FilteredBatch {
    sender: NodeId,
    /// The message for this node before the first one here.
    after: u64,
    last: u64,
    messages: Vec<u8>,
}

impl FilteredBatch {
    /// Begins a batch after message `after`.
    pub(crate) fn begin(sender: NodeId, after: u64) -> Self {
        Self { sender, after, last: after, messages: Vec::new() }
    }

    /// Adds message `number`, with which regions leave the receiver (`is_away`) or not.
    pub(crate) fn add(&mut self, number: u64, is_away: bool, body: &[u8]) {
        let irrelevant = number - self.last - 1;
        FilteredMessage { irrelevant, is_away, body }.put(&mut self.messages);
        self.last = number;
    }

    /// Whether a message that follows message `after` for this node may be added.
    pub(crate) fn has_room(&self, after: u64, bytes: usize) -> bool {
        after == self.last && (self.messages.is_empty() || self.messages.len() + bytes < BATCH_BYTES_MAX)
    }

    /// The packet to send to a node.
    pub(crate) fn into_packet(self, stream: StreamId, to: NodeId) -> Packet {
        let kind = Kind::Filtered { after: self.after };
        Packet::to_node(stream, (self.sender, to), kind, self.messages.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ExecutionId;
    use crate::control::PublishedClass;
    use crate::wire::messages;
    use hla::handle::ObjectClassHandle;

    const SENDER: NodeId = NodeId(3);

    fn stream(class: u32) -> StreamId {
        StreamId { execution: ExecutionId(1), class: PublishedClass::Objects(ObjectClassHandle(class)) }
    }

    fn batch(number: u64, bytes: usize) -> Batch {
        Batch::begin(Vec::new(), (stream(1), SENDER), true, (Moment::ZERO, number), &vec![7; bytes])
    }

    #[test]
    fn messages_that_follow_one_another_leave_together() {
        let mut batch = batch(5, 100);
        let added = (6..50).take_while(|&number| batch.add(stream(1), number, true, &[8; 100])).count();
        assert_eq!(added, 9);
        let (packet, _) = batch.into_packet();
        assert_eq!(packet.kind, Kind::Batch(5));
        let read: Vec<_> = messages(packet.body).map(|message| message.unwrap()[0]).collect();
        assert_eq!(read, [7, 8, 8, 8, 8, 8, 8, 8, 8, 8]);
    }

    #[test]
    fn one_message_leaves_as_it_is() {
        for bytes in [0, 1, 0x7f, 0x80, ALONE_BYTES - 1] {
            let (packet, buffer) = batch(5, bytes).into_packet();
            assert_eq!(packet, Packet::new(stream(1), SENDER, Kind::Numbered(5), vec![7; bytes].into()));
            assert!(buffer.capacity() >= BATCH_BYTES_MAX, "it is used again");
        }
    }

    #[test]
    fn nothing_else_is_added() {
        let mut batch = batch(5, 100);
        assert!(!batch.add(stream(1), 5, true, &[]), "again");
        assert!(!batch.add(stream(1), 7, true, &[]), "one is missing");
        assert!(!batch.add(stream(2), 6, true, &[]), "another stream");
        assert!(!batch.add(stream(1), 6, false, &[]), "nobody wants it any more");
        assert!(!batch.add(stream(1), 6, true, &[0; BATCH_BYTES_MAX - 102]), "no room");
        assert!(batch.add(stream(1), 6, true, &[]));
    }

    #[test]
    fn no_run_is_longer_than_allowed() {
        for bytes in 0..ALONE_BYTES {
            let mut batch = batch(1, bytes);
            let count =
                (2..2_000).take_while(|&number| batch.add(stream(1), number, true, &vec![1; bytes])).count();
            assert!(count >= 1, "{bytes}");
            assert!(batch.into_packet().0.body.len() <= BATCH_BYTES_MAX, "{bytes}");
        }
    }
}
