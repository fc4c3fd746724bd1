//! Proposals on their way to the replicated log, and what comes out of it.

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use consensus::{Committed, Config, Consensus, Event, Serial};
use rti::{Command, Completion, Proposal, Rti};
use std::collections::{BTreeMap, BTreeSet};

/// One node's part of the log, and what it has proposed.
pub(crate) struct Order {
    key: NodeKey,
    seed: Seed,
    config: Config,
    log: Consensus,
    /// Proposals of this node's services whose turn has not come.
    in_flight: BTreeMap<Serial, Proposal>,
}

impl Order {
    /// The log of a node that is to become a member.
    pub(crate) fn new(key: NodeKey, seed: Seed, config: Config) -> Self {
        let log =
            Consensus::joiner(key, seed, config.clone()).expect("the settings are checked at the start");
        Self { key, seed, config, log, in_flight: BTreeMap::new() }
    }

    /// Begins a log. What was proposed before is proposed again.
    pub(crate) fn bootstrap(&mut self, now: Moment) {
        self.log = Consensus::bootstrap(self.key, self.seed, self.config.clone())
            .expect("the settings are checked at the start");
        for (_, proposal) in std::mem::take(&mut self.in_flight) {
            self.propose(now, proposal);
        }
    }

    /// Begins the log of a group together with its other first voters.
    pub(crate) fn begin_group(&mut self, now: Moment, founder: NodeKey, voters: BTreeSet<NodeKey>) {
        self.log = Consensus::begin_group(now, self.key, founder, voters, self.seed, self.config.clone())
            .expect("the settings are checked at the start, and this node is one of the voters");
        for (_, proposal) in std::mem::take(&mut self.in_flight) {
            self.propose(now, proposal);
        }
    }

    /// Puts a proposal of the services on its way.
    pub(crate) fn propose(&mut self, now: Moment, proposal: Proposal) {
        match self.log.propose(now, proposal.to_bytes()) {
            Ok(serial) => {
                self.in_flight.insert(serial, proposal);
            }
            // The session of the caller ends with the node's membership; nothing else is lost but what it asked for.
            Err(error) => tracing::error!(%error, command = ?proposal.command(), "not proposed"),
        }
    }

    /// Puts a command of the kernel on its way.
    pub(crate) fn command(&mut self, now: Moment, command: &Command) {
        if let Err(error) = self.log.propose(now, command.to_bytes()) {
            tracing::error!(%error, ?command, "not proposed");
        }
    }

    /// A message of another member.
    pub(crate) fn handle_message(&mut self, now: Moment, from: NodeKey, message: Bytes) {
        if let Err(error) = self.log.handle_message(now, from, message) {
            tracing::warn!(%from, %error, "a message of the log is not understood");
        }
    }

    /// Applies everything that is decided. True if there was anything.
    pub(crate) fn apply(&mut self, now: Moment, rti: &mut Rti, done: &mut Vec<Completion>) -> bool {
        let mut any = false;
        let mut wanted = false;
        loop {
            let decided = match self.log.has_committed() {
                true => std::iter::from_fn(|| self.log.poll_committed()).collect(),
                false => Vec::new(),
            };
            while let Some(event) = self.log.poll_event() {
                any = true;
                match event {
                    Event::SnapshotWanted => wanted = true,
                    other => tracing::debug!(?other, "log"),
                }
            }
            if decided.is_empty() {
                break;
            }
            any = true;
            self.apply_all(now, decided, rti, done);
        }
        if wanted && let Err(error) = self.log.provide_snapshot(now, &rti.snapshot()) {
            tracing::debug!(%error, "no snapshot for now");
        }
        any
    }

    fn apply_all(&mut self, now: Moment, decided: Vec<Committed>, rti: &mut Rti, done: &mut Vec<Completion>) {
        let mut own_left = decided
            .iter()
            .filter(|c| matches!(c, Committed::Entry { from, .. } if *from == self.key))
            .count() as u64;
        for committed in decided {
            match committed {
                Committed::Entry { from, serial, body } if from == self.key => {
                    own_left -= 1;
                    match self.in_flight.remove(&serial) {
                        Some(proposal) => done.extend(rti.commit(now, proposal)),
                        None => self.commit_remote(now, from, &body, rti),
                    }
                }
                Committed::Entry { from, body, .. } => self.commit_remote(now, from, &body, rti),
                Committed::Restore(state) => {
                    if let Err(error) = rti.restore(now, &state) {
                        tracing::error!(%error, "the state of the network is not understood: this node is of another version");
                        continue;
                    }
                    let next = self.log.next_serial().0 - own_left;
                    let later = self.in_flight.split_off(&Serial(next));
                    for (_, proposal) in std::mem::replace(&mut self.in_flight, later) {
                        done.extend(rti.settle(now, proposal));
                    }
                }
            }
        }
    }

    fn commit_remote(&self, now: Moment, from: NodeKey, body: &[u8], rti: &mut Rti) {
        if let Err(error) = rti.commit_remote(now, from, body) {
            tracing::error!(%from, %error, "a command is not understood: this node is of another version");
        }
    }

    /// The next message for another member.
    pub(crate) fn poll_message(&mut self) -> Option<(NodeKey, Bytes)> {
        self.log.poll_message()
    }

    /// See [`Consensus::add`].
    pub(crate) fn add(&mut self, now: Moment, key: NodeKey) {
        self.log.add(now, key);
    }

    /// See [`Consensus::remove`].
    pub(crate) fn remove(&mut self, now: Moment, key: NodeKey) {
        self.log.remove(now, key);
    }

    /// See [`Consensus::suspect`].
    pub(crate) fn suspect(&mut self, now: Moment, key: NodeKey) {
        self.log.suspect(now, key);
    }

    /// See [`Consensus::greet`]; by the leader alone, so that it is said once.
    pub(crate) fn greet(&mut self, now: Moment, key: NodeKey) {
        if self.log.is_leader() {
            self.log.greet(now, key);
        }
    }

    /// See [`Consensus::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        if self.poll_timeout().is_some_and(|at| at <= now) {
            self.log.handle_timeout(now);
        }
    }

    /// See [`Consensus::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        self.log.poll_timeout()
    }

    /// See [`Consensus::is_leader`].
    pub(crate) fn is_leader(&self) -> bool {
        self.log.is_leader()
    }

    /// See [`Consensus::is_removed`].
    pub(crate) fn is_removed(&self) -> bool {
        self.log.is_removed()
    }

    /// See [`Consensus::has_quorum`].
    pub(crate) fn has_quorum(&self) -> bool {
        self.log.has_quorum()
    }

    /// The log itself, to look at.
    pub(crate) fn log(&self) -> &Consensus {
        &self.log
    }
}
