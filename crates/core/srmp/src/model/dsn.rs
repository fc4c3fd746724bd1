//! Which version of which data element, and which part of it.

use super::{DataId, Sn};

/// `dataID, SN, NoSegs` (RFC 4410, section 3.2): the newest version of a data element, as announced in bundles and as carried by
/// mode 1 data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Dsn {
    /// The data element, of the sender of the bundle.
    pub data: DataId,
    /// Its version.
    pub sn: Sn,
    /// In how many segments the message travels, from 2 up; 0 when it is not segmented. Never 1: on the wire a 1 is read as 0.
    pub segments: u16,
}

impl Dsn {
    /// An unsegmented version.
    pub const fn whole(data: DataId, sn: Sn) -> Self {
        Self { data, sn, segments: 0 }
    }
}

/// What of a message is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// All of it.
    Whole,
    /// One segment, from 0.
    Index(u16),
}

/// One wish of a NACK (RFC 4410, section 3.7).
///
/// Profile v2 has no field for the segment although its text needs one: it travels in the seven bits that hold the number of
/// segments elsewhere, all ones for the whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NackItem {
    /// The data element of the member asked.
    pub data: DataId,
    /// The version missed; a newer one answers as well.
    pub sn: Sn,
    /// What of it is missing.
    pub segment: Segment,
}
