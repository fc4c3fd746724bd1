//! Logical time over many nodes: the services and grants of one node, its reports, and the time
//! home if it is one.

use super::bound::Bound;
use super::clock::{Clock, Entering};
use super::coordinator::Coordinator;
use super::message::TimeMessage;
use super::participant::{OwnState, Participant};
use super::status::Reason;
use super::streams::Streams;
use super::summary::Summary;
use super::{TimeEvent, TimeManager};
use crate::control::{NodeId, PublishedClass};
use crate::proposal::{CallId, CallerId};
use bytes::Bytes;
use hla::handle::{FederateHandle, MessageRetractionHandle};
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use router::WireError;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

/// A query that other nodes take part in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Query {
    /// Query GALT (8.17).
    Galt,
    /// Query LITS (8.19).
    Lits,
}

/// Messages that wait for the control plane here to learn that a node was removed. No sound network
/// has more.
const AHEAD_MAX: usize = 4_096;

/// A service that waits for a fresh GALT.
#[derive(Clone, Copy, Debug)]
enum Asker {
    Call {
        federate: FederateHandle,
        caller: CallerId,
        call: CallId,
        query: Query,
    },
    /// Flush Queue Request (8.12).
    Flush(FederateHandle),
}

/// The part of time management that a node without a network lacks.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) participant: Participant,
    coordinator: Option<Coordinator>,
    /// Messages of nodes whose control plane is ahead of the one here.
    ahead: Vec<(NodeId, TimeMessage)>,
    /// Something has happened since the last exchange that may have to be reported.
    due: bool,
    asked: VecDeque<(u64, Asker)>,
    pub(super) early: EarlyReceived,
    outgoing: VecDeque<(NodeId, Bytes)>,
}

/// Federates that have received messages of other nodes before they were due. They are remembered
/// until no sender can retract these messages any longer.
#[derive(Debug, Default)]
pub(super) struct EarlyReceived(BTreeMap<(LogicalTime, u64), BTreeSet<FederateHandle>>);

/// Messages that are remembered. A node that has never had a federate in logical time does not
/// learn which can no longer be retracted, and forgets those with the least time stamps first.
const EARLY_MAX: usize = 16_384;

impl EarlyReceived {
    pub(super) fn insert(
        &mut self,
        time: LogicalTime,
        retraction: MessageRetractionHandle,
        to: FederateHandle,
    ) {
        self.0.entry((time, retraction.0)).or_default().insert(to);
        if self.0.len() > EARLY_MAX {
            self.0.pop_first();
        }
    }

    /// All messages, with the federates that have received them.
    pub(super) fn all(
        &self,
    ) -> impl Iterator<Item = (LogicalTime, MessageRetractionHandle, &BTreeSet<FederateHandle>)> {
        self.0.iter().map(|(&(time, retraction), to)| (time, MessageRetractionHandle(retraction), to))
    }

    /// The federates that have received a message. It is forgotten.
    pub(super) fn take(
        &mut self,
        time: LogicalTime,
        retraction: MessageRetractionHandle,
    ) -> BTreeSet<FederateHandle> {
        self.0.remove(&(time, retraction.0)).unwrap_or_default()
    }

    /// Forgets messages whose senders have promised to send only from `bound` on.
    fn finish(&mut self, bound: Bound) {
        while self.0.first_key_value().is_some_and(|(&(time, _), _)| !bound.admits(time)) {
            self.0.pop_first();
        }
    }
}

impl Network {
    /// The reasons why this node may grant less than its summaries say. `least` is the bound that
    /// these set.
    pub(super) fn reasons(&self, kind: TimeKind, least: Bound) -> Vec<Reason> {
        let unanswered = self.coordinator.iter().flat_map(Coordinator::unanswered).map(Reason::Unanswered);
        let recalled = self.participant.is_recalled().then(|| Reason::Recalled(self.participant.home()));
        let missing = self.participant.missing().map(|(class, node, arrived, sent)| Reason::Stream {
            class,
            node,
            arrived,
            sent,
        });
        let mut reasons: Vec<_> = recalled.into_iter().chain(unanswered).chain(missing).collect();
        let (own, others) = self.participant.on_the_way();
        if self.participant.ceiling() < least && !self.participant.is_recalled() {
            let time = own.min(others).time(kind).map(|time| time.to_string());
            reasons.extend(time.map(|time| Reason::Message { time, from_here: own <= others }));
        }
        reasons
    }

