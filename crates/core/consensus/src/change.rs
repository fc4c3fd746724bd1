//! Changes of who is a member, and as what.

use base::NodeKey;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2};

/// What a member of a group may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Gets the log and proposes, but does not count for majorities.
    Learner,
    /// Votes for leaders, and is counted when entries are committed.
    Voter,
}

/// One step of the membership, as it stands in the log. One voter at a time, so that the majorities before and after
/// a step have a member in common (Raft dissertation, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The node is a member with this role from now on.
    Set(NodeKey, Role),
    /// The node is no member any more, ever.
    Remove(NodeKey),
}

impl Change {
    /// The form the library puts into its log.
    pub(crate) fn to_raft(self) -> ConfChangeV2 {
        let mut one = ConfChangeSingle::default();
        let (key, kind) = match self {
            Change::Set(key, Role::Voter) => (key, ConfChangeType::AddNode),
            Change::Set(key, Role::Learner) => (key, ConfChangeType::AddLearnerNode),
            Change::Remove(key) => (key, ConfChangeType::RemoveNode),
        };
        one.node_id = key.0;
        one.set_change_type(kind);
        let mut change = ConfChangeV2::default();
        change.mut_changes().push(one);
        change
    }

    /// Reads back what [`Change::to_raft`] made; `None` for anything else.
    pub(crate) fn from_raft(change: &ConfChangeV2) -> Option<Change> {
        let [one] = change.get_changes() else { return None };
        let key = NodeKey(one.node_id);
        if key.0 == 0 || change.enter_joint().is_some() {
            return None;
        }
        Some(match one.get_change_type() {
            ConfChangeType::AddNode => Change::Set(key, Role::Voter),
            ConfChangeType::AddLearnerNode => Change::Set(key, Role::Learner),
            ConfChangeType::RemoveNode => Change::Remove(key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_survive_the_form_of_the_library() {
        let key = NodeKey(9);
        for change in [Change::Set(key, Role::Voter), Change::Set(key, Role::Learner), Change::Remove(key)] {
            assert_eq!(Change::from_raft(&change.to_raft()), Some(change));
        }
        assert_eq!(Change::from_raft(&ConfChangeV2::default()), None);
    }
}
