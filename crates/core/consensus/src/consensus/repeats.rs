//! Entries that are sent again to a follower. While the library does not know where the log of a
//! follower ends, it repeats the entries after the supposed end at every answer to a heartbeat.
//! Heartbeats overtake entries, which are longer. So on a slow link the copies would be queued faster
//! than they leave, and delay everything behind them.

use std::time::Duration;

use base::{Moment, NodeKey};
use raft::ProgressState;
use raft::eraftpb::{Message, MessageType};

use super::Consensus;
use crate::proposals::DOUBLINGS;

/// Entries on their way to a follower whose log the leader does not know yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntriesTrip {
    /// The term of the leader, and the index before the entries.
    after: (u64, u64),
    since: Moment,
    /// The time that the follower has to answer before the entries are repeated.
    wait: Duration,
}

impl Consensus {
    /// Whether a message of the library repeats entries that the follower has hardly had the time
    /// to answer. Records the ones that do not. The library takes the message for lost, and repeats
    /// it at the next answer to a heartbeat.
    ///
    /// The wait doubles, because nobody knows how slow the link is. It does not grow beyond that of
    /// proposals: copies may also be lost without a sign of it, and a member that hears heartbeats
    /// must not lack the log for long.
    pub(super) fn repeats_too_early(&mut self, message: &Message) -> bool {
        if message.get_msg_type() != MessageType::MsgAppend || message.get_entries().is_empty() {
            return false;
        }
        let (now, first, to) = (self.now, self.config.retry, NodeKey(message.to));
        let state = self.node.raft.prs().get(message.to).map(|progress| progress.state);
        if state != Some(ProgressState::Probe) {
            self.entries_trips.remove(&to);
            return false;
        }
        // A refusal or a success moves the index, and what follows is no repetition.
        let after = (message.term, message.index);
        match self.entries_trips.get_mut(&to).filter(|trip| trip.after == after) {
            Some(trip) if now.since(trip.since) < trip.wait => return true,
            Some(trip) => {
                trip.since = now;
                trip.wait = trip.wait.saturating_mul(2).min(first.saturating_mul(1 << DOUBLINGS));
            }
            None => {
                self.entries_trips.retain(|key, _| self.roles.contains_key(key));
                self.entries_trips.insert(to, EntriesTrip { after, since: now, wait: first });
            }
        }
        false
    }

    /// Paths between nodes have changed. Messages that were on their way may be lost, so followers that
    /// lack entries are sent them again at once.
    pub fn handle_paths_changed(&mut self) {
        self.entries_trips.clear();
    }
}
