//! Packets, which travel through the routers by topic.

use super::{Reader, Writer};
use crate::control::{ExecutionId, NodeId, PublishedClass};
use bytes::{BufMut, Bytes, BytesMut};
use hla::handle::{InteractionClassHandle, ObjectClassHandle};
use router::{Interest, Message, Priority, Wire, WireError};
use smallvec::SmallVec;

/// A subject that nodes can be interested in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NetTopic {
    /// Instances registered at exactly this class.
    Objects(ExecutionId, ObjectClassHandle),
    /// Interactions sent at exactly this class.
    Interactions(ExecutionId, InteractionClassHandle),
    /// Directed interactions of a federation execution.
    Directed(ExecutionId),
    /// Messages for one node.
    Node(ExecutionId, NodeId),
}

impl NetTopic {
    /// The topic of a publication.
    pub(crate) fn new(execution: ExecutionId, class: PublishedClass) -> Self {
        match class {
            PublishedClass::Objects(class) => NetTopic::Objects(execution, class),
            PublishedClass::Interactions(class) => NetTopic::Interactions(execution, class),
            PublishedClass::Directed => NetTopic::Directed(execution),
        }
    }

    /// The federation execution.
    pub fn execution(&self) -> ExecutionId {
        match *self {
            NetTopic::Objects(execution, _)
            | NetTopic::Interactions(execution, _)
            | NetTopic::Directed(execution)
            | NetTopic::Node(execution, _) => execution,
        }
    }

    /// The publication that belongs to the topic, unless it is that of a node.
    pub fn class(&self) -> Option<PublishedClass> {
        match *self {
            NetTopic::Objects(_, class) => Some(PublishedClass::Objects(class)),
            NetTopic::Interactions(_, class) => Some(PublishedClass::Interactions(class)),
            NetTopic::Directed(_) => Some(PublishedClass::Directed),
            NetTopic::Node(..) => None,
        }
    }

    fn kind_and_number(&self) -> (u8, u32) {
        match *self {
            NetTopic::Node(_, node) => (NODE, u32::from(node.0)),
            NetTopic::Objects(_, class) => kind_and_handle(PublishedClass::Objects(class)),
            NetTopic::Interactions(_, class) => kind_and_handle(PublishedClass::Interactions(class)),
            NetTopic::Directed(_) => kind_and_handle(PublishedClass::Directed),
        }
    }

    fn write(&self, out: &mut impl Writer) {
        out.number(self.execution().0);
        let (kind, number) = self.kind_and_number();
        out.octet(kind);
        out.number(number);
    }

    fn read(r: &mut Reader) -> Result<Self, WireError> {
        let execution = ExecutionId(r.u32("an execution")?);
        let kind = r.u8("the kind of topic")?;
        if kind == NODE {
            return Ok(NetTopic::Node(execution, NodeId(r.u16("a node")?)));
        }
        Ok(Self::new(execution, class_of_kind(kind, r)?))
    }
}

/// The kind of topic for one node, beside the kinds of classes.
const NODE: u8 = 4;

/// The sequence space of a node's messages about one class: they are numbered, followed and
/// repaired by stream.
///
/// Routers do not look at it. They look at the [topic](NetTopic) of each packet, which may be
/// narrower than its stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct StreamId {
    pub(crate) execution: ExecutionId,
    pub(crate) class: PublishedClass,
}

impl StreamId {
    /// The topic of a message that concerns all nodes interested in the class.
    pub(crate) fn topic(self) -> NetTopic {
        NetTopic::new(self.execution, self.class)
    }
}

/// Writes a class: its kind and its handle.
pub(crate) fn put_class(out: &mut impl Writer, class: PublishedClass) {
    let (kind, class) = kind_and_handle(class);
    out.octet(kind);
    out.number(class);
}

pub(crate) fn class(r: &mut Reader) -> Result<PublishedClass, WireError> {
    let kind = r.u8("the kind of class")?;
    class_of_kind(kind, r)
}

fn class_of_kind(kind: u8, r: &mut Reader) -> Result<PublishedClass, WireError> {
    let class = r.u32("a class")?;
    match kind {
        1 => Ok(PublishedClass::Objects(ObjectClassHandle(class))),
        2 => Ok(PublishedClass::Interactions(InteractionClassHandle(class))),
        3 => Ok(PublishedClass::Directed),
        other => Err(WireError(format!("{other} is no kind of class (1 to 3)"))),
    }
}

fn kind_and_handle(class: PublishedClass) -> (u8, u32) {
    match class {
        PublishedClass::Objects(class) => (1, class.0),
        PublishedClass::Interactions(class) => (2, class.0),
        PublishedClass::Directed => (3, 0),
    }
}

impl Wire for NetTopic {
    fn encode(&self, out: &mut BytesMut) {
        self.write(out);
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let topic = Self::read(&mut r)?;
        Ok(r.end(topic)?)
    }
}

