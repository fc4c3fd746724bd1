//! What the leader does about the membership next: a pure function of what it sees.

use std::collections::BTreeMap;

use base::NodeKey;

use crate::change::{Change, Role};
use crate::config::MEMBERS_MAX;
use crate::wire::Wish;

/// How the leader sees one member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) role: Role,
    /// It follows the log and has all but the last few entries.
    pub(crate) follows: bool,
    /// It was heard within the election timeout.
    pub(crate) heard: bool,
    /// It has been silent for [`crate::Config::voter_lost_after`].
    pub(crate) lost: bool,
}

impl Seen {
    fn is_well(&self) -> bool {
        self.follows && self.heard
    }
}

/// What the leader sees.
pub(crate) struct View<'a> {
    /// The leader.
    pub(crate) me: NodeKey,
    pub(crate) members: &'a BTreeMap<NodeKey, Seen>,
    /// Who asked to be added or removed, or for whom others did. Not: members to be added, removed nodes.
    pub(crate) asked: &'a BTreeMap<NodeKey, Wish>,
    pub(crate) voters_max: usize,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Propose(Change),
    /// Hand the leadership over to this voter.
    Transfer(NodeKey),
}

/// How many voters a group of so many members has: an odd number, since one more voter bears no further loss.
pub(crate) fn voters_of(members: usize, voters_max: usize) -> usize {
    let most = members.min(voters_max).max(1);
    most - (1 - most % 2)
}

impl View<'_> {
    /// The next step, if there is one. In this order: who is to go, goes; who is to come, becomes a learner; voters are
    /// as many as they should be; a lost voter gives its place to a learner that is well.
    pub(crate) fn next_step(&self) -> Option<Step> {
        if let Some(step) = self.removal() {
            return step;
        }
        let room = self.members.len() < MEMBERS_MAX;
        let comer = self.asked.iter().find(|(_, wish)| **wish == Wish::Add).map(|(key, _)| *key);
        if let (true, Some(key)) = (room, comer) {
            return Some(Step::Propose(Change::Set(key, Role::Learner)));
        }
        self.balance()
    }

    /// Some(None): wait with everything else.
    fn removal(&self) -> Option<Option<Step>> {
        let mut goers = self.asked.iter().filter(|(_, wish)| **wish == Wish::Remove).map(|(key, _)| *key);
        if let Some(key) = goers.find(|key| *key != self.me) {
            return Some(Some(Step::Propose(Change::Remove(key))));
        }
        let leaving = self.asked.get(&self.me) == Some(&Wish::Remove);
        // A leader that is no voter was made a learner by an entry of an earlier leader.
        let demoted = self.members.get(&self.me).is_some_and(|seen| seen.role == Role::Learner);
        if !leaving && !demoted {
            return None;
        }
        if let Some((key, _)) = self.others(Role::Voter).find(|(_, seen)| seen.is_well()) {
            return Some(Some(Step::Transfer(key)));
        }
        let heir = self.others(Role::Learner).find(|(_, seen)| seen.is_well());
        Some(heir.map(|(key, _)| Step::Propose(Change::Set(key, Role::Voter))))
    }

    fn balance(&self) -> Option<Step> {
        let promote = |key| Some(Step::Propose(Change::Set(key, Role::Voter)));
        let demote = |key| Some(Step::Propose(Change::Set(key, Role::Learner)));
        let target = voters_of(self.members.len(), self.voters_max);
        let voters = self.members.values().filter(|seen| seen.role == Role::Voter).count();
        let mut well = self.others(Role::Learner).filter(|(_, seen)| seen.is_well()).map(|(key, _)| key);
        let lost = self.others(Role::Voter).find(|(_, seen)| seen.lost).map(|(key, _)| key);
        if voters > target {
            return demote(lost.or_else(|| self.others(Role::Voter).last().map(|(key, _)| key))?);
        }
        let first = well.next()?;
        if voters < target {
            // From an odd number only by two: the even one between should not last.
            let by_two = voters % 2 == 0 || well.next().is_some();
            return by_two.then(|| promote(first)).flatten();
        }
        lost.and_then(demote)
    }

    fn others(&self, role: Role) -> impl Iterator<Item = (NodeKey, &Seen)> {
        self.members
            .iter()
            .filter(move |(key, seen)| **key != self.me && seen.role == role)
            .map(|(key, seen)| (*key, seen))
    }
}

#[cfg(test)]
mod tests;
