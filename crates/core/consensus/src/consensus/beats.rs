//! Heartbeats to learners. The library sends them to all members alike; a group of a hundred nodes would never be silent.
//!
//! A learner has no vote and starts no election: it needs to hear its leader only to know that there is one, and to get what
//! was lost on its way. So one that has everything hears less often.

use std::time::Duration;

use base::NodeKey;
use raft::eraftpb::{Message, MessageType};

use super::Consensus;
use crate::change::Role;
use crate::members::voters_of;

/// Learners that a leader sends a heartbeat to in one tick, about.
const LEARNERS_PER_TICK: usize = 5;

impl Consensus {
    /// Time between two heartbeats to a learner that has everything.
    fn learner_beat(&self) -> Duration {
        let learners = self.roles.values().filter(|role| **role == Role::Learner).count();
        let many = u32::try_from(learners / LEARNERS_PER_TICK).unwrap_or(u32::MAX);
        self.config.tick.saturating_mul(many.max(self.config.learner_ticks))
    }

    /// How old the contact of this node with its leader may be.
    pub(super) fn leader_patience(&self) -> Duration {
        let timeout = self.config.election_timeout();
        match self.roles.get(&self.key) {
            Some(Role::Learner) => 2 * self.learner_beat() + timeout,
            _ => timeout,
        }
    }

    /// Whether a message of the library is a heartbeat to a learner that may wait. Takes note of those that may not.
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

    /// As many voters as there may be, all of them there. Otherwise learners may have to take their place soon, and must be
    /// known to be there.
    fn has_its_voters(&self) -> bool {
        let voters = || self.roles.iter().filter(|(_, role)| **role == Role::Voter).map(|(key, _)| *key);
        let wanted = voters_of(self.roles.len(), self.config.voters_max);
        let heard = |key: NodeKey| key == self.key || self.is_heard(key);
        !self.is_joint() && self.asked.is_empty() && voters().count() == wanted && voters().all(heard)
    }
}
