//! What is committed: proposals, changes of the membership, snapshots.

use base::NodeKey;
use raft::StateRole;
use raft::eraftpb::{ConfState, Entry, Snapshot};

use super::{Committed, Consensus, Event, Serial};
use crate::change::{Change, Role};
use crate::replicated::{Replicated, Taken};
use crate::wire::{self, Packet, Wish};

impl Consensus {
    /// Applies committed entries, in their order.
    pub(super) fn apply(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.applied_bytes += entry.get_data().len();
            if let Some(change) = wire::change_entry(&entry) {
                self.apply_change(change);
            } else if let Some((from, serial, body)) = wire::proposal_of(&entry.data) {
                if self.replicated.take(from, serial) != Taken::Yes {
                    self.duplicates += 1;
                    continue;
                }
                if from == self.key {
                    self.proposals.committed(serial + 1);
                }
                self.committed.push_back(Committed::Entry { from, serial: Serial(serial), body });
            }
            if self.removed {
                return;
            }
        }
    }

    fn apply_change(&mut self, change: Change) {
        // What cannot be applied, such as the removal of the last voter, is so for every member.
        let Ok(conf) = self.node.apply_conf_change(&change.to_raft()) else { return };
        self.node.mut_store().set_conf(conf.clone());
        self.replicated.change(change);
        self.set_members(&conf);
        let Change::Remove(key) = change else { return };
        if key == self.key {
            self.set_removed();
        } else if self.node.raft.state == StateRole::Leader {
            // From now on the leader is silent towards it; if this gets lost, the node will ask.
            self.send(key, &Packet::Removed);
        }
    }

    /// Replaces everything by a snapshot. The application gets its part.
    pub(super) fn restore(&mut self, snapshot: Snapshot) {
        let (state, application) =
            Replicated::decode(snapshot.data.clone()).expect("snapshots are checked when they come in");
        let conf = snapshot.get_metadata().get_conf_state().clone();
        self.node.mut_store().restore(snapshot);
        self.replicated = state;
        self.applied_bytes = 0;
        if let Some(next) = self.replicated.next_of(self.key) {
            self.proposals.committed(next);
        }
        // What was not yet taken is covered by the state.
        self.committed.clear();
        self.committed.push_back(Committed::Restore(application));
        self.set_members(&conf);
    }

    fn set_members(&mut self, conf: &ConfState) {
        let voters = conf.get_voters().iter().map(|key| (NodeKey(*key), Role::Voter));
        let learners = conf.get_learners().iter().map(|key| (NodeKey(*key), Role::Learner));
        let roles = voters.chain(learners).collect();
        let mut wishes = std::mem::take(&mut self.wishes);
        self.review = true;
        if roles != self.roles {
            self.roles = roles;
            self.events.push_back(Event::Members);
            self.heard.retain(|key, _| self.roles.contains_key(key));
            self.trips.retain(|key, _| self.roles.contains_key(key));
            // A new member has its time to be heard.
            for key in self.roles.keys() {
                self.heard.entry(*key).or_insert(self.now);
            }
        }
        wishes.retain(|key, wish| !self.is_fulfilled(*key, *wish));
        self.wishes = wishes;
        let others = self.roles.len() > 1;
        self.next_tick = match self.next_tick {
            Some(at) if others => Some(at),
            _ => others.then(|| self.now + self.config.tick),
        };
    }

    pub(super) fn is_fulfilled(&self, key: NodeKey, wish: Wish) -> bool {
        let removed = self.replicated.was_removed(key);
        removed || (wish == Wish::Add && self.roles.contains_key(&key))
    }

    /// Whether the log is so long, or a peer so far behind it, that a snapshot is needed.
    pub(super) fn is_snapshot_due(&self) -> bool {
        let log = self.node.store();
        let applied =
            self.node.raft.raft_log.applied - log.snapshot_index().min(self.node.raft.raft_log.applied);
        // After a snapshot a part of the log is kept for those who are a little behind: so it takes some more entries
        // to make another one worth it.
        let (entries_max, bytes_max) = (self.config.log_entries_max, self.config.log_bytes_max);
        let many = log.len() > entries_max && applied as usize >= entries_max / 4;
        let large = log.bytes() > bytes_max && self.applied_bytes >= bytes_max / 4;
        many || large || log.is_snapshot_wanted()
    }

    /// Makes a snapshot of everything applied, drops older entries, and serves those who waited for it.
    pub(super) fn take_snapshot(&mut self, application: &[u8]) {
        let index = self.node.raft.raft_log.applied;
        let mut snapshot = Snapshot::default();
        snapshot.data = self.replicated.encode(application);
        let meta = snapshot.mut_metadata();
        meta.index = index;
        meta.term =
            self.node.store().term_at(index).expect("what is applied is in the log or before its start");
        meta.set_conf_state(self.node.store().conf().clone());
        let (entries, bytes) = (self.config.log_entries_max / 2, self.config.log_bytes_max / 2);
        let store = self.node.mut_store();
        store.compact(snapshot, entries, bytes);
        let waiting = store.take_wanted_by();
        self.applied_bytes = 0;
        self.told.snapshot_wanted = false;
        if self.node.raft.state == StateRole::Leader {
            for peer in waiting {
                if self.node.raft.prs().get(peer).is_some() {
                    self.node.raft.send_append(peer);
                }
            }
        }
    }
}
