//! The format of a group's datagrams, and the length of everything in them.

use super::header::Kind;
use super::record::{Mode1, Record, SIGNATURE_BYTES};
use super::{v2, v3};
use crate::model::Profile;

/// `LENGTH_MAX`: bytes of the longest bundle by default (RFC 4410, section 3.2). The RFC calls it
/// the Ethernet MTU without the headers of IP and UDP, although that is 1472.
pub const LENGTH_DEFAULT: usize = 1454;

/// The shortest limit that can be configured for datagrams, in bytes.
pub const LENGTH_MIN: usize = 256;

/// Bytes of the longest UDP payload over IPv4. It is the limit of mode 2 datagrams, which rely on
/// IP fragmentation.
pub const LENGTH_UDP_MAX: usize = 65_507;

/// Bytes of the longest mode 0 message of v2, whose length field has 11 bits (RFC 4410,
/// section 3.4).
pub const MODE0_BYTES_MAX_V2: usize = 2_047;

/// Bytes of the longest mode 2 message, in either profile.
pub const MODE2_BYTES_MAX: usize = 65_000;

/// Bytes of the tag that ends a protected datagram.
pub const TRAILER_BYTES: usize = 16;

/// The protection of datagrams, the same in the whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Protection {
    /// No protection.
    #[default]
    None,
    /// A tag; records stay readable. RFC 4410 does not know tags: in v2 the tag follows the end of
    /// the bundle, and all members must use it.
    Mac,
    /// Encryption and a tag; v3 only.
    Encrypted,
}

/// An invalid format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The limit of datagrams is out of bounds.
    #[error("datagrams of {got} bytes: the limit must be from {LENGTH_MIN} to {LENGTH_UDP_MAX}")]
    Length {
        /// The given limit in bytes.
        got: usize,
    },
    /// Profile v2 has no encryption.
    #[error("profile v2 cannot be encrypted")]
    Encryption,
}

/// The format of a group's datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    profile: Profile,
    session: u32,
    length_max: usize,
    protection: Protection,
}

impl Format {
    /// Creates a format.
    ///
    /// `session` is the [tag](crate::auth::session_tag) of session and group that every v3 datagram
    /// carries. `length_max` is the most bytes of a datagram including its tag, by default
    /// [`LENGTH_DEFAULT`]. To avoid IP fragmentation it must not exceed the path's MTU less 28
    /// (IPv4) or 48 (IPv6).
    ///
    /// # Errors
    /// [`FormatError`] when the limit is out of bounds, or when the profile does not support the
    /// protection.
    pub fn new(
        profile: Profile,
        session: u32,
        length_max: usize,
        protection: Protection,
    ) -> Result<Self, FormatError> {
        if !(LENGTH_MIN..=LENGTH_UDP_MAX).contains(&length_max) {
            return Err(FormatError::Length { got: length_max });
        }
        if profile == Profile::V2 && protection == Protection::Encrypted {
            return Err(FormatError::Encryption);
        }
        Ok(Self { profile, session, length_max, protection })
    }

    /// The profile.
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// The tag of session and group.
    pub const fn session(&self) -> u32 {
        self.session
    }

    /// The most bytes of a datagram, except in mode 2.
    pub const fn length_max(&self) -> usize {
        self.length_max
    }

    /// The protection of datagrams.
    pub const fn protection(&self) -> Protection {
        self.protection
    }

    /// Bytes of the tag: 0 or [`TRAILER_BYTES`].
    pub const fn trailer_bytes(&self) -> usize {
        match self.protection {
            Protection::None => 0,
            Protection::Mac | Protection::Encrypted => TRAILER_BYTES,
        }
    }

    /// Bytes of a bundle's header without announcements.
    pub const fn header_bytes(&self) -> usize {
        match self.profile {
            Profile::V2 => v2::BUNDLE_HEAD_BYTES,
            Profile::V3 => v3::HEAD_BYTES,
        }
    }

    /// The most bytes of a datagram of this kind.
    pub(super) const fn limit(&self, kind: Kind) -> usize {
        match kind {
            Kind::Mode2 => LENGTH_UDP_MAX,
            _ => self.length_max,
        }
    }

