//! Both wire formats behind one set of types.
//!
//! Reading goes in steps, so that nothing is believed before it is checked: [`Format::decode`] looks at the header alone and
//! gives an [`Envelope`]; [`auth`](crate::auth), or [`Envelope::without_protection`] where a group has no keys, turns it into a
//! [`Packet`]; [`Packet::records`] reads the records, lazily and in place. Whatever is wrong is a [`WireError`] with its
//! position, and with a [`Fault`](crate::Fault) to count it by.
//!
//! Writing goes through a [`Writer`], which knows the room left, reserves space for announcements, and fills header and
//! announcements in last. It writes datagrams one after the other into one buffer and allocates again only when that is
//! used up while datagrams of it are still held.
//!
//! All integers are big-endian. Records of a datagram lie back to back without padding.

mod envelope;
mod error;
pub mod float16;
mod format;
mod header;
mod list;
mod packet;
mod record;
#[cfg(test)]
mod tests;
mod v2;
mod v3;
mod writer;

pub use envelope::Envelope;
pub use error::{WireError, WriteError};
pub use format::{
    Format, FormatError, LENGTH_DEFAULT, LENGTH_MIN, LENGTH_UDP_MAX, MODE0_BYTES_MAX_V2, MODE2_BYTES_MAX,
    Protection, TRAILER_BYTES,
};
pub use header::{Flags, Header, Kind};
pub use list::List;
pub use packet::{Packet, Records};
pub use record::{
    Ack, AckStatus, Advertisement, Congestion, Digest, Echo, Feedback, FeedbackFlags, Held, Index,
    LoggerFlags, LoggerState, Mode0, Mode1, Mode1Flags, Mode2, Nack, Origin, Pending, Probe, Record,
    SIGNATURE_BYTES, Signature,
};
pub use writer::Writer;
