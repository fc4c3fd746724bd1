//! A datagram that may be believed, and its records.

use super::error::WireError;
use super::header::Header;
use super::record::{Origin, Record};
use super::{v2, v3};
use crate::model::Profile;
use bytes::Bytes;

/// A datagram that may be read: proved, or of a group that proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub(super) profile: Profile,
    pub(super) header: Header,
    /// Header and records.
    pub(super) bytes: Bytes,
}

impl Packet {
    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Its bytes without the tag.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Its records in order, but announcements last. See [`Records`].
    pub fn records(&self) -> Records<'_> {
        match self.profile {
            Profile::V2 => v2::records(self),
            Profile::V3 => v3::records(self),
        }
    }
}

/// The records of a packet. An error is to be counted; what can be read comes nevertheless: after a bad value and, in v3, after an
/// unknown kind the next record, after anything else the announcements. It always ends.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    pub(super) packet: &'a Packet,
    pub(super) stage: Stage,
    pub(super) at: usize,
    /// Where records end: the end of the packet, or the first that cannot be delimited.
    pub(super) end: usize,
    /// Announcements were passed over, so that it is worth coming back for them.
    pub(super) passed: bool,
    /// Of relayed records that follow.
    pub(super) origin: Option<Origin>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Echo,
    Congestion,
    Body,
    Announcements,
    Done,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.packet.profile {
            Profile::V2 => v2::next(self),
            Profile::V3 => v3::next(self),
        }
    }
}

impl std::iter::FusedIterator for Records<'_> {}
