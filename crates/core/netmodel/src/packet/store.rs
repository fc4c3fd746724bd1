//! Messages under way and their packets, in arrays whose elements are reused.

use smallvec::SmallVec;

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// A message that was sent and is not gone. The number is reused afterwards.
pub type MessageId = u32;

/// A message all of whose packets are gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone {
    /// Its number.
    pub message: MessageId,
    /// Packets that did not arrive. The message is complete if this is 0.
    pub dropped: u32,
    /// Packets that arrived with a congestion mark.
    pub marked: u32,
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// It has reached the end of its path.
    Arrived { marked: bool },
    /// It found no room, or was lost on a link.
    Dropped,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// The time at which it is at the next link (its header, with cut-through), or has arrived.
    pub(super) at: u64,
    /// The time at which its last byte is there.
    pub(super) tail_at: u64,
    pub(super) next: u32,
    pub(super) message: MessageId,
    pub(super) hop: u32,
    pub(super) bytes: u32,
}

/// One cache line, with a path of up to ten links.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct Message {
    pub(super) path: SmallVec<[u32; 10]>,
    left: u32,
    dropped: u32,
    marked: u32,
}

/// Messages and packets.
#[derive(Clone, Debug)]
pub(super) struct Store {
    /// Most bytes of a packet.
    pub(super) full: u32,
    pub(super) packets: Vec<Packet>,
    unused_packets: u32,
    pub(super) messages: Vec<Message>,
    unused_messages: Vec<MessageId>,
    /// Numbers of packets that arrived, and of those with a mark.
    pub(super) arrived: u64,
    pub(super) marked: u64,
}

impl Store {
    /// An empty store, for packets of at most `full` bytes.
    ///
    /// # Panics
    /// `full` is 0: a mistake of the caller.
    pub(super) fn new(full: u32) -> Self {
        assert!(full > 0, "a packet has at least a byte");
        Self {
            full,
            packets: Vec::new(),
            unused_packets: NONE,
            messages: Vec::new(),
            unused_messages: Vec::new(),
            arrived: 0,
            marked: 0,
        }
    }

    /// Creates a message; returns it and the sizes of its packets.
    ///
    /// # Panics
    /// `path` is empty, or there are no bytes: a mistake of the caller.
    pub(super) fn begin(
        &mut self,
        path: &[u32],
        bytes: u64,
    ) -> (MessageId, impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<>) {
        assert!(!path.is_empty() && bytes > 0, "a message needs a link and a byte");
        let full = u64::from(self.full);
        let count = u32::try_from(bytes.div_ceil(full)).expect("a message has fewer than 2^32 packets");
        let id = self.unused_messages.pop().unwrap_or(self.messages.len() as u32);
        if id as usize == self.messages.len() {
            self.messages.push(Message::default());
        }
        let message = &mut self.messages[id as usize];
        message.path.clear();
        message.path.extend_from_slice(path);
        (message.left, message.dropped, message.marked) = (count, 0, 0);
        // At most `full` bytes, which is a u32.
        (id, (0..count).map(move |number| (bytes - u64::from(number) * full).min(full) as u32))
    }

    /// Creates a packet of a message, which is there now.
    pub(super) fn take(&mut self, message: MessageId, bytes: u32, now: u64) -> u32 {
        let packet = Packet { at: now, tail_at: now, next: NONE, message, hop: 0, bytes };
        let id = self.unused_packets;
        match self.packets.get_mut(id as usize) {
            Some(place) => {
                self.unused_packets = place.next;
                *place = packet;
                id
            }
            None => {
                self.packets.push(packet);
                self.packets.len() as u32 - 1
            }
        }
    }

    /// Removes a packet, and its message with the last packet; returns that message.
    #[inline]
    pub(super) fn gone(&mut self, packet: u32, fate: Fate) -> Option<Gone> {
        let place = &mut self.packets[packet as usize];
        place.next = self.unused_packets;
        let id = place.message;
        self.unused_packets = packet;
        let message = &mut self.messages[id as usize];
        message.left -= 1;
        match fate {
            Fate::Arrived { marked } => {
                self.arrived += 1;
                self.marked += u64::from(marked);
                message.marked += u32::from(marked);
            }
            Fate::Dropped => message.dropped += 1,
        }
        if message.left > 0 {
            return None;
        }
        self.unused_messages.push(id);
        Some(Gone { message: id, dropped: message.dropped, marked: message.marked })
    }
}
