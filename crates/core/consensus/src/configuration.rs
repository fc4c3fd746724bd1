//! The configuration of a group: the members that vote, as of a position of the log.

use std::collections::BTreeSet;

use base::NodeKey;
use raft::eraftpb::ConfState;

use crate::change::{Change, Role};

/// The voters of a group, as of a position of its log.
///
/// Positions are ordered by [`Configuration::version`]: of two configurations of one group the one
/// with the greater version was appended by the later leader, or later by the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The term of the log entry, or of the snapshot, that contained it.
    pub term: u64,
    /// The index of that entry or snapshot.
    pub index: u64,
    /// The voters.
    pub voters: BTreeSet<NodeKey>,
    /// In a joint step, the previous voters, of whom a majority must agree as well. Otherwise
    /// empty.
    pub outgoing: BTreeSet<NodeKey>,
}

impl Configuration {
    /// The configuration with which a group starts.
    pub fn initial(voters: BTreeSet<NodeKey>) -> Self {
        Self { term: 1, index: crate::log::FOUNDING_INDEX, voters, outgoing: BTreeSet::new() }
    }

    /// Term and index: orders the configurations of one group.
    pub fn version(&self) -> (u64, u64) {
        (self.term, self.index)
    }

    /// Whether the voters for which `agrees` returns true are a majority, and in a joint step also
    /// a majority of the previous voters. An empty set of voters has no majority.
    pub fn is_majority(&self, agrees: impl Fn(NodeKey) -> bool) -> bool {
        let most =
            |voters: &BTreeSet<NodeKey>| voters.iter().filter(|key| agrees(**key)).count() > voters.len() / 2;
        most(&self.voters) && (self.outgoing.is_empty() || most(&self.outgoing))
    }

    /// Whether the node is a voter, in a joint step also if it is a previous one.
    pub fn is_voter(&self, key: NodeKey) -> bool {
        self.voters.contains(&key) || self.outgoing.contains(&key)
    }

    pub(crate) fn of(conf: &ConfState, (term, index): (u64, u64)) -> Self {
        let set = |keys: &[u64]| keys.iter().copied().map(NodeKey).collect();
        Self { term, index, voters: set(conf.get_voters()), outgoing: set(conf.get_voters_outgoing()) }
    }

    /// The configuration after an entry with these changes; `None` if the library refuses them, as
    /// it does at every member alike.
    pub(crate) fn changed(&self, changes: &[Change], (term, index): (u64, u64)) -> Option<Self> {
        let joint = !self.outgoing.is_empty();
        let mut next = Self { term, index, ..self.clone() };
        match changes {
            [] if joint => next.outgoing.clear(),
            [] => return None,
            _ if joint => return None,
            [_] => {}
            _ => next.outgoing.clone_from(&self.voters),
        }
        for change in changes {
            match *change {
                Change::Set(key, Role::Voter) => drop(next.voters.insert(key)),
                Change::Set(key, Role::Learner) | Change::Remove(key) => drop(next.voters.remove(&key)),
            }
        }
        (!next.voters.is_empty()).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(keys: &[u64]) -> BTreeSet<NodeKey> {
        keys.iter().copied().map(NodeKey).collect()
    }

    #[test]
    fn a_joint_step_needs_a_majority_of_both_sides() {
        let one = Configuration::initial(keys(&[1]));
        let add = |key| Change::Set(NodeKey(key), Role::Voter);
        let joint = one.changed(&[add(2), add(3)], (2, 9)).expect("a step");
        assert_eq!(
            (joint.version(), &joint.voters, &joint.outgoing),
            ((2, 9), &keys(&[1, 2, 3]), &keys(&[1]))
        );
        assert!(!joint.is_majority(|key| key.0 > 1), "the old voter is missing");
        assert!(!joint.is_majority(|key| key.0 == 1), "one of three");
        assert!(joint.is_majority(|key| key.0 < 3));
        assert_eq!(joint.changed(&[add(4)], (2, 10)), None, "one step at a time");
        let left = joint.changed(&[], (2, 10)).expect("the end of the step");
        assert!(left.outgoing.is_empty() && left.is_majority(|key| key.0 > 1));
        assert_eq!(left.changed(&[], (2, 11)), None);
        assert_eq!(one.changed(&[Change::Remove(NodeKey(1))], (2, 9)), None, "somebody has to vote");
        assert!(!Configuration::default().is_majority(|_| true));
    }
}
