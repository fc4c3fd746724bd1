//! Heartbeats to learners. The library sends heartbeats to all members alike, so a group of a
//! hundred nodes would never be silent.
//!
//! A learner has no vote and starts no election. It needs heartbeats only to know that there is a
//! leader, and to get entries that were lost on the way. So a learner that has everything gets
//! fewer of them.

use std::time::Duration;

use base::NodeKey;
use raft::eraftpb::{Message, MessageType};

use super::Consensus;
use crate::change::Role;
use crate::members::voters_of;

/// Approximate number of learners that get a heartbeat from the leader in one tick.
const LEARNERS_PER_TICK: usize = 5;

impl Consensus {
    /// Interval between two heartbeats to a learner that has the whole log.
    fn learner_beat(&self) -> Duration {
        let learners = self.roles.values().filter(|role| **role == Role::Learner).count();
        let many = u32::try_from(learners / LEARNERS_PER_TICK).unwrap_or(u32::MAX);
        self.config.tick.saturating_mul(many.max(self.config.learner_ticks))
    }

    /// The age from which contact of this node with its leader counts as lost.
    pub(super) fn leader_patience(&self) -> Duration {
        let timeout = self.config.election_timeout();
        match self.roles.get(&self.key) {
            Some(Role::Learner) => 2 * self.learner_beat() + timeout,
            _ => timeout,
        }
    }

    /// Whether a message of the library is a heartbeat to a learner that may wait. Records the ones
    /// that may not.
    pub(super) fn may_wait(&mut self, message: &Message) -> bool {
        let to = NodeKey(message.to);
        if message.get_msg_type() != MessageType::MsgHeartbeat || self.roles.get(&to) != Some(&Role::Learner)
        {
            return false;
        }
        let interval = self.learner_beat();
        let log = &self.node.raft.raft_log;
        let (last, committed) = (log.last_index(), log.committed);
        let progress = self.node.raft.prs().get(message.to);
        let complete = progress.is_some_and(|p| p.matched == last && p.committed_index >= committed);
        let fresh = self.beaten.get(&to).is_some_and(|beaten| self.now.since(*beaten) < interval);
        if complete && fresh && self.has_its_voters() {
            return true;
        }
        self.beaten.insert(to, self.now);
        false
    }

    /// Whether the group has as many voters as it may have, all of them present. Otherwise learners
    /// may soon have to replace voters, and the leader must know that they are present.
    fn has_its_voters(&self) -> bool {
        let voters = || self.roles.iter().filter(|(_, role)| **role == Role::Voter).map(|(key, _)| *key);
        let wanted = voters_of(self.roles.len(), self.config.voters_max);
        let heard = |key: NodeKey| key == self.key || self.is_heard(key);
        !self.is_joint() && self.asked.is_empty() && voters().count() == wanted && voters().all(heard)
    }
}
