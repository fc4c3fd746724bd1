//! Messages of one stream that follow one another and leave this node as one packet.
//!
//! A router does as much for a packet with one message as for one with ten. So a message waits for those that the same
//! federate says in the same breath; what a world has read at once has been served before anything is written anyway.

use super::wire::{Kind, Packet, put_message};

/// The most octets that the messages of a run have together: what one datagram of a multicast group carries, and a
/// frame of a link with the least bundle.
pub(crate) const RUN_BYTES_MAX: usize = 1024;

/// A packet that may yet grow.
#[derive(Debug)]
pub(crate) struct Run {
    /// The first message, with its number.
    first: Packet,
    number: u64,
    /// How many there are.
    count: u64,
    /// All of them, once there is more than one.
    messages: Vec<u8>,
}

impl Run {
    /// Begins with a numbered message; others, and those that leave no room for another, are given back.
    pub(crate) fn begin(packet: Packet) -> Result<Self, Packet> {
        match packet.kind {
            Kind::Numbered(number) if packet.body.len() < RUN_BYTES_MAX / 2 => {
                Ok(Self { first: packet, number, count: 1, messages: Vec::new() })
            }
            _ => Err(packet),
        }
    }

    /// Adds the next message of the stream, if it is that, and if there is room.
    pub(crate) fn add(&mut self, packet: &Packet) -> bool {
        let is_next =
            packet.kind == Kind::Numbered(self.number + self.count) && packet.topic == self.first.topic;
        let so_far = self.messages.len().max(self.first.body.len());
        if !is_next || so_far + packet.body.len() + LENGTHS_BYTES > RUN_BYTES_MAX {
            return false;
        }
        if self.count == 1 {
            self.messages.reserve_exact(RUN_BYTES_MAX);
            put_message(&mut self.messages, &self.first.body);
        }
        put_message(&mut self.messages, &packet.body);
        self.count += 1;
        true
    }

    /// What is to be sent.
    pub(crate) fn into_packet(self) -> Packet {
        if self.count == 1 {
            return self.first;
        }
        let Packet { topic, sender, .. } = self.first;
        Packet::new(topic, sender, Kind::Run(self.number), self.messages.into())
    }
}

/// What the lengths of the first message and of one more need at most: each is below [`RUN_BYTES_MAX`].
const LENGTHS_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{ExecutionId, NodeId};
    use crate::remote::NetTopic;
    use crate::remote::wire::messages;
    use bytes::Bytes;
    use hla::handle::ObjectClassHandle;

    fn packet(class: u32, kind: Kind, bytes: usize) -> Packet {
        let topic = NetTopic::Objects(ExecutionId(1), ObjectClassHandle(class));
        Packet::new(topic, NodeId(3), kind, Bytes::from(vec![7; bytes]))
    }

    fn numbered(number: u64, bytes: usize) -> Packet {
        packet(1, Kind::Numbered(number), bytes)
    }

    #[test]
    fn messages_that_follow_one_another_leave_together() {
        let mut run = Run::begin(numbered(5, 100)).unwrap();
        let added = (6..50).take_while(|&number| run.add(&numbered(number, 100))).count();
        assert_eq!(added, 9);
        let packet = run.into_packet();
        assert_eq!(packet.kind, Kind::Run(5));
        assert!(packet.body.len() <= RUN_BYTES_MAX);
        let read: Vec<_> = messages(packet.body).map(|message| message.unwrap().len()).collect();
        assert_eq!(read, [100; 10]);
    }

    #[test]
    fn one_message_leaves_as_it_is() {
        let alone = numbered(5, 100);
        assert_eq!(Run::begin(alone.clone()).unwrap().into_packet(), alone);
    }

    #[test]
    fn nothing_else_is_added() {
        let mut run = Run::begin(numbered(5, 100)).unwrap();
        for other in [
            numbered(5, 10),
            numbered(7, 10),
            packet(2, Kind::Numbered(6), 10),
            packet(1, Kind::Tail(6), 0),
            packet(1, Kind::Loose { after: 5, key: 0 }, 10),
            numbered(6, RUN_BYTES_MAX),
        ] {
            assert!(!run.add(&other), "{other:?}");
        }
        assert!(run.add(&numbered(6, 10)));
    }

    #[test]
    fn only_short_numbered_messages_begin_one() {
        for other in [packet(1, Kind::Tail(6), 0), numbered(1, RUN_BYTES_MAX / 2)] {
            assert_eq!(Run::begin(other.clone()).unwrap_err(), other);
        }
    }

    #[test]
    fn lengths_fit_at_every_size() {
        for bytes in 0..RUN_BYTES_MAX / 2 {
            let mut run = Run::begin(numbered(1, bytes)).unwrap();
            (2..).take_while(|&number| run.add(&numbered(number, bytes.max(1)))).count();
            assert!(run.into_packet().body.len() <= RUN_BYTES_MAX, "{bytes}");
        }
    }
}
