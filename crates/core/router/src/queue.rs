//! The queue of a pipe: classes, limits, and the order of dropping at a limit.
//!
//! Each class has two FIFOs, one for messages that must not be dropped and one for droppable ones,
//! so that the next message to drop is always at an end of a FIFO. Every entry carries the order of
//! its arrival, by which FIFOs are merged again.

use crate::message::{Envelope, Fifos, KINDS, Message, Priority, kind_of};
use crate::stats::{DropReason, PipeStats};
use crate::{DropFirst, PipeConfig};
use std::collections::{HashMap, VecDeque};

/// A FIFO is compacted when its empty entries outnumber the filled ones by this many.
const SWEEP_SLACK: usize = 32;

/// An emptied FIFO keeps its memory if it has room for at most this many messages; a larger one
/// shrinks to a quarter of this.
const KEPT_CAPACITY: usize = 4_096;

/// The FIFOs of [`Queue::filled`] whose messages may be dropped: every second one.
const DROPPABLE_FIFOS: u16 = 0xaaaa;

/// The outcome of putting a message into a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Enqueued {
    /// It waits.
    Queued {
        /// Number of droppable messages dropped to make room for it.
        displaced: u32,
    },
    /// It waits in the place of an older one with the same key.
    Replaced,
    /// It was droppable, and there was no room.
    Dropped {
        /// Its class.
        class: Priority,
        /// Its size.
        bytes: usize,
    },
    /// It must not be dropped, and there is no room; nothing changed. The caller holds its sender
    /// back, or disconnects the client.
    Refused,
}

#[derive(Debug)]
struct Entry<M> {
    order: u64,
    bytes: usize,
    /// `None`: taken out of the middle.
    envelope: Option<Envelope<M>>,
    key: Option<u128>,
}

#[derive(Debug)]
struct Fifo<M> {
    /// The first and the last entry are always filled.
    entries: VecDeque<Entry<M>>,
    bytes: usize,
    filled: usize,
}

/// Messages that wait in a pipe.
#[derive(Debug)]
pub(crate) struct Queue<M> {
    fifos: [Fifo<M>; KINDS],
    /// One bit for each FIFO with a message, so that the common case of one such FIFO needs no look
    /// at the others.
    filled: u16,
    next_order: u64,
    bytes: usize,
    messages: usize,
    /// Counted against the limits, but already taken out: messages that are being sent in
    /// fragments.
    held_bytes: usize,
    held_messages: usize,
    /// The FIFO and order of the waiting droppable message with each key. Never iterated.
    by_key: HashMap<u128, (usize, u64)>,
}

/// The share of the limits, bytes and messages, that is kept for the class `Control` on a pipe with
/// credit: a sixteenth.
fn reserve(class: Priority, config: &PipeConfig) -> (usize, usize) {
    match (class, config.credit_bytes) {
        (Priority::Control, _) | (_, None) => (0, 0),
        _ => (config.bytes_max / 16, config.messages_max / 16),
    }
}

impl<M: Message> Queue<M> {
    pub(crate) fn new() -> Self {
        Self {
            fifos: std::array::from_fn(|_| Fifo { entries: VecDeque::new(), bytes: 0, filled: 0 }),
            filled: 0,
            next_order: 0,
            bytes: 0,
            messages: 0,
            held_bytes: 0,
            held_messages: 0,
            by_key: HashMap::new(),
        }
    }

