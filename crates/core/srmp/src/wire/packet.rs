//! An authenticated datagram and its records.

use super::error::WireError;
use super::header::Header;
use super::record::{Origin, Record};
use super::{v2, v3};
use crate::model::Profile;
use bytes::Bytes;

/// A datagram whose records may be read: authenticated, or of a group without keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub(super) profile: Profile,
    pub(super) header: Header,
    /// The header and the records.
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

    /// The bytes of the datagram without the tag.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The records in order, except that announcements come last. See [`Records`].
    pub fn records(&self) -> Records<'_> {
        match self.profile {
            Profile::V2 => v2::records(self),
            Profile::V3 => v3::records(self),
        }
    }
}

/// The records of a packet.
///
/// An error concerns one record, and is to be counted. Reading goes on: after a bad value, or an
/// unknown kind in v3, with the next record, and after any other error with the announcements. It
/// always ends.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    pub(super) packet: &'a Packet,
    pub(super) stage: Stage,
    pub(super) at: usize,
    /// The end of the records: the end of the packet, or the first record that cannot be delimited.
    pub(super) end: usize,
    /// Whether announcements were skipped, so that a second pass has to read them.
    pub(super) passed: bool,
    /// The source of the relayed records that follow.
    pub(super) origin: Option<Origin>,
}

/// The next part to read.
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
