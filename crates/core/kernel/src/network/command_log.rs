//! Proposals on their way into the replicated log, and committed entries on their way out.

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use consensus::{Committed, Config, Consensus, Event, Serial, SnapshotPoint};
use rti::{Command, Completion, Proposal, Rti};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One node's part of the log, and what it has proposed.
pub(crate) struct CommandLog {
    key: NodeKey,
    seed: Seed,
    config: Config,
    log: Consensus,
    /// Proposals of this node's services that are not yet committed.
    in_flight: BTreeMap<Serial, Proposal>,
    /// Proposals that the log has not taken, with the reasons, until the services give them up.
    refused: Vec<(Proposal, String)>,
    /// Committed entries that are not yet applied: the first one needs an object model that a job
    /// builds.
    decided: VecDeque<Decided>,
    /// The log wants a snapshot, which requires all committed entries to be applied.
    snapshot_wanted: bool,
    /// The moment of the snapshot that is being encoded.
    snapshot_point: Option<Box<SnapshotPoint>>,
}

/// A committed entry of the log. It is decoded once, because it may have to wait.
enum Decided {
    /// A proposal of this node's services.
    Own(Serial),
    /// A command of another node, of this node's previous incarnation or of its kernel.
    Command(NodeKey, Command),
    /// The state of the network.
    Restore(Bytes),
}

impl CommandLog {
    /// The log of a node that is to become a member.
    pub(crate) fn new(key: NodeKey, seed: Seed, config: Config) -> Self {
        let log =
            Consensus::joiner(key, seed, config.clone()).expect("the settings are checked at the start");
        Self {
            key,
            seed,
            config,
            log,
            in_flight: BTreeMap::new(),
            refused: Vec::new(),
            decided: VecDeque::new(),
            snapshot_wanted: false,
            snapshot_point: None,
        }
    }

    /// Founds a log. Earlier proposals are proposed again.
    pub(crate) fn bootstrap(&mut self, now: Moment) {
        self.log = Consensus::bootstrap(self.key, self.seed, self.config.clone())
            .expect("the settings are checked at the start");
        self.decided.clear();
        self.snapshot_point = None;
        for (_, proposal) in std::mem::take(&mut self.in_flight) {
            self.propose(now, proposal);
        }
    }

    /// Founds the log of a group together with the group's other first voters.
    pub(crate) fn begin_group(&mut self, now: Moment, creator: NodeKey, voters: BTreeSet<NodeKey>) {
        self.log = Consensus::begin_group(now, self.key, creator, voters, self.seed, self.config.clone())
            .expect("the settings are checked at the start, and this node is one of the voters");
        self.snapshot_point = None;
        for (_, proposal) in std::mem::take(&mut self.in_flight) {
            self.propose(now, proposal);
        }
    }

    /// Proposes a command of the services.
    pub(crate) fn propose(&mut self, now: Moment, proposal: Proposal) {
        match self.log.propose(now, proposal.to_bytes()) {
            Ok(serial) => {
                self.in_flight.insert(serial, proposal);
            }
            Err(error) => {
                tracing::error!(%error, "a command was not proposed");
                self.refused.push((proposal, error.to_string()));
            }
        }
    }

    /// Proposes a command of the kernel.
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

    /// Gives up what was not proposed, and applies all committed entries, up to the first one that must
    /// wait for a job. Returns true if there were any.
    pub(crate) fn apply(&mut self, now: Moment, rti: &mut Rti, done: &mut Vec<Completion>) -> bool {
        let mut any = !self.refused.is_empty();
        for (proposal, why) in std::mem::take(&mut self.refused) {
            done.extend(rti.give_up(now, proposal, &why));
        }
        loop {
            while let Some(committed) = self.log.poll_committed() {
                any = true;
                self.decided.extend(self.read(committed));
            }
            while let Some(event) = self.log.poll_event() {
                any = true;
                match event {
                    Event::SnapshotWanted => self.snapshot_wanted = true,
                    other => tracing::debug!(?other, "log"),
                }
            }
            if !self.apply_ready(now, rti, done) {
                break;
            }
            any = true;
        }
        // The log assumes that every entry it has handed out is applied.
        if self.snapshot_wanted && self.decided.is_empty() {
            self.snapshot_wanted = false;
            match self.log.snapshot_point() {
                Ok(point) => {
                    rti.begin_snapshot();
                    self.snapshot_point = Some(Box::new(point));
                }
                Err(error) => tracing::debug!(%error, "no snapshot for now"),
            }
        }
        if let Some(state) = rti.take_snapshot()
            && let Some(point) = self.snapshot_point.take()
            && let Err(error) = self.log.provide_snapshot(now, *point, &state)
        {
            tracing::debug!(%error, "the snapshot is of no use");
        }
        any
    }