    /// Bytes that count against the limit.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.held_bytes
    }

    /// Messages that count against the limit.
    pub(crate) fn messages(&self) -> usize {
        self.messages + self.held_messages
    }

    /// True when nothing can be popped.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// True when a message waits whose class does not wait for a bundle to fill.
    pub(crate) fn has_urgent(&self) -> bool {
        self.messages > 0
            && Priority::ALL.iter().filter(|class| class.urgent()).any(|class| self.class_filled(*class))
    }

    /// True when a message of this class waits.
    pub(crate) fn class_filled(&self, class: Priority) -> bool {
        self.filled >> kind_of(class, false) & 0b11 != 0
    }

    /// Puts a message at the end, dropping the lowest droppable ones if it needs room.
    pub(crate) fn push(
        &mut self,
        envelope: Envelope<M>,
        config: &PipeConfig,
        stats: &mut PipeStats,
    ) -> Enqueued {
        let (class, droppable) = (envelope.message.priority(), envelope.message.droppable());
        let bytes = envelope.message.bytes();
        if bytes > config.message_bytes_max {
            return Self::no_room(class, droppable, bytes, stats);
        }
        let key = if config.newest_wins && droppable { envelope.message.supersedes() } else { None };
        let envelope = match key {
            Some(key) => match self.supersede(key, envelope, config, stats) {
                None => return Enqueued::Replaced,
                Some(envelope) => envelope,
            },
            None => envelope,
        };
        let Some(displaced) = self.make_room(class, droppable, bytes, config, stats) else {
            return Self::no_room(class, droppable, bytes, stats);
        };
        let order = self.next_order;
        self.next_order += 1;
        let fifo = kind_of(class, droppable);
        if let Some(key) = key {
            self.by_key.insert(key, (fifo, order));
        }
        self.fifos[fifo].entries.push_back(Entry { order, bytes, envelope: Some(envelope), key });
        self.filled |= 1 << fifo;
        self.fifos[fifo].filled += 1;
        self.fifos[fifo].bytes += bytes;
        self.bytes += bytes;
        self.messages += 1;
        stats.queued_bytes_max = stats.queued_bytes_max.max(self.bytes() as u64);
        Enqueued::Queued { displaced }
    }

    fn no_room(class: Priority, droppable: bool, bytes: usize, stats: &mut PipeStats) -> Enqueued {
        if droppable {
            stats.drop(class, DropReason::Full);
            Enqueued::Dropped { class, bytes }
        } else {
            stats.refused_messages += 1;
            Enqueued::Refused
        }
    }

    /// Replaces the waiting message with this key in its position. If that is not possible, takes
    /// it out and returns the new message for the end of the queue.
    fn supersede(
        &mut self,
        key: u128,
        mut envelope: Envelope<M>,
        config: &PipeConfig,
        stats: &mut PipeStats,
    ) -> Option<Envelope<M>> {
        let Some(&(fifo, order)) = self.by_key.get(&key) else { return Some(envelope) };
        let bytes = envelope.message.bytes();
        let class = Priority::ALL[fifo / 2];
        stats.drop(class, DropReason::Superseded);
        let entries = &mut self.fifos[fifo].entries;
        let index =
            entries.binary_search_by_key(&order, |entry| entry.order).expect("by_key names filled entries");
        let old = entries[index].bytes;
        let fits = self.bytes + self.held_bytes - old + bytes <= config.bytes_max - reserve(class, config).0;
        let waiting = entries[index].envelope.as_ref().expect("by_key names filled entries").id;
        let same_origin = waiting.origin == envelope.id.origin;
        let same_fifo = fifo == kind_of(envelope.message.priority(), true);
        if same_fifo && same_origin && fits && !config.ordered {
            let entry = &mut entries[index];
            // The entry keeps the older number, so that numbers in a FIFO never fall and the
            // windows for duplicates stay small.
            envelope.id = waiting;
            entry.envelope = Some(envelope);
            entry.bytes = bytes;
            self.fifos[fifo].bytes = self.fifos[fifo].bytes - old + bytes;
            self.bytes = self.bytes - old + bytes;
            stats.queued_bytes_max = stats.queued_bytes_max.max(self.bytes() as u64);
            return None;
        }
        self.take(fifo, index);
        Some(envelope)
    }

    /// Drops droppable messages, the lowest class first, until one of `bytes` more fits, and
    /// returns their number. `None`, with nothing changed, when that is not enough: a droppable
    /// message never displaces one of a higher class.
    fn make_room(
        &mut self,
        class: Priority,
        droppable: bool,
        bytes: usize,
        config: &PipeConfig,
        stats: &mut PipeStats,
    ) -> Option<u32> {
        if self.fits(class, bytes, config) {
            return Some(0);
        }
        let highest = match (droppable, config.drop_first) {
            (false, _) => 0,
            (true, DropFirst::Oldest) => class.index(),
            (true, DropFirst::Newest) => class.index() + 1,
        };
        let victims = highest..Priority::COUNT;
        let (mut free_bytes, mut free_messages) = (0, 0);
        for victim in victims.clone() {
            let fifo = &self.fifos[victim * 2 + 1];
            free_bytes += fifo.bytes;
            free_messages += fifo.filled;
        }
        let (kept_bytes, kept_messages) = reserve(class, config);
        if self.bytes() - free_bytes + bytes > config.bytes_max - kept_bytes
            || self.messages() - free_messages + 1 > config.messages_max - kept_messages
        {
            return None;
        }
        let mut displaced = 0;
        for victim in victims.rev() {
            let fifo = victim * 2 + 1;
            while !self.fits(class, bytes, config) && self.fifos[fifo].filled > 0 {
                let index = match config.drop_first {
                    DropFirst::Oldest => 0,
                    DropFirst::Newest => self.fifos[fifo].entries.len() - 1,
                };
                self.take(fifo, index);
                stats.drop(Priority::ALL[victim], DropReason::Displaced);
                displaced += 1;
            }
        }
        Some(displaced)
    }

    fn fits(&self, class: Priority, bytes: usize, config: &PipeConfig) -> bool {
        let (kept_bytes, kept_messages) = reserve(class, config);
        self.bytes() + bytes <= config.bytes_max - kept_bytes
            && self.messages() < config.messages_max - kept_messages
    }

    /// True when a message from another router that must not be dropped should wait for room,
    /// because an empty queue would accept it. Above the high-water mark half of the room is left
    /// to local sources. They cannot wait, but are told to hold back when the queue passes the
    /// mark.
    pub(crate) fn is_full_for(&self, class: Priority, bytes: usize, config: &PipeConfig) -> bool {
        let (kept_bytes, kept_messages) = reserve(class, config);
        let (bytes_max, messages_max) = (config.bytes_max - kept_bytes, config.messages_max - kept_messages);
        let bytes_limit = bytes_max - bytes_max.saturating_sub(config.high_water) / 2;
        let messages_limit = messages_max - messages_max / 4;
        let over = |used: usize, messages: usize| used + bytes > bytes_limit || messages >= messages_limit;
        if !over(self.bytes(), self.messages()) {
            return false;
        }
        let droppable = self.fifos.iter().skip(1).step_by(2);
        let (free_bytes, free_messages) =
            droppable.fold((0, 0), |(bytes, messages), fifo| (bytes + fifo.bytes, messages + fifo.filled));
        let (used, messages) = (self.bytes() - free_bytes, self.messages() - free_messages);
        let never = bytes > config.message_bytes_max || bytes > bytes_max || messages_max == 0;
        messages > 0 && !never && over(used, messages)
    }

    /// Takes the filled entry at `index` out of a FIFO.
    fn take(&mut self, fifo: usize, index: usize) -> Option<Envelope<M>> {
        if index == 0 {
            return self.take_first(fifo);
        }
        let entry = &mut self.fifos[fifo].entries[index];
        let envelope = entry.envelope.take()?;
        let (bytes, key) = (entry.bytes, entry.key.take());
        self.taken(fifo, bytes, key);
        Some(envelope)
    }

    /// Takes the first entry of a FIFO.
    fn take_first(&mut self, fifo: usize) -> Option<Envelope<M>> {
        let Entry { bytes, envelope, key, .. } = self.fifos[fifo].entries.pop_front()?;
        self.taken(fifo, bytes, key);
        envelope
    }

    /// Updates the counts after an entry was taken out of a FIFO, and keeps the ends of the FIFO
    /// filled.
    fn taken(&mut self, fifo: usize, bytes: usize, key: Option<u128>) {
        if let Some(key) = key {
            self.by_key.remove(&key);
        }
        self.bytes -= bytes;
        self.messages -= 1;
        let bit = 1 << fifo;
        let Fifo { entries, bytes: fifo_bytes, filled } = &mut self.fifos[fifo];
        *fifo_bytes -= bytes;
        *filled -= 1;
        if *filled == 0 {
            // Reset the ring to its start. A ring that rotates through all its capacity finds
            // nothing in the cache.
            entries.clear();
            if entries.capacity() > KEPT_CAPACITY {
                entries.shrink_to(KEPT_CAPACITY / 4);
            }
            self.filled &= !bit;
            return;
        }
        while entries.front().is_some_and(|entry| entry.envelope.is_none()) {
            entries.pop_front();
        }
        while entries.back().is_some_and(|entry| entry.envelope.is_none()) {
            entries.pop_back();
        }
        if entries.len() > 2 * *filled + SWEEP_SLACK {
            entries.retain(|entry| entry.envelope.is_some());
        }
    }

    /// Takes the next message: the oldest of the highest class that has one, or the oldest of all
    /// if `ordered`.
    pub(crate) fn pop(&mut self, ordered: bool) -> Option<Envelope<M>> {
        if self.messages == 0 {
            return None;
        }
        if ordered {
            return self.pop_oldest(0..KINDS, Fifos::ALL);
        }
        Priority::ALL.iter().find_map(|class| self.pop_class(*class, Fifos::ALL))
    }

    /// Takes the oldest message of all classes.
    pub(crate) fn pop_any(&mut self, of: Fifos) -> Option<Envelope<M>> {
        self.pop_oldest(0..KINDS, of)
    }

    /// Takes the oldest message of one class.
    pub(crate) fn pop_class(&mut self, class: Priority, of: Fifos) -> Option<Envelope<M>> {
        let first = kind_of(class, false);
        self.pop_oldest(first..first + 2, of)
    }

    fn pop_oldest(&mut self, fifos: std::ops::Range<usize>, of: Fifos) -> Option<Envelope<M>> {
        let waiting = self.filled >> fifos.start & ((1 << fifos.len()) - 1);
        if waiting == 0 {
            return None;
        }
        if of == Fifos::ALL && waiting.is_power_of_two() {
            return self.take_first(fifos.start + waiting.trailing_zeros() as usize);
        }
        let oldest = |fifo: &usize| self.fifos[*fifo].entries.front().map(|entry| entry.order);
        let kind = |fifo: &usize| if fifo.is_multiple_of(2) { Fifos::RELIABLE } else { Fifos::BEST_EFFORT };
        let candidates = fifos.filter(|fifo| of.contains(kind(fifo)) && oldest(fifo).is_some());
        let fifo = candidates.min_by_key(oldest)?;
        self.take(fifo, 0)
    }

    /// True when a message of one of these kinds waits.
    pub(crate) fn has(&self, of: Fifos) -> bool {
        if of == Fifos::ALL {
            return !self.is_empty();
        }
        let kind = if of.contains(Fifos::BEST_EFFORT) { DROPPABLE_FIFOS } else { !DROPPABLE_FIFOS };
        self.filled & kind != 0
    }

    /// Counts a message that was taken out, but is not sent yet, against the limits.
    pub(crate) fn hold(&mut self, bytes: usize) {
        self.held_bytes += bytes;
        self.held_messages += 1;
    }

    /// Ends [`Queue::hold`].
    pub(crate) fn release(&mut self, bytes: usize) {
        self.held_bytes -= bytes;
        self.held_messages -= 1;
    }

    /// Drops the droppable messages; returns their number.
    pub(crate) fn drop_droppable(&mut self, stats: &mut PipeStats) -> u64 {
        let mut dropped = 0;
        for victim in Priority::ALL {
            let fifo = kind_of(victim, true);
            while self.take_first(fifo).is_some() {
                stats.drop(victim, DropReason::Displaced);
                dropped += 1;
            }
        }
        dropped
    }

    /// Empties the queue and counts the lost messages.
    pub(crate) fn clear(&mut self, stats: &mut PipeStats) {
        for (index, fifo) in self.fifos.iter_mut().enumerate() {
            stats.dropped[index / 2][DropReason::Gone as usize] += fifo.filled as u64;
            fifo.entries = VecDeque::new();
            (fifo.bytes, fifo.filled) = (0, 0);
        }
        self.by_key.clear();
        self.filled = 0;
        (self.bytes, self.messages, self.held_bytes, self.held_messages) = (0, 0, 0, 0);
    }
}
