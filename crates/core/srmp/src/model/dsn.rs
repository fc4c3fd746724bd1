//! References to a version of a data element, and to parts of it.

use super::{DataId, Sn};

/// `dataID, SN, NoSegs` (RFC 4410, section 3.2): one version of a data element. Bundles announce
/// the newest versions in this form, and mode 1 data carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Dsn {
    /// The data element, one of the sender of the bundle.
    pub data: DataId,
    /// The number of the version.
    pub sn: Sn,
    /// The number of segments, at least 2, or 0 when the message is not segmented. Never 1: a 1 on
    /// the wire is read as 0.
    pub segments: u16,
}

impl Dsn {
    /// An unsegmented version.
    pub const fn whole(data: DataId, sn: Sn) -> Self {
        Self { data, sn, segments: 0 }
    }
}

/// The part of a message that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// The whole message.
    Whole,
    /// One segment, counted from 0.
    Index(u16),
}

/// One repair request of a NACK (RFC 4410, section 3.7).
///
/// RFC 4410's format has no field for the segment, although its text needs one. Profile v2 puts the
/// segment into the seven bits that elsewhere hold the number of segments; all ones stand for the
/// whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NackItem {
    /// The data element, one of the member that is asked.
    pub data: DataId,
    /// The missing version; a newer one answers the request as well.
    pub sn: Sn,
    /// The missing part.
    pub segment: Segment,
}
