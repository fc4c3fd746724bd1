//! What datagrams carry, the same for both profiles.

use super::list::List;
pub use crate::model::Echo;
use crate::model::{DataId, Dsn, Epoch, MemberId, NackItem, Sn, Stamp, StreamKey, Transaction};
use bytes::Bytes;
use std::time::Duration;

/// Bytes of an Ed25519 signature.
pub const SIGNATURE_BYTES: usize = 64;

/// One thing that a datagram says. Bodies are slices of the datagram, lists are views of it: reading copies nothing.
///
/// What profile v2 has in its bundle header is read, and written, as records too: [`Echo`], [`Congestion`] and the announcements.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// A best-effort message.
    Mode0(Mode0),
    /// A message, or a segment of one, that is reliable as long as it is the newest.
    Mode1(Mode1),
    /// The newest versions of the sender's data elements. Always read last: what a datagram carries is never missed for
    /// what it announces.
    Announcements(List<'a, Dsn>),
    /// What somebody misses.
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
    /// All of a sender's state in a few bytes; v3.
    Digest(Digest),
    /// A logger is fetching what others miss; v3.
    Pending(Pending),
    /// A logger shows itself, or wants to become one; v3.
    Advertisement(Advertisement),
    /// Asks for a [`Record::Reply`] with the same content; v3.
    Probe(Probe),
    /// Answers a [`Record::Probe`]; v3.
    Reply(Probe),
    /// What who joins has already, per origin; v3.
    SyncRequest(List<'a, Held>),
    /// What somebody has of an origin, version by version; v3.
    Index(Index<'a>),
    /// That was all: so many messages; v3.
    SyncEnd {
        /// Messages sent.
        sent: u32,
    },
    /// The sender leaves the group; v3.
    Leave,
}

/// A best-effort message (RFC 4410, section 3.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode0 {
    /// What it is about; 0 in v2, which does not carry it.
    pub stream: StreamKey,
    /// The application's bytes: at most 2047 in v2.
    pub body: Bytes,
}

/// Who first sent what a logger passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The source.
    pub member: MemberId,
    /// Its life at that time.
    pub epoch: Epoch,
}

bitflags::bitflags! {
    /// Why mode 1 data is sent once more; for statistics. v2 does not carry it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Mode1Flags: u8 {
        /// Somebody asked for it.
        const REPAIR = 1;
        /// Nobody asked yet, but somebody would.
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
    /// Which version of which data element.
    pub dsn: Dsn,
    /// Which segment, below `dsn.segments`; 0 when it is not segmented.
    pub index: u16,
    /// Why it is sent.
    pub flags: Mode1Flags,
    /// The application's bytes.
    pub body: Bytes,
    /// The source's signature; v3.
    pub signature: Option<Signature>,
}

/// What somebody misses (RFC 4410, section 3.7). In v2 each item is a NACK of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nack<'a> {
    /// Whose data.
    pub origin: MemberId,
    /// In which life; 0 in v2.
    pub epoch: Epoch,
    /// What of it.
    pub items: List<'a, NackItem>,
}

/// The sender's congestion control (RFC 4410, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Congestion {
    /// `X_supp`, bit/s: receivers that would report more stay silent. Infinity: no limit yet.
    pub suppress: f64,
    /// `R_max`: the longest round-trip time of a receiver. At most 4294 s.
    pub rtt_max: Duration,
    /// The rate allowed, bit/s; v3.
    pub rate: Option<f64>,
    /// The mean size of a bundle, bytes; v3.
    pub mean_bytes: Option<u16>,
    /// The number of this bundle among those to the group, modulo 2^16, by which receivers measure loss: v3 numbers every
    /// datagram, and not all go to all. 0 in v2, where bundles have numbers of their own.
    pub bundle: u16,
}

bitflags::bitflags! {
    /// What a report tells besides rates.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct FeedbackFlags: u8 {
        /// The receiver has measured its round-trip time.
        const HAVE_RTT = 1;
        /// The receiver has lost something: its rate comes from the equation.
        const HAVE_LOSS = 2;
        /// The receiver leaves.
        const LEAVING = 4;
    }
}

