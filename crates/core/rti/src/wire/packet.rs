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
            | NetTopic::Directed(execution) => execution,
        }
    }

    /// The publication that belongs to the topic.
    pub fn class(&self) -> PublishedClass {
        match *self {
            NetTopic::Objects(_, class) => PublishedClass::Objects(class),
            NetTopic::Interactions(_, class) => PublishedClass::Interactions(class),
            NetTopic::Directed(_) => PublishedClass::Directed,
        }
    }
}

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
        out.number(self.execution().0);
        put_class(out, self.class());
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let execution = ExecutionId(r.u32("an execution")?);
        let class = class(&mut r)?;
        Ok(r.end(Self::new(execution, class))?)
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
        let (kind, class) = kind_and_handle(topic.class());
        let parts = [u64::from(topic.execution().0), u64::from(kind), u64::from(class)];
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
    /// Best effort, without a number, sent after the message with this number. The key is that of
    /// [`Message::supersedes`]; 0 for none.
    BestEffort { after: u64, key: u64 },
    /// No message, but the number of the last one.
    HighWater(u64),
    /// [Messages](messages) with consecutive numbers, from this one on.
    Batch(u64),
}

/// Adds a message to the body of a batch.
pub(crate) fn put_message(batch: &mut Vec<u8>, message: &[u8]) {
    batch.octets(message);
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
/// one of 64, three octets and a key.
const HEAD_BYTES_MAX: usize = 48;
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
            Kind::Numbered(_) | Kind::HighWater(_) | Kind::Batch(_) => Priority::Reliable,
            Kind::BestEffort { .. } => Priority::State,
        }
    }

    fn droppable(&self) -> bool {
        matches!(self.kind, Kind::BestEffort { .. })
    }

    fn directed(&self) -> bool {
        matches!(self.topic, NetTopic::Directed(_))
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
                let (execution, sender) = (u128::from(self.topic.execution().0), u128::from(self.sender.0));
                Some(execution << 80 | sender << 64 | u128::from(key))
            }
            _ => None,
        }
    }
}

impl Wire for Packet {
    fn encode(&self, out: &mut BytesMut) {
        // Writing single octets into the frame is expensive, so the head is assembled separately.
        let mut head = SmallVec::<[u8; HEAD_BYTES_MAX]>::new();
        head.number(self.topic.execution().0);
        put_class(&mut head, self.topic.class());
        head.number(self.sender.0);
        let (kind, number) = match self.kind {
            Kind::Numbered(number) => (0, number),
            Kind::BestEffort { after, .. } => (1, after),
            Kind::HighWater(last) => (2, last),
            Kind::Batch(first) => (3, first),
        };
        if self.stream == self.topic.class() {
            head.octet(kind);
        } else {
            head.octet(kind | OTHER_STREAM);
            put_class(&mut head, self.stream);
        }
        head.number(number);
        if let Kind::BestEffort { key, .. } = self.kind {
            head.slice(&key.to_be_bytes());
        }
        out.put_slice(&head);
        out.put_slice(&self.body);
    }

    fn decode(body: Bytes, pinned: usize) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let execution = ExecutionId(r.u32("an execution")?);
        let topic = NetTopic::new(execution, class(&mut r)?);
        let sender = NodeId(r.u16("the sender")?);
        let kind = r.u8("the kind of packet")?;
        let stream = if kind & OTHER_STREAM == 0 { topic.class() } else { class(&mut r)? };
        let number = r.u64("a number")?;
        let kind = match kind & !OTHER_STREAM {
            0 => Kind::Numbered(number),
            1 => {
                let mut key = 0;
                for _ in 0..8 {
                    key = key << 8 | u64::from(r.u8("a key")?);
                }
                Kind::BestEffort { after: number, key }
            }
            2 => Kind::HighWater(number),
            3 => Kind::Batch(number),
            other => return Err(WireError(format!("{other} is no kind of packet (0 to 3)"))),
        };
        let body = r.rest();
        Ok(Self { topic, stream, sender, kind, pinned: pinned.max(body.len()), body })
    }
}
