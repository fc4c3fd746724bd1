//! Founding the successor of a network that is lost.
//!
//! The log of a network is in memory. When a majority of its voters is gone, nothing can be decided
//! in it ever again: the survivors give it up, and those that come back are in no network. A
//! [`Reformation`] lets these nodes create one successor, never two. It is sans-I/O like the rest
//! of the crate. State that must survive a crash comes out of [`Reformation::poll_persist`], and no
//! message that depends on it leaves before [`Reformation::handle_persisted`].
//!
//! # The algorithm
//!
//! Every voter stores each configuration that is appended to its log before it acknowledges the
//! entry ([`Reformation::observe`], [`Reformation::is_persisted`]). So its *record* has the number
//! of the network, the voters as last appended, and the keys under which it has been a member. A
//! node is *outside* when its instance of the log is gone for good: its process was started again,
//! or it has given the network up and taken another key. Nodes outside tell all others of their
//! records, and a node with an older record adopts a newer one. When the nodes outside have the
//! votes of a majority, one of them runs single-decree Paxos (Lamport 2001) among the voters of the
//! lost network. They decide on the successor: its number and its first voters, which are those of
//! the lost network. The ones that take part vote under their present keys and begin its log
//! together. The absent ones keep the keys under which they voted last: they take no part, but their
//! votes count when the successor is to be replaced in turn. So the nodes that can create the
//! successor of the lost network can also create that of its successor, should those that chose it
//! die before they have begun it. The successor's leader removes absent voters like all that cannot
//! be reached.
//!
//! # Why there are never two
//!
//! *The lost network decides nothing more.* Suppose a successor is chosen by configuration C, so a
//! majority Q of C has accepted it, each of Q outside and knowing of no configuration newer than C.
//! An entry of the lost network that is committed under C is acknowledged by a majority of C, which
//! shares a voter with Q; that voter's instance is gone, so it acknowledged before, and nothing is
//! committed under C from then on. Suppose a newer configuration was committed, and let D be the
//! first after C. D was committed by a majority of C (in a joint step, of each side), which shares
//! a voter with Q; that voter stored D before it acknowledged it, so it knew of D when it accepted:
//! a contradiction. *Configurations that were appended and never committed do no harm.* There is at
//! most one pending change, so such a configuration differs from the last committed one by one
//! voter or by a joint step. Its majorities share a voter with every majority of its predecessor
//! and of any rival that was committed in its place, and the rival, appended by a later leader, is
//! newer. *Two successors are never chosen.* Promises and proposals belong to the network, not to
//! the configuration, so this is one instance of Paxos whose quorums are majorities of neighbouring
//! configurations: they intersect, and an acceptor that has promised by a newer configuration
//! accepts nothing by an older one. *A record that is lost does no harm*: without it a node has no
//! vote and never gets it back. *Nor does the old key of an absent voter*: an instance that was in
//! another log under this key never acknowledges an entry of the successor, and one that was in none
//! is a voter like any other. *A node that has promised takes no part in the lost network under
//! the key that promised* ([`Reformation::has_promised`]); should the network live after all, it
//! joins under a fresh key. Only members that a majority has let in get entries, so a promise may
//! be forgotten when such a fresh key gets one.
//!
//! # Progress
//!
//! Rival candidates take turns by their keys, leave an attempt that they support its time, and wait
//! for a random time after a failure, so that one of them succeeds.

mod acceptor;
mod codec;
mod message;
mod record;
mod round;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use rand_core::RngCore as _;

pub use self::codec::ImageError;
pub use self::message::{Message, Recipient};
pub use self::record::{Ballot, Contact, Head, Proposal, Record};
use self::round::Round;
use crate::Configuration;

/// Interval between two reports of a node outside. All others know a node that starts within this
/// time of the link being up.
const BEAT: Duration = Duration::from_millis(500);
/// A node that has been silent for this long is not counted on: three beats, one of which may be
/// late.
const PRESENT_FOR: Duration = Duration::from_millis(1_600);
/// Once a majority is present, further nodes get this long to turn up, so that they become first
/// voters as well.
const GATHER: Duration = Duration::from_millis(300);
/// A candidate gives each one before it in the order of keys this long to succeed. It is longer
/// than an attempt takes on links of 100 ms one way.
const TURN: Duration = Duration::from_secs(1);
/// An attempt that has not succeeded by then is abandoned: twice a turn, for slow disks.
const ROUND_MAX: Duration = Duration::from_secs(2);

