//! Read access for the owner.

use std::collections::BTreeMap;

use base::NodeKey;
use raft::StateRole;

use super::{Consensus, Serial, Status};
use crate::change::Role;
use crate::configuration::Configuration;

impl Consensus {
    /// The leader, as far as this node knows. `None` also if this node has not heard its leader for
    /// two election timeouts; a learner allows somewhat longer.
    pub fn leader(&self) -> Option<NodeKey> {
        let fresh = self.is_leader() || self.now.since(self.led_at) < self.leader_patience() * 2;
        self.last_leader().filter(|_| fresh && !self.removed)
    }

    /// The last known leader. It may be long gone: a learner never campaigns.
    pub(super) fn last_leader(&self) -> Option<NodeKey> {
        let key = self.node.raft.leader_id;
        (key != 0).then_some(NodeKey(key))
    }

    /// Whether this node is the leader.
    pub fn is_leader(&self) -> bool {
        !self.removed && self.node.raft.state == StateRole::Leader
    }

    /// The members as of the last entry applied here, by key. Empty for a joiner that is not yet a
    /// member.
    pub fn members(&self) -> &BTreeMap<NodeKey, Role> {
        &self.roles
    }

    /// The voters as of the last entry that was appended to the log of this node, committed or not.
    /// A node has appended every entry that it acknowledges. So an owner that stores this
    /// configuration before messages leave knows every configuration that the node took part in.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// This node.
    pub fn key(&self) -> NodeKey {
        self.key
    }

    /// The serial that the next proposal of this node to be committed will have. All earlier ones
    /// are committed, here or in a snapshot. 1 for a joiner.
    pub fn next_serial(&self) -> Serial {
        Serial(self.replicated.next_of(self.key).unwrap_or(1))
    }

    /// Whether this node was removed. It no longer does anything; start a new one with a new key.
    pub fn is_removed(&self) -> bool {
        self.removed
    }

    /// Whether this node was in contact with a majority within the election timeout: directly as
    /// leader, or through the leader. A learner hears its leader less often, and waits longer
    /// before it reports the loss. Without a quorum, proposals wait.
    pub fn has_quorum(&self) -> bool {
        if self.removed || !self.roles.contains_key(&self.key) {
            return false;
        }
        if !self.is_leader() {
            return self.leader().is_some() && self.now.since(self.led_at) < self.leader_patience();
        }
        if self.now.since(self.led_since) < self.config.election_timeout() {
            return true;
        }
        let voters = || self.roles.iter().filter(|(_, role)| **role == Role::Voter).map(|(key, _)| *key);
        let heard = voters().filter(|key| *key == self.key || self.is_heard(*key)).count();
        heard > voters().count() / 2
    }

    /// Figures for operators.
    pub fn status(&self) -> Status {
        let raft = &self.node.raft;
        Status {
            term: raft.term,
            commit: raft.raft_log.committed,
            applied: raft.raft_log.applied,
            log_entries: raft.raft_log.store.len(),
            log_bytes: raft.raft_log.store.bytes(),
            snapshot: raft.raft_log.store.snapshot_index(),
            waiting: self.proposals.len(),
            waiting_bytes: self.proposals.bytes(),
            duplicates: self.duplicates,
        }
    }
}

impl std::fmt::Debug for Consensus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consensus")
            .field("key", &self.key)
            .field("leader", &self.leader())
            .field("members", &self.roles)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