    /// Whether nothing is reported, awaited or asked here.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.due
            && self.asked.is_empty()
            && self.outgoing.is_empty()
            && self.ahead.is_empty()
            && self.participant.is_at_rest()
    }

    /// Notes whether the clock of a federate has changed in a way that others depend on.
    pub(super) fn note(&mut self, changed: bool) {
        self.due |= changed;
    }
}

impl TimeManager {
    /// Makes this node one of a network.
    pub(crate) fn enter_network(&mut self, node: NodeId, home: Option<NodeId>, epoch: u32) {
        if self.network.is_some() {
            return;
        }
        let mut participant = Participant::new(node, Bound::at(self.kind.initial()));
        participant.set_home(home, epoch);
        self.network = Some(Box::new(Network {
            participant,
            coordinator: None,
            ahead: Vec::new(),
            due: true,
            asked: VecDeque::new(),
            early: EarlyReceived::default(),
            outgoing: VecDeque::new(),
        }));
    }

    /// Whether this node is one of a network.
    pub(crate) fn is_networked(&self) -> bool {
        self.network.is_some()
    }

    /// Sets the number of this node.
    pub(crate) fn set_node(&mut self, node: NodeId) {
        if let Some(network) = &mut self.network {
            network.participant.node = node;
        }
    }

    /// Sets the node that merges reports, as of an epoch: the number of nodes that were removed.
    pub(crate) fn set_time_home(&mut self, home: Option<NodeId>, epoch: u32) {
        let Some(network) = &mut self.network else { return };
        network.participant.set_home(home, epoch);
        self.take_messages_ahead();
    }

    /// Handles that a node was removed from the network. `expected` are the nodes with federates.
    pub(crate) fn node_removed(
        &mut self,
        gone: NodeId,
        epoch: u32,
        home: Option<NodeId>,
        expected: BTreeSet<NodeId>,
    ) {
        let Some(network) = &mut self.network else { return };
        if network.participant.epoch() == epoch {
            // Several nodes were removed at once, as far as this node knows.
            return network.participant.forget_node(gone);
        }
        network.participant.forget_node(gone);
        self.begin_anew(epoch, home, expected);
    }

    /// Begins as if all nodes had just been recalled. `expected` are the nodes with federates.
    pub(crate) fn begin_anew(&mut self, epoch: u32, home: Option<NodeId>, expected: BTreeSet<NodeId>) {
        let (promised, nothing) = (self.greatest_promise(), Bound::at(self.kind.initial()));
        let Some(network) = &mut self.network else { return };
        network.participant.restart(epoch, home, promised);
        network.coordinator = (home == Some(network.participant.node))
            .then(|| Coordinator::restarted(epoch, nothing, expected));
        network.outgoing.clear();
        self.changed = true;
        self.take_messages_ahead();
    }

    /// Whether [`exchange`](Self::exchange) may have something to do. `moved`: streams have moved.
    pub(crate) fn is_exchange_due(&self, moved: bool) -> bool {
        !self.has_work()
            && self
                .network
                .as_ref()
                .is_some_and(|network| network.due || moved && network.participant.is_active())
    }

    /// Notes that publications or followers have changed.
    pub(crate) fn streams_changed(&mut self) {
        if let Some(network) = &mut self.network {
            network.due = true;
        }
    }

    /// Notes that federates here have begun or ceased to subscribe a class.
    pub(crate) fn coverage_changed(&mut self) {
        self.streams_changed();
        if let Some(network) = &mut self.network {
            network.participant.coverage_changed();
        }
    }

    fn take_messages_ahead(&mut self) {
        self.streams_changed();
        let ahead = self.network.as_mut().map(|network| std::mem::take(&mut network.ahead));
        for (from, message) in ahead.unwrap_or_default() {
            self.handle_time_message(from, message);
        }
    }

    /// Handles a message of another node.
    ///
    /// # Errors
    /// It is malformed, or only the time home may send it.
    pub(crate) fn handle_peer(&mut self, from: NodeId, body: Bytes) -> Result<(), WireError> {
        let message = TimeMessage::decode(self.kind, body)?;
        let participant = self.network.as_ref().map(|network| &network.participant);
        // A later epoch may have another time home, of which this node has yet to learn.
        if let Some(participant) = participant.filter(|p| message.epoch() == p.epoch())
            && !matches!(message, TimeMessage::Report(_))
            && participant.home() != Some(from)
        {
            return Err(WireError(format!(
                "node {from} is not the one that merges reports of logical times"
            )));
        }
        self.streams_changed();
        self.handle_time_message(from, message);
        Ok(())
    }