/// A state to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persist {
    /// Pass it to [`Reformation::handle_persisted`]; later states have greater ones.
    pub revision: u64,
    /// The octets of the file; `None`: delete the file.
    pub image: Option<Bytes>,
}

/// A node that has recently reported that it is outside.
#[derive(Clone, Debug)]
struct Peer {
    keys: BTreeSet<NodeKey>,
    heard: Moment,
}

/// An effect that waits until a revision is stored.
#[derive(Clone, Debug)]
enum Effect {
    Send(Recipient, Message),
    Form(Proposal),
}

/// The part of one node in creating successors. See the [module](self).
#[derive(Clone, Debug)]
pub struct Reformation {
    key: NodeKey,
    contact: Contact,
    seed: Seed,
    /// Milliseconds since 1970 at [`Moment::ZERO`], for the numbers of networks.
    clock_millis: u64,
    /// Whether states are stored; otherwise they last as long as the process.
    durable: bool,
    record: Option<Record>,
    /// Revisions of the record: the latest, the last one handed out (`handed`), the last one stored
    /// (`persisted`).
    revision: u64,
    handed: u64,
    persisted: u64,
    /// The latest revision on which others may depend. Later ones have further contacts only.
    needed: u64,
    outside: bool,
    present: BTreeMap<NodeKey, Peer>,
    round: Option<Round>,
    /// The highest round that this node has heard of.
    highest: u64,
    /// Attempts since the last success, which determine the wait before the next one.
    attempts: u64,
    beat_at: Moment,
    /// The moment at which a majority became present, or the last attempt failed if that was later.
    ready_since: Option<Moment>,
    /// The candidate that this node last answered, and until when its attempt may last.
    supports: Option<(NodeKey, Moment)>,
    effects: VecDeque<(u64, Effect)>,
}

impl Reformation {
    /// A node at its start, with the record that it kept, if any.
    pub fn new(key: NodeKey, contact: Contact, seed: Seed, clock_millis: u64, kept: Kept) -> Self {
        Self {
            key,
            contact,
            seed,
            clock_millis,
            durable: kept.durable,
            record: kept.record,
            revision: 0,
            handed: 0,
            persisted: 0,
            needed: 0,
            outside: false,
            present: BTreeMap::new(),
            round: None,
            highest: 0,
            attempts: 0,
            beat_at: Moment::ZERO,
            ready_since: None,
            supports: None,
            effects: VecDeque::new(),
        }
    }

    /// The same node under another key: it has given up its network, and all messages that have not
    /// left.
    #[must_use]
    pub fn rejoin(&self, key: NodeKey) -> Self {
        let kept = Kept { durable: self.durable, record: self.record.clone() };
        let seed = self.seed.split_index(key.0);
        Self {
            revision: self.revision,
            handed: self.handed,
            persisted: self.persisted,
            needed: self.needed,
            highest: self.highest,
            ..Self::new(key, self.contact.clone(), seed, self.clock_millis, kept)
        }
    }

    /// The latest record, whether it is stored yet or not.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// The latest network of which this node knows as a member, and its voters.
    pub fn head(&self) -> Option<&Head> {
        self.record.as_ref().map(|record| &record.head)
    }

    /// Sets the address at which others find this node.
    pub fn set_contact(&mut self, contact: Contact) {
        self.contact = contact;
    }

    /// Whether the latest state is stored. While it is not, no messages of the log may leave, and
    /// the log may be given none: the node's own copy of an entry counts as well.
    pub fn is_persisted(&self) -> bool {
        !self.durable || self.persisted >= self.needed
    }

