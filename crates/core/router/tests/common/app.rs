//! A small topic application: an instance of the router's traits that has nothing to do with HLA.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use router::{Interest, Message, Priority, Wire, WireError};

/// A group and a cell in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topic {
    pub group: u8,
    pub cell: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub topic: Topic,
    pub class: Priority,
    pub droppable: bool,
    pub key: Option<u8>,
    /// The sender, and its number for the message.
    pub sender: u32,
    pub number: u32,
    pub body: Bytes,
}

/// The cell of messages that are directed at one receiver.
pub const DIRECTED: u8 = 77;

pub fn note(group: u8, cell: u8, class: Priority, number: u32) -> Note {
    let topic = Topic { group, cell };
    Note { topic, class, droppable: false, key: None, sender: 0, number, body: Bytes::new() }
}

impl Message for Note {
    type Topic = Topic;
    fn topic(&self) -> &Topic {
        &self.topic
    }
    fn priority(&self) -> Priority {
        self.class
    }
    fn droppable(&self) -> bool {
        self.droppable
    }
    fn directed(&self) -> bool {
        self.topic.cell == DIRECTED
    }
    fn bytes(&self) -> usize {
        HEAD + self.body.len()
    }
    fn supersedes(&self) -> Option<u128> {
        self.key.map(u128::from)
    }
}

const HEAD: usize = 14;

impl Wire for Note {
    fn encode(&self, out: &mut BytesMut) {
        out.put_slice(&[
            self.topic.group,
            self.topic.cell,
            self.class.index() as u8,
            u8::from(self.droppable),
        ]);
        out.put_u16(self.key.map_or(u16::MAX, u16::from));
        out.put_u32(self.sender);
        out.put_u32(self.number);
        out.put_slice(&self.body);
    }

    fn decode(mut body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        if body.len() < HEAD {
            return Err(WireError(format!("a note has at least {HEAD} bytes, this one {}", body.len())));
        }
        let topic = Topic { group: body.get_u8(), cell: body.get_u8() };
        let class = usize::from(body.get_u8());
        let class = *Priority::ALL.get(class).ok_or_else(|| WireError(format!("no class {class}")))?;
        let droppable = body.get_u8() != 0;
        let key = u8::try_from(body.get_u16()).ok();
        let (sender, number) = (body.get_u32(), body.get_u32());
        Ok(Note { topic, class, droppable, key, sender, number, body })
    }
}

/// Interests in groups from here on are gated.
pub const GATED: u8 = 100;

/// Cells of one group, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Want {
    pub group: Option<u8>,
    pub from: u8,
    pub to: u8,
}

impl Want {
    pub fn group(group: u8) -> Self {
        Want { group: Some(group), from: 0, to: u8::MAX }
    }
}

impl Interest for Want {
    type Topic = Topic;
    type Key = u8;
    fn key(&self) -> Option<u8> {
        self.group
    }
    fn topic_key(topic: &Topic) -> u8 {
        topic.group
    }
    fn matches(&self, topic: &Topic) -> bool {
        self.group.is_none_or(|group| group == topic.group) && (self.from..=self.to).contains(&topic.cell)
    }
    fn merge(&mut self, other: &Self) {
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
    }
    fn gated(&self) -> bool {
        self.group.is_some_and(|group| group >= GATED)
    }
    fn advertised_by(&self, advertisement: &Self) -> bool {
        let same_group =
            self.group.is_none() || advertisement.group.is_none() || self.group == advertisement.group;
        same_group && self.from <= advertisement.to && advertisement.from <= self.to
    }
}

impl Wire for Want {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u16(self.group.map_or(u16::MAX, u16::from));
        out.put_slice(&[self.from, self.to]);
    }
    fn decode(mut body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        if body.len() != 4 {
            return Err(WireError(format!("a want has 4 bytes, not {}", body.len())));
        }
        Ok(Want { group: u8::try_from(body.get_u16()).ok(), from: body.get_u8(), to: body.get_u8() })
    }
}
