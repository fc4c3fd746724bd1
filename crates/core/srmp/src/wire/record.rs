//! The contents of datagrams, the same for both profiles.

use super::list::List;
pub use crate::model::Echo;
use crate::model::{DataId, Dsn, Epoch, MemberId, NackItem, Sn, Stamp, StreamKey, Transaction};
use bytes::Bytes;
use std::time::Duration;

/// Bytes of an Ed25519 signature.
pub const SIGNATURE_BYTES: usize = 64;

/// One record of a datagram. Bodies are slices of the datagram and lists are views of it, so that
/// reading copies nothing.
///
/// The fields of the bundle header of profile v2 are read and written as records too: [`Echo`],
/// [`Congestion`] and the announcements.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// A best-effort message.
    Mode0(Mode0),
    /// A message, or a segment of one, that is reliable as long as it is the newest.
    Mode1(Mode1),
    /// The newest versions of the sender's data elements. Always read last, so that a datagram's
    /// own messages are not reported missing because of its announcements.
    Announcements(List<'a, Dsn>),
    /// Requests for missing data.
    Nack(Nack<'a>),
    /// A receiver's time stamp, sent back.
    Echo(Echo),
    /// The sender's congestion control.
    Congestion(Congestion),
    /// A receiver's report to a sender.
    Feedback(Feedback),
    /// A message to one member.
    Mode2(Mode2),
    /// Its acknowledgement.
    Ack(Ack),
    /// A digest of all of a sender's state; v3.
    Digest(Digest),
    /// A logger's notice that it is fetching data which others miss; v3.
    Pending(Pending),
    /// A logger's advertisement, or a candidate's claim to become the logger; v3.
    Advertisement(Advertisement),
    /// A request for a [`Record::Reply`] with the same content; v3.
    Probe(Probe),
    /// The answer to a [`Record::Probe`]; v3.
    Reply(Probe),
    /// The state that a joining member has already, for each origin; v3.
    SyncRequest(List<'a, Held>),
    /// The versions of an origin's data that the sender of the datagram holds; v3.
    Index(Index<'a>),
    /// The end of a state transfer; v3.
    SyncEnd {
        /// The number of messages sent.
        sent: u32,
    },
    /// The sender leaves the group; v3.
    Leave,
}

/// A best-effort message (RFC 4410, section 3.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode0 {
    /// The subject of the message; 0 in v2, which does not carry it.
    pub stream: StreamKey,
    /// The application's bytes; at most 2047 in v2.
    pub body: Bytes,
}

/// The member that first sent the data which a logger relays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The source.
    pub member: MemberId,
    /// The source's epoch at that time.
    pub epoch: Epoch,
}

bitflags::bitflags! {
    /// The reason why mode 1 data is sent again, for statistics. v2 does not carry it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Mode1Flags: u8 {
        /// A receiver asked for it.
        const REPAIR = 1;
        /// A receiver is likely to ask for it.
        const COPY = 2;
    }
}

/// An Ed25519 signature of a mode 1 message or segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature(pub [u8; SIGNATURE_BYTES]);

/// A mode 1 message or one segment of it (RFC 4410, section 3.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode1 {
    /// The source if it is not the sender of the datagram; v3 datagrams with the flag `RELAY`.
    pub origin: Option<Origin>,
    /// The version of the data element.
    pub dsn: Dsn,
    /// The number of the segment, below `dsn.segments`; 0 when the message is not segmented.
    pub index: u16,
    /// The reason why it is sent.
    pub flags: Mode1Flags,
    /// The application's bytes.
    pub body: Bytes,
    /// The source's signature; v3.
    pub signature: Option<Signature>,
}

/// Requests for missing data (RFC 4410, section 3.7). In v2 each item is a NACK of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nack<'a> {
    /// The source of the data.
    pub origin: MemberId,
    /// The source's epoch; 0 in v2.
    pub epoch: Epoch,
    /// The missing versions and segments.
    pub items: List<'a, NackItem>,
}

/// The sender's congestion control (RFC 4410, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Congestion {
    /// `X_supp` in bit/s: receivers that would report a higher rate stay silent. Infinite while
    /// there is no limit.
    pub suppress: f64,
    /// `R_max`: the longest round-trip time of a receiver. At most 4294 s.
    pub rtt_max: Duration,
    /// The allowed rate in bit/s; v3.
    pub rate: Option<f64>,
    /// The mean size of a bundle in bytes; v3.
    pub mean_bytes: Option<u16>,
    /// The number of this bundle among those to the whole group, modulo 2^16, by which receivers
    /// measure loss. v3 needs it because it numbers every datagram, and not every datagram goes to
    /// all members. 0 in v2, where only bundles are numbered.
    pub bundle: u16,
}

