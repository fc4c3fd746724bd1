//! Messages between nodes that are in no network.

use std::collections::BTreeSet;

use base::NodeKey;

use super::record::{Ballot, Contact, Head, Proposal};

/// A message of a node that is in no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// To all: the latest network that the sender knows of, and its keys in that network.
    Standing {
        /// The network.
        head: Head,
        /// The sender's keys in it.
        keys: BTreeSet<NodeKey>,
        /// The sender.
        contact: Contact,
    },
    /// The sender wants to create the successor of `head` (Paxos: 1a).
    Prepare {
        /// The network that is lost.
        head: Head,
        /// The attempt.
        ballot: Ballot,
    },
    /// The sender takes no part in earlier attempts (Paxos: 1b).
    Promise {
        /// The attempt.
        ballot: Ballot,
        /// The sender's keys in the network that is lost.
        keys: BTreeSet<NodeKey>,
        /// The sender.
        contact: Contact,
        /// The proposal that it accepted before.
        accepted: Option<(Ballot, Proposal)>,
    },
    /// The sender has promised to take part in a later attempt only.
    Outbid {
        /// The later attempt.
        promised: Ballot,
    },
    /// Accept this successor (Paxos: 2a).
    Accept {
        /// The network that is lost.
        head: Head,
        /// The attempt.
        ballot: Ballot,
        /// The successor.
        proposal: Proposal,
    },
    /// The sender has accepted the proposal of this attempt (Paxos: 2b).
    Accepted {
        /// The attempt.
        ballot: Ballot,
        /// The sender's keys in the network that is lost.
        keys: BTreeSet<NodeKey>,
    },
    /// A majority has accepted this successor.
    Formed {
        /// The successor.
        proposal: Proposal,
    },
}

/// The receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// Every node that can be reached.
    All,
    /// One node.
    One(NodeKey),
}
