//! The interface of a node's driver to an RTI that is one node of many.
//!
//! Contract, in addition to that of [`Rti`]: after every `&mut` call drain [`Rti::poll_outgoing`].
//! Call [`Rti::handle_timeout`] at [`Rti::poll_timeout`]. Pass packets that the router delivers to
//! the client of this RTI to [`Rti::handle_packet`], changes of the interest in that client's
//! topics to [`Rti::handle_wanted`], and unicasts of other nodes to [`Rti::handle_unicast`].

use super::Rti;
use super::execution::Execution;
use super::shared::Shared;
use crate::control::{ExecutionId, NodeId, PublishedClass};
use crate::replica::context::Timer;
use crate::replica::peers::Lane;
use crate::replica::{NetworkCounters, Outgoing};
use crate::wire::{NetTopic, Packet, PeerMessage};
use base::Moment;
use bytes::Bytes;
use router::WireError;

impl Rti {
    /// Makes this RTI one node of many. Off (the default), this costs nothing. It cannot be
    /// switched off again.
    pub fn set_networked(&mut self, now: Moment, on: bool) {
        self.shared.set_now(now);
        if !on || std::mem::replace(&mut self.shared.peers.active, true) {
            return;
        }
        for (id, execution) in &mut self.executions {
            if let Some(federation) = self.control.execution(*id) {
                execution.start_replication(&mut self.shared, federation, self.control.removals());
            }
        }
        self.settle_network();
    }

    /// Whether [`poll_outgoing`](Self::poll_outgoing) or [`poll_proposal`](Self::poll_proposal) may
    /// return something.
    pub fn has_outgoing(&self) -> bool {
        !self.shared.proposals.is_empty() || self.shared.peers.has_outgoing()
    }

    /// The next request to the network.
    pub fn poll_outgoing(&mut self) -> Option<Outgoing> {
        self.shared.peers.end_batch();
        self.poll_finished()
    }

    /// Like [`poll_outgoing`](Self::poll_outgoing), but leaves messages that could be batched with
    /// the next ones. Those must leave before any other output. Poll for them with `poll_outgoing`
    /// once no further calls are at hand, or when another federate's call is next.
    pub fn poll_finished(&mut self) -> Option<Outgoing> {
        let Shared { now, peers, timers, .. } = &mut self.shared;
        peers.poll_outgoing(*now, timers)
    }

    /// Handles a packet for this RTI.
    ///
    /// # Errors
    /// The packet is malformed. Nothing else is affected.
    pub fn handle_packet(&mut self, now: Moment, packet: Packet) -> Result<(), WireError> {
        self.shared.set_now(now);
        let Some(execution) = self.executions.get_mut(&packet.execution()) else { return Ok(()) };
        let handled = execution.replicate(&mut self.shared, |r, context| r.handle_packet(context, packet));
        let applied = execution.try_settle(&mut self.shared);
        self.settle_network();
        handled.and(applied)
    }

    /// Handles a unicast of another node.
    ///
    /// # Errors
    /// The unicast is malformed. Nothing else is affected.
    pub fn handle_unicast(&mut self, now: Moment, from: NodeId, body: Bytes) -> Result<(), WireError> {
        self.shared.set_now(now);
        if !self.shared.peers.active {
            return Ok(());
        }
        let received = self.shared.peers.receive(now, from, body);
        let handled = [Lane::Urgent, Lane::Bulk].map(|lane| self.handle_messages(from, lane));
        self.settle_network();
        handled.into_iter().fold(received, Result::and)
    }

    /// Notes that other nodes want (`any`), or no longer want, messages of this node about a topic.
    /// Unwanted messages are not sent.
    pub fn handle_wanted(&mut self, now: Moment, topic: NetTopic, any: bool) {
        self.shared.set_now(now);
        if !self.shared.peers.active {
            return;
        }
        if !any {
            self.shared.peers.wanted.remove(&topic);
        } else if self.shared.peers.wanted.insert(topic)
            && let Some(execution) = self.executions.get_mut(&topic.execution())
        {
            execution.replicate(&mut self.shared, |r, context| r.announce_again(context, topic.class()));
        }
    }