impl Interest for NetTopic {
    type Topic = NetTopic;
    type Key = NetTopic;

    fn key(&self) -> Option<NetTopic> {
        Some(*self)
    }

    fn topic_key(topic: &NetTopic) -> NetTopic {
        *topic
    }

    fn matches(&self, topic: &NetTopic) -> bool {
        self == topic
    }

    fn merge(&mut self, _other: &Self) {}

    /// FNV-1a over the contents of the topic.
    fn shard_hash(topic: &NetTopic) -> u64 {
        let (kind, number) = topic.kind_and_number();
        let parts = [u64::from(topic.execution().0), u64::from(kind), u64::from(number)];
        let octets = parts.into_iter().flat_map(u64::to_be_bytes);
        octets.fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| {
            (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Nodes that publish nothing about a topic need not know of the interest in it.
    fn gated(&self) -> bool {
        true
    }
}

/// The role of a packet in its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The message with this number.
    Numbered(u64),
    /// Best effort, without a number, sent after the message with number `after`, and after this
    /// [switchover](super::StreamMessage::Switchover) of the stream. The key is that of
    /// [`Message::supersedes`]; 0 for none.
    BestEffort { after: u64, switchover: u64, key: u64 },
    /// No message, but the number of the last one. Those after `relevant` hold nothing for the
    /// receiver.
    HighWater { relevant: u64, last: u64 },
    /// [Messages](messages) with consecutive numbers, from this one on.
    Batch(u64),
    /// The [messages](filtered_messages) that one node wants, from the one after this number on.
    /// The numbers between them hold nothing for it.
    Filtered { after: u64 },
}

/// Adds a message to the body of a batch.
pub(crate) fn put_message(batch: &mut Vec<u8>, message: &[u8]) {
    batch.octets(message);
}

/// A message in a packet for one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FilteredMessage<Body = Bytes> {
    /// The number of messages before it that hold nothing for this node; at most half of the largest
    /// number.
    pub(crate) irrelevant: u64,
    /// See [`StreamEvent::Regions`](super::StreamEvent::Regions).
    pub(crate) is_away: bool,
    pub(crate) body: Body,
}

impl<Body: AsRef<[u8]>> FilteredMessage<Body> {
    /// Adds the message to the body of a packet.
    pub(crate) fn put(&self, batch: &mut Vec<u8>) {
        batch.number(self.irrelevant << 1 | u64::from(self.is_away));
        batch.octets(self.body.as_ref());
    }
}

/// The messages in the body of a packet for one node. A truncated one yields an error and ends the
/// iteration.
pub(crate) fn filtered_messages(batch: Bytes) -> impl Iterator<Item = Result<FilteredMessage, WireError>> {
    let mut reader = Some(Reader::new(batch));
    std::iter::from_fn(move || {
        let rest = reader.as_mut().filter(|rest| !rest.is_empty())?;
        let head = rest.u64("a number of messages");
        let message = head.and_then(|head| {
            let (irrelevant, is_away) = (head >> 1, head & 1 == 1);
            Ok(FilteredMessage { irrelevant, is_away, body: rest.octets("a message for one node")? })
        });
        if message.is_err() {
            reader = None;
        }
        Some(message.map_err(WireError::from))
    })
}

/// The messages in the body of a batch. A truncated one yields an error and ends the iteration.
pub(crate) fn messages(batch: Bytes) -> impl Iterator<Item = Result<Bytes, WireError>> {
    let mut reader = Some(Reader::new(batch));
    std::iter::from_fn(move || {
        let rest = reader.as_mut().filter(|rest| !rest.is_empty())?;
        let message = rest.octets("a message of a batch");
        if message.is_err() {
            reader = None;
        }
        Some(message.map_err(WireError::from))
    })
}

/// A message from one node to all that are interested in its topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Routers forward it to all nodes interested in this.
    pub(crate) topic: NetTopic,
    /// The stream of `sender` that it belongs to.
    pub(crate) stream: PublishedClass,
    pub(crate) sender: NodeId,
    pub(crate) kind: Kind,
    pub(crate) body: Bytes,
    /// Bytes that the body keeps alive.
    pinned: usize,
}

/// Maximum octets of a packet on the wire in addition to its body: four numbers of 32 bits or less,
/// two of 64, three octets and a key.
const HEAD_BYTES_MAX: usize = 56;
/// Set in the octet of the kind if the stream follows. Otherwise the stream is that of the topic's
/// class.
const OTHER_STREAM: u8 = 0x10;
/// Memory of a packet in addition to its body.
pub(crate) const PACKET_OVERHEAD: usize = 96;