    /// Whether this node has promised or accepted something under its present key. Then the log of
    /// the lost network must not learn of the key.
    pub fn has_promised(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.keys.contains(&self.key))
    }

    /// Records a configuration that was appended to the log of `network`. Call this for each one,
    /// before messages of the log leave.
    pub fn observe(
        &mut self,
        network: u64,
        configuration: Configuration,
        contacts: BTreeMap<NodeKey, Contact>,
    ) {
        // Most calls repeat the configuration. Each change costs a write to the disk, which holds
        // back the acknowledgements of the log.
        if configuration.voters.is_empty() || self.is_known(network, &configuration, &contacts) {
            return;
        }
        // Keys of an earlier network vote in this one, too, if it began while this node was absent.
        let (keys, known) =
            self.record.take().map_or_else(Default::default, |record| (record.keys, record.head.contacts));
        let mut record = Record::new(Head { network, configuration, contacts }, keys);
        record.head.remember(known);
        record.keys.insert(self.key);
        record.prune(self.key);
        self.record = Some(record);
        self.changed();
    }

    /// Whether the voters of a configuration are stored already: learners come and go without a
    /// write to the disk. The version that is kept is that of the entry which brought these voters,
    /// which orders configurations just as well.
    fn is_known(
        &self,
        network: u64,
        configuration: &Configuration,
        contacts: &BTreeMap<NodeKey, Contact>,
    ) -> bool {
        self.record.as_ref().is_some_and(|Record { head, promised, keys, .. }| {
            let known = &head.configuration;
            let same = known.voters == configuration.voters && known.outgoing == configuration.outgoing;
            // A fresh key is stored before the log hears of this node. It may be made a voter next, and
            // die before it has stored that: nobody could vote in its place.
            let same = same && keys.contains(&self.key);
            // After a promise, the same configuration is news: it shows that the lost network
            // lives, and a fresh key of this node has got an entry. The promise may be forgotten.
            head.network == network && same && *promised == Ballot::default() && !head.lacks(contacts)
        })
    }

    /// Forgets the network. The node is no longer a member and has no part in its successors: it
    /// left in order, or the network yielded to another one.
    pub fn forget(&mut self) {
        if self.record.take().is_some() {
            self.round = None;
            self.changed();
        }
    }

    /// Records contacts of members that do not vote, in case the voters are gone. Nothing waits until
    /// they are stored.
    pub fn remember(&mut self, contacts: BTreeMap<NodeKey, Contact>) {
        if let Some(record) = &mut self.record {
            let before = record.head.contacts.len();
            record.head.remember(contacts);
            self.revision += u64::from(record.head.contacts.len() > before);
        }
    }

    fn changed(&mut self) {
        self.revision += 1;
        self.needed = self.revision;
    }

    /// Sets whether this node is outside: in no network under its present key, and never on its way
    /// into one.
    pub fn set_outside(&mut self, now: Moment, outside: bool) {
        if outside == std::mem::replace(&mut self.outside, outside) {
            return;
        }
        self.beat_at = now;
        self.present.clear();
        self.round = None;
        self.ready_since = None;
        self.supports = None;
        self.effects.clear();
    }

    /// A node has become reachable: this node reports to it at once.
    pub fn handle_reachable(&mut self, now: Moment) {
        self.beat_at = now.min(self.beat_at);
    }

    /// A node can no longer be reached.
    pub fn handle_unreachable(&mut self, key: NodeKey) {
        self.present.remove(&key);
        self.supports = self.supports.filter(|(candidate, _)| *candidate != key);
    }

    /// Handles a message of another node.
    pub fn handle_message(&mut self, now: Moment, from: NodeKey, message: Message) {
        if !self.outside || self.record.is_none() {
            return;
        }
        match message {
            Message::Standing { head, keys, .. } => self.on_standing(now, from, head, keys),
            Message::Prepare { head, ballot } => self.on_prepare(now, from, head, ballot),
            Message::Promise { ballot, keys, contact, accepted } => {
                if let Some(round) = &mut self.round {
                    round.promised(now, from, ballot, keys, contact, accepted);
                }
                self.advance(now);
            }
            Message::Outbid { promised } => self.on_outbid(now, promised),
            Message::Accept { head, ballot, proposal } => self.on_accept(now, from, head, ballot, proposal),
            Message::Accepted { ballot, keys } => {
                if let Some(round) = &mut self.round {
                    round.accepted(from, ballot, keys);
                }
                self.advance(now);
            }
            Message::Formed { proposal } => self.form(proposal, false),
        }
    }

    /// Compares the latest network that another node knows with this node's, and adopts the newer
    /// one. Returns whether both know the same afterwards.
    fn compare(&mut self, now: Moment, from: NodeKey, head: Head) -> bool {
        let Some(record) = &mut self.record else { return false };
        if !record.head.is_related(&head) {
            return false;
        }
        // Its voters may be gone. It adopts the newer record, and asks again with that one.
        if head.version() < record.head.version() {
            self.send(now, Recipient::One(from), self.standing());
            return false;
        }
        if head.version() > record.head.version() {
            record.adopt(head);
            record.prune(self.key);
            self.changed();
            self.round = None;
            self.ready_since = None;
            self.supports = None;
            self.present.clear();
            self.beat_at = now;
        } else if record.head.lacks(&head.contacts) {
            record.head.remember(head.contacts);
            self.changed();
        }
        true
    }

    fn on_standing(&mut self, now: Moment, from: NodeKey, head: Head, keys: BTreeSet<NodeKey>) {
        if self.compare(now, from, head) && from != self.key {
            self.present.insert(from, Peer { keys, heard: now });
            self.review(now);
        }
    }

    /// Handles the choice of a successor. The candidate tells all others before it takes up the
    /// successor itself.
    fn form(&mut self, proposal: Proposal, announces: bool) {
        let Some(record) = &mut self.record else { return };
        let head = proposal.head();
        // An old announcement, or one of another network, which this node was never part of.
        if !record.head.is_related(&head) || head.network <= record.head.network {
            return;
        }
        record.adopt(head);
        record.prune(self.key);
        self.changed();
        self.round = None;
        self.attempts = 0;
        self.ready_since = None;
        self.present.clear();
        // Those that learn it from others do not repeat it, because that would be a message from
        // each to each.
        if announces {
            let message = Message::Formed { proposal: proposal.clone() };
            self.effects.push_back((self.revision, Effect::Send(Recipient::All, message)));
        }
        // Behind the announcement, so that the others hear of it even if this node dies while it
        // forms.
        self.effects.push_back((self.revision, Effect::Form(proposal)));
    }

    /// Does the work that is due.
    pub fn handle_timeout(&mut self, now: Moment) {
        if !self.outside || self.record.is_none() {
            return;
        }
        self.present.retain(|_, peer| now.since(peer.heard) < PRESENT_FOR);
        if self.beat_at <= now {
            self.beat_at = now + BEAT;
            if self.record.as_ref().is_some_and(Record::votes) {
                self.send(now, Recipient::All, self.standing());
            }
        }
        if self.round.as_ref().is_some_and(|round| now.since(round.began) >= ROUND_MAX) {
            self.give_up(now);
        }
        self.advance(now);
        self.review(now);
    }

    /// When [`Reformation::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<Moment> {
        if !self.outside || self.record.is_none() {
            return None;
        }
        let round = self.round.as_ref().map(|round| round.poll_timeout(GATHER, ROUND_MAX));
        let attempt = self.attempt_at().filter(|_| self.round.is_none());
        Moment::sooner(Some(self.beat_at), Moment::sooner(round, attempt))
    }

    fn standing(&self) -> Option<Message> {
        let record = self.record.as_ref()?;
        let (head, keys) = (record.head.clone(), record.keys.clone());
        Some(Message::Standing { head, keys, contact: self.contact.clone() })
    }

    /// Queues a message behind the state that it depends on. A message to this node itself takes
    /// the same way: the node's own vote counts only after it is stored.
    fn send(&mut self, now: Moment, to: Recipient, message: Option<Message>) {
        let Some(message) = message else { return };
        self.effects.push_back((self.revision, Effect::Send(to, message)));
        self.flush(now);
    }

    /// Handles messages to this node itself, once the state that they depend on is stored.
    fn flush(&mut self, now: Moment) {
        // Messages to itself skip the network. They wait for the disk like all others: a vote of
        // its own that a crash forgets could be cast twice.
        while let Some(at) = self.effects.iter().position(|(revision, effect)| {
            let own = matches!(effect, Effect::Send(Recipient::One(to), _) if *to == self.key);
            own && self.is_stored(*revision)
        }) {
            let Some((_, Effect::Send(_, message))) = self.effects.remove(at) else { return };
            self.handle_message(now, self.key, message);
        }
    }

    fn is_stored(&self, revision: u64) -> bool {
        !self.durable || revision <= self.persisted
    }

    /// Starts an attempt if its time has come.
    fn review(&mut self, now: Moment) {
        let Some(record) = self.record.as_ref().filter(|record| record.votes()) else {
            self.ready_since = None;
            return;
        };
        let claims = |key: &NodeKey| {
            record.keys.contains(key) || self.present.values().any(|peer| peer.keys.contains(key))
        };
        if !record.head.configuration.is_majority(|key| claims(&key)) {
            self.ready_since = None;
            return;
        }
        self.ready_since.get_or_insert(now);
        if self.round.is_none() && self.attempt_at().is_some_and(|at| at <= now) {
            self.begin_round(now);
        }
    }

    /// When this node starts its attempt, if none of the nodes before it has succeeded.
    fn attempt_at(&self) -> Option<Moment> {
        let since = self.ready_since?;
        let record = self.record.as_ref()?;
        let voters = |peer: &Peer| peer.keys.iter().any(|key| record.head.configuration.is_voter(*key));
        let before = self.present.iter().filter(|(key, peer)| **key < self.key && voters(peer)).count();
        // Ranked by key: two candidates that begin together would outbid each other.
        let turn = TURN * u32::try_from(before).unwrap_or(u32::MAX);
        // No random wait at first: the ranks are enough while all see the same nodes.
        let jitter = match self.attempts {
            0 => 0,
            n => self.seed.split_index(n).rng().next_u64() % 500,
        };
        let own = since + GATHER + turn + Duration::from_millis(jitter);
        Some(self.supports.map_or(own, |(_, until)| own.max(until)))
    }

    fn begin_round(&mut self, now: Moment) {
        let Some(record) = &self.record else { return };
        let round = record.promised.round.max(self.highest).saturating_add(1);
        let ballot = Ballot { round, candidate: self.key };
        self.highest = round;
        // Nodes without a vote are asked too. They may hold a newer record.
        let asked: BTreeSet<NodeKey> = self.present.keys().copied().chain([self.key]).collect();
        let head = record.head.clone();
        self.round = Some(Round::new(now, ballot, head.clone(), asked.clone()));
        for to in asked {
            let message = Message::Prepare { head: head.clone(), ballot };
            self.send(now, Recipient::One(to), Some(message));
        }
    }

    /// Advances the attempt as far as possible.
    fn advance(&mut self, now: Moment) {
        let millis = self.clock_millis.saturating_add(now.as_nanos() / 1_000_000);
        let Some(round) = &mut self.round else { return };
        if let Some(proposal) = round.propose(now, GATHER, self.key, millis) {
            let (head, ballot) = (round.head.clone(), round.ballot);
            for to in round.acceptors() {
                let (head, proposal) = (head.clone(), proposal.clone());
                self.send(now, Recipient::One(to), Some(Message::Accept { head, ballot, proposal }));
            }
        }
        if let Some(proposal) = self.round.as_ref().and_then(Round::chosen) {
            self.form(proposal, true);
        }
    }

    fn give_up(&mut self, now: Moment) {
        self.round = None;
        self.attempts += 1;
        // The wait begins anew, so that the turn of another candidate can come first.
        self.ready_since = self.ready_since.map(|_| now);
    }

    /// The next state to store. Only the latest counts: an earlier one that is not yet stored may
    /// be skipped.
    pub fn poll_persist(&mut self) -> Option<Persist> {
        if !self.durable || self.handed == self.revision {
            return None;
        }
        self.handed = self.revision;
        Some(Persist { revision: self.revision, image: self.record.as_ref().map(Record::to_image) })
    }

    /// A state, and with it all earlier ones, is stored so that it survives a crash of the machine.
    pub fn handle_persisted(&mut self, now: Moment, revision: u64) {
        // A confirmation of what was never handed out must not release messages.
        self.persisted = self.persisted.max(revision.min(self.handed));
        self.flush(now);
    }

    /// The next message and its recipient.
    pub fn poll_message(&mut self) -> Option<(Recipient, Message)> {
        let first = self.effects.front();
        if !first.is_some_and(|(revision, e)| self.is_stored(*revision) && matches!(e, Effect::Send(..))) {
            return None;
        }
        match self.effects.pop_front() {
            Some((_, Effect::Send(to, message))) => Some((to, message)),
            _ => None,
        }
    }

    /// The successor, once it is chosen and the choice is stored. If this node is among its voters
    /// under its present key, it begins the log with them; otherwise it joins them. Poll this in
    /// turn with messages, until there is neither.
    pub fn poll_formed(&mut self) -> Option<Proposal> {
        let first = self.effects.front();
        if !first.is_some_and(|(revision, e)| self.is_stored(*revision) && matches!(e, Effect::Form(_))) {
            return None;
        }
        match self.effects.pop_front() {
            Some((_, Effect::Form(proposal))) => Some(proposal),
            _ => None,
        }
    }
}

/// State kept from the last start of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Whether the node has a place to keep records.
    pub durable: bool,
    /// The record found there.
    pub record: Option<Record>,
}

#[cfg(test)]
mod tests;
