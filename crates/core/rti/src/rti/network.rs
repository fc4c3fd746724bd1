//! What the driver of one node of many calls.
//!
//! Contract, beside that of [`Rti`]: after every `&mut` call drain [`Rti::poll_outgoing`]; call [`Rti::handle_timeout`] when
//! [`Rti::poll_timeout`] has come. Packets that the router delivers to the client that stands for this RTI go to
//! [`Rti::handle_packet`], what it says is wanted of that client to [`Rti::handle_wanted`], and unicasts of other nodes to
//! [`Rti::handle_unicast`].

use super::Rti;
use crate::control::{Event, ExecutionId, NodeId};
use crate::object::execution::Execution;
use crate::plane::Plane;
use crate::remote::net::Timer;
use crate::remote::{NetTopic, NetworkCounters, Outgoing, Packet};
use base::Moment;
use bytes::Bytes;
use router::{Message as _, WireError};

impl Rti {
    /// Whether this RTI is one node of many. Off (the default), nothing of it costs anything. Once on it stays on.
    pub fn set_networked(&mut self, now: Moment, on: bool) {
        self.plane.now = now;
        if !on || !self.plane.join_network(self.config.network.clone()) {
            return;
        }
        for (id, x) in &mut self.executions {
            if let Some(federation) = self.control.execution(*id) {
                x.start_network(&mut self.plane, federation);
            }
        }
        self.settle_network();
    }

    /// Whether [`poll_outgoing`](Self::poll_outgoing) or [`poll_proposal`](Self::poll_proposal) may have something.
    pub fn has_outgoing(&self) -> bool {
        self.plane.has_proposals() || self.plane.net.as_deref().is_some_and(|net| net.has_outgoing())
    }

    /// What is to go to the network next.
    pub fn poll_outgoing(&mut self) -> Option<Outgoing> {
        self.plane.net.as_deref_mut()?.end_run();
        self.poll_finished()
    }

    /// As [`poll_outgoing`](Self::poll_outgoing), but for messages that could leave together with those that are said next. They
    /// go before anything else, and must not wait: poll them once no more calls are at hand, or another federate's.
    pub fn poll_finished(&mut self) -> Option<Outgoing> {
        let now = self.plane.now;
        self.plane.net.as_deref_mut()?.poll_outgoing(now)
    }

    /// A packet came for this RTI.
    ///
    /// # Errors
    /// It is not what a node says; nothing else is affected.
    pub fn handle_packet(&mut self, now: Moment, packet: Packet) -> Result<(), WireError> {
        self.plane.now = now;
        let Some(x) = self.executions.get_mut(&packet.topic().execution()) else { return Ok(()) };
        let taken = x.take_packet(&mut self.plane, packet);
        self.settle_network();
        taken
    }

    /// A unicast of another node came.
    ///
    /// # Errors
    /// It is not what a node writes; nothing else is affected.
    pub fn handle_unicast(&mut self, now: Moment, from: NodeId, body: Bytes) -> Result<(), WireError> {
        self.plane.now = now;
        let Some(net) = self.plane.net.as_deref_mut() else { return Ok(()) };
        let received = net.receive(now, from, body);
        let opened = self.open_letters(from);
        self.settle_network();
        received.and(opened)
    }

    /// Somebody elsewhere wants (`any`), or nobody wants any more, what this node may say about a topic: what nobody wants
    /// is not sent.
    pub fn handle_wanted(&mut self, now: Moment, topic: NetTopic, any: bool) {
        self.plane.now = now;
        let Some(net) = self.plane.net.as_deref_mut() else { return };
        if !any {
            net.wanted.remove(&topic);
        } else if net.wanted.insert(topic)
            && let Some(x) = self.executions.get_mut(&topic.execution())
        {
            x.announce_again(&mut self.plane, Some(topic.what()));
        }
    }

    /// The network has changed its shape: what may have been lost on the way is looked for.
    pub fn handle_network_changed(&mut self, now: Moment) {
        self.plane.now = now;
        let Some(net) = self.plane.net.as_deref_mut() else { return };
        net.hurry(now);
        for x in self.executions.values_mut() {
            x.announce_again(&mut self.plane, None);
        }
    }

