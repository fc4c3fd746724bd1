//! Both wire formats, behind one set of types.
//!
//! Datagrams are read in steps, so that no field is trusted before it is checked.
//! [`Format::decode`] reads only the header and returns an [`Envelope`]. [`auth`](crate::auth)
//! turns it into a [`Packet`], or [`Envelope::without_protection`] does in a group without keys.
//! [`Packet::records`] reads the records, lazily and in place. Every failure is a [`WireError`]
//! with its position and a [`Fault`](crate::Fault) to count it by.
//!
//! Datagrams are written by a [`Writer`]. It knows the room that is left, reserves space for
//! announcements, and fills in header and announcements at the end. It writes one datagram after
//! the other into one buffer, and allocates only when that is used up while its datagrams are still
//! in use.
//!
//! All integers are big-endian. The records of a datagram follow each other without padding.

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
