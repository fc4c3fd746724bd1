//! Members and the network between them, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base::{Moment, NodeKey, Rng, Seed};
use bytes::Bytes;
use consensus::{Committed, Config, Consensus, Event, Role, SnapshotError, SnapshotPoint};
use rand_core::RngCore;

use crate::oracle::{Applied, NOTHING, Oracle, body_head, fold};

/// Faults of the network: shares of messages in parts of 1,000, delays in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FaultProfile {
    pub(crate) loss: u64,
    pub(crate) doubling: u64,
    pub(crate) delay_min: u64,
    pub(crate) delay_max: u64,
}

pub(crate) struct Node {
    pub(crate) consensus: Consensus,
    pub(crate) applied: Applied,
    pub(crate) proposed: u64,
    /// The node is stopped until then; its messages wait.
    pub(crate) paused: Moment,
    /// The side of a partition that the node is on.
    pub(crate) side: u8,
    /// The node has asked to leave.
    pub(crate) leaving: bool,
    /// A snapshot whose state is being encoded.
    encoding: Option<(SnapshotPoint, Bytes)>,
}

impl Node {
    /// Whether, with everything applied, the configuration at the end of the log is that of the
    /// members.
    fn configuration_is_that_of_the_members(&self) -> bool {
        let members = self.consensus.members().iter();
        let voters = members.filter(|(_, role)| **role == Role::Voter).map(|(key, _)| *key);
        let configuration = self.consensus.configuration();
        configuration.outgoing.is_empty() && configuration.voters == voters.collect()
    }
}

pub(crate) struct World {
    pub(crate) nodes: BTreeMap<NodeKey, Node>,
    pub(crate) oracle: Oracle,
    pub(crate) faults: FaultProfile,
    pub(crate) now: Moment,
    pub(crate) rng: Rng,
    /// Draws how long snapshots are encoded. The faults of a seed do not depend on it.
    encoding_rng: Rng,
    pub(crate) dead: BTreeSet<NodeKey>,
    /// When the membership last changed, as seen by any member.
    pub(crate) moved: Moment,
    seed: Seed,
    config: Config,
    mail: BTreeMap<(Moment, u64), (NodeKey, NodeKey, Bytes)>,
    posted: u64,
    keys: u64,
    pub(crate) digest: u64,
    /// The last member has left; any other node is cut off or came too late.
    pub(crate) over: bool,
}

impl World {
    pub(crate) fn new(seed: Seed, config: Config) -> Self {
        let mut world = Self {
            nodes: BTreeMap::new(),
            oracle: Oracle::default(),
            faults: FaultProfile { delay_min: 1, delay_max: 5, ..FaultProfile::default() },
            now: Moment::ZERO,
            rng: seed.split("world").rng(),
            encoding_rng: seed.split("encoding").rng(),
            dead: BTreeSet::new(),
            moved: Moment::ZERO,
            seed,
            config,
            mail: BTreeMap::new(),
            posted: 0,
            keys: 0,
            digest: 0,
            over: false,
        };
        let key = world.fresh_key();
        let creator = Consensus::bootstrap(key, seed, world.config.clone()).unwrap();
        world.put(key, creator);
        world
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.rng.next_u64() % n.max(1)
    }

    pub(crate) fn chance(&mut self, parts: u64) -> bool {
        self.below(1_000) < parts
    }

    fn fresh_key(&mut self) -> NodeKey {
        self.keys += 1;
        // Keys are random, so their order does not reveal their age.
        NodeKey(self.seed.split("key").split_index(self.keys).0 | 1)
    }

    fn put(&mut self, key: NodeKey, consensus: Consensus) {
        let (applied, paused) = (NOTHING, Moment::ZERO);
        let node = Node { consensus, applied, proposed: 0, paused, side: 0, leaving: false, encoding: None };
        self.nodes.insert(key, node);
    }

    /// Starts a new node, which some of the others want to add.
    pub(crate) fn join(&mut self) -> NodeKey {
        let key = self.fresh_key();
        let joiner = Consensus::joiner(key, self.seed, self.config.clone()).unwrap();
        let others: Vec<NodeKey> = self.nodes.keys().copied().collect();
        self.put(key, joiner);
        for other in others {
            let now = self.now;
            self.call(other, |consensus| consensus.add(now, key));
        }
        key
    }

    pub(crate) fn kill(&mut self, key: NodeKey) {
        self.nodes.remove(&key);
        self.dead.insert(key);
    }

