//! The leader's decision on the next membership change: a pure function of its view.
//!
//! A group has an odd number of voters at any time: one more would tolerate no further loss. So
//! voters come and go in pairs, or one replaces another, in a joint step. Thus growth never leaves
//! the group one loss away from a standstill.

use std::collections::{BTreeMap, BTreeSet};

use base::NodeKey;

use crate::change::{Change, Role};
use crate::config::MEMBERS_MAX;
use crate::wire::MemberRequest;

/// One member as the leader sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) role: Role,
    /// The member has all but the last few entries.
    pub(crate) follows: bool,
    /// The member was heard within the election timeout.
    pub(crate) heard: bool,
    /// The member has been silent for [`crate::Config::voter_lost_after`].
    pub(crate) lost: bool,
}

impl Seen {
    fn is_well(&self) -> bool {
        self.follows && self.heard
    }
}

/// Whether a joint step is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    No,
    /// The leader will still be a member when the step ends.
    WithMe,
    WithoutMe,
}

/// The leader's view of the group.
pub(crate) struct View<'a> {
    /// The leader.
    pub(crate) me: NodeKey,
    pub(crate) joint: Joint,
    /// The members, in a joint step with their future roles.
    pub(crate) members: &'a BTreeMap<NodeKey, Seen>,
    /// Requests to add or remove nodes, from the nodes themselves or from others. Never contains
    /// requests to add a member or a removed node.
    pub(crate) asked: &'a BTreeMap<NodeKey, MemberRequest>,
    pub(crate) voters_max: usize,
}

/// A step of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Propose(Vec<Change>),
    /// Hand the leadership over to this voter.
    Transfer(NodeKey),
}

/// Number of voters of a group of `members` members: odd, and at least 1.
pub(crate) fn voters_of(members: usize, voters_max: usize) -> usize {
    let most = members.min(voters_max).max(1);
    most - (1 - most % 2)
}

impl View<'_> {
    /// The next step, if there is one.
    pub(crate) fn next_step(&self) -> Option<Step> {
        match self.joint {
            Joint::WithMe => return Some(Step::Propose(Vec::new())),
            Joint::WithoutMe => return self.transfer(),
            Joint::No => {}
        }
        // A leader that has lost its vote appends nothing more, see `Consensus::hands_over`.
        if self.members.get(&self.me).is_none_or(|seen| seen.role == Role::Learner) {
            return self.transfer();
        }
        let changes = self.changes();
        if !changes.is_empty() {
            return Some(Step::Propose(changes));
        }
        let asked = |request| self.asked.iter().filter(move |(_, w)| **w == request).map(|(key, _)| *key);
        if let Some(stranger) = asked(MemberRequest::Remove).find(|key| !self.members.contains_key(key)) {
            return Some(Step::Propose(vec![Change::Remove(stranger)]));
        }
        if let Some(comer) = asked(MemberRequest::Add).next()
            && self.members.len() < MEMBERS_MAX
        {
            return Some(Step::Propose(vec![Change::Set(comer, Role::Learner)]));
        }
        None
    }

    /// Whether the leader wants to leave, and there is no other member and no joiner.
    pub(crate) fn is_over(&self) -> bool {
        let comers = self.asked.values().any(|request| *request == MemberRequest::Add);
        self.members.len() == 1 && self.goes(self.me) && !comers
    }

    fn goes(&self, key: NodeKey) -> bool {
        self.asked.get(&key) == Some(&MemberRequest::Remove)
    }

    /// The changes that turn the present members into the desired ones.
    fn changes(&self) -> Vec<Change> {
        let voters = self.voters();
        let mut changes = Vec::new();
        for (key, seen) in self.members {
            let role = if voters.contains(key) { Role::Voter } else { Role::Learner };
            // A leader that leaves becomes a learner first, then hands over; its successor removes
            // it.
            if *key != self.me && self.goes(*key) && role == Role::Learner {
                changes.push(Change::Remove(*key));
            } else if role != seen.role {
                changes.push(Change::Set(*key, role));
            }
        }
        changes
    }

    /// The desired voters: first the present ones, then healthy learners, then lost voters.
    fn voters(&self) -> BTreeSet<NodeKey> {
        let stay = || self.members.iter().filter(|(key, _)| **key != self.me && !self.goes(**key));
        let rank = |role, pass: fn(&Seen) -> bool| {
            stay().filter(move |(_, seen)| seen.role == role && pass(seen)).map(|(key, _)| *key)
        };
        let well = || rank(Role::Voter, |seen| !seen.lost).chain(rank(Role::Learner, Seen::is_well));
        let heirs = stay().filter(|(_, seen)| seen.is_well()).count();
        // The leader leaves only when another member can take over.
        let goes = self.goes(self.me) && heirs > 0;
        let me = (!goes).then_some(self.me);
        let members = stay().count() + me.iter().count();
        let ranked: Vec<NodeKey> =
            me.into_iter().chain(well()).chain(rank(Role::Voter, |seen| seen.lost)).collect();
        let count = voters_of(members, self.voters_max).min(voters_of(ranked.len(), self.voters_max));
        let voters: BTreeSet<NodeKey> = ranked.into_iter().take(count).collect();
        // The new voters must have a majority present. Otherwise all voters stay, even those that
        // want to leave.
        let there = voters.iter().filter(|key| **key == self.me || self.members[*key].heard).count();
        if there > voters.len() / 2 {
            return voters;
        }
        let votes = self.members.iter().filter(|(_, seen)| seen.role == Role::Voter);
        votes.map(|(key, _)| *key).collect()
    }

    fn transfer(&self) -> Option<Step> {
        let mut others = self.members.iter().filter(|(key, _)| **key != self.me);
        let heir = others.find(|(_, seen)| seen.role == Role::Voter && seen.is_well());
        heir.map(|(key, _)| Step::Transfer(*key))
    }
}

#[cfg(test)]
mod tests;
