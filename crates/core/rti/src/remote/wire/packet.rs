//! What goes through the routers.

use super::{Reader, Writer};
use crate::control::{ExecutionId, NodeId, PublishedClass};
use bytes::{BufMut, Bytes, BytesMut};
use hla::handle::{InteractionClassHandle, ObjectClassHandle};
use router::{Interest, Message, Priority, Wire, WireError};
use smallvec::SmallVec;

/// What nodes can be interested in.
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
    /// The topic of what a node may publish.
    pub(crate) fn new(execution: ExecutionId, what: PublishedClass) -> Self {
        match what {
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

    /// What a publisher of it publishes.
    pub fn what(&self) -> PublishedClass {
        match *self {
            NetTopic::Objects(_, class) => PublishedClass::Objects(class),
            NetTopic::Interactions(_, class) => PublishedClass::Interactions(class),
            NetTopic::Directed(_) => PublishedClass::Directed,
        }
    }

    fn kind_and_class(&self) -> (u8, u32) {
        match *self {
            NetTopic::Objects(_, class) => (1, class.0),
            NetTopic::Interactions(_, class) => (2, class.0),
            NetTopic::Directed(_) => (3, 0),
        }
    }

    pub(super) fn write_class(&self, out: &mut impl Writer) {
        let (kind, class) = self.kind_and_class();
        out.octet(kind);
        out.number(class);
    }

    pub(super) fn read_class(execution: ExecutionId, r: &mut Reader) -> Result<Self, WireError> {
        let kind = r.u8("the kind of topic")?;
        let class = r.u32("a class")?;
        match kind {
            1 => Ok(NetTopic::Objects(execution, ObjectClassHandle(class))),
            2 => Ok(NetTopic::Interactions(execution, InteractionClassHandle(class))),
            3 => Ok(NetTopic::Directed(execution)),
            other => Err(WireError(format!("{other} is no kind of topic (1 to 3)"))),
        }
    }
}

impl Wire for NetTopic {
    fn encode(&self, out: &mut BytesMut) {
        out.number(self.execution().0);
        self.write_class(out);
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let execution = ExecutionId(r.u32("an execution")?);
        let topic = Self::read_class(execution, &mut r)?;
        r.end(topic)
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

    /// FNV-1a over what it is about.
    fn lot(topic: &NetTopic) -> u64 {
        let (kind, class) = topic.kind_and_class();
        let parts = [u64::from(topic.execution().0), u64::from(kind), u64::from(class)];
        let octets = parts.into_iter().flat_map(u64::to_be_bytes);
        octets.fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| {
            (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Nodes that publish nothing about a topic need not know who wants it.
    fn gated(&self) -> bool {
        true
    }
}

/// What a packet is to its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The message with this number.
    Numbered(u64),
    /// Best effort, said after the message with this number. The key is that of [`Message::supersedes`]; 0 for none.
    Loose { after: u64, key: u64 },
    /// No message: the last number there is.
    Tail(u64),
    /// [Messages](messages) that follow one another, from this number on.
    Run(u64),
}

/// Adds a message to the body of a run.
pub(crate) fn put_message(run: &mut Vec<u8>, message: &[u8]) {
    run.octets(message);
}

/// The messages in the body of a run. It ends with an error where one is cut short.
pub(crate) fn messages(run: Bytes) -> impl Iterator<Item = Result<Bytes, WireError>> {
    let mut reader = Some(Reader::new(run));
    std::iter::from_fn(move || {
        let rest = reader.as_mut().filter(|rest| !rest.is_empty())?;
        let message = rest.octets("a message of a run");
        if message.is_err() {
            reader = None;
        }
        Some(message)
    })
}

/// A message from one node to all that are interested in its topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    pub(crate) topic: NetTopic,
    pub(crate) sender: NodeId,
    pub(crate) kind: Kind,
    pub(crate) body: Bytes,
    /// Bytes that the body keeps alive.
    pinned: usize,
}

/// The most that a packet has on the wire beside its body: four numbers of 32 bits or less, one of 64, two octets and a key.
const HEAD_BYTES_MAX: usize = 48;
/// Memory of a packet beside its body.
pub(crate) const PACKET_OVERHEAD: usize = 96;

impl Packet {
    pub(crate) fn new(topic: NetTopic, sender: NodeId, kind: Kind, body: Bytes) -> Self {
        let pinned = body.len();
        Self { topic, sender, kind, body, pinned }
    }

    /// The node that says it.
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
            // A tail must not overtake what it announces.
            Kind::Numbered(_) | Kind::Tail(_) | Kind::Run(_) => Priority::Reliable,
            Kind::Loose { .. } => Priority::State,
        }
    }

    fn droppable(&self) -> bool {
        matches!(self.kind, Kind::Loose { .. })
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
            Kind::Loose { key, .. } if key != 0 => {
                let (execution, sender) = (u128::from(self.topic.execution().0), u128::from(self.sender.0));
                Some(execution << 80 | sender << 64 | u128::from(key))
            }
            _ => None,
        }
    }
}

impl Wire for Packet {
    fn encode(&self, out: &mut BytesMut) {
        // One octet at a time is dear in a frame: the head is put together beside it.
        let mut head = SmallVec::<[u8; HEAD_BYTES_MAX]>::new();
        head.number(self.topic.execution().0);
        self.topic.write_class(&mut head);
        head.number(self.sender.0);
        match self.kind {
            Kind::Numbered(number) => {
                head.octet(0);
                head.number(number);
            }
            Kind::Loose { after, key } => {
                head.octet(1);
                head.number(after);
                head.slice(&key.to_be_bytes());
            }
            Kind::Tail(last) => {
                head.octet(2);
                head.number(last);
            }
            Kind::Run(first) => {
                head.octet(3);
                head.number(first);
            }
        }
        out.put_slice(&head);
        out.put_slice(&self.body);
    }

    fn decode(body: Bytes, pinned: usize) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let execution = ExecutionId(r.u32("an execution")?);
        let topic = NetTopic::read_class(execution, &mut r)?;
        let sender = r.u32("the sender")?;
        let sender = u16::try_from(sender).map_err(|_| WireError(format!("{sender} is no node")))?;
        let kind = match r.u8("the kind of packet")? {
            0 => Kind::Numbered(r.u64("a number")?),
            1 => {
                let after = r.u64("a number")?;
                let mut key = 0;
                for _ in 0..8 {
                    key = key << 8 | u64::from(r.u8("a key")?);
                }
                Kind::Loose { after, key }
            }
            2 => Kind::Tail(r.u64("a number")?),
            3 => Kind::Run(r.u64("a number")?),
            other => return Err(WireError(format!("{other} is no kind of packet (0 to 3)"))),
        };
        let body = r.rest();
        Ok(Self { topic, sender: NodeId(sender), kind, pinned: pinned.max(body.len()), body })
    }
}