    pub(crate) fn propose(&mut self, key: NodeKey, filler: usize) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&key) else { return };
        let mut body = body_head(key, node.proposed + 1).to_vec();
        body.resize(body.len() + filler, 7);
        if let Ok(serial) = node.consensus.propose(now, body.into()) {
            node.proposed += 1;
            assert_eq!(serial.0, node.proposed);
        }
        self.drain(key);
    }

    pub(crate) fn call(&mut self, key: NodeKey, happening: impl FnOnce(&mut Consensus)) {
        if let Some(node) = self.nodes.get_mut(&key) {
            happening(&mut node.consensus);
            self.drain(key);
        }
    }

    /// Takes all outputs of a member.
    fn drain(&mut self, key: NodeKey) {
        let now = self.now;
        // Encoding a state takes until some later turn of the member.
        let is_encoded = self.encoding_rng.next_u64() % 10 < 3;
        let Some(node) = self.nodes.get_mut(&key) else { return };
        if let Some((point, state)) = node.encoding.take_if(|_| is_encoded) {
            match node.consensus.provide_snapshot(now, point, &state) {
                Ok(()) | Err(SnapshotError::Outdated | SnapshotError::NoMember) => {}
                Err(error) => panic!("{error}"),
            }
        }
        while let Some(committed) = node.consensus.poll_committed() {
            match committed {
                Committed::Entry { from, serial, body } => {
                    node.applied = self.oracle.apply(node.applied, from, serial, &body);
                }
                Committed::Restore(state) => {
                    let after = Applied::from_bytes(&state);
                    self.oracle.restore(node.applied, after);
                    node.applied = after;
                }
            }
        }
        let mut removed = false;
        while let Some(event) = node.consensus.poll_event() {
            match event {
                Event::SnapshotWanted => {
                    assert!(node.encoding.is_none(), "one at a time");
                    let point = node.consensus.snapshot_point().unwrap();
                    node.encoding = Some((point, Bytes::copy_from_slice(&node.applied.to_bytes())));
                }
                Event::Members => self.moved = now,
                Event::Removed => removed = true,
                _ => {}
            }
        }
        let mail: Vec<_> = std::iter::from_fn(|| node.consensus.poll_message()).collect();
        let left = node.leaving;
        self.over |= removed && node.consensus.members().len() == 1;
        for (to, message) in mail {
            self.post(key, to, &message);
        }
        if removed {
            self.kill(key);
            if !left {
                self.join();
            }
        }
    }

    fn post(&mut self, from: NodeKey, to: NodeKey, message: &Bytes) {
        self.digest = fold(fold(self.digest, &to.0.to_le_bytes()), message);
        let FaultProfile { loss, doubling, delay_min, delay_max } = self.faults;
        let copies = 1 + u64::from(self.chance(doubling));
        for _ in 0..copies {
            if self.chance(loss) {
                continue;
            }
            let delay = delay_min + self.below(delay_max - delay_min + 1);
            self.posted += 1;
            let at = self.now + Duration::from_millis(delay);
            self.mail.insert((at, self.posted), (from, to, message.clone()));
        }
    }

    pub(crate) fn is_cut(&self, from: NodeKey, to: NodeKey) -> bool {
        match (self.nodes.get(&from), self.nodes.get(&to)) {
            (Some(from), Some(to)) => from.side != to.side,
            // The last messages of a dead node still arrive.
            (None, Some(_)) => false,
            (_, None) => true,
        }
    }

    /// Runs until `end`.
    pub(crate) fn run_until(&mut self, end: Moment) {
        loop {
            let mail = self.mail.first_key_value().map(|((at, _), _)| *at);
            let due = |node: &Node| node.consensus.poll_timeout().map(|due| due.max(node.paused));
            let timer = self.nodes.iter().filter_map(|(key, node)| Some((due(node)?, *key))).min();
            match (mail, timer) {
                (Some(at), timer) if at <= end && timer.is_none_or(|(due, _)| at <= due) => self.deliver(at),
                (_, Some((due, key))) if due <= end => {
                    self.now = self.now.max(due);
                    let now = self.now;
                    self.call(key, |consensus| consensus.handle_timeout(now));
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn deliver(&mut self, at: Moment) {
        self.now = self.now.max(at);
        let Some((_, (from, to, message))) = self.mail.pop_first() else { return };
        if self.is_cut(from, to) {
            return;
        }
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&to) else { return };
        if node.paused > now {
            self.posted += 1;
            self.mail.insert((node.paused, self.posted), (from, to, message));
            return;
        }
        node.consensus.handle_message(now, from, message).unwrap();
        self.drain(to);
    }

    /// The membership as the most advanced member sees it.
    pub(crate) fn members(&self) -> BTreeMap<NodeKey, Role> {
        let best = self.nodes.values().max_by_key(|node| node.consensus.status().applied);
        best.map(|node| node.consensus.members().clone()).unwrap_or_default()
    }

    pub(crate) fn leader(&self) -> Option<NodeKey> {
        let term = |node: &Node| node.consensus.status().term;
        let leaders = self.nodes.iter().filter(|(_, node)| node.consensus.is_leader());
        leaders.max_by_key(|(_, node)| term(node)).map(|(key, _)| *key)
    }

    /// Whether every live node is a member, no other node is, and all have applied the same
    /// entries, which contain all their proposals.
    pub(crate) fn is_calm(&self) -> bool {
        let alive: Vec<&NodeKey> = self.nodes.keys().collect();
        self.nodes.iter().all(|(key, node)| {
            node.applied.count == self.oracle.len()
                && node.consensus.members().keys().collect::<Vec<_>>() == alive
                && self.oracle.last_of(*key) == node.proposed
                && node.consensus.has_quorum()
                && node.consensus.status().waiting == 0
                && node.configuration_is_that_of_the_members()
        })
    }
}
