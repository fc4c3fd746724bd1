//! The header of a datagram.

use crate::model::{Epoch, MemberId, Seq, Stamp};

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Messages, NACKs and announcements, to the group (RFC 4410, section 3.2).
    Bundle,
    /// A report for a sender's congestion control, to the group (RFC 4410, section 3.3).
    Feedback,
    /// A mode 2 message or its acknowledgement, to one address (RFC 4410, section 3.6).
    Mode2,
    /// Traffic between loggers and the members that they serve; v3 only.
    Logger,
    /// State for a joining member; v3 only.
    Sync,
}

impl Kind {
    /// All kinds, in the order of their numbers on the wire.
    pub const ALL: [Kind; 5] = [Kind::Bundle, Kind::Feedback, Kind::Mode2, Kind::Logger, Kind::Sync];

    /// The number of the kind, which is the low half of the first byte.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The kind with this number.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

bitflags::bitflags! {
    /// The flags of a v3 header; empty in v2.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Flags: u8 {
        /// A tag of 16 bytes ends the datagram. The writer sets it.
        const AUTH = 0x80;
        /// The records are encrypted; only with `AUTH`. The writer sets it.
        const ENCRYPTED = 0x40;
        /// The datagram is only for the sender's site.
        const LOCAL = 0x20;
        /// A logger relays mode 1 data of other members; an ORIGIN record precedes it.
        const RELAY = 0x10;
        /// The sender's congestion control allows more than the application sends.
        const APP_LIMITED = 0x08;
        /// The sender leaves the group.
        const LEAVING = 0x04;
    }
}

/// The header of a datagram of either profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind of the datagram.
    pub kind: Kind,
    /// The flags; empty in v2.
    pub flags: Flags,
    /// The sender; [`MemberId::NOBODY`] in mode 2 datagrams of v2, which do not carry it.
    pub sender: MemberId,
    /// The sender's epoch; 0 in v2.
    pub epoch: Epoch,
    /// The datagram's number. In v2 only bundles have one; it is 0 otherwise.
    pub seq: Seq,
    /// The sender's clock at the time of sending; 0 in mode 2 datagrams of v2.
    pub stamp: Stamp,
    /// The sender's feedback round, modulo 16; in v2 only in bundles, and 0 otherwise. A report
    /// carries the round that it answers itself.
    pub round: u8,
    /// The number of the group key that protects the datagram; 0 in v2.
    pub key: u8,
}

impl Header {
    /// Creates a header in which all other fields are zero.
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