impl Packet {
    /// A packet for all nodes interested in the class of the stream.
    pub(crate) fn new(stream: StreamId, sender: NodeId, kind: Kind, body: Bytes) -> Self {
        let pinned = body.len();
        Self { topic: stream.topic(), stream: stream.class, sender, kind, body, pinned }
    }

    /// A packet for one node.
    pub(crate) fn to_node(stream: StreamId, (sender, to): (NodeId, NodeId), kind: Kind, body: Bytes) -> Self {
        Self { topic: NetTopic::Node(stream.execution, to), ..Self::new(stream, sender, kind, body) }
    }

    /// Whether it is for one node.
    pub(crate) fn is_for_one(&self) -> bool {
        matches!(self.topic, NetTopic::Node(..))
    }

    /// The federation execution.
    pub(crate) fn execution(&self) -> ExecutionId {
        self.topic.execution()
    }

    /// The node that sent it.
    pub fn sender(&self) -> NodeId {
        self.sender
    }
}

impl Message for Packet {
    type Topic = NetTopic;

    fn topic(&self) -> &NetTopic {
        &self.topic
    }

    fn priority(&self) -> Priority {
        match self.kind {
            // A high-water mark must not overtake the message that it announces.
            Kind::Numbered(_) | Kind::HighWater { .. } | Kind::Batch(_) | Kind::Filtered { .. } => {
                Priority::Reliable
            }
            Kind::BestEffort { .. } => Priority::State,
        }
    }

    fn droppable(&self) -> bool {
        matches!(self.kind, Kind::BestEffort { .. })
    }

    fn directed(&self) -> bool {
        matches!(self.topic, NetTopic::Directed(_) | NetTopic::Node(..))
    }

    fn bytes(&self) -> usize {
        self.pinned.max(self.body.len()) + PACKET_OVERHEAD
    }

    fn wire_bytes(&self) -> usize {
        self.body.len() + HEAD_BYTES_MAX
    }

    fn supersedes(&self) -> Option<u128> {
        match self.kind {
            Kind::BestEffort { key, .. } if key != 0 => {
                // No packet supersedes one for another node.
                let to = match self.topic {
                    NetTopic::Node(_, to) => to,
                    _ => NodeId(0),
                };
                let parts = [u64::from(self.topic.execution().0), u64::from(self.sender.0), u64::from(to.0)];
                let [execution, sender, to] = parts.map(u128::from);
                Some(to << 112 | execution << 80 | sender << 64 | u128::from(key))
            }
            _ => None,
        }
    }
}

impl Wire for Packet {
    fn encode(&self, out: &mut BytesMut) {
        // Writing single octets into the frame is expensive, so the head is assembled separately.
        let mut head = SmallVec::<[u8; HEAD_BYTES_MAX]>::new();
        self.topic.write(&mut head);
        head.number(self.sender.0);
        let (kind, number) = match self.kind {
            Kind::Numbered(number) => (0, number),
            Kind::BestEffort { after, .. } => (1, after),
            Kind::HighWater { last, .. } => (2, last),
            Kind::Batch(first) => (3, first),
            Kind::Filtered { after } => (4, after),
        };
        if Some(self.stream) == self.topic.class() {
            head.octet(kind);
        } else {
            head.octet(kind | OTHER_STREAM);
            put_class(&mut head, self.stream);
        }
        head.number(number);
        match self.kind {
            Kind::BestEffort { switchover, key, .. } => {
                head.slice(&key.to_be_bytes());
                head.number(switchover);
            }
            Kind::HighWater { relevant, last } => head.number(last - relevant),
            Kind::Numbered(_) | Kind::Batch(_) | Kind::Filtered { .. } => {}
        }
        out.put_slice(&head);
        out.put_slice(&self.body);
    }

    fn decode(body: Bytes, pinned: usize) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let topic = NetTopic::read(&mut r)?;
        let sender = NodeId(r.u16("the sender")?);
        let kind = r.u8("the kind of packet")?;
        let stream = match topic.class() {
            Some(stream) if kind & OTHER_STREAM == 0 => stream,
            _ => class(&mut r)?,
        };
        let number = r.u64("a number")?;
        let kind = match kind & !OTHER_STREAM {
            0 => Kind::Numbered(number),
            1 => {
                let mut key = 0;
                for _ in 0..8 {
                    key = key << 8 | u64::from(r.u8("a key")?);
                }
                Kind::BestEffort { after: number, switchover: r.u64("the number of a switchover")?, key }
            }
            2 => {
                let irrelevant = r.u64("a number of messages")?;
                Kind::HighWater { relevant: number.saturating_sub(irrelevant), last: number }
            }
            3 => Kind::Batch(number),
            4 => Kind::Filtered { after: number },
            other => return Err(WireError(format!("{other} is no kind of packet (0 to 4)"))),
        };
        let body = r.rest();
        Ok(Self { topic, stream, sender, kind, pinned: pinned.max(body.len()), body })
    }
}
