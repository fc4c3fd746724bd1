//! Limits of the object plane over many nodes.

use std::time::Duration;

/// Limits of the object plane over many nodes.
#[derive(Clone, Debug)]
pub struct NetworkLimits {
    /// Bytes of messages that this node keeps for repairs, for all its streams together. Default 64
    /// MiB.
    pub history_bytes: usize,
    /// How long a message is kept at most. Default 30 s.
    pub history_age: Duration,
    /// Bytes of messages that wait behind a gap, per stream. Messages beyond it are dropped and
    /// requested again. Default 8 MiB.
    pub reorder_bytes: usize,
    /// The same for all streams together. While memory for links is bounded by less than four times
    /// as much, a quarter of that bound applies. Default 64 MiB.
    pub reorder_bytes_total: usize,
    /// A gap younger than this may still be closed by a message that took another path. Default 20
    /// ms.
    pub reorder_wait: Duration,
    /// Approximate bytes of instances in one part of a snapshot, and of messages in one repair.
    /// Default 256 KiB.
    pub part_bytes: usize,
    /// How long a new stream is kept from its beginning, for nodes that have yet to learn of it.
    /// Default 5 s.
    pub begin_kept: Duration,
    /// Messages of a stream after which the sender decides again which followers get only the part of
    /// it that they want. Default 64.
    pub filter_window: u32,
    /// How long a new home waits for instances of a dead node before it frees the names of those
    /// that no node had. Default 5 s.
    pub adoption_wait: Duration,
}

impl Default for NetworkLimits {
    fn default() -> Self {
        Self {
            history_bytes: 64 << 20,
            history_age: Duration::from_secs(30),
            reorder_bytes: 8 << 20,
            reorder_bytes_total: 64 << 20,
            reorder_wait: Duration::from_millis(20),
            part_bytes: 256 << 10,
            begin_kept: Duration::from_secs(5),
            filter_window: 64,
            adoption_wait: Duration::from_secs(5),
        }
    }
}
