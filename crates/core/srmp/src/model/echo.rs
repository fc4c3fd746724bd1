//! The answer to a time stamp.

use super::{MemberId, Stamp};

/// The answer to a receiver's report, in a bundle, from which that receiver has its round-trip time (RFC 4410, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Whose report.
    pub receiver: MemberId,
    /// The stamp of its report, plus the time that the sender held it.
    pub stamp: Stamp,
    /// The receiver is the current limiting receiver.
    pub is_clr: bool,
}
