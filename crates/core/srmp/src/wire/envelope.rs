//! A datagram of which only the header has been read.

use super::error::WireError;
use super::format::{Format, Protection, TRAILER_BYTES};
use super::header::{Flags, Header};
use super::packet::Packet;
use super::{v2, v3};
use crate::model::Profile;
use bytes::Bytes;

/// A datagram of which only the header has been read. It becomes a [`Packet`] once it is
/// authenticated, or at once in a group without keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub(super) profile: Profile,
    pub(super) header: Header,
    /// The bytes that the tag covers: all but the tag.
    pub(super) covered: Bytes,
    pub(super) tag: Option<[u8; TRAILER_BYTES]>,
}

impl Format {
    /// Reads the header of a datagram in constant time, without trusting it.
    ///
    /// # Errors
    /// [`WireError`] when the header is invalid. In v2, bytes after the end that a bundle or mode 2
    /// message gives are ignored, since RFC 4410 does not forbid them. In v3 the datagram must have
    /// exactly the length that it gives.
    pub fn decode(&self, datagram: &Bytes) -> Result<Envelope, WireError> {
        let Some(&first) = datagram.first() else {
            return Err(WireError::Short { need: 1, got: 0 });
        };
        let version = first >> 4;
        match (self.profile(), version) {
            (Profile::V2, 2) => v2::open(datagram, self.protection() != Protection::None),
            (Profile::V3, 3) => v3::open(datagram, self.session()),
            (_, 2 | 3) => Err(WireError::OtherProfile { got: version }),
            _ => Err(WireError::Version { at: 0, got: version }),
        }
    }
}

impl Envelope {
    /// The header, which is not authenticated.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The bytes that the tag covers.
    pub fn covered(&self) -> &Bytes {
        &self.covered
    }

    /// The tag, if it has one.
    pub fn tag(&self) -> Option<&[u8; TRAILER_BYTES]> {
        self.tag.as_ref()
    }

    /// The packet, in a group without keys.
    ///
    /// # Errors
    /// [`WireError::Flags`] when the datagram has a tag, which a group without keys cannot check.
    pub fn without_protection(self) -> Result<Packet, WireError> {
        match self.tag {
            Some(_) => Err(WireError::Flags { got: self.header.flags.bits() }),
            None => Ok(self.proved()),
        }
    }

    /// The packet, after its tag has been verified.
    pub(crate) fn proved(self) -> Packet {
        debug_assert!(!self.header.flags.contains(Flags::ENCRYPTED), "what is encrypted is opened instead");
        Packet { profile: self.profile, header: self.header, bytes: self.covered }
    }

    /// The packet, after decryption; `bytes` are the header and the records in clear text.
    pub(crate) fn opened(self, bytes: Bytes) -> Packet {
        Packet { profile: self.profile, header: self.header, bytes }
    }
}
