//! Messages between nodes about objects and interactions, and their octets.
//!
//! Numbers are varints (LEB128, as in Protocol Buffers), handles among them; octets have their length in front. Values are
//! slices of what came in: nothing is copied. All that comes in is checked.

mod codec;
mod event;
mod packet;
mod payload;
mod peer_message;

pub(crate) use codec::{Reader, Writer};
pub(crate) use event::{Framed, Position, Record, RecordedAttribute, StreamEvent, Watermark};
pub(crate) use packet::{Kind, PACKET_OVERHEAD, StreamId, messages, put_message};
pub use packet::{NetTopic, Packet};
pub(crate) use payload::{HandleValue, Payload, RegionSet, Values};
pub(crate) use peer_message::{Declaration, ObjectMessage, PeerMessage, StreamMessage, SubscribedAttribute};

#[cfg(test)]
mod tests;