    fn handle_time_message(&mut self, from: NodeId, message: TimeMessage) {
        let promised = match message {
            TimeMessage::Recall { .. } => self.greatest_promise(),
            TimeMessage::Report(_) | TimeMessage::Result(_) => Bound::INFINITE,
        };
        let nothing = Bound::at(self.kind.initial());
        let Some(network) = &mut self.network else { return };
        let epoch = network.participant.epoch();
        #[cfg(test)]
        let epoch = match super::tests::has_flaw(super::tests::Flaw::OldEpochs) {
            true => epoch.min(message.epoch()),
            false => epoch,
        };
        if message.epoch() > epoch {
            if network.ahead.len() < AHEAD_MAX {
                network.ahead.push((from, message));
            }
        } else if message.epoch() == epoch {
            match message {
                TimeMessage::Report(report) => {
                    let first = || Coordinator::new(epoch, nothing);
                    network.coordinator.get_or_insert_with(first).take(from, *report);
                }
                TimeMessage::Recall { generation, .. } => {
                    network.participant.recalled(generation, promised);
                }
                TimeMessage::Result(result) => network.participant.take_result(*result),
            }
        }
    }

    /// Uses results and reports the state of this node, once nothing else is left to do. Returns
    /// whether there is something else to do now.
    pub(crate) fn exchange(&mut self, streams: &mut impl Streams) -> bool {
        loop {
            let Some(network) = &mut self.network else { return false };
            network.due = false;
            let used = network.participant.use_results(streams);
            if used.bounds {
                self.changed = true;
                self.forget_early();
            }
            if let Some((recalls, promised)) = used.recalled {
                self.recall_completed(recalls, promised);
            }
            self.answer_queries(used.queries);
            if !self.events.is_empty() {
                return true;
            }
            if self.has_work() {
                self.streams_changed();
                return false;
            }
            if self.changed || !self.granting.is_empty() {
                return true;
            }
            let own = self.own_state();
            let Self { network, clocks, kind, .. } = self;
            let Some(network) = network else { return false };
            network.participant.report(own, streams, || greatest_promise(clocks, *kind));
            if !self.route_messages() {
                return false;
            }
        }
    }

    /// Forgets messages of other nodes that can no longer be retracted. No federate will send below
    /// the least bound of all: a conditional federate elsewhere may send below its own after it has
    /// received a message from here.
    fn forget_early(&mut self) {
        let least = self.summary().least().map_or(Bound::INFINITE, |(bound, _)| bound);
        let least = least.min(self.ceiling());
        if let Some(network) = &mut self.network {
            network.early.finish(least);
        }
    }

    /// Handles the messages of this node to itself, and queues the others. Returns whether there
    /// were any of the former.
    fn route_messages(&mut self) -> bool {
        let mut any = false;
        while let Some(network) = &mut self.network {
            let coordinator = network.coordinator.as_mut();
            let message = network
                .participant
                .poll_message()
                .or_else(|| coordinator.and_then(Coordinator::poll_message));
            let Some((to, message)) = message else { break };
            if to != network.participant.node {
                network.outgoing.push_back((to, message.encode()));
                continue;
            }
            any = true;
            self.handle_time_message(to, message);
        }
        any
    }

    /// Whether there is a message to another node.
    pub(crate) fn has_message(&self) -> bool {
        self.network.as_ref().is_some_and(|network| !network.outgoing.is_empty())
    }

    /// The next message to another node.
    pub(crate) fn poll_message(&mut self) -> Option<(NodeId, Bytes)> {
        self.network.as_mut()?.outgoing.pop_front()
    }

    /// Notes that a message in time-stamp order was appended to a stream of this node. `time`: its
    /// time stamp, if other federates may answer it.
    pub(crate) fn appended(&mut self, class: PublishedClass, number: u64, time: Option<LogicalTime>) {
        if let Some(network) = &mut self.network {
            network.due = true;
            network.participant.appended(class, number, time.map(Bound::at));
        }
    }

    fn own_state(&self) -> OwnState {
        let others = self.network.as_ref().map(|network| network.participant.bound_of_others());
        let beyond = (Excluded((others.unwrap_or(Bound::INFINITE), FederateHandle(u32::MAX))), Unbounded);
        OwnState {
            summary: self.bounds.summary(),
            want: self.needs.range(beyond).next().map(|&(need, _)| need),
        }
    }

    fn greatest_promise(&self) -> Bound {
        greatest_promise(&self.clocks, self.kind)
    }

    /// The bounds of all regulating federates.
    pub(super) fn summary(&self) -> Summary {
        let own = self.bounds.summary();
        self.network.as_ref().map_or(own, |network| own.merge(network.participant.others()))
    }

