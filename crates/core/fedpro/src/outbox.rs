//! HLA messages of one direction of one session: those not yet written, and written ones that a
//! resume may request again.

use crate::frame::{MessageType, Numbers, hla_bytes, put_hla};
use base::Serial31;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// A queue that has grown beyond this capacity releases its memory when it is empty.
const KEPT_CAPACITY: usize = 256;

/// Memory of a message in addition to its bytes on the wire: its entry in a queue that has grown,
/// and the allocation of its body.
const ENTRY_OVERHEAD: usize = 96;

/// Limits on the written messages that are kept for a resume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HistoryLimits {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
struct Entry {
    body: Bytes,
    kind: MessageType,
    response_to: Option<Serial31>,
    /// Assigned when the message is queued (client) or first written (server), and then kept, as is
    /// `last_received`: a repeated message consists of the same bytes.
    number: Option<Serial31>,
    last_received: Option<Serial31>,
}

impl Entry {
    fn bytes(&self) -> usize {
        hla_bytes(self.response_to, self.body.len())
    }
}

/// One queue with a cursor. Entries before the cursor are the history; entries from the cursor on
/// are still to be written. A resume moves the cursor; nothing is copied.
#[derive(Debug)]
pub(crate) struct Outbox {
    log: VecDeque<Entry>,
    /// The number of entries of `log` that have been written, on the present connection or an
    /// earlier one.
    sent: usize,
    history_bytes: usize,
    unsent_bytes: usize,
    limits: HistoryLimits,
    /// The next number of this direction, control messages included.
    next: Serial31,
    /// Number of the newest message that has been written.
    newest: Serial31,
    /// All messages up to this number have left `log`. Distances are measured from here.
    origin: Serial31,
    /// Whether any message has left `log` for good.
    dropped: bool,
}

impl Outbox {
    pub(crate) fn new(first: Serial31, limits: HistoryLimits) -> Self {
        let before =
            Serial31::new(first.get().wrapping_sub(1) & Serial31::MAX.get()).expect("masked to 31 bits");
        Self {
            log: VecDeque::new(),
            sent: 0,
            history_bytes: 0,
            unsent_bytes: 0,
            limits,
            next: first,
            newest: before,
            origin: before,
            dropped: false,
        }
    }

    /// Takes the next number, for a control message that is written now.
    pub(crate) fn take_number(&mut self) -> Serial31 {
        let number = self.give_number();
        self.newest = number;
        number
    }

    fn give_number(&mut self) -> Serial31 {
        let number = self.next;
        self.next = number.next();
        number
    }

    /// Queues a message that gets its number when it is written. Returns the memory it takes, in
    /// bytes.
    pub(crate) fn push(&mut self, kind: MessageType, response_to: Option<Serial31>, body: Bytes) -> usize {
        let entry = Entry { body, kind, response_to, number: None, last_received: None };
        let bytes = entry.bytes();
        self.unsent_bytes += bytes;
        self.log.push_back(entry);
        bytes + ENTRY_OVERHEAD
    }

    /// Queues a message that gets its number now, and returns the number.
    pub(crate) fn push_numbered(
        &mut self,
        kind: MessageType,
        response_to: Option<Serial31>,
        body: Bytes,
        last_received: Option<Serial31>,
    ) -> Serial31 {
        let number = self.give_number();
        let entry = Entry { body, kind, response_to, number: Some(number), last_received };
        self.unsent_bytes += entry.bytes();
        self.log.push_back(entry);
        number
    }

    /// Bytes of messages not yet written.
    pub(crate) const fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// Memory of the messages not yet written, in bytes.
    pub(crate) fn unsent_memory(&self) -> usize {
        self.unsent_bytes + (self.log.len() - self.sent) * ENTRY_OVERHEAD
    }

    /// Memory of the written messages that are kept, in bytes.
    pub(crate) const fn history_memory(&self) -> usize {
        self.history_bytes + self.sent * ENTRY_OVERHEAD
    }

    /// Drops the oldest written messages until the history takes at most `bytes` of memory. Returns
    /// how many were dropped.
    pub(crate) fn trim_history(&mut self, bytes: usize) -> u64 {
        let before = self.sent;
        while self.history_memory() > bytes && self.sent > 0 {
            self.drop_front();
        }
        self.give_back_memory();
        (before - self.sent) as u64
    }

    /// Whether everything has been written.
    pub(crate) fn is_drained(&self) -> bool {
        self.sent == self.log.len()
    }

