//! The machine: its state and what its owner calls.

mod apply;
mod beats;
mod input;
mod leader;
mod look;
mod settle;
mod ticks;
mod types;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use raft::RawNode;

use self::settle::Told;
use self::ticks::SnapshotTrip;
pub use self::types::{Committed, Event, Serial, SnapshotError, Status};
use crate::change::Role;
use crate::config::{Config, ConfigError, SNAPSHOT_BYTES_MAX};
use crate::configuration::Configuration;
use crate::log::Log;
use crate::proposals::{Proposals, ProposeError};
use crate::replicated::Replicated;
use crate::wire::{Packet, Wish};

/// One member of a group, or a node that is about to become one. See the [crate].
pub struct Consensus {
    key: NodeKey,
    seed: Seed,
    config: Config,
    /// The founder's key names the group; `None` until a joiner hears of one.
    group: Option<NodeKey>,
    node: RawNode<Log>,
    /// The election timeout drawn for a term.
    drawn: (u64, usize),
    /// The fold of what is committed.
    replicated: Replicated,
    /// While leading: the term, and the fold of the whole log.
    admission: Option<(u64, Replicated)>,
    roles: BTreeMap<NodeKey, Role>,
    /// The voters as of the last applied entry, and as of the end of the log.
    applied_configuration: Configuration,
    configuration: Configuration,
    /// Entries came or went that may change `configuration`.
    configuration_stale: bool,
    proposals: Proposals,
    /// What this node wants of the membership.
    wishes: BTreeMap<NodeKey, Wish>,
    /// While leading: what anybody wants of it.
    asked: BTreeMap<NodeKey, Wish>,
    /// While leading: something happened that may call for a change of the membership.
    review: bool,
    /// When a member was heard last.
    heard: BTreeMap<NodeKey, Moment>,
    /// When a leader last sent learners a heartbeat.
    beaten: BTreeMap<NodeKey, Moment>,
    /// When a leader was heard last, as leader.
    led_at: Moment,
    /// When this node began to lead: a majority was heard then.
    led_since: Moment,
    /// While leading: who is taking in a snapshot.
    trips: BTreeMap<NodeKey, SnapshotTrip>,
    committed: VecDeque<Committed>,
    messages: VecDeque<(NodeKey, Bytes)>,
    events: VecDeque<Event>,
    told: Told,
    /// Bytes applied since the last snapshot.
    applied_bytes: usize,
    /// The latest moment anybody told.
    now: Moment,
    next_tick: Option<Moment>,
    ask_at: Moment,
    probe_at: Moment,
    /// The member that was probed last.
    probed: NodeKey,
    duplicates: u64,
    /// This node leads and its own removal is committed, at this index: an earlier leader proposed it. As long as nobody else
    /// is known to know that, the others may need this node's vote; so it stays, and applies nothing more.
    farewell: Option<u64>,
    removed: bool,
}

impl Consensus {
    /// The first member of a new group: its leader at once, and alone.
    ///
    /// `key` is this start of this node, `seed` its own.
    ///
    /// # Errors
    /// A setting, or a key of 0.
    pub fn bootstrap(key: NodeKey, seed: Seed, config: Config) -> Result<Self, ConfigError> {
        let mut this = Self::new(key, seed, config, Log::of_founder(key.0))?;
        this.group = Some(key);
        this.replicated = Replicated::of_founder(key);
        this.roles.insert(key, Role::Voter);
        this.begin_configured(BTreeSet::from([key]));
        // With one voter the campaign is won on the spot.
        this.node.campaign().expect("a campaign can always be started");
        this.pump();
        this.events.clear();
        Ok(this)
    }

    /// One of the first `voters` of a new group, which begin it together: each of them knows the others, and none decides
    /// anything without a majority of them. `founder` names the group; this node must be one of the voters.
    ///
    /// A voter that starts as a [joiner](Consensus::joiner) in place of this gets to the same state, a snapshot later.
    ///
    /// # Errors
    /// A setting, a key of 0, or this node is not among the voters.
    pub fn begin_group(
        now: Moment,
        key: NodeKey,
        founder: NodeKey,
        voters: BTreeSet<NodeKey>,
        seed: Seed,
        config: Config,
    ) -> Result<Self, ConfigError> {
        if !voters.contains(&key) {
            return Err(ConfigError { setting: "key", why: "must be one of the voters of the group" });
        }
        if voters.len() == 1 {
            return Self::bootstrap(key, seed, config);
        }
        let mut this = Self::new(key, seed, config, Log::of_group(&voters))?;
        this.now = now;
        this.led_at = now;
        this.group = Some(founder);
        this.replicated = Replicated::of_group(&voters);
        this.roles = voters.iter().map(|voter| (*voter, Role::Voter)).collect();
        this.begin_configured(voters);
        this.members_changed(&BTreeMap::new());
        this.pump();
        this.events.clear();
        Ok(this)
    }

    fn begin_configured(&mut self, voters: BTreeSet<NodeKey>) {
        self.applied_configuration = Configuration::initial(voters);
        self.configuration.clone_from(&self.applied_configuration);
    }

    /// A node that will be a member once a member [adds](Consensus::add) it. Until then it may propose; the proposals
    /// wait.
    ///
    /// # Errors
    /// A setting, or a key of 0.
    pub fn joiner(key: NodeKey, seed: Seed, config: Config) -> Result<Self, ConfigError> {
        Self::new(key, seed, config, Log::default())
    }

