//! Actions driven by time: elections, heartbeats, and repeating messages that may be lost.

use std::time::Duration;

use base::{Moment, NodeKey};
use raft::{ProgressState, SnapshotStatus};

use super::Consensus;
use crate::wire::Packet;

/// The longest time that a follower has to take in a snapshot.
const SNAPSHOT_RETRY_MAX: Duration = Duration::from_secs(60);
/// Number of members that are probed at a time.
const PROBES: usize = 3;

/// A snapshot in transit to a follower. The library would wait for an answer forever.
#[derive(Clone, Copy, Debug)]
pub(super) struct SnapshotTrip {
    since: Option<Moment>,
    wait: Duration,
}

impl Consensus {
    /// Does the work that is due at `now`. It ticks once at most, so that a node that was stopped
    /// for a while does not take its own pause for silence of the others.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.at(now);
        let Some(due) = self.next_tick.filter(|due| *due <= self.now && !self.removed) else { return };
        let next = due + self.config.tick;
        self.next_tick = Some(if next > self.now { next } else { self.now + self.config.tick });
        self.node.tick();
        self.review = true;
        self.proposals.retry(self.now, self.config.retry);
        self.check_snapshots();
        self.probe();
        self.pump();
    }

    /// Reports that `key` cannot be reached. If it is the leader, this node does not wait for the
    /// rest of the shortest election timeout, and votes for others despite that leader. If the
    /// leader is alive after all, nothing comes of it: the members that hear it elect nobody else,
    /// and its next heartbeat ends the suspicion.
    pub fn suspect(&mut self, now: Moment, key: NodeKey) {
        self.at(now);
        let raft = &mut self.node.raft;
        if !self.removed && raft.leader_id == key.0 && key != self.key {
            raft.election_elapsed = raft.election_elapsed.max(raft.election_timeout());
        }
    }

    /// Has the library resend snapshots that followers did not take in on time.
    fn check_snapshots(&mut self) {
        if !self.is_leader() {
            return;
        }
        let (now, first) = (self.now, self.config.snapshot_retry);
        for key in self.roles.keys() {
            match self.node.raft.prs().get(key.0).map(|progress| progress.state) {
                Some(ProgressState::Snapshot) => {
                    let trip = self.trips.entry(*key).or_insert(SnapshotTrip { since: None, wait: first });
                    let since = *trip.since.get_or_insert(now);
                    if now.since(since) >= trip.wait {
                        trip.since = None;
                        trip.wait = (trip.wait * 2).min(SNAPSHOT_RETRY_MAX);
                        self.node.report_snapshot(key.0, SnapshotStatus::Failure);
                    }
                }
                Some(ProgressState::Probe) => {
                    if let Some(trip) = self.trips.get_mut(key) {
                        trip.since = None;
                    }
                }
                _ => {
                    self.trips.remove(key);
                }
            }
        }
    }

    /// Asks some members, in turn, whether this node is still one of them, if it has heard no
    /// leader for a while.
    fn probe(&mut self) {
        let timeout = self.config.election_timeout();
        if self.has_quorum() || self.is_leader() {
            self.probe_at = self.now + timeout * 3;
            return;
        }
        if self.now < self.probe_at || !self.roles.contains_key(&self.key) {
            return;
        }
        self.probe_at = self.now + timeout;
        let applied = self.node.raft.raft_log.applied;
        let others: Vec<NodeKey> = self.roles.keys().filter(|key| **key != self.key).copied().collect();
        let start = others.partition_point(|key| *key <= self.probed);
        for key in others.iter().cycle().skip(start).take(PROBES.min(others.len())) {
            self.send(*key, &Packet::Probe { applied });
            self.probed = *key;
        }
    }
}
