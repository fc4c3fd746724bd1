//! The answer to a time stamp.

use super::{MemberId, Stamp};

/// A bundle's answer to one receiver's report, from which the receiver computes its round-trip time
/// (RFC 4410, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// The receiver that sent the report.
    pub receiver: MemberId,
    /// The time stamp of the report, plus the time for which the sender held it.
    pub stamp: Stamp,
    /// The receiver is the current limiting receiver.
    pub is_clr: bool,
}
