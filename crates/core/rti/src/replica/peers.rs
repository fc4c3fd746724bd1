//! The connection to other nodes: packets, peer messages, history. All federation executions share
//! it.

use super::batch::{ALONE_BYTES, Batch, FilteredBatch};
use super::context::Timer;
use super::limits::NetworkLimits;
pub(crate) use super::stream::Lane;
use super::stream::{BufferTotal, Gone, History, Patience, Session};
use crate::control::{ExecutionId, InLanes, NodeId};
use crate::wire::{Kind, NetTopic, Packet, PeerMessage, StreamId};
use base::{Deadlines, Moment};
use bytes::Bytes;
use router::WireError;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

/// A request of a node to its network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outgoing {
    /// Submit this to the router, as a message of the local client that represents this RTI.
    Publish(Packet),
    /// Pass this to [`Rti::handle_unicast`](crate::Rti::handle_unicast) of another node. It may be
    /// lost, repeated or overtaken.
    Unicast {
        /// The node.
        to: NodeId,
        /// The octets to pass on.
        body: Bytes,
        /// It is short, and another node waits for it.
        urgent: bool,
    },
    /// Declare (`any`) or withdraw an interest of this RTI at the router.
    Interest {
        /// The topic of the interest.
        topic: NetTopic,
        /// True: declare. False: withdraw.
        any: bool,
    },
    /// Advertise (`any`) that this RTI may publish a topic, or withdraw the advertisement.
    Advertise {
        /// The topic of the advertisement.
        topic: NetTopic,
        /// True: advertise. False: withdraw.
        any: bool,
    },
}

/// Counters of the object plane over many nodes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NetworkCounters {
    /// Reliable messages appended.
    pub appended: u64,
    /// Best-effort messages sent.
    pub best_effort: u64,
    /// Messages of both kinds submitted to the routers, and announcements of high-water marks.
    pub sent: u64,
    /// Reliable messages delivered here.
    pub delivered: u64,
    /// Best-effort messages delivered here.
    pub best_effort_delivered: u64,
    /// Best-effort messages that came too early or too late for the state of this node, and were
    /// dropped.
    pub best_effort_dropped: u64,
    /// Requests for messages that were missing.
    pub asked: u64,
    /// Messages sent again.
    pub repaired: u64,
    /// Requests of federates for values that were not sent because the other node accepts nothing.
    pub requests_dropped: u64,
    /// Streams that could not be repaired.
    pub broken: u64,
    /// Messages of time management sent to other nodes.
    pub time_messages: u64,
    /// Octets of their bodies.
    pub time_bytes: u64,
}

/// While more bytes than this wait for a node, requests to it are dropped: it accepts nothing, and
/// federates may repeat them.
const REQUESTS_BYTES_MAX: usize = 4 << 20;
/// Unicasts up to this size, such as acknowledgements of bulk, are sent as urgent, because they
/// delay no one.
const URGENT_BYTES: usize = 4 << 10;

/// A filtered follower that wants a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected {
    pub(crate) to: NodeId,
    /// The number of the message for it before this one.
    pub(crate) after: u64,
    /// See [`StreamEvent::Regions`](crate::wire::StreamEvent::Regions).
    pub(crate) is_away: bool,
}

/// The number of messages in each lane to and from another node.
#[derive(Default)]
struct Exchanged {
    sent: InLanes,
    received: InLanes,
}

fn count(messages: &mut InLanes, lane: Lane) {
    messages.get_mut(lane as usize).into_iter().for_each(|messages| *messages += 1);
}

