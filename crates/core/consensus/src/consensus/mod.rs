//! The machine: its state and the calls of its owner.

mod apply;
mod beats;
mod input;
mod leader;
mod look;
mod repeats;
mod settle;
mod ticks;
mod types;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use raft::RawNode;

use self::repeats::EntriesTrip;
use self::settle::Reported;
use self::ticks::SnapshotTrip;
pub use self::types::{Committed, Event, Serial, SnapshotError, SnapshotPoint, Status};
use crate::change::Role;
use crate::config::{Config, ConfigError, SNAPSHOT_BYTES_MAX};
use crate::configuration::Configuration;
use crate::log::Log;
use crate::proposals::{Proposals, ProposeError};
use crate::replicated::Replicated;
use crate::wire::{MemberRequest, Packet};

/// One member of a group, or a node that is about to become one. See the [crate].
pub struct Consensus {
    key: NodeKey,
    seed: Seed,
    config: Config,
    /// The key of the creator names the group; `None` until a joiner learns it.
    group: Option<NodeKey>,
    node: RawNode<Log>,
    /// The election timeout drawn for a term: (term, ticks).
    drawn: (u64, usize),
    /// The fold of the committed log.
    replicated: Replicated,
    /// While leading: the term, and the fold of the whole log.
    admission: Option<(u64, Replicated)>,
    roles: BTreeMap<NodeKey, Role>,
    /// The voters as of the last applied entry. `configuration`: those as of the end of the log.
    applied_configuration: Configuration,
    configuration: Configuration,
    /// Entries were appended or truncated that may change `configuration`.
    configuration_stale: bool,
    proposals: Proposals,
    /// This node's requests for changes of the membership.
    requests: BTreeMap<NodeKey, MemberRequest>,
    /// While leading: the requests of all members.
    asked: BTreeMap<NodeKey, MemberRequest>,
    /// While leading: something happened that may require a change of the membership.
    review: bool,
    /// When each member was last heard.
    heard: BTreeMap<NodeKey, Moment>,
    /// When a leader last sent a heartbeat to each learner.
    beaten: BTreeMap<NodeKey, Moment>,
    /// When a leader was last heard as such.
    led_at: Moment,
    /// When this node began to lead: at that moment it had heard a majority.
    led_since: Moment,
    /// While leading: snapshots that followers are taking in.
    trips: BTreeMap<NodeKey, SnapshotTrip>,
    /// While leading: entries that were sent to followers being probed.
    entries_trips: BTreeMap<NodeKey, EntriesTrip>,
    committed: VecDeque<Committed>,
    messages: VecDeque<(NodeKey, Bytes)>,
    events: VecDeque<Event>,
    reported: Reported,
    /// Bytes applied since the last snapshot.
    applied_bytes: usize,
    /// The latest moment that a caller has passed.
    now: Moment,
    next_tick: Option<Moment>,
    ask_at: Moment,
    probe_at: Moment,
    /// The member that was last probed.
    probed: NodeKey,
    duplicates: u64,
    /// This node leads, and its own removal is committed at this index; an earlier leader proposed
    /// it. The others may need this node's vote until a voter is known to know of that commit.
    /// So this node stays until then, and applies nothing more.
    farewell: Option<u64>,
    /// This node leads, and has proposed to lose its vote. It appends nothing more: until they know
    /// that this was committed, the new voters need its vote, and it may vote for nobody whose log is
    /// shorter than its own.
    hands_over: bool,
    removed: bool,
}

impl Consensus {
    /// The first member of a new group: its leader at once, and alone.
    ///
    /// `key` identifies this incarnation of the node; `seed` belongs to it alone.
    ///
    /// # Errors
    /// A setting is invalid, or the key is 0.
    pub fn bootstrap(key: NodeKey, seed: Seed, config: Config) -> Result<Self, ConfigError> {
        let mut this = Self::new(key, seed, config, Log::of_creator(key.0))?;
        this.group = Some(key);
        this.replicated = Replicated::of_creator(key);
        this.roles.insert(key, Role::Voter);
        this.begin_configured(BTreeSet::from([key]));
        // With one voter the campaign is won immediately.
        this.node.campaign().expect("a campaign can always be started");
        this.pump();
        this.events.clear();
        Ok(this)
    }