bitflags::bitflags! {
    /// The state of a receiver in its report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct FeedbackFlags: u8 {
        /// The receiver has measured its round-trip time.
        const HAVE_RTT = 1;
        /// The receiver has lost bundles, so that its rate comes from the equation.
        const HAVE_LOSS = 2;
        /// The receiver leaves the group.
        const LEAVING = 4;
    }
}

/// A receiver's report (RFC 4410, section 3.3); the receiver is the sender of the datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The sender that the report is for.
    pub sender: MemberId,
    /// The sender's round that the report answers, modulo 16.
    pub round: u8,
    /// The state of the receiver.
    pub flags: FeedbackFlags,
    /// `X_r`: the rate that the receiver calculates, in bit/s.
    pub rate: f64,
    /// The loss event rate, from 0 to 1; v3.
    pub loss: Option<f64>,
    /// The receiver's round-trip time; v3.
    pub rtt: Option<Duration>,
    /// The sender's last time stamp, plus the time for which the receiver held it.
    pub echo: Stamp,
    /// The receiver's clock at the time of sending.
    pub stamp: Stamp,
}

/// A message to one member (RFC 4410, section 3.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode2 {
    /// Its number.
    pub transaction: Transaction,
    /// Its data element.
    pub data: DataId,
    /// The application's bytes. Never empty, since an empty message is an acknowledgement in v2.
    pub body: Bytes,
}

/// The outcome of a mode 2 message; always `Delivered` in v2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AckStatus {
    /// An application has received it.
    Delivered,
    /// No application takes such messages.
    NotWanted,
    /// The receiver is too busy now.
    Busy,
    /// A status that a later version defines.
    Other(u16),
}

/// The acknowledgement of a mode 2 message (RFC 4410, section 5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The message's number.
    pub transaction: Transaction,
    /// The outcome.
    pub status: AckStatus,
}

/// A digest of a sender's whole mode 1 state. A receiver can tell by it whether it has everything,
/// even while the announcements take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Digest {
    /// The number of active data elements.
    pub active: u32,
    /// The exclusive or of [`Digest::hash`] over these.
    pub hash: u64,
}

impl Digest {
    /// The 64-bit FNV-1a hash of data element and version as on the wire. It protects against
    /// accidents only: an attacker who can forge a datagram can forge this as well.
    pub fn hash(data: DataId, sn: Sn) -> u64 {
        let bytes = data.0.to_be_bytes().into_iter().chain(sn.0.to_be_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

/// A logger's notice that it is fetching a message; it is not to be asked again meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The source of the message.
    pub origin: Origin,
    /// The data element.
    pub data: DataId,
    /// The version.
    pub sn: Sn,
    /// The logger's round-trip time to the member that it asks.
    pub upstream: Duration,
}

/// The state that a logger advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoggerState {
    /// It claims the role of the logger.
    Claim,
    /// It is the logger.
    Active,
    /// It stands by to become the logger next.
    Standby,
    /// It is no longer the logger.
    Resign,
}

bitflags::bitflags! {
    /// The problems of a logger.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct LoggerFlags: u8 {
        /// It is overloaded.
        const OVERLOADED = 1;
        /// It could not keep all data.
        const PARTIAL = 2;
    }
}

/// A logger's advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The state of the logger.
    pub state: LoggerState,
    /// 1 for the logger of a region, 2 for that of a site.
    pub tier: u8,
    /// The rank in the election: the candidate with the greatest one becomes the logger.
    pub rank: u128,
    /// The number of members that ask it.
    pub children: u8,
    /// The problems of the logger.
    pub flags: LoggerFlags,
    /// The logger that it asks; [`MemberId::NOBODY`] for the source.
    pub parent: MemberId,
    /// Its round-trip time to that logger.
    pub parent_rtt: Duration,
}

/// A request for the round-trip time, or its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The number by which the requester recognizes the answer.
    pub nonce: u32,
    /// The requester's clock.
    pub stamp: Stamp,
}

/// Versions of an origin's data that the sender of the datagram can supply. A joining member that
/// receives only some of the messages learns from it what to request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Index<'a> {
    /// The origin, and a digest of all versions held.
    pub held: Held,
    /// Some of the versions.
    pub versions: List<'a, Dsn>,
}

/// The state that a member has of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The source of the data.
    pub origin: Origin,
    /// The digest of the versions held.
    pub digest: Digest,
}