    /// When [`Rti::handle_timeout`] is to be called next.
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.plane.net.as_deref()?.timers.next()
    }

    /// Time has come to do something. Called too early it does nothing.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.plane.now = now;
        while let Some(timer) = self.plane.net.as_deref_mut().and_then(|net| net.timers.pop_due(now)) {
            match timer {
                Timer::Session(node) => self.with_net(|net| net.stir(node)),
                Timer::History => self.with_net(|net| net.age_history(now)),
                Timer::Follow(topic, from) => {
                    self.with(topic.execution(), |x, plane| x.follow_due(plane, topic.what(), from));
                }
                Timer::Tail(topic) => {
                    self.with(topic.execution(), |x, plane| x.announce_tail(plane, topic.what()));
                }
                Timer::Begin(topic) => {
                    self.with(topic.execution(), |x, plane| x.begin_over(plane, topic.what()));
                }
                Timer::Names(execution) => {
                    if let (Some(x), Some(federation)) =
                        (self.executions.get_mut(&execution), self.control.execution(execution))
                    {
                        x.free_names(&mut self.plane, &self.control, federation);
                    }
                }
            }
        }
        self.settle_network();
    }

    /// What this node counts about other nodes' objects.
    pub fn network_counters(&self) -> NetworkCounters {
        self.plane.net.as_deref().map(|net| net.counters).unwrap_or_default()
    }

    /// Bytes kept for other nodes: messages that may have to be said again, and letters not yet acknowledged.
    pub fn network_memory(&self) -> usize {
        self.plane.net.as_deref().map_or(0, crate::remote::net::Net::memory)
    }

    fn with(&mut self, execution: ExecutionId, act: impl FnOnce(&mut Execution, &mut Plane)) {
        if let Some(x) = self.executions.get_mut(&execution) {
            act(x, &mut self.plane);
        }
    }

    fn with_net(&mut self, act: impl FnOnce(&mut crate::remote::net::Net)) {
        if let Some(net) = self.plane.net.as_deref_mut() {
            act(net);
        }
    }

    /// Opens the letters of a node, as far as the control plane here has come.
    fn open_letters(&mut self, from: NodeId) -> Result<(), WireError> {
        let mut result = Ok(());
        while let Some(net) = self.plane.net.as_deref_mut()
            && let Some(body) = net.peek_letter(from)
        {
            match crate::remote::peek(body.clone()) {
                Ok((execution, head)) => match self.executions.get_mut(&execution) {
                    Some(x) if !x.is_ready(head) => {
                        net.blocked = true;
                        break;
                    }
                    None if execution > self.control.last_execution() => {
                        net.blocked = true;
                        break;
                    }
                    Some(x) => {
                        net.open_letter(from);
                        let federation = self.control.execution(execution);
                        let opened = x.open_letter(&mut self.plane, from, body, federation);
                        result = result.and(opened);
                    }
                    None => {
                        net.open_letter(from);
                    }
                },
                Err(error) => {
                    net.open_letter(from);
                    result = Err(error);
                }
            }
        }
        result
    }

    /// Does what follows from a call for the other nodes: tells them what federates here subscribe now, and takes what
    /// waited.
    pub(super) fn settle_network(&mut self) {
        if self.plane.net.is_none() {
            return;
        }
        while let Some((execution, what, any)) = self.plane.poll_covered() {
            self.with(execution, |x, plane| x.cover(plane, what, any));
        }
        for x in self.executions.values_mut() {
            x.drop_loose_ends(&mut self.plane);
        }
        let Some(net) = self.plane.net.as_deref_mut() else { return };
        if std::mem::take(&mut net.blocked) {
            for from in net.correspondents() {
                if let Err(error) = self.open_letters(from) {
                    tracing::warn!(%from, %error, "a letter of this node makes no sense");
                }
            }
            for x in self.executions.values_mut() {
                x.deliver_all(&mut self.plane);
            }
        }
    }

    /// A change of the control plane, as far as it concerns other nodes' objects.
    pub(super) fn note_event(&mut self, event: &Event) {
        if self.plane.net.is_none() {
            return;
        }
        match *event {
            Event::Created(execution) => {
                if let (Some(x), Some(federation)) =
                    (self.executions.get_mut(&execution), self.control.execution(execution))
                {
                    x.start_network(&mut self.plane, federation);
                }
            }
            Event::ModelExtended(execution) | Event::Joined { execution, .. } => {
                if let (Some(x), Some(federation)) =
                    (self.executions.get_mut(&execution), self.control.execution(execution))
                {
                    x.learn(federation);
                }
            }
            Event::Resigned { execution, federate, lost, .. } => {
                self.with(execution, |x, plane| x.resigned_elsewhere(plane, federate, lost));
            }
            Event::PublishersChanged { execution, node, what, on } => {
                self.with(execution, |x, plane| x.publishers_changed(plane, node, what, on));
            }
            Event::NodeRemoved { node, .. } if node != self.config.node => self.remove_node(node),
            _ => {}
        }
    }

    fn remove_node(&mut self, node: NodeId) {
        self.with_net(|net| net.forget_node(node));
        let new = self.control.lowest_live_node();
        for (id, x) in &mut self.executions {
            x.node_removed(&mut self.plane, node, new, self.control.execution(*id));
        }
    }
}
