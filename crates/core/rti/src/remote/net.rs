//! The way out of this node: packets, letters, timers; shared by all federation executions.

use super::config::NetworkLimits;
use super::run::Run;
use super::stream::{History, Session};
use super::wire::{Kind, Letter, NetTopic, Packet};
use crate::control::{ExecutionId, NodeId};
use base::{Deadlines, Moment};
use bytes::Bytes;
use router::{ClientId, WireError};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a node wants from its network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outgoing {
    /// Give this to the router, as a message of the local source and sink that stands for this RTI.
    Publish(Packet),
    /// Give this to [`Rti::handle_unicast`](crate::Rti::handle_unicast) of another node. It may be lost, repeated or
    /// overtaken.
    Unicast {
        /// The node.
        to: NodeId,
        /// What to give.
        body: Bytes,
        /// It is short, and others wait for it.
        urgent: bool,
    },
    /// Declare (`any`) or withdraw an interest of this RTI at the router.
    Interest {
        /// In what.
        topic: NetTopic,
        /// True: wanted. False: no longer.
        any: bool,
    },
    /// Offer (`any`), or no longer offer, what this RTI may say.
    Offer {
        /// About what.
        topic: NetTopic,
        /// True: offered. False: no longer.
        any: bool,
    },
}

/// What a node counts about the object plane over many nodes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NetworkCounters {
    /// Reliable messages said.
    pub said: u64,
    /// Best-effort messages sent.
    pub loose: u64,
    /// Messages given to the routers, of both kinds, and announcements of tails.
    pub sent: u64,
    /// Reliable messages delivered here.
    pub delivered: u64,
    /// Best-effort messages delivered here.
    pub loose_taken: u64,
    /// Best-effort messages that came too early or too late for this node, and were dropped.
    pub loose_dropped: u64,
    /// Requests for messages that were missing.
    pub asked: u64,
    /// Messages said again.
    pub repaired: u64,
    /// Requests of federates for values that did not go to a node because it takes nothing.
    pub requests_dropped: u64,
    /// Streams that could not be repaired any more.
    pub broken: u64,
}

/// What a deadline is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    /// A letter or an acknowledgement is to go.
    Session(NodeId),
    /// Something may be missing in this stream of that node, or that node is to be asked again to be followed.
    Follow(NetTopic, NodeId),
    /// The tail of this stream is to be announced.
    Tail(NetTopic),
    /// The beginning of this stream need no longer be kept.
    Begin(NetTopic),
    /// Old messages may be forgotten.
    History,
    /// Names of instances that nobody had are to be freed.
    Names(ExecutionId),
}

/// While more bytes of letters than this wait for a node, it is asked for no values.
const REQUESTS_BYTES_MAX: usize = 4 << 20;
/// Unicasts up to this size are urgent.
const URGENT_BYTES: usize = 4 << 10;

/// The network as this node sees it.
pub(crate) struct Net {
    /// Stands for the other nodes in the router of this node's federates.
    pub(crate) client: ClientId,
    pub(crate) limits: NetworkLimits,
    /// What somebody elsewhere wants of this node.
    pub(crate) wanted: BTreeSet<NetTopic>,
    pub(crate) history: History<NetTopic>,
    pub(crate) timers: Deadlines<Timer>,
    pub(crate) counters: NetworkCounters,
    /// Something waits for the control plane to come as far as at its sender.
    pub(crate) blocked: bool,
    sessions: BTreeMap<NodeId, Session>,
    /// Sessions that may have a frame to send.
    stirred: BTreeSet<NodeId>,
    outgoing: VecDeque<Outgoing>,
    /// After all that: messages that the next may join.
    run: Option<Run>,
    /// Nodes that are gone for good: nothing is sent to them or taken from them.
    gone: BTreeSet<NodeId>,
}

impl Net {
    pub(crate) fn new(client: ClientId, limits: NetworkLimits) -> Self {
        Self {
            client,
            wanted: BTreeSet::new(),
            history: History::new(limits.history_bytes),
            timers: Deadlines::new(),
            counters: NetworkCounters::default(),
            blocked: false,
            sessions: BTreeMap::new(),
            stirred: BTreeSet::new(),
            outgoing: VecDeque::new(),
            run: None,
            gone: BTreeSet::new(),
            limits,
        }
    }

    /// Keeps a numbered message, and sends it if the routers know of somebody who wants it; who wants it all the
    /// same hears of it by its tail.
    pub(crate) fn say(&mut self, now: Moment, packet: Packet) {
        if let Kind::Numbered(number) = packet.kind {
            self.counters.said += 1;
            if self.history.oldest().is_none() {
                self.timers.set(Timer::History, now + self.limits.history_age);
            }
            self.history.push(now, packet.topic, number, packet.body.clone());
        }
        if self.wanted.contains(&packet.topic) {
            self.counters.sent += 1;
            self.publish(packet);
        }
    }

