//! What a sender counts.

/// What a sender counts of mode 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Messages accepted.
    pub messages: u64,
    /// Messages replaced by a newer one before all of them was sent.
    pub superseded: u64,
    /// Messages and segments sent for the first time.
    pub pieces_new: u64,
    /// Messages of which something was sent again because somebody asked.
    pub messages_repaired: u64,
    /// Messages and segments sent again because somebody asked.
    pub pieces_repaired: u64,
    /// Messages and segments sent a second time before anybody asked.
    pub pieces_copied: u64,
    /// Versions announced.
    pub announced: u64,
    /// Bundles sent for trailing announcements alone.
    pub trailing: u64,
    /// Wishes received.
    pub nacks: u64,
    /// Of these, wishes that came to this member alone: of loggers, and of members that went past theirs.
    pub nacks_of_loggers: u64,
    /// Wishes for what was sent a moment ago, or waits to be sent.
    pub nacks_held_off: u64,
    /// Wishes for versions never sent.
    pub nacks_future: u64,
    /// Wishes for data elements never sent.
    pub nacks_unknown: u64,
    /// Wishes ignored because everything is being sent.
    pub nacks_swept: u64,
    /// Times that everything was sent because most of it was asked for.
    pub sweeps: u64,
}
