//! What comes out of the machine.

use base::NodeKey;
use bytes::Bytes;

base::id! {
    /// The number of a proposal among those of one node: 1, 2, 3 and so on.
    pub struct Serial(u64) as "#";
}

/// Something decided, the same at all members and in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// A proposal.
    Entry {
        /// Who proposed it.
        from: NodeKey,
        /// Its number there: always one more than the last one from there.
        serial: Serial,
        /// What was proposed.
        body: Bytes,
    },
    /// The state of the application at another member: it replaces the one here, and with it all entries that this
    /// node has not seen, its own proposals among them.
    Restore(Bytes),
}

/// Something the owner should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The log is long, or a peer lags behind it: take everything committed, then call
    /// [`provide_snapshot`](super::Consensus::provide_snapshot).
    SnapshotWanted,
    /// Another leader, or none.
    Leader(Option<NodeKey>),
    /// [`members`](super::Consensus::members) are others, or have other roles.
    Members,
    /// Contact with a majority came or went ([`has_quorum`](super::Consensus::has_quorum)).
    Quorum(bool),
    /// This node is no member any more and will not be one again under this key. Proposals that were not committed
    /// here may or may not have been.
    Removed,
}

/// Why a snapshot was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The state cannot be the latest: not everything committed was taken.
    #[error("{left} committed entries were not yet taken")]
    NotDrained {
        /// How many.
        left: usize,
    },
    /// Larger than [`crate::SNAPSHOT_BYTES_MAX`].
    #[error("snapshot of {len} bytes, the limit is {}", crate::SNAPSHOT_BYTES_MAX)]
    TooLarge {
        /// Its length.
        len: usize,
    },
    /// Only members have a state.
    #[error("this node is not a member of a group")]
    NoMember,
}

/// Figures of one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The term: it grows by one with every election.
    pub term: u64,
    /// Index of the last entry known to be committed.
    pub commit: u64,
    /// Index of the last entry applied.
    pub applied: u64,
    /// Entries in memory.
    pub log_entries: usize,
    /// Their bytes.
    pub log_bytes: usize,
    /// Index of the snapshot at hand, 0 for none.
    pub snapshot: u64,
    /// Own proposals that are not yet committed.
    pub waiting: usize,
    /// Their bytes.
    pub waiting_bytes: usize,
    /// Proposals that stood in the log once more, or too early, and were dropped.
    pub duplicates: u64,
}