    /// Puts a packet behind all that goes out, as a part of the last run if it continues that.
    fn publish(&mut self, packet: Packet) {
        if self.run.as_mut().is_some_and(|run| run.add(&packet)) {
            return;
        }
        self.end_run();
        match Run::begin(packet) {
            Ok(run) => self.run = Some(run),
            Err(packet) => self.outgoing.push_back(Outgoing::Publish(packet)),
        }
    }

    /// Nothing more is added to the last run.
    pub(crate) fn end_run(&mut self) {
        if let Some(run) = self.run.take() {
            self.outgoing.push_back(Outgoing::Publish(run.into_packet()));
        }
    }

    /// Writes to a node.
    pub(crate) fn write(&mut self, to: NodeId, model: u32, letter: &Letter) {
        if self.gone.contains(&to) {
            return;
        }
        let session = self.sessions.entry(to).or_default();
        if letter.is_request() && session.queued_bytes() > REQUESTS_BYTES_MAX {
            self.counters.requests_dropped += 1;
            return;
        }
        session.send(letter.encode(model));
        self.stirred.insert(to);
    }

    /// Tells the router of this node.
    pub(crate) fn tell(&mut self, outgoing: Outgoing) {
        self.end_run();
        self.outgoing.push_back(outgoing);
    }

    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty() || self.run.is_some() || !self.stirred.is_empty()
    }

    /// What goes out next, but for the last run.
    pub(crate) fn poll_outgoing(&mut self, now: Moment) -> Option<Outgoing> {
        if let Some(outgoing) = self.outgoing.pop_front() {
            return Some(outgoing);
        }
        while let Some(&to) = self.stirred.first() {
            let session = self.sessions.get_mut(&to);
            if let Some(body) = session.and_then(|session| session.poll_frame(now)) {
                let urgent = body.len() <= URGENT_BYTES;
                return Some(Outgoing::Unicast { to, body, urgent });
            }
            self.stirred.remove(&to);
            match self.sessions.get(&to).and_then(Session::timeout) {
                Some(at) => self.timers.set(Timer::Session(to), at),
                None => {
                    self.timers.clear(Timer::Session(to));
                }
            }
        }
        None
    }

    /// A frame came from another node.
    pub(crate) fn receive(&mut self, now: Moment, from: NodeId, body: Bytes) -> Result<(), WireError> {
        if self.gone.contains(&from) {
            return Ok(());
        }
        self.stirred.insert(from);
        let session = self.sessions.entry(from).or_default();
        session.receive(now, body).map_err(|_| WireError(format!("the letters of {from} are cut short")))
    }

    /// The next letter of a node, which stays.
    pub(crate) fn peek_letter(&self, from: NodeId) -> Option<Bytes> {
        self.sessions.get(&from)?.peek().cloned()
    }

    /// The next letter of a node.
    pub(crate) fn open_letter(&mut self, from: NodeId) -> Option<Bytes> {
        self.sessions.get_mut(&from)?.open()
    }

    /// The nodes with which letters were exchanged.
    pub(crate) fn correspondents(&self) -> Vec<NodeId> {
        self.sessions.keys().copied().collect()
    }

    /// The deadline of a session has come.
    pub(crate) fn stir(&mut self, node: NodeId) {
        self.stirred.insert(node);
    }

    /// Ways may be open again.
    pub(crate) fn hurry(&mut self, now: Moment) {
        for (&node, session) in &mut self.sessions {
            session.hurry(now);
            self.stirred.insert(node);
        }
    }

    /// A node is gone for good.
    pub(crate) fn forget_node(&mut self, node: NodeId) {
        self.gone.insert(node);
        self.sessions.remove(&node);
        self.stirred.remove(&node);
        self.timers.clear(Timer::Session(node));
    }

    /// Forgets messages that are too old.
    pub(crate) fn age_history(&mut self, now: Moment) {
        self.history.age(now, self.limits.history_age);
        if let Some(oldest) = self.history.oldest() {
            let at = (oldest + self.limits.history_age).max(now + self.limits.history_age / 30);
            self.timers.set(Timer::History, at);
        }
    }

    /// Bytes kept for others: messages said, and letters not yet acknowledged.
    pub(crate) fn memory(&self) -> usize {
        self.history.bytes() + self.sessions.values().map(Session::queued_bytes).sum::<usize>()
    }
}
