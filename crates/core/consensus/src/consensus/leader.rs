//! Following a leader, and leading.

use std::collections::BTreeMap;

use base::NodeKey;
use bytes::Bytes;

use super::Consensus;
use crate::change::{self, Change, Role};
use crate::members::{Joint, Seen, Step, View};
use crate::replicated::Replicated;
use crate::wire::{self, MemberRequest, Packet, REQUESTS_MAX};

/// Largest number of entries that a follower may lack and still count as following.
const FOLLOWS_WITHIN: u64 = 64;

/// The leader's decision on a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// The proposal is now in the log.
    Yes,
    /// The proposal was in the log before.
    Before,
    /// Not taken: earlier ones are missing, there is no room, or the leadership is being handed
    /// over.
    No,
}

impl Consensus {
    /// Records the current leader.
    pub(super) fn follow_leader(&mut self) {
        let term = self.node.raft.term;
        if !self.is_leader() {
            self.admission = None;
            self.hands_over = false;
            self.asked.clear();
            self.trips.clear();
            self.entries_trips.clear();
        } else if self.admission.as_ref().is_none_or(|(led, _)| *led != term) {
            self.admission = Some((term, self.fold_log()));
            self.hands_over = false;
            self.review = true;
            self.led_since = self.now;
        }
        let to = self.last_leader().map(|leader| (leader, term));
        if self.proposals.set_leader(to) {
            self.ask_at = self.now;
        }
    }

    /// The fold of the log up to its end. The log of a leader only grows while it leads, so this
    /// fold shows which proposals need not be taken again.
    fn fold_log(&self) -> Replicated {
        let mut fold = self.replicated.clone();
        let log = self.node.store();
        let unapplied = self.node.raft.raft_log.applied + 1..=log.last();
        for entry in unapplied.filter_map(|index| log.get(index)) {
            if let Some(changes) = wire::changes_of(entry) {
                changes.into_iter().for_each(|change| fold.change(change));
            } else if let Some((from, serial, _)) = wire::proposal_of(&entry.data) {
                fold.take(from, serial);
            }
        }
        fold
    }

    /// Sends this node's proposals to the leader. If this node is the leader, appends them itself;
    /// then returns whether it appended any.
    pub(super) fn flush_proposals(&mut self) -> bool {
        let Some(leader) = self.last_leader() else { return false };
        if !self.roles.contains_key(&self.key) {
            return false;
        }
        let mut any = false;
        if leader == self.key {
            while let Some((serial, body)) = self.proposals.next_one() {
                match self.admit(self.key, serial, &body) {
                    Admitted::Yes => any = true,
                    Admitted::Before => {}
                    Admitted::No => break,
                }
                self.proposals.acked(serial + 1);
            }
        } else {
            while let Some((first, bodies)) = self.proposals.next_batch(self.now, &self.config) {
                self.send(leader, &Packet::Propose { first, bodies });
            }
        }
        any
    }

    /// Appends a proposal to the log, if this node leads and it is the next one of its proposer.
    pub(super) fn admit(&mut self, from: NodeKey, serial: u64, body: &Bytes) -> Admitted {
        let Some((_, fold)) = &mut self.admission else { return Admitted::No };
        if self.farewell.is_some() || self.hands_over {
            return Admitted::No;
        }
        match fold.next_of(from) {
            Some(next) if serial < next => return Admitted::Before,
            Some(next) if serial == next => {}
            _ => return Admitted::No,
        }
        let data = wire::proposal_data(from, serial, body);
        if self.node.propose(Vec::new(), data).is_err() {
            return Admitted::No;
        }
        fold.take(from, serial);
        Admitted::Yes
    }

    /// While leading: takes the next step of the membership. Returns whether it took one.
    pub(super) fn review_members(&mut self) -> bool {
        if !self.review || !self.is_leader() || self.farewell.is_some() {
            return false;
        }
        let raft = &self.node.raft;
        if raft.has_pending_conf() || raft.lead_transferee.is_some() {
            return false;
        }
        self.review = false;
        self.asked.append(&mut self.requests.clone());
        let mut asked = std::mem::take(&mut self.asked);
        asked.retain(|key, request| !self.is_fulfilled(*key, *request));
        self.asked = asked;
        let members = self.seen_members();
        let view = View {
            me: self.key,
            joint: self.joint(),
            members: &members,
            asked: &self.asked,
            voters_max: self.config.voters_max,
        };
        if view.is_over() {
            self.set_removed();
            return false;
        }
        match view.next_step() {
            None => false,
            Some(Step::Transfer(to)) => {
                self.node.transfer_leader(to.0);
                true
            }
            Some(Step::Propose(changes)) => {
                let taken = self.node.propose_conf_change(Vec::new(), change::to_raft(&changes)).is_ok();
                self.hands_over |= taken && changes.contains(&Change::Set(self.key, Role::Learner));
                if let (true, Some((_, fold))) = (taken, &mut self.admission) {
                    changes.into_iter().for_each(|change| fold.change(change));
                }
                taken
            }
        }
    }

    fn joint(&self) -> Joint {
        let conf = self.node.store().conf();
        let stays = conf.get_voters().contains(&self.key.0) || conf.get_learners_next().contains(&self.key.0);
        match (self.is_joint(), stays || conf.get_learners().contains(&self.key.0)) {
            (false, _) => Joint::No,
            (true, true) => Joint::WithMe,
            (true, false) => Joint::WithoutMe,
        }
    }

    fn seen_members(&self) -> BTreeMap<NodeKey, Seen> {
        let raft = &self.node.raft;
        let committed = raft.raft_log.committed;
        let voters = self.node.store().conf().get_voters();
        let seen = |key: &NodeKey| {
            let role = if voters.contains(&key.0) { Role::Voter } else { Role::Learner };
            // The matched index counts, whatever the state of the progress: a member that has
            // everything is probed only with the next entry.
            let matched = raft.prs().get(key.0).map_or(0, |progress| progress.matched);
            let follows = matched > 0 && matched + FOLLOWS_WITHIN >= committed;
            // A follower hears only its leader, so the silence of the others counts from the start
            // of the lead.
            let last = self.heard.get(key).map_or(self.led_since, |heard| self.led_since.max(*heard));
            let lost = self.now.since(last) >= self.config.voter_lost_after;
            (*key, Seen { role, follows, heard: self.is_heard(*key), lost })
        };
        self.roles.keys().map(seen).collect()
    }

    /// Sends this node's membership requests to the leader.
    pub(super) fn send_requests(&mut self) {
        let Some(leader) = self.last_leader() else { return };
        if leader == self.key || self.requests.is_empty() || self.now < self.ask_at {
            return;
        }
        self.ask_at = self.now + self.config.retry;
        let list: Vec<(MemberRequest, NodeKey)> =
            self.requests.iter().take(REQUESTS_MAX).map(|(key, request)| (*request, *key)).collect();
        self.send(leader, &Packet::Requests(list));
    }
}
