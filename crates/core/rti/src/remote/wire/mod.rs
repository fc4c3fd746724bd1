//! What nodes say to each other about objects and interactions, in octets.
//!
//! Numbers are varints (LEB128, as in Protocol Buffers), handles among them; octets have their length in front. Values are
//! slices of what came in: nothing is copied. All that comes in is checked.

mod codec;
mod event;
mod letter;
mod packet;

pub(crate) use codec::{Reader, Writer};
pub(crate) use event::{Head, Load, Record, RecordedAttribute, Saying, Spoken, Subject};
pub(crate) use letter::{Declaration, Letter, SubscribedAttribute};
pub(crate) use packet::{Kind, PACKET_OVERHEAD, messages, put_message};
pub use packet::{NetTopic, Packet};

#[cfg(test)]
mod tests;