    /// Bytes of `count` announcements.
    pub const fn announcements_bytes(&self, count: usize) -> usize {
        match (self.profile, count) {
            (Profile::V2, _) => v2::DSN_BYTES * count,
            (Profile::V3, 0) => 0,
            (Profile::V3, _) => v3::RECORD_HEAD_BYTES + v3::DSN_BYTES * count,
        }
    }

    /// The number of announcements that fit into `room` bytes and into a bundle. At most 255 in v2;
    /// RFC 4410 says 255 twice and 256 once.
    pub fn announcements_in(&self, room: usize) -> usize {
        let fit = room.min(self.bundle_room(0));
        match self.profile {
            Profile::V2 => (fit / v2::DSN_BYTES).min(v2::DSN_MAX),
            Profile::V3 => fit.saturating_sub(v3::RECORD_HEAD_BYTES) / v3::DSN_BYTES,
        }
    }

    /// Bytes left for records in an empty bundle with `announcements` announcements.
    pub const fn bundle_room(&self, announcements: usize) -> usize {
        let taken = self.header_bytes() + self.announcements_bytes(announcements) + self.trailer_bytes();
        self.length_max.saturating_sub(taken)
    }

    /// Bytes of the longest mode 0 message that fits into a bundle beside `announcements`
    /// announcements and the control records: 1298 in v2 with 32 announcements and the default
    /// limit.
    pub fn mode0_bytes_max(&self, announcements: usize) -> usize {
        let room = self.bundle_room(announcements);
        match self.profile {
            Profile::V2 => room.saturating_sub(v2::MODE0_HEAD_BYTES).min(MODE0_BYTES_MAX_V2),
            Profile::V3 => room.saturating_sub(v3::CONTROL_BYTES + v3::MODE0_HEAD_BYTES),
        }
    }

    /// Bytes of a segment of a mode 1 message, so that it fits into a bundle beside `announcements`
    /// announcements and the control records. In v3 there is also room for the origin, so that a
    /// logger can relay the segment unchanged. 1294 in v2 with 32 announcements and the default
    /// limit.
    pub fn segment_bytes(&self, announcements: usize, signed: bool) -> usize {
        let room = self.bundle_room(announcements);
        match self.profile {
            Profile::V2 => room.saturating_sub(v2::MODE1_HEAD_BYTES).min(v2::MODE1_BYTES_MAX),
            Profile::V3 => room.saturating_sub(
                v3::CONTROL_BYTES
                    + v3::ORIGIN_BYTES
                    + v3::MODE1_HEAD_BYTES
                    + if signed { SIGNATURE_BYTES } else { 0 },
            ),
        }
    }

    /// Bytes that a record takes of a datagram's room; 0 for records that lie in the header in v2.
    /// For relayed data they include the ORIGIN record, which is written only once for consecutive
    /// records.
    pub fn record_bytes(&self, record: &Record<'_>) -> usize {
        match self.profile {
            Profile::V2 => v2::record_bytes(record),
            Profile::V3 => v3::record_bytes(record),
        }
    }

    /// Bytes that a mode 0 message with a body of `body` bytes takes of a bundle's room.
    pub const fn mode0_bytes(&self, body: usize) -> usize {
        body + match self.profile {
            Profile::V2 => v2::MODE0_HEAD_BYTES,
            Profile::V3 => v3::MODE0_HEAD_BYTES,
        }
    }

    /// Bytes that a mode 1 message or segment takes of a bundle's room.
    pub fn mode1_bytes(&self, message: &Mode1) -> usize {
        match self.profile {
            Profile::V2 => v2::MODE1_HEAD_BYTES + message.body.len(),
            Profile::V3 => v3::mode1_bytes(message),
        }
    }

    /// Bytes that a NACK of `items` items takes of a bundle's room.
    pub const fn nack_bytes(&self, items: usize) -> usize {
        match self.profile {
            Profile::V2 => v2::NACK_BYTES * items,
            Profile::V3 => v3::NACK_HEAD_BYTES + v3::NACK_ITEM_BYTES * items,
        }
    }
}