    /// Size of the next message to write, in bytes.
    pub(crate) fn next_bytes(&self) -> Option<usize> {
        self.log.get(self.sent).map(Entry::bytes)
    }

    /// Appends the next message to `out`. Returns whether there was one.
    pub(crate) fn write_next(
        &mut self,
        out: &mut BytesMut,
        session: u64,
        last_received: Option<Serial31>,
    ) -> bool {
        let next = &mut self.next;
        let Some(entry) = self.log.get_mut(self.sent) else { return false };
        let number = *entry.number.get_or_insert_with(|| {
            let number = *next;
            *next = number.next();
            entry.last_received = last_received;
            number
        });
        let numbers = Numbers { sequence: Some(number), last_received: entry.last_received };
        put_hla(out, entry.kind, session, numbers, entry.response_to, &entry.body);
        let bytes = entry.bytes();
        if number.distance_from(self.origin) > self.newest.distance_from(self.origin) {
            self.newest = number;
        }
        self.sent += 1;
        self.unsent_bytes -= bytes;
        self.history_bytes += bytes;
        while self.sent > self.limits.messages || self.history_bytes > self.limits.bytes {
            self.drop_front();
        }
        true
    }

    /// Number of the oldest message that has been written and is still kept.
    pub(crate) fn oldest_available(&self) -> Option<Serial31> {
        let number = self.log.front()?.number?;
        let written = number.distance_from(self.origin) <= self.newest.distance_from(self.origin);
        written.then_some(number)
    }

    /// The peer has received everything up to `number`: drops those messages. A number that is not
    /// exactly that of a message in the history is ignored. Returns the memory of the history that
    /// became free, in bytes.
    pub(crate) fn acknowledge(&mut self, number: Serial31) -> usize {
        if number == self.origin || self.sent == 0 {
            return 0;
        }
        let upto = self.position_after(number);
        if upto == 0 || upto > self.sent || self.log[upto - 1].number != Some(number) {
            return 0;
        }
        let before = self.history_memory();
        for _ in 0..upto {
            self.drop_front();
        }
        self.give_back_memory();
        before - self.history_memory()
    }

    /// The peer has received `number` and everything before it. Drops the earlier messages and
    /// keeps the message itself, because the oldest one available must not be newer than the peer's
    /// last.
    pub(crate) fn forget_before(&mut self, number: Serial31) {
        if !self.can_rewind(Some(number)) {
            return;
        }
        let keep_from = number.distance_from(self.origin);
        let count = self
            .log
            .range(..self.sent)
            .take_while(|entry| entry.number.is_some_and(|n| n.distance_from(self.origin) < keep_from));
        for _ in 0..count.count() {
            self.drop_front();
        }
        self.give_back_memory();
    }

    /// Whether every message after `last` is still kept, so that [`Outbox::rewind`] would succeed.
    pub(crate) fn can_rewind(&self, last: Option<Serial31>) -> bool {
        match last {
            None => !self.dropped,
            Some(n) => n.distance_from(self.origin) <= self.newest.distance_from(self.origin),
        }
    }

    /// Continues writing with the first message after number `last` (`None`: with the first of
    /// all). Returns false, and changes nothing, if messages after `last` are missing.
    pub(crate) fn rewind(&mut self, last: Option<Serial31>) -> bool {
        if !self.can_rewind(last) {
            return false;
        }
        let to = last.map_or(0, |n| self.position_after(n));
        let (low, high) = (to.min(self.sent), to.max(self.sent));
        let moved: usize = self.log.range(low..high).map(Entry::bytes).sum();
        if to < self.sent {
            self.history_bytes -= moved;
            self.unsent_bytes += moved;
        } else {
            self.history_bytes += moved;
            self.unsent_bytes -= moved;
        }
        self.sent = to;
        true
    }

    /// Index of the first entry whose number is after `number` or not assigned yet.
    fn position_after(&self, number: Serial31) -> usize {
        let distance = number.distance_from(self.origin);
        self.log
            .partition_point(|entry| entry.number.is_some_and(|n| n.distance_from(self.origin) <= distance))
    }

    /// Drops the oldest message of the history.
    fn drop_front(&mut self) {
        if self.sent == 0 {
            return;
        }
        if let Some(entry) = self.log.pop_front() {
            self.sent -= 1;
            self.history_bytes -= entry.bytes();
            self.dropped = true;
            if let Some(number) = entry.number {
                self.origin = number;
            }
        }
    }

