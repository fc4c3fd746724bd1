//! Mode 0 messages that wait, by stream.

use super::sorted::Sorted;
use super::{Discard, Dropped, ShaperConfig};
use crate::model::StreamKey;
use base::Moment;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// Streams without a message for this many times the floor make room for others.
const IDLE_FLOORS: u32 = 4;

/// A stream, or a message without a stream.
#[derive(Clone, Debug)]
struct Slot<M> {
    key: Option<StreamKey>,
    waiting: Option<Message<M>>,
    /// The time at which a message of it was last sent; before that, the time of its first message.
    served: Moment,
}

#[derive(Clone, Debug)]
struct Message<M> {
    message: M,
    bytes: usize,
    /// The priority of the message that started to wait; a message that replaces it keeps the
    /// place.
    priority: u8,
    since: Moment,
}

type Index = u32;

/// Streams, each with at most one waiting message, the newest.
#[derive(Clone, Debug)]
pub(super) struct Streams<M> {
    slots: Vec<Slot<M>>,
    free: Vec<Index>,
    by_key: BTreeMap<StreamKey, Index>,
    /// The slots with a waiting message; the one served longest ago comes first.
    by_age: Sorted<(Moment, Index)>,
    /// The slots with a waiting message; the highest priority comes first, then the one served
    /// longest ago.
    by_priority: Sorted<(Reverse<u8>, Moment, Index)>,
    /// Bytes of all waiting messages.
    bytes: usize,
    swept: Moment,
}

impl<M> Streams<M> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            by_age: Sorted::new(),
            by_priority: Sorted::new(),
            bytes: 0,
            swept: Moment::ZERO,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_age.len()
    }

    /// Adds a message. The message that it replaces, or one that has to give way to it, goes to
    /// `dropped`.
    pub(super) fn push(
        &mut self,
        now: Moment,
        config: &ShaperConfig,
        (key, priority): (Option<StreamKey>, u8),
        (bytes, message): (usize, M),
        dropped: &mut VecDeque<Dropped<M>>,
    ) {
        let index = self.slot_of(now, config, key);
        let slot = &mut self.slots[index as usize];
        self.bytes += bytes;
        if let Some(waiting) = &mut slot.waiting {
            self.bytes -= std::mem::replace(&mut waiting.bytes, bytes);
            let old = std::mem::replace(&mut waiting.message, message);
            dropped.push_back(Dropped { message: old, why: Discard::Superseded });
            return;
        }
        slot.waiting = Some(Message { message, bytes, priority, since: now });
        self.by_age.insert((slot.served, index));
        self.by_priority.insert((Reverse(priority), slot.served, index));
        if self.by_age.len() > config.queue_max {
            // Within the lowest priority, the stream served last loses least.
            if let Some(&(_, _, victim)) = self.by_priority.last() {
                let message = self.take(victim, None);
                dropped.extend(message.map(|(_, message)| Dropped { message, why: Discard::Overflow }));
            }
        }
    }

    /// The slot that was served longest ago.
    pub(super) fn oldest(&self) -> Option<Index> {
        self.by_age.first().map(|&(_, index)| index)
    }

    /// The most important slot; among equals, the one served longest ago.
    pub(super) fn most_important(&self) -> Option<Index> {
        self.by_priority.first().map(|&(_, _, index)| index)
    }

    /// The slot that was served longest ago and the time of that, if it is a stream.
    pub(super) fn overdue_first(&self) -> Option<(Index, Moment)> {
        let &(served, index) = self.by_age.first()?;
        self.slots[index as usize].key.map(|_| (index, served))
    }

    /// Bytes of the message that waits in the slot.
    pub(super) fn bytes(&self, index: Index) -> usize {
        self.slots[index as usize].waiting.as_ref().map_or(0, |waiting| waiting.bytes)
    }

    /// Bytes of all waiting messages.
    pub(super) fn bytes_waiting(&self) -> usize {
        self.bytes
    }

    /// Whether the message has no stream, so that no newer one can replace it, and is too old to be
    /// sent.
    pub(super) fn is_stale(&self, index: Index, now: Moment, config: &ShaperConfig) -> bool {
        let slot = &self.slots[index as usize];
        slot.key.is_none()
            && slot.waiting.as_ref().is_some_and(|waiting| now - waiting.since > config.stale_after)
    }

    /// Takes the waiting message out of the slot. `served` is the current time if the message is
    /// sent.
    pub(super) fn take(&mut self, index: Index, served: Option<Moment>) -> Option<(usize, M)> {
        let slot = &mut self.slots[index as usize];
        let waiting = slot.waiting.take()?;
        self.bytes -= waiting.bytes;
        self.by_age.remove(&(slot.served, index));
        self.by_priority.remove(&(Reverse(waiting.priority), slot.served, index));
        slot.served = served.unwrap_or(slot.served);
        if slot.key.is_none() {
            self.free.push(index);
        }
        Some((waiting.bytes, waiting.message))
    }

    fn slot_of(&mut self, now: Moment, config: &ShaperConfig, key: Option<StreamKey>) -> Index {
        if let Some(&index) = key.and_then(|key| self.by_key.get(&key)) {
            return index;
        }
        if key.is_some() && self.by_key.len() >= config.streams_max {
            self.sweep(now, config);
        }
        // Beyond the limit, each message is treated as one without a stream.
        let key = key.filter(|_| self.by_key.len() < config.streams_max);
        let slot = Slot { key, waiting: None, served: now };
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                // Bounded by the limits on streams and on messages.
                (self.slots.len() - 1) as Index
            }
        };
        if let Some(key) = key {
            self.by_key.insert(key, index);
        }
        index
    }

    /// Forgets streams that have long been silent. It runs at most once in that time, so that its
    /// cost stays small.
    fn sweep(&mut self, now: Moment, config: &ShaperConfig) {
        let idle = config.floor * IDLE_FLOORS;
        if now - self.swept < idle && self.swept != Moment::ZERO {
            return;
        }
        self.swept = now;
        let (slots, free) = (&self.slots, &mut self.free);
        self.by_key.retain(|_, &mut index| {
            let slot = &slots[index as usize];
            let keep = slot.waiting.is_some() || now - slot.served < idle;
            if !keep {
                free.push(index);
            }
            keep
        });
    }
}