    /// One of the first `voters` of a new group, which they begin together. Each of them knows the
    /// others, and nothing is decided without a majority of them. `creator` names the group; this
    /// node must be one of the voters.
    ///
    /// A voter that starts as a [joiner](Consensus::joiner) instead reaches the same state, a
    /// snapshot later.
    ///
    /// # Errors
    /// A setting is invalid, the key is 0, or this node is not among the voters.
    pub fn begin_group(
        now: Moment,
        key: NodeKey,
        creator: NodeKey,
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
        this.group = Some(creator);
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

    /// A node that becomes a member when a member [adds](Consensus::add) it. It may propose before
    /// that; the proposals wait.
    ///
    /// # Errors
    /// A setting is invalid, or the key is 0.
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
            requests: BTreeMap::new(),
            asked: BTreeMap::new(),
            review: false,
            heard: BTreeMap::new(),
            beaten: BTreeMap::new(),
            led_at: Moment::ZERO,
            led_since: Moment::ZERO,
            trips: BTreeMap::new(),
            entries_trips: BTreeMap::new(),
            committed: VecDeque::new(),
            messages: VecDeque::new(),
            events: VecDeque::new(),
            reported: Reported::default(),
            applied_bytes: 0,
            now: Moment::ZERO,
            next_tick: None,
            ask_at: Moment::ZERO,
            probe_at: Moment::ZERO,
            probed: NodeKey(0),
            duplicates: 0,
            farewell: None,
            hands_over: false,
            removed: false,
        })
    }

    /// Proposes `body`. It is committed once, after this node's earlier proposals and before its
    /// later ones. If the node is removed or stops first, it may or may not be committed. The
    /// serials of a node are 1, 2, 3 and so on.
    ///
    /// # Errors
    /// The body is too long, too many proposals wait, or the node was removed. Nothing was
    /// proposed.
    pub fn propose(&mut self, now: Moment, body: Bytes) -> Result<Serial, ProposeError> {
        self.at(now);
        if self.removed {
            return Err(ProposeError::Removed);
        }
        let serial = self.proposals.push(body, &self.config)?;
        self.pump();
        Ok(Serial(serial))
    }

    /// Requests that `key` become a member, and withdraws a request to remove it. Any member may
    /// request this; the leader carries it out. A node that was removed is not added again, but
    /// told so. Repeating the request does no harm. Repeat it when [`Event::Leader`] or
    /// [`Event::Members`] comes while the node is present and not a member.
    pub fn add(&mut self, now: Moment, key: NodeKey) {
        self.request(now, key, MemberRequest::Add);
    }

    /// Requests that `key` not be a member, now or ever: it is gone, or it leaves. Any member may
    /// request this, repeatedly; the leader carries it out. A member that removes itself goes on
    /// until [`Event::Removed`]; a leader first hands over. A node that is alone, or not yet a
    /// member, is removed at once.
    pub fn remove(&mut self, now: Moment, key: NodeKey) {
        self.request(now, key, MemberRequest::Remove);
    }

    fn request(&mut self, now: Moment, key: NodeKey, request: MemberRequest) {
        self.at(now);
        // The latest request counts: a node that is back must no longer be removed.
        self.requests.remove(&key);
        if self.removed || key.0 == 0 {
            return;
        }
        // A key is never used again. Its log is lost, and with it the promises made under the key.
        if request == MemberRequest::Add && self.replicated.was_removed(key) {
            return self.send(key, &Packet::Removed);
        }
        if self.is_fulfilled(key, request) {
            return;
        }
        // Nobody is left who could commit the removal.
        let alone = self.roles.keys().all(|member| *member == self.key);
        if alone && key == self.key && request == MemberRequest::Remove {
            return self.set_removed();
        }
        self.requests.insert(key, request);
        self.ask_at = self.now;
        self.review = true;
        self.pump();
    }

    /// The present moment in the log, for a snapshot: the caller must have taken everything that
    /// [`Consensus::poll_committed`] returns. Encoding the state may take long; entries that are
    /// committed meanwhile do not belong to it.
    ///
    /// # Errors
    /// It is not the right moment. The snapshot is requested again if it is still needed.
    pub fn snapshot_point(&mut self) -> Result<SnapshotPoint, SnapshotError> {
        self.reported.snapshot_wanted = false;
        // The state of the owner lacks these entries, and a snapshot with their index would lose
        // them.
        if !self.committed.is_empty() {
            return Err(SnapshotError::NotDrained { left: self.committed.len() });
        }
        if self.removed || !self.roles.contains_key(&self.key) {
            return Err(SnapshotError::NoMember);
        }
        let point = self.point().ok_or(SnapshotError::Changing)?;
        self.reported.snapshot_wanted = true;
        Ok(point)
    }

    /// Provides the state of the application at `point`. Entries that it covers are dropped from the
    /// log.
    ///
    /// # Errors
    /// The state is too large, or of no use. Nothing happened. In the latter case the snapshot is
    /// requested again if it is still needed.
    pub fn provide_snapshot(
        &mut self,
        now: Moment,
        point: SnapshotPoint,
        state: &[u8],
    ) -> Result<(), SnapshotError> {
        self.at(now);
        if state.len() > SNAPSHOT_BYTES_MAX {
            return Err(SnapshotError::TooLarge { len: state.len() });
        }
        self.reported.snapshot_wanted = false;
        if self.removed || !self.roles.contains_key(&self.key) {
            return Err(SnapshotError::NoMember);
        }
        // A snapshot that went backwards would drop entries that the log has already given up.
        if point.index < self.node.store().snapshot_index() {
            return Err(SnapshotError::Outdated);
        }
        self.take_snapshot(point, state);
        self.pump();
        Ok(())
    }

    /// The next decision, to be applied now.
    pub fn poll_committed(&mut self) -> Option<Committed> {
        self.committed.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next message and its recipient. It may get lost. It is no longer than the longest entry
    /// or snapshot plus [`Config::message_bytes`].
    pub fn poll_message(&mut self) -> Option<(NodeKey, Bytes)> {
        self.messages.pop_front()
    }

    /// When [`Consensus::handle_timeout`] is due; `None` while there is no other member to wait
    /// for.
    pub fn poll_timeout(&self) -> Option<Moment> {
        if self.removed { None } else { self.next_tick }
    }

    /// Advances the time, which never goes back.
    fn at(&mut self, now: Moment) {
        // Owners may call out of order after work in slices; time in the machine never falls.
        self.now = self.now.max(now);
    }

    fn is_heard(&self, key: NodeKey) -> bool {
        let timeout = self.config.election_timeout();
        self.heard.get(&key).is_some_and(|heard| self.now.since(*heard) < timeout)
    }
}

#[cfg(test)]
mod tests;
