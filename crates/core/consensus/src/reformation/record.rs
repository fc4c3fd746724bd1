//! The record of the network that a node was a member of: all data needed to create its successor.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use base::NodeKey;

use crate::Configuration;

/// Largest number of voters that a network starts with: the default of
/// [`Config::voters_max`](crate::Config::voters_max).
const FIRST_VOTERS_MAX: usize = 9;
/// Largest number of contacts that a record has besides those of the voters.
const OTHERS_MAX: usize = 16;

/// Largest number of keys that a node keeps while its network is lost: it gets one with each start.
const KEYS_MAX: usize = 64;

/// The address of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// Its name.
    pub name: String,
    /// URLs that lead to it; none where links are set up by hand.
    pub urls: Vec<String>,
}

impl Contact {
    /// That of a node which nobody here has ever seen.
    fn unknown(key: NodeKey) -> Self {
        Self { name: key.to_string(), urls: Vec::new() }
    }
}

/// A network and its voters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the network: see [`base::network_number`].
    pub network: u64,
    /// Its voters, as last appended to the log.
    pub configuration: Configuration,
    /// Contacts of the voters, as far as they are known, and of others that lately were in the
    /// network or its predecessors: they may know the way when the voters are gone.
    pub contacts: BTreeMap<NodeKey, Contact>,
}

impl Head {
    /// Orders heads of one creator: a later network, or a later configuration of the same one, is
    /// greater.
    pub fn version(&self) -> (u64, (u64, u64)) {
        (self.network, self.configuration.version())
    }

    /// Whether both networks have one creator; otherwise they cannot be compared.
    pub fn is_related(&self, other: &Self) -> bool {
        base::is_same_creator(self.network, other.network)
    }

    /// Whether these contacts include that of a voter which this head lacks.
    pub(super) fn lacks(&self, contacts: &BTreeMap<NodeKey, Contact>) -> bool {
        contacts.keys().any(|key| self.configuration.is_voter(*key) && !self.contacts.contains_key(key))
    }

    /// Adds contacts that were known before: those of voters, and of some nodes whose names are not
    /// known by now.
    pub(super) fn remember(&mut self, known: BTreeMap<NodeKey, Contact>) {
        let votes = |key: &NodeKey| self.configuration.is_voter(*key);
        let (voters, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            known.into_iter().partition(|(key, _)| votes(key));
        let mut room = OTHERS_MAX.saturating_sub(self.contacts.keys().filter(|key| !votes(key)).count());
        for (key, contact) in voters {
            self.contacts.entry(key).or_insert(contact);
        }
        for (key, contact) in others {
            if room > 0 && self.contacts.values().all(|present| present.name != contact.name) {
                self.contacts.insert(key, contact);
                room -= 1;
            }
        }
    }

    /// The names of the voters, sorted; the key stands for a voter without a name.
    pub fn voter_names(&self) -> Vec<String> {
        let voters = self.configuration.voters.union(&self.configuration.outgoing);
        let name = |key: &NodeKey| self.contacts.get(key).map_or_else(|| key.to_string(), |c| c.name.clone());
        let names: BTreeSet<String> = voters.map(name).collect();
        names.into_iter().collect()
    }
}

/// The number of an attempt to create a successor; a later one is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ballot {
    /// One more than any round that the candidate knows of.
    pub round: u64,
    /// The node that makes the attempt, so that no two attempts have one number.
    pub candidate: NodeKey,
}

/// The network that a candidate proposes as the successor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Its number.
    pub network: u64,
    /// The number of the network that is lost.
    pub replaces: u64,
    /// The node that names the group: the candidate that made the proposal.
    pub creator: NodeKey,
    /// Its first voters: those of the lost network, of which the present ones have their present keys.
    pub voters: BTreeMap<NodeKey, Contact>,
}