    /// The bound that messages on their way set to all federates.
    pub(super) fn ceiling(&self) -> Bound {
        self.network.as_ref().map_or(Bound::INFINITE, |network| network.participant.ceiling())
    }

    /// The greatest available logical time of a federate.
    pub(super) fn galt(&self, federate: FederateHandle) -> Bound {
        match &self.network {
            Some(network) if network.participant.others().least().is_some() => {
                self.summary().galt(federate).min(network.participant.ceiling())
            }
            Some(network) => self.bounds.galt(federate).min(network.participant.ceiling()),
            None => self.bounds.galt(federate),
        }
    }

    /// Whether any federate other than `federate` regulates time, that is, GALT is defined.
    pub(super) fn has_others(&self, federate: FederateHandle) -> bool {
        let elsewhere = self.network.as_ref().map(|network| network.participant.others());
        self.bounds.has_others(federate) || elsewhere.is_some_and(|others| others.least().is_some())
    }

    /// Makes this node report its federates from now on.
    pub(super) fn take_part(&mut self) {
        if let Some(network) = &mut self.network {
            network.due = true;
            network.participant.take_part();
        }
    }

    /// In a network, requests that a federate may begin to regulate time. Returns false without a
    /// network.
    pub(super) fn request_regulation(
        &mut self,
        federate: FederateHandle,
        lookahead: LogicalTimeInterval,
    ) -> bool {
        let Some(network) = &mut self.network else { return false };
        network.due = true;
        let recall = network.participant.request_recall();
        self.clock_mut(federate).entering = Some(Entering { lookahead, recall, from: None, begun: false });
        self.refresh(federate);
        true
    }

    /// All nodes have answered a recall, and with it the requests up to number `recalls`.
    fn recall_completed(&mut self, recalls: u64, promised: Bound) {
        let answered = |clock: &Clock| {
            clock.entering.filter(|entering| entering.recall <= recalls && entering.from.is_none())
        };
        let entering = self.clocks.iter().filter_map(|(&federate, clock)| Some((federate, answered(clock)?)));
        for (federate, entering) in entering.collect::<Vec<_>>() {
            let from = self.start_of_regulation(federate, entering.lookahead, promised);
            let clock = self.clock_mut(federate);
            clock.entering = Some(Entering { from: Some(from), ..entering });
            match clock.constrained {
                true => self.refresh(federate),
                false => self.begin_regulation(federate),
            }
        }
    }

    /// Asks the time home for a fresh GALT on behalf of a call. Returns false if the call can be
    /// answered at once.
    pub(crate) fn query(
        &mut self,
        federate: FederateHandle,
        caller: CallerId,
        call: CallId,
        query: Query,
    ) -> bool {
        self.ask(Asker::Call { federate, caller, call, query })
    }

    pub(super) fn query_for_flush(&mut self, federate: FederateHandle) -> bool {
        self.ask(Asker::Flush(federate))
    }

    fn ask(&mut self, asker: Asker) -> bool {
        // Without a time home no federate anywhere regulates time.
        let Some(network) = self.network.as_mut().filter(|network| network.participant.home().is_some())
        else {
            return false;
        };
        network.due = true;
        let number = network.participant.query();
        network.asked.push_back((number, asker));
        true
    }

    fn answer_queries(&mut self, up_to: u64) {
        loop {
            let asked = self.network.as_mut().map(|network| &mut network.asked);
            let Some((_, asker)) = asked.and_then(|asked| asked.pop_front_if(|(number, _)| *number <= up_to))
            else {
                return;
            };
            match asker {
                Asker::Call { federate, caller, call, query } => {
                    let time = match query {
                        Query::Galt => self.query_galt(federate),
                        Query::Lits => self.query_lits(federate),
                    };
                    self.events.push_back(TimeEvent::Answer { caller, call, query, time });
                }
                Asker::Flush(federate) => {
                    let advancing = self.clocks.get(&federate).and_then(|clock| clock.advancing);
                    if let Some((_, to)) = advancing.filter(|(service, _)| service.flushes()) {
                        self.flush(federate, to);
                    }
                }
            }
        }
    }
}

/// The greatest promise that nothing below comes to a constrained federate.
fn greatest_promise(clocks: &BTreeMap<FederateHandle, Clock>, kind: TimeKind) -> Bound {
    let constrained = clocks.values().filter(|clock| clock.constrained);
    constrained.map(|clock| clock.promised).max().unwrap_or(Bound::at(kind.initial()))
}