    fn new(key: NodeKey, seed: Seed, config: Config, log: Log) -> Result<Self, ConfigError> {
        config.check()?;
        if key.0 == 0 {
            return Err(ConfigError { setting: "key", why: "0 is nobody's key" });
        }
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&settle::raft_config(key, &config, &log), log, &logger)
            .map_err(|_| ConfigError { setting: "config", why: "refused by the Raft library" })?;
        Ok(Self {
            key,
            seed: seed.split_index(key.0),
            config,
            group: None,
            node,
            drawn: (u64::MAX, 0),
            replicated: Replicated::default(),
            admission: None,
            roles: BTreeMap::new(),
            applied_configuration: Configuration::default(),
            configuration: Configuration::default(),
            configuration_stale: false,
            proposals: Proposals::new(),
            wishes: BTreeMap::new(),
            asked: BTreeMap::new(),
            review: false,
            heard: BTreeMap::new(),
            beaten: BTreeMap::new(),
            led_at: Moment::ZERO,
            led_since: Moment::ZERO,
            trips: BTreeMap::new(),
            committed: VecDeque::new(),
            messages: VecDeque::new(),
            events: VecDeque::new(),
            told: Told::default(),
            applied_bytes: 0,
            now: Moment::ZERO,
            next_tick: None,
            ask_at: Moment::ZERO,
            probe_at: Moment::ZERO,
            probed: NodeKey(0),
            duplicates: 0,
            farewell: None,
            removed: false,
        })
    }

    /// Proposes `body`. It is committed once, after this node's earlier proposals and before its later ones, unless the
    /// node is removed or stops first: then it may or may not be. The serials of a node are 1, 2, 3 and so on.
    ///
    /// # Errors
    /// It is too long, too much waits, or the node was removed: nothing was proposed.
    pub fn propose(&mut self, now: Moment, body: Bytes) -> Result<Serial, ProposeError> {
        self.at(now);
        if self.removed {
            return Err(ProposeError::Removed);
        }
        let serial = self.proposals.push(body, &self.config)?;
        self.pump();
        Ok(Serial(serial))
    }

    /// Wants `key` to be a member, and no longer to be removed. Any member may say so; the leader sees to it. A
    /// node that was removed is not added again, but told so. Saying it again does no harm, and is due for a node that is
    /// there and no member when [`Event::Leader`] or [`Event::Members`] comes.
    pub fn add(&mut self, now: Moment, key: NodeKey) {
        self.wish(now, key, Wish::Add);
    }

    /// Wants `key` to be no member, now or ever: it is gone, or leaves. Any member may say so, and again; the leader sees to
    /// it. A member that removes itself goes on until [`Event::Removed`]; as leader it first hands over. Who is
    /// alone, or not yet a member, is out at once.
    pub fn remove(&mut self, now: Moment, key: NodeKey) {
        self.wish(now, key, Wish::Remove);
    }

    fn wish(&mut self, now: Moment, key: NodeKey, wish: Wish) {
        self.at(now);
        // The latest wish is the one that counts: who is back is not to be removed any more.
        self.wishes.remove(&key);
        if self.removed || key.0 == 0 {
            return;
        }
        if wish == Wish::Add && self.replicated.was_removed(key) {
            return self.send(key, &Packet::Removed);
        }
        if self.is_fulfilled(key, wish) {
            return;
        }
        let alone = self.roles.keys().all(|member| *member == self.key);
        if alone && key == self.key && wish == Wish::Remove {
            return self.set_removed();
        }
        self.wishes.insert(key, wish);
        self.ask_at = self.now;
        self.review = true;
        self.pump();
    }

    /// The state of the application after everything [`Consensus::poll_committed`] has returned, which must be
    /// everything there was. Entries it covers are dropped from the log.
    ///
    /// # Errors
    /// Not the right moment, or too large: nothing happened. Asked for again when still needed.
    pub fn provide_snapshot(&mut self, now: Moment, state: &[u8]) -> Result<(), SnapshotError> {
        self.at(now);
        if !self.committed.is_empty() {
            return Err(SnapshotError::NotDrained { left: self.committed.len() });
        }
        if state.len() > SNAPSHOT_BYTES_MAX {
            return Err(SnapshotError::TooLarge { len: state.len() });
        }
        if self.removed || !self.roles.contains_key(&self.key) {
            return Err(SnapshotError::NoMember);
        }
        self.take_snapshot(state);
        self.pump();
        Ok(())
    }

    /// Whether [`Consensus::poll_committed`] has something.
    #[must_use]
    pub fn has_committed(&self) -> bool {
        !self.committed.is_empty()
    }

    /// The next thing that is decided, to be applied now.
    pub fn poll_committed(&mut self) -> Option<Committed> {
        self.committed.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next message, and to whom. It may get lost. No longer than the longest entry or snapshot, and
    /// [`Config::message_bytes`] besides.
    pub fn poll_message(&mut self) -> Option<(NodeKey, Bytes)> {
        self.messages.pop_front()
    }

    /// When [`Consensus::handle_timeout`] is to be called; `None` while there is nobody to wait for.
    pub fn poll_timeout(&self) -> Option<Moment> {
        if self.removed { None } else { self.next_tick }
    }

    /// Takes note of the time; it never goes back.
    fn at(&mut self, now: Moment) {
        self.now = self.now.max(now);
    }

    fn is_heard(&self, key: NodeKey) -> bool {
        let timeout = self.config.election_timeout();
        self.heard.get(&key).is_some_and(|heard| self.now.since(*heard) < timeout)
    }
}

#[cfg(test)]
mod tests;