/// The other nodes, and the connection to them.
pub(crate) struct Peers {
    pub(crate) limits: NetworkLimits,
    /// This RTI is one node of many. Until this is set, nothing is sent or kept.
    pub(crate) active: bool,
    /// Topics that other nodes want from this one.
    pub(crate) wanted: BTreeSet<NetTopic>,
    history: History<StreamId>,
    pub(crate) counters: NetworkCounters,
    /// A message waits until the control plane here has caught up with that of its sender.
    pub(crate) blocked: bool,
    sessions: BTreeMap<(NodeId, Lane), Session>,
    /// Bytes of the peer messages that other nodes have not acknowledged: a running sum over
    /// `sessions`, because the budget asks for it after each turn.
    queued_bytes: usize,
    /// How many messages of each execution were sent to another node and handled from it, by lane.
    exchanged: BTreeMap<ExecutionId, BTreeMap<NodeId, Exchanged>>,
    /// Messages of streams that wait for earlier ones.
    pub(crate) buffers: BufferTotal,
    /// The bound on memory for links.
    links_bytes_max: usize,
    /// Sessions that may have a frame to send, urgent ones first.
    dirty: BTreeSet<(Lane, NodeId)>,
    outgoing: VecDeque<Outgoing>,
    /// Messages that leave after all others, and that the next message may join.
    batch: Option<Batch>,
    /// Messages for single nodes, which leave with the batch.
    filtered: BTreeMap<(StreamId, NodeId), FilteredBatch>,
    /// Buffer in which a message is written.
    scratch: Vec<u8>,
    /// The buffer of the next batch.
    spare: Vec<u8>,
    /// Nodes that are gone for good. Nothing is sent to them or accepted from them.
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
            queued_bytes: 0,
            exchanged: BTreeMap::new(),
            buffers: BufferTotal::default(),
            links_bytes_max: usize::MAX,
            dirty: BTreeSet::new(),
            outgoing: VecDeque::new(),
            batch: None,
            filtered: BTreeMap::new(),
            scratch: Vec::new(),
            spare: Vec::new(),
            gone: BTreeSet::new(),
            limits,
        }
    }

    /// Sets the bound on memory for links.
    pub(crate) fn set_links_bound(&mut self, bytes: usize) {
        self.links_bytes_max = bytes;
    }

    /// The time and memory that a stream may spend on missing messages. The buffers get a quarter
    /// of the memory for links: a message dropped here can be had again, and one dropped from a
    /// history cannot.
    pub(super) fn patience(&self) -> Patience {
        let NetworkLimits { reorder_wait, reorder_bytes, reorder_bytes_total, .. } = self.limits;
        Patience {
            reorder_wait,
            buffered_bytes_max: reorder_bytes,
            total_bytes_max: reorder_bytes_total.min(self.links_bytes_max / 4),
        }
    }

    /// Bytes of the peer messages that other nodes have not acknowledged.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Bytes of messages kept for repairs.
    pub(crate) fn history_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Drops the oldest messages kept for repairs until they take at most `bytes`. Returns how many
    /// were dropped.
    pub(crate) fn trim_history(&mut self, bytes: usize) -> u64 {
        self.history.trim(bytes)
    }

    /// Keeps a numbered message, and sends it if the routers report an interest in it. A follower
    /// whose interest they do not know learns of the message from the high-water mark. `filtered` are
    /// the nodes that want it among those that get their part of the stream by their own topic. `write`
    /// encodes the message.
    pub(crate) fn append(
        &mut self,
        (now, timers): (Moment, &mut Deadlines<Timer>),
        (stream, sender): (StreamId, NodeId),
        (number, filtered): (u64, &[Selected]),
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let wanted = self.wanted.contains(&stream.topic());
        self.counters.appended += 1;
        self.counters.sent += u64::from(wanted);
        self.scratch.clear();
        write(&mut self.scratch);
        for &selected in filtered {
            self.append_filtered((stream, sender), selected, number);
        }
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

    /// Adds the message in the buffer to the packet for one node, if the routers report its interest.
    fn append_filtered(
        &mut self,
        (stream, sender): (StreamId, NodeId),
        Selected { to, after, is_away }: Selected,
        number: u64,
    ) {
        if !self.wanted.contains(&NetTopic::Node(stream.execution, to)) {
            return;
        }
        self.counters.sent += 1;
        let begin = || FilteredBatch::begin(sender, after);
        let batch = self.filtered.entry((stream, to)).or_insert_with(begin);
        if !batch.has_room(after, self.scratch.len()) {
            let full = std::mem::replace(batch, begin());
            self.outgoing.push_back(Outgoing::Publish(full.into_packet(stream, to)));
        }
        batch.add(number, is_away, &self.scratch);
    }

    /// Sends a packet that is not kept, if any node wants it.
    pub(crate) fn send(&mut self, packet: Packet) {
        if self.wanted.contains(&packet.topic) {
            self.counters.sent += 1;
            self.emit(Outgoing::Publish(packet));
        }
    }

    /// Closes the current batch.
    pub(crate) fn end_batch(&mut self) {
        while let Some(((stream, to), batch)) = self.filtered.pop_first() {
            self.outgoing.push_back(Outgoing::Publish(batch.into_packet(stream, to)));
        }
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

    /// Number of the first message of a stream that is kept, the current batch aside.
    pub(crate) fn first_in_history(&self, stream: StreamId) -> Option<u64> {
        self.history.first(stream)
    }

    /// Number of the first message that is kept of a stream.
    pub(crate) fn first_kept(&mut self, stream: StreamId) -> Option<u64> {
        self.end_batch();
        self.history.first(stream)
    }

    /// Messages of a stream, see [`History::range`].
    pub(crate) fn kept(
        &mut self,
        stream: StreamId,
        numbers: RangeInclusive<u64>,
    ) -> Result<Vec<Bytes>, Gone> {
        self.end_batch();
        self.history.range(stream, numbers, self.limits.part_bytes)
    }

    /// Drops the kept messages of a stream.
    pub(crate) fn forget_stream(&mut self, stream: StreamId) {
        self.end_batch();
        self.history.forget(stream);
    }

    /// Sends a message to one node.
    pub(crate) fn send_to(&mut self, to: NodeId, execution: ExecutionId, model: u32, message: &PeerMessage) {
        if !self.active || self.gone.contains(&to) {
            return;
        }
        // A node that requests something waits for it. All else stays in one lane, because messages
        // about a stream and its instances must arrive in the order in which they were sent.
        let lane = if message.is_urgent() { Lane::Urgent } else { Lane::Bulk };
        let session = self.sessions.entry((to, lane)).or_insert_with(|| Session::new(lane));
        if message.is_request() && session.queued_bytes() > REQUESTS_BYTES_MAX {
            self.counters.requests_dropped += 1;
            return;
        }
        count(&mut self.exchanged.entry(execution).or_default().entry(to).or_default().sent, lane);
        let octets = message.encode(execution, model);
        self.queued_bytes += octets.len();
        session.send(octets);
        self.dirty.insert((lane, to));
    }

    /// Notes that a message of another node was handled.
    pub(crate) fn note_handled(&mut self, execution: ExecutionId, from: NodeId, lane: Lane) {
        count(&mut self.exchanged.entry(execution).or_default().entry(from).or_default().received, lane);
    }

    /// The number of messages of an execution that were sent to each other node, and handled from it.
    pub(super) fn exchanged(
        &self,
        execution: ExecutionId,
    ) -> (BTreeMap<NodeId, InLanes>, BTreeMap<NodeId, InLanes>) {
        let with = self.exchanged.get(&execution).into_iter().flatten();
        with.map(|(&node, exchanged)| ((node, exchanged.sent), (node, exchanged.received))).unzip()
    }

    /// Forgets an execution that has ended.
    pub(super) fn forget_execution(&mut self, execution: ExecutionId) {
        self.exchanged.remove(&execution);
    }

    /// Queues a request to the network of this node.
    pub(crate) fn emit(&mut self, outgoing: Outgoing) {
        self.end_batch();
        self.outgoing.push_back(outgoing);
    }

    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
            || self.batch.is_some()
            || !self.filtered.is_empty()
            || !self.dirty.is_empty()
    }

    /// The next output, except the current batch.
    pub(crate) fn poll_outgoing(&mut self, now: Moment, timers: &mut Deadlines<Timer>) -> Option<Outgoing> {
        if let Some(outgoing) = self.outgoing.pop_front() {
            return Some(outgoing);
        }
        while let Some(&(lane, to)) = self.dirty.first() {
            let session = self.sessions.get_mut(&(to, lane));
            if let Some(body) = session.and_then(|session| session.poll_frame(now)) {
                // An acknowledgement of bulk frees the window of its peer: behind megabytes of bulk
                // it would stall the other direction.
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

    /// Handles a frame of another node.
    pub(crate) fn receive(&mut self, now: Moment, from: NodeId, body: Bytes) -> Result<(), WireError> {
        if !self.active || self.gone.contains(&from) {
            return Ok(());
        }
        let lane = Lane::of_frame(&body)?;
        self.dirty.insert((lane, from));
        let session = self.sessions.entry((from, lane)).or_insert_with(|| Session::new(lane));
        let before = session.queued_bytes();
        let received = session.receive(now, body);
        self.queued_bytes -= before - session.queued_bytes();
        received.map_err(|_| WireError(format!("the messages of {from} are cut short")))
    }

    /// The next message of a node in a lane, without removing it.
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

    /// Marks the sessions of a node as dirty: its deadline has come.
    pub(crate) fn mark_dirty(&mut self, node: NodeId) {
        self.dirty.extend([(Lane::Urgent, node), (Lane::Bulk, node)]);
    }

    /// Repeats unacknowledged frames soon, because paths may be open again.
    pub(crate) fn retry_now(&mut self, now: Moment) {
        for (&(node, lane), session) in &mut self.sessions {
            session.retry_now(now);
            self.dirty.insert((lane, node));
        }
    }

    /// Forgets a node that is gone for good.
    pub(crate) fn forget_node(&mut self, timers: &mut Deadlines<Timer>, node: NodeId) {
        self.gone.insert(node);
        for nodes in self.exchanged.values_mut() {
            nodes.remove(&node);
        }
        for lane in [Lane::Urgent, Lane::Bulk] {
            let session = self.sessions.remove(&(node, lane));
            self.queued_bytes -= session.map_or(0, |session| session.queued_bytes());
            self.dirty.remove(&(lane, node));
        }
        timers.clear(Timer::Peer(node));
    }

    /// Drops messages that are too old.
    pub(crate) fn age_history(&mut self, now: Moment, timers: &mut Deadlines<Timer>) {
        self.history.age(now, self.limits.history_age);
        if let Some(oldest) = self.history.oldest() {
            let at = (oldest + self.limits.history_age).max(now + self.limits.history_age / 30);
            timers.set(Timer::History, at);
        }
    }

    /// Bytes kept for other nodes: messages of streams, and unacknowledged peer messages.
    pub(crate) fn memory(&self) -> usize {
        self.history.bytes() + self.queued_bytes
    }
}