    fn give_back_memory(&mut self) {
        if self.log.capacity() > KEPT_CAPACITY && self.log.len() < KEPT_CAPACITY / 8 {
            self.log.shrink_to(KEPT_CAPACITY / 4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Decoder, HEADER_BYTES};

    const LIMITS: HistoryLimits = HistoryLimits { messages: 4, bytes: 1_000 };

    fn n(value: u32) -> Serial31 {
        Serial31::new(value & 0x7fff_ffff).unwrap()
    }

    fn outbox(first: u32, count: u8) -> Outbox {
        let mut outbox = Outbox::new(n(first), LIMITS);
        for i in 0..count {
            outbox.push(MessageType::CallbackRequest, None, Bytes::from(vec![i]));
        }
        outbox
    }

    /// Writes everything. Returns the number and the first body byte of each message.
    fn drain(outbox: &mut Outbox) -> Vec<(u32, u8)> {
        let mut out = BytesMut::new();
        while outbox.write_next(&mut out, 1, None) {}
        let mut decoder = Decoder::new(100);
        decoder.push(out.freeze());
        std::iter::from_fn(|| decoder.next_frame().unwrap())
            .map(|f| (f.header.numbers.sequence.unwrap().get(), f.payload[0]))
            .collect()
    }

    #[test]
    fn numbers_are_given_when_written_and_kept_when_repeated() {
        for first in [1, 0x7fff_fffe] {
            let mut outbox = outbox(first, 3);
            assert_eq!(outbox.take_number(), n(first));
            let at = |i: u32| n(first + i).get();
            assert_eq!(drain(&mut outbox), [(at(1), 0), (at(2), 1), (at(3), 2)]);
            assert!(outbox.rewind(Some(n(first + 1))));
            assert_eq!(outbox.unsent_bytes(), 2 * (HEADER_BYTES + 1));
            assert_eq!(drain(&mut outbox), [(at(2), 1), (at(3), 2)]);
            assert!(outbox.rewind(None));
            assert_eq!(drain(&mut outbox).len(), 3);
            assert_eq!(outbox.unsent_bytes(), 0);
        }
    }

    #[test]
    fn history_is_bounded_and_says_what_is_gone() {
        let mut outbox = outbox(1, 6);
        drain(&mut outbox);
        assert_eq!(outbox.oldest_available(), Some(n(3)));
        assert!(!outbox.can_rewind(None));
        assert!(!outbox.can_rewind(Some(n(1))));
        assert!(outbox.rewind(Some(n(2))));
        assert_eq!(drain(&mut outbox), [(3, 2), (4, 3), (5, 4), (6, 5)]);
        assert!(!outbox.rewind(Some(n(7))), "7 was never sent");
    }

    #[test]
    fn bytes_of_history_are_bounded() {
        let mut outbox = Outbox::new(n(1), HistoryLimits { messages: 99, bytes: 100 });
        for _ in 0..3 {
            outbox.push(MessageType::CallbackRequest, None, Bytes::from(vec![0; 20]));
        }
        drain(&mut outbox);
        assert_eq!((outbox.log.len(), outbox.history_bytes), (2, 88));
    }

    #[test]
    fn only_exact_acknowledgements_count() {
        let mut outbox = outbox(5, 3);
        drain(&mut outbox);
        for odd in [0, 4, 8, 0x7fff_ffff] {
            outbox.acknowledge(n(odd));
            assert_eq!(outbox.log.len(), 3, "{odd}");
        }
        outbox.acknowledge(n(6));
        assert_eq!(outbox.log.len(), 1);
        outbox.acknowledge(n(5));
        assert_eq!(outbox.log.len(), 1);
        assert!(outbox.rewind(Some(n(6))));
        assert_eq!(drain(&mut outbox), [(7, 2)]);
    }

    #[test]
    fn forgetting_keeps_the_message_named() {
        let mut outbox = outbox(0x7fff_ffff, 3);
        drain(&mut outbox);
        outbox.forget_before(n(0));
        assert_eq!(outbox.oldest_available(), Some(n(0)));
        outbox.forget_before(n(0x7fff_ffff));
        assert_eq!(outbox.oldest_available(), Some(n(0)));
    }

    #[test]
    fn a_resume_in_the_middle_of_a_repetition_may_move_forward() {
        let mut outbox = outbox(1, 4);
        drain(&mut outbox);
        assert!(outbox.rewind(Some(n(1))));
        outbox.write_next(&mut BytesMut::new(), 1, None);
        assert!(outbox.rewind(Some(n(4))));
        assert!(outbox.is_drained());
        assert_eq!(outbox.unsent_bytes(), 0);
    }
}