    /// Looks for losses after the network has changed its shape.
    pub fn handle_network_changed(&mut self, now: Moment) {
        self.shared.set_now(now);
        self.shared.peers.retry_now(now);
        for execution in self.executions.values_mut() {
            execution.replicate(&mut self.shared, |r, context| r.announce_again(context, None));
        }
    }

    /// When to call [`Rti::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Moment> {
        if self.has_work() { Some(self.shared.now) } else { self.shared.timers.next() }
    }

    /// Does all work that is due. A call that comes too early does nothing.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.shared.set_now(now);
        while let Some(timer) = self.shared.timers.pop_due(now) {
            match timer {
                Timer::Peer(node) => self.shared.peers.mark_dirty(node),
                Timer::History => self.shared.peers.age_history(now, &mut self.shared.timers),
                Timer::Follow(stream, from) => {
                    self.with(stream.execution, |execution, shared| {
                        execution.replicate(shared, |r, context| r.follow_due(context, stream.class, from));
                        execution.settle(shared);
                    });
                }
                Timer::Switchover(stream, from) => {
                    self.with(stream.execution, |execution, shared| {
                        execution
                            .replicate(shared, |r, context| r.switchover_due(context, stream.class, from));
                    });
                }
                Timer::Review(stream) => {
                    self.with(stream.execution, |execution, shared| {
                        execution.replicate(shared, |r, context| r.review_away(context, stream.class));
                    });
                }
                Timer::HighWater(stream) => {
                    self.with(stream.execution, |execution, shared| {
                        execution.replicate(shared, |r, context| r.announce_due(context, stream.class));
                    });
                }
                Timer::Beginning(stream) => {
                    self.with(stream.execution, |execution, shared| {
                        execution.replicate(shared, |r, context| r.release_beginning(context, stream.class));
                    });
                }
                Timer::Names(execution) => self.free_names(execution),
                Timer::Report(execution, federate) => self.report_period(execution, federate),
            }
        }
        self.work();
        self.settle_network();
    }

    fn free_names(&mut self, execution: ExecutionId) {
        if let Some(execution) = self.executions.get_mut(&execution) {
            execution.act(&mut self.shared, |objects, effects| objects.free_names(effects, &self.control));
        }
    }

    /// The counters of the object plane over many nodes.
    pub fn network_counters(&self) -> NetworkCounters {
        self.shared.peers.counters
    }

    /// Bytes kept for other nodes: messages of streams, and unacknowledged peer messages.
    pub fn network_memory(&self) -> usize {
        self.shared.peers.memory()
    }

    /// The position up to which this node has delivered each stream that it follows in a federation
    /// execution: class, node, number of the last message (0 while the start of the stream is not
    /// known).
    pub fn positions(&self, execution: ExecutionId) -> Vec<(PublishedClass, NodeId, u64)> {
        let positions = self
            .executions
            .get(&execution)
            .into_iter()
            .flat_map(|execution| execution.replication.positions());
        positions.map(|position| (position.class, position.node, position.number)).collect()
    }

    pub(super) fn with(&mut self, execution: ExecutionId, act: impl FnOnce(&mut Execution, &mut Shared)) {
        if let Some(execution) = self.executions.get_mut(&execution) {
            act(execution, &mut self.shared);
        }
    }

    /// Handles the messages of a node in one lane, as far as the control plane here allows.
    fn handle_messages(&mut self, from: NodeId, lane: Lane) -> Result<(), WireError> {
        let mut result = Ok(());
        while let Some(body) = self.shared.peers.peek(from, lane) {
            let (execution, watermark) = match PeerMessage::peek(body.clone()) {
                Ok(peeked) => peeked,
                Err(error) => {
                    self.shared.peers.pop(from, lane);
                    result = Err(error);
                    continue;
                }
            };
            let ready = match self.executions.get(&execution) {
                Some(execution) => execution.replication.is_ready(watermark),
                // A greater id belongs to an execution that is not known yet; others have ended.
                None => execution <= self.control.last_execution(),
            };
            if !ready {
                self.shared.peers.blocked = true;
                break;
            }
            self.shared.peers.pop(from, lane);
            let federation = self.control.execution(execution);
            if let Some(execution) = self.executions.get_mut(&execution) {
                self.shared.peers.note_handled(execution.id(), from, lane);
                let handled = PeerMessage::decode(body).and_then(|message| {
                    execution.handle_message(&mut self.shared, from, message, federation)
                });
                result = result.and(handled);
            }
        }
        result
    }

    /// Handles the consequences of a call for other nodes.
    pub(super) fn settle_network(&mut self) {
        self.settle_managed();
        if !self.shared.peers.active {
            self.shared.covers.clear();
            self.shared.forwards.clear();
            self.shared.reviews.clear();
            return self.report_rest();
        }
        loop {
            self.settle_streams();
            let mut progress = false;
            for id in std::mem::take(&mut self.shared.exchanges) {
                if let (Some(execution), Some(federation)) =
                    (self.executions.get_mut(&id), self.control.execution(id))
                {
                    progress |= execution.exchange_time(&mut self.shared, federation);
                }
            }
            if !progress {
                break;
            }
        }
        self.report_rest();
    }

    /// Sends messages to the nodes of federates.
    fn forward(&mut self) {
        while let Some((id, federate, message)) = self.shared.forwards.pop_front() {
            let member = self.control.execution(id).and_then(|federation| federation.member(federate));
            let Some(node) = member.map(|member| member.node) else { continue };
            self.with(id, |execution, shared| {
                execution.replicate(shared, |r, context| r.send_object(context, node, message));
            });
        }
    }

    /// Follows the classes that federates here subscribe now, and handles messages that waited.
    fn settle_streams(&mut self) {
        self.forward();
        while let Some((execution, class)) = self.shared.covers.pop_front() {
            self.with(execution, |execution, shared| {
                execution.replicate(shared, |r, context| r.review_following(context, class, false));
                execution.settle(shared);
            });
        }
        while let Some(execution) = self.shared.reviews.pop_first() {
            self.with(execution, |execution, shared| {
                execution.replicate(shared, |r, context| r.review_uncovered(context));
                execution.settle(shared);
            });
        }
        if std::mem::take(&mut self.shared.peers.blocked) {
            for (from, lane) in self.shared.peers.sessions() {
                if let Err(error) = self.handle_messages(from, lane) {
                    tracing::warn!(%from, %error, "a message of this node makes no sense");
                }
            }
            for execution in self.executions.values_mut() {
                execution.replicate(&mut self.shared, |r, context| r.deliver_all(context));
                execution.settle(&mut self.shared);
            }
        }
    }

    /// Removes a node that is gone for good.
    pub(super) fn remove_node(&mut self, node: NodeId) {
        let Shared { peers, timers, .. } = &mut self.shared;
        peers.forget_node(timers, node);
        let new_home = self.control.lowest_live_node();
        for (id, execution) in &mut self.executions {
            let federation = self.control.execution(*id);
            execution.remove_peer(&mut self.shared, node, new_home, federation);
            if let Some(federation) = federation {
                let (epoch, home) = (self.control.removals(), federation.time_home());
                execution.time.node_removed(node, epoch, home, federation.nodes());
                execution.settle(&mut self.shared);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, NoFoms};

    #[test]
    fn timers_run_on_a_single_node() {
        let mut rti = Rti::new(Config::default(), Box::new(NoFoms));
        assert_eq!(rti.poll_timeout(), None);
        let at = Moment::from_secs(5);
        rti.shared.timers.set(Timer::Names(ExecutionId(1)), at);
        assert_eq!(rti.poll_timeout(), Some(at));
        rti.handle_timeout(Moment::from_secs(4));
        assert_eq!(rti.poll_timeout(), Some(at), "too early");
        rti.handle_timeout(at);
        assert_eq!(rti.poll_timeout(), None);
    }
}