    /// Decodes an entry. `None`: no node of this version understands it.
    fn read(&self, committed: Committed) -> Option<Decided> {
        match committed {
            Committed::Entry { from, serial, .. }
                if from == self.key && self.in_flight.contains_key(&serial) =>
            {
                Some(Decided::Own(serial))
            }
            Committed::Entry { from, body, .. } => match Command::from_bytes(&body) {
                Ok(command) => Some(Decided::Command(from, command)),
                Err(error) => {
                    tracing::error!(%from, %error, "a command is not understood: this node is of another version");
                    None
                }
            },
            Committed::Restore(state) => Some(Decided::Restore(state)),
        }
    }

    /// Applies, in order, the entries that need no job. Returns true if there were any.
    fn apply_ready(&mut self, now: Moment, rti: &mut Rti, done: &mut Vec<Completion>) -> bool {
        let mut any = false;
        while self.is_first_ready(rti) {
            let Some(decided) = self.decided.pop_front() else { break };
            any = true;
            match decided {
                Decided::Own(serial) => {
                    let proposal = self.in_flight.remove(&serial);
                    done.extend(proposal.and_then(|proposal| rti.commit(now, proposal)));
                }
                Decided::Command(from, command) => rti.commit_command(now, from, command),
                Decided::Restore(state) => self.restore(now, &state, rti, done),
            }
        }
        any
    }

    fn is_first_ready(&self, rti: &mut Rti) -> bool {
        match self.decided.front() {
            None => false,
            Some(Decided::Own(serial)) => {
                self.in_flight.get(serial).is_none_or(|proposal| rti.is_ready(proposal.command()))
            }
            Some(Decided::Command(_, command)) => rti.is_ready(command),
            Some(Decided::Restore(state)) => rti.is_ready_to_restore(state),
        }
    }

    fn restore(&mut self, now: Moment, state: &Bytes, rti: &mut Rti, done: &mut Vec<Completion>) {
        if let Err(error) = rti.restore(now, state) {
            tracing::error!(%error, "the state of the network is not understood: this node is of another version");
            return;
        }
        // Proposals committed after the snapshot are still to be applied.
        let own = |decided: &&Decided| match decided {
            Decided::Own(_) => true,
            Decided::Command(from, _) => *from == self.key,
            Decided::Restore(_) => false,
        };
        let own_left = self.decided.iter().filter(own).count() as u64;
        let next = self.log.next_serial().0 - own_left;
        let later = self.in_flight.split_off(&Serial(next));
        for (_, proposal) in std::mem::replace(&mut self.in_flight, later) {
            done.extend(rti.settle(now, proposal));
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

    /// See [`Consensus::greet`]. Only the leader calls it, so that one greeting is sent.
    pub(crate) fn greet(&mut self, now: Moment, key: NodeKey) {
        if self.log.is_leader() {
            self.log.greet(now, key);
        }
    }

    /// See [`Consensus::handle_paths_changed`].
    pub(crate) fn handle_paths_changed(&mut self) {
        self.log.handle_paths_changed();
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

    /// The log itself, for reading.
    pub(crate) fn log(&self) -> &Consensus {
        &self.log
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::Exception;
    use hla::api::call_request::CallRequest as Call;
    use hla::api::{ConnectRequest, CreateFederationExecutionRequest};
    use rti::{CallId, CallerId, NoFoms};

    #[test]
    fn a_call_whose_command_is_too_long_for_the_log_is_answered() {
        const LIMIT: usize = 500;
        let (now, caller) = (Moment::from_secs(1), CallerId(1));
        let config = Config { entry_bytes_max: LIMIT, ..Config::default() };
        let mut log = CommandLog::new(NodeKey(1), Seed(1), config);
        log.bootstrap(now);
        let mut rti = Rti::new(rti::Config::default(), Box::new(NoFoms));
        rti.open(now, caller).unwrap();
        assert!(rti.call(now, caller, CallId(0), Call::ConnectRequest(ConnectRequest {})).is_some());
        for (call, octets) in [(1, 2 * LIMIT), (2, LIMIT / 2)] {
            let federation_name = "x".repeat(octets);
            let create = CreateFederationExecutionRequest { federation_name, ..Default::default() };
            let create = Call::CreateFederationExecutionRequest(create);
            assert!(rti.call(now, caller, CallId(call), create).is_none(), "call {call} waits");
            log.propose(now, rti.poll_proposal().expect("federations are created in a common order"));
            let mut done = Vec::new();
            assert!(log.apply(now, &mut rti, &mut done));
            let [Completion { call: answered, answer, .. }] = &done[..] else { panic!("one answer") };
            assert_eq!(*answered, CallId(call));
            match answer {
                Ok(_) => assert!(octets < LIMIT),
                Err(error) => {
                    assert_eq!(error.exception, Exception::RTIinternalError);
                    assert!(octets > LIMIT && error.to_string().contains("the limit is 500"), "{error}");
                }
            }
        }
    }
}
