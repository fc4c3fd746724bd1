//! Changes of the membership: its members and their roles.

use base::NodeKey;
use raft::eraftpb::{ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2};

/// The rights of a member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Gets the log and proposes, but does not count for majorities.
    Learner,
    /// Votes for leaders, and is counted when entries are committed.
    Voter,
}

/// A change of the membership of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The node is a member with this role from now on.
    Set(NodeKey, Role),
    /// The node is no longer a member, and never becomes one again.
    Remove(NodeKey),
}

impl Change {
    pub(crate) fn key(self) -> NodeKey {
        match self {
            Change::Set(key, _) | Change::Remove(key) => key,
        }
    }
}

/// One membership change as the library writes it into its log. A single change takes effect at
/// once. With several changes the group is joint until the next membership change: majorities of
/// the old voters and of the new ones must both agree (Raft dissertation, section 4.3). A
/// membership change without any change ends the joint phase.
pub(crate) fn to_raft(changes: &[Change]) -> ConfChangeV2 {
    let mut step = ConfChangeV2::default();
    for change in changes {
        let mut one = ConfChangeSingle { node_id: change.key().0, ..ConfChangeSingle::default() };
        one.set_change_type(match change {
            Change::Set(_, Role::Voter) => ConfChangeType::AddNode,
            Change::Set(_, Role::Learner) => ConfChangeType::AddLearnerNode,
            Change::Remove(_) => ConfChangeType::RemoveNode,
        });
        step.mut_changes().push(one);
    }
    if changes.len() > 1 {
        step.set_transition(ConfChangeTransition::Explicit);
    }
    step
}

/// Reads the result of [`to_raft`] back; `None` for anything else.
pub(crate) fn from_raft(step: &ConfChangeV2) -> Option<Vec<Change>> {
    let changes: Vec<Change> = step
        .get_changes()
        .iter()
        .map(|one| {
            let key = NodeKey(one.node_id);
            match one.get_change_type() {
                ConfChangeType::AddNode => Change::Set(key, Role::Voter),
                ConfChangeType::AddLearnerNode => Change::Set(key, Role::Learner),
                ConfChangeType::RemoveNode => Change::Remove(key),
            }
        })
        .collect();
    (to_raft(&changes) == *step).then_some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_the_form_of_the_library() {
        let (a, b) = (NodeKey(9), NodeKey(8));
        let one = [Change::Set(a, Role::Voter)];
        let two = [Change::Set(a, Role::Learner), Change::Remove(b)];
        for changes in [&one[..], &two, &[]] {
            assert_eq!(from_raft(&to_raft(changes)).as_deref(), Some(changes));
        }
        assert_eq!(to_raft(&one).enter_joint(), None);
        assert_eq!(to_raft(&two).enter_joint(), Some(false));
        assert!(to_raft(&[]).leave_joint());
    }
}