/// A receiver's report (RFC 4410, section 3.3); the receiver is the sender of the datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// Whom it is for.
    pub sender: MemberId,
    /// The sender's round that it answers, modulo 16.
    pub round: u8,
    /// What it tells besides.
    pub flags: FeedbackFlags,
    /// `X_r`, the rate that the receiver calculates, bit/s.
    pub rate: f64,
    /// The loss event rate, 0 to 1; v3.
    pub loss: Option<f64>,
    /// The receiver's round-trip time; v3.
    pub rtt: Option<Duration>,
    /// The sender's last stamp, plus the time the receiver held it.
    pub echo: Stamp,
    /// The receiver's clock at transmission.
    pub stamp: Stamp,
}

/// A message to one member (RFC 4410, section 3.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode2 {
    /// Its number.
    pub transaction: Transaction,
    /// Its data element.
    pub data: DataId,
    /// The application's bytes: never empty, since an empty one is an acknowledgement in v2.
    pub body: Bytes,
}

/// What became of a mode 2 message; always `Delivered` in v2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AckStatus {
    /// An application has it.
    Delivered,
    /// No application wants it.
    NotWanted,
    /// Not now.
    Busy,
    /// Something that a later version means.
    Other(u16),
}

/// The acknowledgement of a mode 2 message (RFC 4410, section 5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The message's number.
    pub transaction: Transaction,
    /// What became of it.
    pub status: AckStatus,
}

/// All of a sender's mode 1 state in a few bytes, so that a receiver can tell whether it has everything even while the list of
/// announcements goes round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Digest {
    /// How many data elements are active.
    pub active: u32,
    /// The exclusive or of [`Digest::hash`] over them.
    pub hash: u64,
}

impl Digest {
    /// FNV-1a, 64 bits, of data element and version as on the wire. Only against accidents: who can forge a
    /// datagram can forge this.
    pub fn hash(data: DataId, sn: Sn) -> u64 {
        let bytes = data.0.to_be_bytes().into_iter().chain(sn.0.to_be_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

/// A logger is fetching a message: ask it no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Whose message.
    pub origin: Origin,
    /// Which data element.
    pub data: DataId,
    /// Which version.
    pub sn: Sn,
    /// The logger's round-trip time to where it asks.
    pub upstream: Duration,
}

/// What a logger is about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoggerState {
    /// It wants to become the logger.
    Claim,
    /// It is the logger.
    Active,
    /// It is the next.
    Standby,
    /// It is no longer.
    Resign,
}

bitflags::bitflags! {
    /// What is the matter with a logger.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct LoggerFlags: u8 {
        /// It has too much to do.
        const OVERLOADED = 1;
        /// It could not keep everything.
        const PARTIAL = 2;
    }
}

/// A logger shows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// What it is.
    pub state: LoggerState,
    /// 1 for a region's, 2 for a site's.
    pub tier: u8,
    /// Who should be the logger: the greatest.
    pub rank: u128,
    /// How many ask it.
    pub children: u8,
    /// What is the matter with it.
    pub flags: LoggerFlags,
    /// Whom it asks; [`MemberId::NOBODY`] for the source.
    pub parent: MemberId,
    /// Its round-trip time there.
    pub parent_rtt: Duration,
}

/// A question for the round-trip time, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Who asks knows the answer by it.
    pub nonce: u32,
    /// The clock of who asks.
    pub stamp: Stamp,
}

/// Versions that somebody can give of an origin, so that who gets only some of the messages knows what to ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Index<'a> {
    /// How much there is of the origin, and which.
    pub held: Held,
    /// Some of it.
    pub versions: List<'a, Dsn>,
}

/// What somebody has of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Whose data.
    pub origin: Origin,
    /// How much of it, and which.
    pub digest: Digest,
}
