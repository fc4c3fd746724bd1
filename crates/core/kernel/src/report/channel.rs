//! The counters of one end of a channel between routers.

use crate::network::ChannelStatus;
use router::{ClientFlags, DropReason, Priority};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One channel of a link to a neighbour: a client of a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChannelReport {
    /// The node at the other end.
    pub to: String,
    /// The router of the node: router, Primary, PopUp, PullDown.
    pub role: String,
    /// Flags of the client: source, sink, persistent, upper.
    pub flags: String,
    /// Interests that the other end has declared.
    pub interests: usize,
    /// Number of messages that wait.
    pub waiting: usize,
    /// Bytes that wait.
    pub waiting_bytes: usize,
    /// The pipe has exceeded its high-water mark: senders are paused.
    pub congested: bool,
    /// Messages sent so far.
    pub sent_messages: u64,
    /// Bytes sent so far.
    pub sent_bytes: u64,
    /// Messages received so far.
    pub received_messages: u64,
    /// Messages sent per second, recently.
    pub sent_messages_per_s: f64,
    /// Messages dropped so far, by class and reason. Zeros are left out.
    pub dropped: BTreeMap<String, u64>,
}

impl ChannelReport {
    /// The report of a client towards the node called `to`. `rate` is its recent number of messages
    /// per second.
    pub(crate) fn of(to: String, status: &ChannelStatus, rate: f64) -> Self {
        let mut dropped = BTreeMap::new();
        for class in Priority::ALL {
            for reason in [DropReason::Displaced, DropReason::Full, DropReason::Superseded, DropReason::Gone]
            {
                let count = status.stats.dropped(class, reason);
                if count > 0 {
                    dropped.insert(format!("{class:?} {reason:?}").to_lowercase(), count);
                }
            }
        }
        Self {
            to,
            role: status.role.to_owned(),
            flags: flags(status.flags),
            interests: status.interests,
            waiting: status.waiting,
            waiting_bytes: status.waiting_bytes,
            congested: status.congested,
            sent_messages: status.stats.sent_messages,
            sent_bytes: status.stats.sent_bytes,
            received_messages: status.stats.received_messages,
            sent_messages_per_s: rate,
            dropped,
        }
    }
}

/// The names of flags.
pub(super) fn flags(flags: ClientFlags) -> String {
    let names = flags.iter_names().map(|(name, _)| name.to_lowercase());
    names.collect::<Vec<_>>().join("+")
}
