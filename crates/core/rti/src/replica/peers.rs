//! The way to other nodes: packets, peer messages, history; shared by all federation executions.

use super::batch::{ALONE_BYTES, Batch};
use super::context::Timer;
use super::limits::NetworkLimits;
pub(crate) use super::stream::Lane;
use super::stream::{Gone, History, Session};
use crate::control::{ExecutionId, NodeId};
use crate::wire::{Kind, NetTopic, Packet, PeerMessage, StreamId};
use base::{Deadlines, Moment};
use bytes::Bytes;
use router::WireError;
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
    /// Advertise (`any`), or no longer advertise, that this RTI may publish something.
    Offer {
        /// About what.
        topic: NetTopic,
        /// True: advertised. False: no longer.
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

/// While more bytes than this wait for a node, nothing is requested of it: it accepts nothing, and federates may ask again.
const REQUESTS_BYTES_MAX: usize = 4 << 20;
/// Unicasts up to this size are urgent, such as acknowledgements of bulk: they cost others no time.
const URGENT_BYTES: usize = 4 << 10;

/// The other nodes, and the way to them.
pub(crate) struct Peers {
    pub(crate) limits: NetworkLimits,
    /// This RTI is one node of many. Until then nothing is sent or kept.
    pub(crate) active: bool,
    /// Topics that somebody elsewhere wants of this node.
    pub(crate) wanted: BTreeSet<NetTopic>,
    history: History<StreamId>,
    pub(crate) counters: NetworkCounters,
    /// Something waits for the control plane to come as far as at its sender.
    pub(crate) blocked: bool,
    sessions: BTreeMap<(NodeId, Lane), Session>,
    /// Sessions that may have a frame to send, urgent ones first.
    dirty: BTreeSet<(Lane, NodeId)>,
    outgoing: VecDeque<Outgoing>,
    /// After all that: messages that the next may join.
    batch: Option<Batch>,
    /// A message while it is written.
    scratch: Vec<u8>,
    /// The buffer of the next batch.
    spare: Vec<u8>,
    /// Nodes that are gone for good: nothing is sent to them or taken from them.
    gone: BTreeSet<NodeId>,
}

impl Peers {
    pub(crate) fn new(limits: NetworkLimits) -> Self {
        Self {
            active: false,
            wanted: BTreeSet::new(),
            history: History::new(limits.history_bytes),
            counters: NetworkCounters::default(),
            blocked: false,
            sessions: BTreeMap::new(),
            dirty: BTreeSet::new(),
            outgoing: VecDeque::new(),
            batch: None,
            scratch: Vec::new(),
            spare: Vec::new(),
            gone: BTreeSet::new(),
            limits,
        }
    }

    /// Bytes of messages kept for repairs.
    pub(crate) fn history_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Forgets the oldest messages kept for repairs until they take at most `bytes`; says how many.
    pub(crate) fn trim_history(&mut self, bytes: usize) -> u64 {
        self.history.trim(bytes)
    }

    /// Keeps a numbered message, and sends it if the routers know of somebody who wants it; a follower that wants it
    /// all the same learns of it by the high-water mark. `write` gives the message.
    pub(crate) fn append(
        &mut self,
        (now, timers): (Moment, &mut Deadlines<Timer>),
        (stream, sender): (StreamId, NodeId),
        number: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let wanted = self.wanted.contains(&stream.topic());
        self.counters.said += 1;
        self.counters.sent += u64::from(wanted);
        self.scratch.clear();
        write(&mut self.scratch);
        let message = &self.scratch;
        if self.batch.as_mut().is_some_and(|batch| batch.add(stream, number, wanted, message)) {
            return;
        }
        self.end_batch();
        if self.history.is_empty() {
            timers.set(Timer::History, now + self.limits.history_age);
        }
        if self.scratch.len() < ALONE_BYTES {
            let buffer = std::mem::take(&mut self.spare);
            self.batch = Some(Batch::begin(buffer, (stream, sender), wanted, (now, number), &self.scratch));
        } else {
            let message = std::mem::take(&mut self.scratch).into();
            let packet = Packet::new(stream, sender, Kind::Numbered(number), message);
            self.history.push(now, stream, (number, 1), packet.body.clone());
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

    /// Nothing more is added to the last batch.
    pub(crate) fn end_batch(&mut self) {
        let Some(batch) = self.batch.take() else { return };
        let (at, first, count, wanted) = (batch.at, batch.first, batch.count, batch.wanted);
        let stream = batch.stream();
        let (packet, buffer) = batch.into_packet();
        self.spare = buffer;
        self.history.push(at, stream, (first, count), packet.body.clone());
        if wanted {
            self.outgoing.push_back(Outgoing::Publish(packet));
        }
    }

    /// Number of the first message that is kept of a stream.
    pub(crate) fn first_kept(&mut self, stream: StreamId) -> Option<u64> {
        self.end_batch();
        self.history.first(stream)
    }

    /// Messages of a stream, as [`History::range`].
    pub(crate) fn kept(
        &mut self,
        stream: StreamId,
        numbers: RangeInclusive<u64>,
    ) -> Result<Vec<Bytes>, Gone> {
        self.end_batch();
        self.history.range(stream, numbers, self.limits.part_bytes)
    }

    /// Keeps a stream no longer.
    pub(crate) fn forget_stream(&mut self, stream: StreamId) {
        self.end_batch();
        self.history.forget(stream);
    }

    /// Sends a message to one node.
    pub(crate) fn send_to(&mut self, to: NodeId, execution: ExecutionId, model: u32, message: &PeerMessage) {
        if !self.active || self.gone.contains(&to) {
            return;
        }
        // Whoever requests something waits for it. All else stays in one lane, because what is said of a stream, and of
        // the instances in it, must arrive in the order in which it was sent.
        let lane = if message.is_urgent() { Lane::Urgent } else { Lane::Bulk };
        let session = self.sessions.entry((to, lane)).or_insert_with(|| Session::new(lane));
        if message.is_request() && session.queued_bytes() > REQUESTS_BYTES_MAX {
            self.counters.requests_dropped += 1;
            return;
        }
        session.send(message.encode(execution, model));
        self.dirty.insert((lane, to));
    }

    /// Tells the router of this node.
    pub(crate) fn tell(&mut self, outgoing: Outgoing) {
        self.end_batch();
        self.outgoing.push_back(outgoing);
    }

    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty() || self.batch.is_some() || !self.dirty.is_empty()
    }

    /// The next output, but for the last batch.
    pub(crate) fn poll_outgoing(&mut self, now: Moment, timers: &mut Deadlines<Timer>) -> Option<Outgoing> {
        if let Some(outgoing) = self.outgoing.pop_front() {
            return Some(outgoing);
        }
        while let Some(&(lane, to)) = self.dirty.first() {
            let session = self.sessions.get_mut(&(to, lane));
            if let Some(body) = session.and_then(|session| session.poll_frame(now)) {
                let urgent = lane == Lane::Urgent || body.len() <= URGENT_BYTES;
                return Some(Outgoing::Unicast { to, body, urgent });
            }
            self.dirty.remove(&(lane, to));
            let sessions = self.sessions.range((to, Lane::Urgent)..=(to, Lane::Bulk));
            match sessions.filter_map(|(_, session)| session.timeout()).min() {
                Some(at) => timers.set(Timer::Peer(to), at),
                None => {
                    timers.clear(Timer::Peer(to));
                }
            }
        }
        None
    }

    /// A frame came from another node.
    pub(crate) fn receive(&mut self, now: Moment, from: NodeId, body: Bytes) -> Result<(), WireError> {
        if !self.active || self.gone.contains(&from) {
            return Ok(());
        }
        let lane = Lane::of_frame(&body)?;
        self.dirty.insert((lane, from));
        let session = self.sessions.entry((from, lane)).or_insert_with(|| Session::new(lane));
        session.receive(now, body).map_err(|_| WireError(format!("the messages of {from} are cut short")))
    }

    /// The next message of a node in a lane, which stays.
    pub(crate) fn peek(&self, from: NodeId, lane: Lane) -> Option<Bytes> {
        self.sessions.get(&(from, lane))?.peek().cloned()
    }

    /// The next message of a node in a lane.
    pub(crate) fn pop(&mut self, from: NodeId, lane: Lane) -> Option<Bytes> {
        self.sessions.get_mut(&(from, lane))?.open()
    }

    /// The nodes with which messages were exchanged, by lane.
    pub(crate) fn sessions(&self) -> Vec<(NodeId, Lane)> {
        self.sessions.keys().copied().collect()
    }

    /// The deadline of a node has come.
    pub(crate) fn mark_dirty(&mut self, node: NodeId) {
        self.dirty.extend([(Lane::Urgent, node), (Lane::Bulk, node)]);
    }

    /// Ways may be open again.
    pub(crate) fn retry_now(&mut self, now: Moment) {
        for (&(node, lane), session) in &mut self.sessions {
            session.retry_now(now);
            self.dirty.insert((lane, node));
        }
    }

    /// A node is gone for good.
    pub(crate) fn forget_node(&mut self, timers: &mut Deadlines<Timer>, node: NodeId) {
        self.gone.insert(node);
        for lane in [Lane::Urgent, Lane::Bulk] {
            self.sessions.remove(&(node, lane));
            self.dirty.remove(&(lane, node));
        }
        timers.clear(Timer::Peer(node));
    }

    /// Forgets messages that are too old.
    pub(crate) fn age_history(&mut self, now: Moment, timers: &mut Deadlines<Timer>) {
        self.history.age(now, self.limits.history_age);
        if let Some(oldest) = self.history.oldest() {
            let at = (oldest + self.limits.history_age).max(now + self.limits.history_age / 30);
            timers.set(Timer::History, at);
        }
    }

    /// Bytes kept for others: messages of streams, and peer messages that are not acknowledged.
    pub(crate) fn memory(&self) -> usize {
        self.history.bytes() + self.sessions.values().map(Session::queued_bytes).sum::<usize>()
    }
}
