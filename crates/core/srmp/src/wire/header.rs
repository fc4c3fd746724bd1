//! What every datagram says about itself.

use crate::model::{Epoch, MemberId, Seq, Stamp};

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Messages, NACKs and announcements, to the group (RFC 4410, section 3.2).
    Bundle,
    /// A report for a sender's congestion control, to the group (RFC 4410, section 3.3).
    Feedback,
    /// A mode 2 message or its acknowledgement, to one address (RFC 4410, section 3.6).
    Mode2,
    /// Between loggers and those they serve; v3 only.
    Logger,
    /// State for who joins; v3 only.
    Sync,
}

impl Kind {
    /// All of them, in the order of their numbers on the wire.
    pub const ALL: [Kind; 5] = [Kind::Bundle, Kind::Feedback, Kind::Mode2, Kind::Logger, Kind::Sync];

    /// Its number, the low half of the first byte.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The kind with a number.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

bitflags::bitflags! {
    /// What a v3 header says besides; empty in v2.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Flags: u8 {
        /// A tag of 16 bytes ends the datagram. The writer sets it.
        const AUTH = 0x80;
        /// The records are encrypted; only with `AUTH`. The writer sets it.
        const ENCRYPTED = 0x40;
        /// For the site only.
        const LOCAL = 0x20;
        /// A logger sends mode 1 data of others: an ORIGIN record goes before them.
        const RELAY = 0x10;
        /// The sender's congestion control allows more than the application sends.
        const APP_LIMITED = 0x08;
        /// The sender leaves the group.
        const LEAVING = 0x04;
    }
}

/// The head of a datagram, of either profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// Empty in v2.
    pub flags: Flags,
    /// Who sent it; [`MemberId::NOBODY`] in mode 2 datagrams of v2, which do not say it.
    pub sender: MemberId,
    /// The sender's life; 0 in v2.
    pub epoch: Epoch,
    /// The datagram's number; in v2 only bundles have one, else it is 0.
    pub seq: Seq,
    /// The sender's clock at transmission; 0 in mode 2 datagrams of v2.
    pub stamp: Stamp,
    /// The sender's feedback round, modulo 16; 0 in v2 but for bundles. The round that a report answers is in the report.
    pub round: u8,
    /// Under which group key; 0 in v2.
    pub key: u8,
}

impl Header {
    /// A header with zeros for what is not given.
    pub fn new(kind: Kind, sender: MemberId) -> Self {
        Self {
            kind,
            flags: Flags::empty(),
            sender,
            epoch: Epoch(0),
            seq: Seq(0),
            stamp: Stamp(0),
            round: 0,
            key: 0,
        }
    }
}
