//! State that every member derives from the log alone, besides the state of the application: the
//! nodes that may propose, the proposals that were taken, and the removed nodes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{NodeKey, ReadError, Writer};
use bytes::{BufMut, Bytes, BytesMut};

use crate::change::Change;
use crate::config::{MEMBERS_MAX, TOMBSTONES_MAX};
use crate::wire::{INDEX_MAX, MessageError, Reader};

/// The version of the encoding in snapshots.
const VERSION: u8 = 1;

/// A fold over the log: members that applied the same entries hold the same state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replicated {
    /// For each member, the serial that its next proposal must have.
    serials: BTreeMap<NodeKey, u64>,
    /// Removed nodes, the newest last.
    removed: VecDeque<NodeKey>,
}

/// The decision on a proposal in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The proposal is the next one of its proposer.
    Yes,
    /// The proposal was in the log before.
    Duplicate,
    /// One or more proposals before it are missing.
    Gap,
    /// Its proposer is not a member.
    Stranger,
}

impl Replicated {
    /// The state of a group that `key` has just started.
    pub(crate) fn of_creator(key: NodeKey) -> Self {
        Self::of_group(&BTreeSet::from([key]))
    }

    /// The state of a group that these nodes have just started.
    pub(crate) fn of_group(voters: &BTreeSet<NodeKey>) -> Self {
        Self { serials: voters.iter().map(|key| (*key, 1)).collect(), removed: VecDeque::new() }
    }

    /// Takes a proposal if it is the next one of its proposer. This rule makes proposals apply
    /// exactly once and in order, however often they are in the log.
    pub(crate) fn take(&mut self, from: NodeKey, serial: u64) -> Taken {
        match self.serials.get_mut(&from) {
            None => Taken::Stranger,
            Some(next) if serial < *next => Taken::Duplicate,
            Some(next) if serial > *next => Taken::Gap,
            Some(next) => {
                *next += 1;
                Taken::Yes
            }
        }
    }

    /// Applies a change of the membership.
    pub(crate) fn change(&mut self, change: Change) {
        match change {
            Change::Set(key, _) => {
                self.serials.entry(key).or_insert(1);
            }
            Change::Remove(key) => {
                self.serials.remove(&key);
                if !self.was_removed(key) {
                    self.removed.push_back(key);
                }
                if self.removed.len() > TOMBSTONES_MAX {
                    self.removed.pop_front();
                }
            }
        }
    }

    /// The serial that the next proposal of a member must have.
    pub(crate) fn next_of(&self, key: NodeKey) -> Option<u64> {
        self.serials.get(&key).copied()
    }

    /// Whether the node was removed, as far as the tombstones reach.
    pub(crate) fn was_removed(&self, key: NodeKey) -> bool {
        self.removed.contains(&key)
    }

    /// Encodes the data of a snapshot: this state and that of the application.
    pub(crate) fn encode(&self, application: &[u8]) -> Bytes {
        let len = 9 + self.serials.len() * 16 + self.removed.len() * 8 + application.len();
        let mut out = BytesMut::with_capacity(len);
        out.put_u8(VERSION);
        out.count_le(self.serials.len());
        for (key, next) in &self.serials {
            out.put_u64_le(key.0);
            out.put_u64_le(*next);
        }
        out.count_le(self.removed.len());
        self.removed.iter().for_each(|key| out.put_u64_le(key.0));
        out.put_slice(application);
        out.freeze()
    }

    /// Decodes the data of a snapshot.
    ///
    /// # Errors
    /// A value that no member can have written, with its position in the data.
    pub(crate) fn decode(data: Bytes) -> Result<(Self, Bytes), MessageError> {
        let mut reader = Reader::new(data);
        let got = reader.u8("version of the snapshot")?;
        if got != VERSION {
            return Err(ReadError::Unknown { item: "version of the snapshot", at: 0, value: got }.into());
        }
        let mut state = Self::default();
        let members = reader.count("number of members", 16)?;
        for _ in 0..members {
            let key = NodeKey(reader.number("node key", 1, u64::MAX)?);
            state.serials.insert(key, reader.number("next serial", 1, INDEX_MAX)?);
        }
        let removed = reader.count("number of removed nodes", 8)?;
        if state.serials.len() != members || members > MEMBERS_MAX || removed > TOMBSTONES_MAX {
            return Err(MessageError::Impossible { why: "members of a snapshot", value: members as u64 });
        }
        for _ in 0..removed {
            state.removed.push_back(NodeKey(reader.number("node key", 1, u64::MAX)?));
        }
        Ok((state, reader.rest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Role;
    use proptest::prelude::*;

    const A: NodeKey = NodeKey(1);
    const B: NodeKey = NodeKey(2);

    #[test]
    fn a_proposal_is_taken_once_in_order_and_from_members_only() {
        let mut state = Replicated::of_creator(A);
        assert_eq!(state.take(A, 2), Taken::Gap);
        assert_eq!(state.take(A, 1), Taken::Yes);
        assert_eq!(state.take(A, 1), Taken::Duplicate);
        assert_eq!(state.take(B, 1), Taken::Stranger);
        state.change(Change::Set(B, Role::Learner));
        assert_eq!(state.take(B, 1), Taken::Yes);
        state.change(Change::Set(B, Role::Voter));
        assert_eq!(state.next_of(B), Some(2), "a new role is no new start");
        state.change(Change::Remove(B));
        assert_eq!(state.take(B, 2), Taken::Stranger);
        assert!(state.was_removed(B));
    }

    #[test]
    fn only_so_many_removed_nodes_are_remembered() {
        let mut state = Replicated::of_creator(A);
        for key in 10..10 + TOMBSTONES_MAX as u64 + 1 {
            state.change(Change::Remove(NodeKey(key)));
            state.change(Change::Remove(NodeKey(key)));
        }
        assert!(!state.was_removed(NodeKey(10)));
        assert!(state.was_removed(NodeKey(11)));
    }

    proptest! {
        #[test]
        fn a_snapshot_gives_back_what_went_in(
            members in proptest::collection::btree_map(1u64.., 1..INDEX_MAX, 0..9),
            removed in proptest::collection::btree_set(1u64.., 0..9),
            application: Vec<u8>,
        ) {
            let serials = members.into_iter().map(|(key, next)| (NodeKey(key), next)).collect();
            let state = Replicated { serials, removed: removed.into_iter().map(NodeKey).collect() };
            let data = state.encode(&application);
            let (again, rest) = Replicated::decode(data.clone()).unwrap();
            prop_assert_eq!(again, state);
            prop_assert_eq!(&rest[..], &application[..]);
            for cut in 0..data.len() - application.len() {
                prop_assert!(Replicated::decode(data.slice(..cut)).is_err());
            }
        }
    }
}
