//! Outputs of the machine.

use base::NodeKey;
use bytes::Bytes;
use raft::eraftpb::ConfState;

use crate::replicated::Replicated;

base::id! {
    /// The number of a proposal among those of its proposer: 1, 2, 3 and so on.
    pub struct Serial(u64) as "#";
}

/// A decision, the same at all members and in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// A proposal.
    Entry {
        /// The proposer.
        from: NodeKey,
        /// Its number among the proposer's proposals: always one more than that of the previous
        /// one.
        serial: Serial,
        /// The body that was proposed.
        body: Bytes,
    },
    /// The state of the application at another member. It replaces the state here, and so covers
    /// all entries that this node has not seen, its own proposals among them.
    Restore(Bytes),
}

/// An event for the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The log is long, or a peer lags behind it: take everything committed, then call
    /// [`snapshot_point`](super::Consensus::snapshot_point), and
    /// [`provide_snapshot`](super::Consensus::provide_snapshot) when the state of that moment is
    /// encoded.
    SnapshotWanted,
    /// There is another leader, or none.
    Leader(Option<NodeKey>),
    /// The set of [`members`](super::Consensus::members) or the role of one of them has changed.
    Members,
    /// Contact with a majority came or went ([`has_quorum`](super::Consensus::has_quorum)).
    Quorum(bool),
    /// This node is no longer a member and will not be one again under this key. Proposals that
    /// were not committed here may or may not have been committed elsewhere.
    Removed,
}

/// A moment in the log, for which the application prepares its state.
#[derive(Debug)]
pub struct SnapshotPoint {
    pub(super) index: u64,
    pub(super) term: u64,
    pub(super) conf: ConfState,
    pub(super) replicated: Replicated,
    /// Octets of the entries applied up to there since the snapshot before.
    pub(super) applied_bytes: usize,
}

/// The reason why a snapshot was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The state cannot be the latest: the owner has not taken everything that is committed.
    #[error("{left} committed entries were not yet taken")]
    NotDrained {
        /// Number of decisions that are left.
        left: usize,
    },
    /// The state is larger than [`crate::SNAPSHOT_BYTES_MAX`].
    #[error("snapshot of {len} bytes, the limit is {}", crate::SNAPSHOT_BYTES_MAX)]
    TooLarge {
        /// Its length in bytes.
        len: usize,
    },
    /// A membership change of several steps is under way, or this node leaves. The snapshot is
    /// requested again if it is still needed.
    #[error("the membership is changing")]
    Changing,
    /// A later snapshot has been taken or received meanwhile.
    #[error("there is a later snapshot")]
    Outdated,
    /// This node is not a member; only members have a state.
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
    /// Bytes of these entries.
    pub log_bytes: usize,
    /// Index of the current snapshot; 0: none.
    pub snapshot: u64,
    /// Own proposals that are not yet committed.
    pub waiting: usize,
    /// Bytes of these proposals.
    pub waiting_bytes: usize,
    /// Proposals in the log that were dropped because they were duplicates or came too early.
    pub duplicates: u64,
}
