//! The way out of this node: packets, letters, timers; shared by all federation executions.

use super::config::NetworkLimits;
use super::run::{ALONE_BYTES, Run};
use super::stream::{Gone, History, Session};
use super::wire::{Kind, Letter, NetTopic, Packet};
use crate::control::{ExecutionId, NodeId};
use base::{Deadlines, Moment};
use bytes::Bytes;
use router::{ClientId, WireError};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

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
    history: History<NetTopic>,
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
    /// A message while it is written.
    scratch: Vec<u8>,
    /// The buffer of the next run.
    spare: Vec<u8>,
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
            scratch: Vec::new(),
            spare: Vec::new(),
            gone: BTreeSet::new(),
            limits,
        }
    }

    /// Keeps a numbered message, and sends it if the routers know of somebody who wants it; who wants it all the
    /// same hears of it by its tail. `write` gives what it says.
    pub(crate) fn say(
        &mut self,
        now: Moment,
        (topic, sender): (NetTopic, NodeId),
        number: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let wanted = self.wanted.contains(&topic);
        self.counters.said += 1;
        self.counters.sent += u64::from(wanted);
        self.scratch.clear();
        write(&mut self.scratch);
        let message = &self.scratch;
        if self.run.as_mut().is_some_and(|run| run.add(topic, number, wanted, message)) {
            return;
        }
        self.end_run();
        if self.scratch.len() < ALONE_BYTES {
            let buffer = std::mem::take(&mut self.spare);
            self.run = Some(Run::begin(buffer, (topic, sender), wanted, (now, number), &self.scratch));
        } else {
            let message = std::mem::take(&mut self.scratch).into();
            let packet = Packet::new(topic, sender, Kind::Numbered(number), message);
            self.keep(now, number, 1, &packet);
            if wanted {
                self.outgoing.push_back(Outgoing::Publish(packet));
            }
        }
    }

    /// Sends what is not kept, if anybody wants it.
    pub(crate) fn send(&mut self, packet: Packet) {
        if self.wanted.contains(&packet.topic) {
            self.counters.sent += 1;
            self.tell(Outgoing::Publish(packet));
        }
    }

    /// Nothing more is added to the last run.
    pub(crate) fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let (at, first, count, wanted) = (run.at, run.first, run.count, run.wanted);
        let (packet, buffer) = run.into_packet();
        self.spare = buffer;
        self.keep(at, first, count, &packet);
        if wanted {
            self.outgoing.push_back(Outgoing::Publish(packet));
        }
    }

    fn keep(&mut self, now: Moment, first: u64, count: u64, packet: &Packet) {
        if self.history.oldest().is_none() {
            self.timers.set(Timer::History, now + self.limits.history_age);
        }
        self.history.push(now, packet.topic, (first, count), packet.body.clone());
    }

    /// Number of the first message that is kept of a stream.
    pub(crate) fn first_kept(&mut self, stream: NetTopic) -> Option<u64> {
        self.end_run();
        self.history.first(stream)
    }

    /// Messages of a stream, as [`History::range`].
    pub(crate) fn kept(
        &mut self,
        stream: NetTopic,
        numbers: RangeInclusive<u64>,
    ) -> Result<Vec<Bytes>, Gone> {
        self.end_run();
        self.history.range(stream, numbers, self.limits.part_bytes)
    }

    /// Keeps a stream no longer.
    pub(crate) fn forget_stream(&mut self, stream: NetTopic) {
        self.end_run();
        self.history.forget(stream);
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
