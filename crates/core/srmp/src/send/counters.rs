//! The counters of a sender.

/// The counters of a sender in mode 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Messages accepted.
    pub messages: u64,
    /// Messages replaced by a newer one before all of their pieces were sent.
    pub superseded: u64,
    /// Messages and segments sent for the first time.
    pub pieces_new: u64,
    /// Messages of which at least one piece was sent again because a receiver asked.
    pub messages_repaired: u64,
    /// Messages and segments sent again because a receiver asked.
    pub pieces_repaired: u64,
    /// Messages and segments sent again before any receiver asked.
    pub pieces_copied: u64,
    /// Versions announced.
    pub announced: u64,
    /// Bundles sent only for trailing announcements.
    pub trailing: u64,
    /// Repair requests received, one for each item of a NACK.
    pub nacks: u64,
    /// Of these, requests by unicast: from loggers, and from members that bypassed their logger.
    pub nacks_of_loggers: u64,
    /// Requests for pieces that were sent a moment ago or wait to be sent.
    pub nacks_held_off: u64,
    /// Requests for versions that were never sent.
    pub nacks_future: u64,
    /// Requests for data elements that were never sent.
    pub nacks_unknown: u64,
    /// Requests ignored because a sweep is sending everything.
    pub nacks_swept: u64,
    /// Sweeps: times that everything was sent because most of it was asked for.
    pub sweeps: u64,
}
