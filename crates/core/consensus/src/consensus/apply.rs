//! Applying committed entries: proposals, changes of the membership, and snapshots.

use std::collections::{BTreeMap, BTreeSet};

use base::NodeKey;
use raft::StateRole;
use raft::eraftpb::{ConfState, Entry, Snapshot};

use super::{Committed, Consensus, Event, Serial, SnapshotPoint};
use crate::change::{self, Change, Role};
use crate::configuration::Configuration;
use crate::replicated::{Replicated, Taken};
use crate::wire::{self, MemberRequest, Packet};

impl Consensus {
    /// Applies committed entries in their order.
    pub(super) fn apply(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            if self.farewell.is_some() {
                return;
            }
            self.applied_bytes += entry.get_data().len();
            if let Some(changes) = wire::changes_of(&entry) {
                self.apply_changes(&changes, (entry.term, entry.index));
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

    fn apply_changes(&mut self, changes: &[Change], version: (u64, u64)) {
        if self.is_leader() && self.roles.len() > 1 && self.ends_me(changes) {
            self.farewell = Some(version.1);
            return;
        }
        // Changes that cannot be applied, such as the removal of the last voter, fail at every
        // member alike.
        let Ok(mut conf) = self.node.apply_conf_change(&change::to_raft(changes)) else { return };
        conf.mut_voters().sort_unstable();
        conf.mut_learners().sort_unstable();
        let before = std::mem::replace(&mut self.roles, roles_of(&conf));
        self.applied_configuration = Configuration::of(&conf, version);
        self.configuration_stale = true;
        self.node.mut_store().set_conf(conf);
        let strangers = changes.iter().filter(|change| matches!(change, Change::Remove(_)));
        let gone: BTreeSet<NodeKey> = before
            .keys()
            .copied()
            .chain(strangers.map(|change| change.key()))
            .filter(|key| !self.roles.contains_key(key))
            .collect();
        for change in changes.iter().filter(|change| matches!(change, Change::Set(..))) {
            self.replicated.change(*change);
        }
        for key in &gone {
            self.replicated.change(Change::Remove(*key));
            if self.node.raft.state == StateRole::Leader {
                // From now on the leader is silent towards that node. If this message is lost, the
                // node will probe.
                self.send(*key, &Packet::Removed);
            }
        }
        self.members_changed(&before);
        if gone.contains(&self.key) {
            self.set_removed();
        }
    }

    /// Whether these changes end the membership of this node.
    fn ends_me(&self, changes: &[Change]) -> bool {
        let (conf, me) = (self.node.store().conf(), self.key.0);
        let votes = conf.get_voters().contains(&me);
        let learns = conf.get_learners().contains(&me) || conf.get_learners_next().contains(&me);
        match changes {
            [] => conf.get_voters_outgoing().contains(&me) && !votes && !learns,
            [one] => *one == Change::Remove(self.key),
            // A voter stays until the joint step ends.
            _ => changes.contains(&Change::Remove(self.key)) && !votes,
        }
    }

    /// Replaces the whole state by a snapshot, and passes the application its part.
    pub(super) fn restore(&mut self, snapshot: Snapshot) {
        let (state, application) =
            Replicated::decode(snapshot.data.clone()).expect("snapshots are checked when they come in");
        let meta = snapshot.get_metadata();
        let (conf, version) = (meta.get_conf_state().clone(), (meta.term, meta.index));
        self.applied_configuration = Configuration::of(&conf, version);
        self.configuration_stale = true;
        self.node.mut_store().restore(snapshot);
        self.replicated = state;
        self.applied_bytes = 0;
        if let Some(next) = self.replicated.next_of(self.key) {
            self.proposals.committed(next);
        }
        // The snapshot covers everything that the owner has not yet taken.
        self.committed.clear();
        self.committed.push_back(Committed::Restore(application));
        let before = std::mem::replace(&mut self.roles, roles_of(&conf));
        self.members_changed(&before);
    }

    /// Updates all state that depends on the membership.
    pub(super) fn members_changed(&mut self, before: &BTreeMap<NodeKey, Role>) {
        self.review = true;
        if self.roles != *before {
            self.events.push_back(Event::Members);
            self.heard.retain(|key, _| self.roles.contains_key(key));
            self.beaten.retain(|key, _| self.roles.contains_key(key));
            self.trips.retain(|key, _| self.roles.contains_key(key));
            // A new member counts as just heard, so that it has time to speak.
            for key in self.roles.keys() {
                self.heard.entry(*key).or_insert(self.now);
            }
        }
        let mut requests = std::mem::take(&mut self.requests);
        requests.retain(|key, request| !self.is_fulfilled(*key, *request));
        self.requests = requests;
        let others = self.roles.len() > 1;
        let first = self.next_tick.unwrap_or(self.now + self.config.tick);
        self.next_tick = others.then_some(first);
    }

    pub(super) fn is_fulfilled(&self, key: NodeKey, request: MemberRequest) -> bool {
        let removed = self.replicated.was_removed(key);
        removed || (request == MemberRequest::Add && self.roles.contains_key(&key))
    }

    /// Whether a membership change with several changes is under way. A snapshot cannot represent
    /// it.
    pub(super) fn is_joint(&self) -> bool {
        !self.node.store().conf().get_voters_outgoing().is_empty()
    }

    /// Whether a snapshot is needed, because the log is long or a peer is far behind it.
    pub(super) fn is_snapshot_due(&self) -> bool {
        if self.farewell.is_some() || self.is_joint() {
            return false;
        }
        let log = self.node.store();
        let applied =
            self.node.raft.raft_log.applied - log.snapshot_index().min(self.node.raft.raft_log.applied);
        // After a snapshot a part of the log is kept for peers that are a little behind. Another
        // snapshot is worth its cost only after some more entries.
        let (entries_max, bytes_max) = (self.config.log_entries_max, self.config.log_bytes_max);
        let many = log.len() > entries_max && applied as usize >= entries_max / 4;
        let large = log.bytes() > bytes_max && self.applied_bytes >= bytes_max / 4;
        many || large || log.is_snapshot_wanted()
    }

    /// The moment after everything applied; none while a snapshot cannot represent the membership.
    pub(super) fn point(&self) -> Option<SnapshotPoint> {
        if self.farewell.is_some() || self.is_joint() {
            return None;
        }
        let (log, index) = (self.node.store(), self.node.raft.raft_log.applied);
        Some(SnapshotPoint {
            index,
            term: log.term_at(index).expect("what is applied is in the log or before its start"),
            conf: log.conf().clone(),
            replicated: self.replicated.clone(),
            applied_bytes: self.applied_bytes,
        })
    }

    /// Makes a snapshot of everything applied up to a point, drops older entries, and serves the
    /// peers that waited for it.
    pub(super) fn take_snapshot(&mut self, point: SnapshotPoint, application: &[u8]) {
        let data = point.replicated.encode(application);
        let mut snapshot = Snapshot { data, ..Snapshot::default() };
        let meta = snapshot.mut_metadata();
        (meta.index, meta.term) = (point.index, point.term);
        meta.set_conf_state(point.conf);
        let (entries, bytes) = (self.config.log_entries_max / 2, self.config.log_bytes_max / 2);
        let store = self.node.mut_store();
        store.compact(snapshot, entries, bytes);
        let waiting = store.take_wanted_by();
        // A restored state began the count again.
        self.applied_bytes = self.applied_bytes.saturating_sub(point.applied_bytes);
        if self.node.raft.state == StateRole::Leader {
            for peer in waiting {
                if self.node.raft.prs().get(peer).is_some() {
                    self.node.raft.send_append(peer);
                }
            }
        }
    }
}

/// The members of a configuration. A node that votes before or after a joint step is a voter.
fn roles_of(conf: &ConfState) -> BTreeMap<NodeKey, Role> {
    let with = |keys: &[u64], role| keys.iter().map(move |key| (NodeKey(*key), role)).collect::<Vec<_>>();
    let mut roles = BTreeMap::from_iter(with(conf.get_learners(), Role::Learner));
    roles.extend(with(conf.get_voters_outgoing(), Role::Voter));
    roles.extend(with(conf.get_voters(), Role::Voter));
    roles
}