impl Proposal {
    /// The successor of `lost`. Its voters are those of the lost network: the nodes that promised
    /// under their present keys, the others under those that they had. So a majority of the voters
    /// of the lost network is one of its successor, too, whichever nodes they are: it can replace
    /// the successor if those that chose it die before they have begun it.
    ///
    /// The nodes that promised begin the successor, so they are a majority of its voters; where
    /// this is in question, some of the others are left out. The number of voters is odd.
    pub(super) fn new(
        lost: &Head,
        network: u64,
        creator: NodeKey,
        promised: &BTreeMap<NodeKey, (BTreeSet<NodeKey>, Contact)>,
    ) -> Self {
        let votes = &lost.configuration.voters;
        let share = |keys: &BTreeSet<NodeKey>| keys.intersection(votes).count();
        let mut present: Vec<NodeKey> =
            promised.iter().filter(|(_, (keys, _))| share(keys) > 0).map(|(key, _)| *key).collect();
        // A node may have several votes, one for each of its lives. The majorities that it belongs
        // to must not do without it in the successor. Among equals the candidate comes first.
        present.sort_by_key(|key| (Reverse(share(&promised[key].0)), *key != creator, *key));
        present.truncate(FIRST_VOTERS_MAX);
        let claimed: BTreeSet<NodeKey> = promised.values().flat_map(|(keys, _)| keys).copied().collect();
        let mut absent: Vec<NodeKey> = votes.difference(&claimed).copied().collect();
        absent.truncate(present.len().saturating_sub(1).min(FIRST_VOTERS_MAX - present.len()));
        if (present.len() + absent.len()).is_multiple_of(2) && absent.pop().is_none() {
            present.pop();
        }
        let contact = |key: &NodeKey| match promised.get(key) {
            Some((_, contact)) => contact.clone(),
            None => lost.contacts.get(key).cloned().unwrap_or_else(|| Contact::unknown(*key)),
        };
        let voters = present.iter().chain(&absent).map(|key| (*key, contact(key))).collect();
        Self { network, replaces: lost.network, creator, voters }
    }

    pub(super) fn head(&self) -> Head {
        Head {
            network: self.network,
            configuration: Configuration::initial(self.voters.keys().copied().collect()),
            contacts: self.voters.clone(),
        }
    }
}

/// The state that a node keeps, on its disk if it has a place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The latest network and configuration that the node knows of.
    pub head: Head,
    /// The keys of this node in that network, one for each incarnation. Their votes are this
    /// node's.
    pub keys: BTreeSet<NodeKey>,
    /// The latest attempt that the node has promised to; it takes no part in any earlier one.
    pub promised: Ballot,
    /// The proposal that it last accepted, and the attempt in which it did.
    pub accepted: Option<(Ballot, Proposal)>,
}

impl Record {
    /// The record of a network that nobody has tried to replace yet.
    pub fn new(head: Head, keys: BTreeSet<NodeKey>) -> Self {
        Self { head, keys, promised: Ballot::default(), accepted: None }
    }

    /// Whether this node has a vote.
    pub fn votes(&self) -> bool {
        self.keys.iter().any(|key| self.head.configuration.is_voter(*key))
    }

    /// Adopts a newer network or configuration from another node. Promises hold for all attempts to
    /// replace one network, whichever configuration of it they are based on. A later network has
    /// attempts of its own.
    pub(super) fn adopt(&mut self, head: Head) {
        if head.network != self.head.network {
            self.promised = Ballot::default();
            self.accepted = None;
        }
        let known = std::mem::replace(&mut self.head, head).contacts;
        self.head.remember(known);
    }

    /// Forgets keys that have no vote in the network or in a proposal, except `current`.
    pub(super) fn prune(&mut self, current: NodeKey) {
        // A proposal that only others have accepted may name any key under which this node has promised.
        if self.promised != Ballot::default() && self.keys.len() <= KEYS_MAX {
            return;
        }
        let Self { head, accepted, keys, .. } = self;
        let proposed = |key: &NodeKey| accepted.as_ref().is_some_and(|(_, p)| p.voters.contains_key(key));
        keys.retain(|key| *key == current || head.configuration.is_voter(*key) || proposed(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node outside takes a key with each start, and others may have accepted any of those it had.
    #[test]
    fn keys_are_kept_while_a_promise_holds_up_to_a_limit() {
        let configuration = Configuration::initial([1, 2, 3].map(NodeKey).into_iter().collect());
        let head = Head { network: 1 << 44, configuration, contacts: BTreeMap::new() };
        let keys = |count| (1..=count).map(NodeKey).collect();
        let left = |record: &mut Record| {
            record.prune(NodeKey(5));
            record.keys.iter().map(|key| key.0).collect::<Vec<_>>()
        };
        let mut record = Record::new(head, keys(6));
        record.promised = Ballot { round: 1, ..Ballot::default() };
        assert_eq!(left(&mut record), [1, 2, 3, 4, 5, 6], "promised");
        record.promised = Ballot::default();
        assert_eq!(left(&mut record), [1, 2, 3, 5], "votes, and its own");
        record.promised = Ballot { round: 1, ..Ballot::default() };
        record.keys = keys(KEYS_MAX as u64 + 1);
        assert_eq!(left(&mut record), [1, 2, 3, 5], "over the limit");
    }
}
