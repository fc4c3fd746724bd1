//! Logical time in the report.

use rti::TimeStatus;
use serde::{Deserialize, Serialize};

/// The state of a federate in logical time. Times are in the form of people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeReport {
    /// Its logical time.
    pub time: String,
    /// The actual lookahead, if the federate regulates time.
    pub lookahead: Option<String>,
    /// Whether it is time-constrained.
    pub constrained: bool,
    /// The request that it waits for.
    pub pending: Option<String>,
    /// Its greatest available logical time, if defined.
    pub galt: Option<String>,
    /// The least time stamp that it may still receive, if defined.
    pub lits: Option<String>,
    /// Messages in time-stamp order that wait for its logical time.
    pub queued: usize,
    /// Names of the federates that hold it up: the first holds up the federate, the second the
    /// first, and so on.
    pub waits_for: Vec<String>,
}

impl TimeReport {
    pub(super) fn of(status: &TimeStatus) -> Self {
        let TimeStatus { time, lookahead, constrained, pending, galt, lits, queued, waits_for } =
            status.clone();
        Self { time, lookahead, constrained, pending, galt, lits, queued, waits_for }
    }
}
