//! A candidate's attempt: promises first, then acceptance.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base::{Moment, NodeKey};

use super::record::{Ballot, Contact, Head, Proposal};

/// The contents of a promise.
#[derive(Clone, Debug)]
struct Promised {
    keys: BTreeSet<NodeKey>,
    contact: Contact,
    accepted: Option<(Ballot, Proposal)>,
}

/// An attempt.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) began: Moment,
    pub(super) ballot: Ballot,
    /// The network that is lost. A candidate that learns of a newer configuration abandons the
    /// attempt.
    pub(super) head: Head,
    asked: BTreeSet<NodeKey>,
    promised: BTreeMap<NodeKey, Promised>,
    /// The moment at which a majority had promised.
    majority_since: Option<Moment>,
    proposal: Option<Proposal>,
    accepted: BTreeMap<NodeKey, BTreeSet<NodeKey>>,
}

impl Round {
    pub(super) fn new(now: Moment, ballot: Ballot, head: Head, asked: BTreeSet<NodeKey>) -> Self {
        Self {
            began: now,
            ballot,
            head,
            asked,
            promised: BTreeMap::new(),
            majority_since: None,
            proposal: None,
            accepted: BTreeMap::new(),
        }
    }

    pub(super) fn promised(
        &mut self,
        now: Moment,
        from: NodeKey,
        ballot: Ballot,
        keys: BTreeSet<NodeKey>,
        contact: Contact,
        accepted: Option<(Ballot, Proposal)>,
    ) {
        if ballot != self.ballot || self.proposal.is_some() {
            return;
        }
        self.promised.insert(from, Promised { keys, contact, accepted });
        let all = self.promised.values().map(|promised| &promised.keys);
        if is_majority(&self.head, all) {
            self.majority_since.get_or_insert(now);
        }
    }

    pub(super) fn accepted(&mut self, from: NodeKey, ballot: Ballot, keys: BTreeSet<NodeKey>) {
        if ballot == self.ballot && self.proposal.is_some() {
            self.accepted.insert(from, keys);
        }
    }

    /// The proposal, returned once: when a majority has promised and the others have had their
    /// time. It is the proposal accepted in the latest attempt, since that one may have been
    /// chosen; otherwise a network of the candidate.
    pub(super) fn propose(
        &mut self,
        now: Moment,
        gather: Duration,
        own: NodeKey,
        millis: u64,
    ) -> Option<Proposal> {
        let since = self.majority_since.filter(|_| self.proposal.is_none())?;
        if self.promised.len() < self.asked.len() && now.since(since) < gather {
            return None;
        }
        let before = self.promised.values().filter_map(|promised| promised.accepted.as_ref());
        let latest = before.max_by_key(|(ballot, _)| *ballot).map(|(_, proposal)| proposal.clone());
        let proposal = latest.unwrap_or_else(|| {
            let network = base::successor_number(self.head.network, millis);
            let nodes = self
                .promised
                .iter()
                .map(|(key, promised)| (*key, (promised.keys.clone(), promised.contact.clone())));
            Proposal::new(&self.head, network, own, &nodes.collect())
        });
        self.proposal = Some(proposal.clone());
        Some(proposal)
    }

    /// The nodes that are asked to accept.
    pub(super) fn acceptors(&self) -> Vec<NodeKey> {
        self.promised.keys().copied().collect()
    }

    /// The proposal, if a majority has accepted it.
    pub(super) fn chosen(&self) -> Option<Proposal> {
        self.proposal.clone().filter(|_| is_majority(&self.head, self.accepted.values()))
    }

    pub(super) fn poll_timeout(&self, gather: Duration, round_max: Duration) -> Moment {
        let end = self.began + round_max;
        let gathered = self.majority_since.filter(|_| self.proposal.is_none()).map(|since| since + gather);
        gathered.map_or(end, |at| at.min(end))
    }
}

/// Whether the votes of these nodes together are a majority.
fn is_majority<'a>(head: &Head, mut nodes: impl Iterator<Item = &'a BTreeSet<NodeKey>> + Clone) -> bool {
    let votes: BTreeSet<NodeKey> = nodes.by_ref().flatten().copied().collect();
    head.configuration.is_majority(|key| votes.contains(&key))
}
