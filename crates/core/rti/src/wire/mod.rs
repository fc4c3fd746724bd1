//! Messages between nodes about objects and interactions, and their octets.
//!
//! Numbers, including handles, are varints (LEB128, as in Protocol Buffers). Octet strings are
//! preceded by their length. Values are slices of the received buffer: nothing is copied. All input
//! is checked.

mod event;
mod ownership;
mod packet;
mod payload;
mod peer_message;
mod region;

pub(crate) use event::{Framed, Position, Record, RecordedAttribute, StreamEvent, View, Watermark};
pub(crate) use ownership::{
    Delivery, NoticeKind, OwnedAttribute, OwnershipAction, OwnershipDecision, OwnershipRequest,
};
pub(crate) use packet::{
    FilteredMessage, Kind, PACKET_OVERHEAD, StreamId, class as read_class, filtered_messages, messages,
    put_class, put_message,
};
pub use packet::{NetTopic, Packet};
pub(crate) use payload::{HandleValue, Payload, Values};
pub(crate) use peer_message::{
    Asked, Declaration, ObjectMessage, PeerMessage, StreamMessage, SubscribedAttribute,
};

pub(crate) use region::{DimensionRange, Region, RegionSet, Specification};

pub(crate) use base::Writer;

/// Numbers are varints.
pub(crate) type Reader = base::Reader<base::Varint>;

#[cfg(test)]
mod tests;
