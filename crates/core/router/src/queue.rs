//! The queue of a pipe: classes, limits, and what is dropped at the limit.
//!
//! Each class has two lanes, one of messages that must stay and one of droppable ones, so that what is to
//! be dropped is always at an end of a lane. Every entry carries the order of its arrival, which merges lanes again.

use crate::message::{Envelope, KINDS, Lanes, Message, Priority, kind_of};
use crate::stats::{DropReason, PipeStats};
use crate::{DropFirst, PipeConfig};
use std::collections::{HashMap, VecDeque};

/// Emptied places in a lane are swept when they outnumber the filled ones by this many.
const SWEEP_SLACK: usize = 32;

/// A lane that has emptied keeps room for so many messages; a longer one gives the rest of its
/// memory back.
const KEPT_CAPACITY: usize = 4_096;

/// The lanes of [`Queue::filled`] whose messages may be dropped: every second one.
const DROPPABLE_LANES: u16 = 0xaaaa;

/// What became of a message that was put into a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Enqueued {
    /// It waits.
    Queued {
        /// So many droppable messages went to make room for it.
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
    /// It must not be dropped, and there is no room; nothing changed. The caller holds its sender back, or disconnects
    /// the client.
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
struct Lane<M> {
    /// The first and the last entry are always filled.
    entries: VecDeque<Entry<M>>,
    bytes: usize,
    filled: usize,
}

/// Messages that wait in a pipe.
#[derive(Debug)]
pub(crate) struct Queue<M> {
    lanes: [Lane<M>; KINDS],
    /// One bit for each lane with a message, so that the common case of one such lane needs no look at the others.
    filled: u16,
    next_order: u64,
    bytes: usize,
    messages: usize,
    /// Counted against the limits, but already taken out: a message that is being sent in fragments.
    held_bytes: usize,
    held_messages: usize,
    /// Where the droppable message with a key waits: lane and order. Never iterated.
    by_key: HashMap<u128, (usize, u64)>,
}

/// With credit, so much of the limits is kept for the class `Control`: a sixteenth.
fn reserve(class: Priority, config: &PipeConfig) -> (usize, usize) {
    match (class, config.credit_bytes) {
        (Priority::Control, _) | (_, None) => (0, 0),
        _ => (config.bytes_max / 16, config.messages_max / 16),
    }
}

impl<M: Message> Queue<M> {
    pub(crate) fn new() -> Self {
        Self {
            lanes: std::array::from_fn(|_| Lane { entries: VecDeque::new(), bytes: 0, filled: 0 }),
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

    /// True when a message waits that does not wait for a bundle to fill.
    pub(crate) fn has_urgent(&self) -> bool {
        self.messages > 0
            && Priority::ALL.iter().filter(|class| class.urgent()).any(|class| self.class_filled(*class))
    }

    /// True when a message of this class waits.
    pub(crate) fn class_filled(&self, class: Priority) -> bool {
        self.filled >> kind_of(class, false) & 0b11 != 0
    }

    /// Puts a message at the end, making room at the cost of the lowest droppable ones.
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
        let lane = kind_of(class, droppable);
        if let Some(key) = key {
            self.by_key.insert(key, (lane, order));
        }
        self.lanes[lane].entries.push_back(Entry { order, bytes, envelope: Some(envelope), key });
        self.filled |= 1 << lane;
        self.lanes[lane].filled += 1;
        self.lanes[lane].bytes += bytes;
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

    /// Replaces the waiting message with this key in its place, or takes it out and gives the new one back
    /// for the end of the queue.
    fn supersede(
        &mut self,
        key: u128,
        mut envelope: Envelope<M>,
        config: &PipeConfig,
        stats: &mut PipeStats,
    ) -> Option<Envelope<M>> {
        let Some(&(lane, order)) = self.by_key.get(&key) else { return Some(envelope) };
        let bytes = envelope.message.bytes();
        let class = Priority::ALL[lane / 2];
        stats.drop(class, DropReason::Superseded);
        let entries = &mut self.lanes[lane].entries;
        let place =
            entries.binary_search_by_key(&order, |entry| entry.order).expect("by_key names filled entries");
        let old = entries[place].bytes;
        let fits = self.bytes + self.held_bytes - old + bytes <= config.bytes_max - reserve(class, config).0;
        let waiting = entries[place].envelope.as_ref().expect("by_key names filled entries").id;
        let same_origin = waiting.origin == envelope.id.origin;
        let same_lane = lane == kind_of(envelope.message.priority(), true);
        if same_lane && same_origin && fits && !config.ordered {
            let entry = &mut entries[place];
            // The older number stays, so that numbers in a lane never fall and windows for duplicates stay small.
            envelope.id = waiting;
            entry.envelope = Some(envelope);
            entry.bytes = bytes;
            self.lanes[lane].bytes = self.lanes[lane].bytes - old + bytes;
            self.bytes = self.bytes - old + bytes;
            stats.queued_bytes_max = stats.queued_bytes_max.max(self.bytes() as u64);
            return None;
        }
        self.take(lane, place);
        Some(envelope)
    }

    /// Drops droppable messages until one of `bytes` more fits, the lowest class first. `None`, with nothing changed,
    /// when it cannot be made to fit: a droppable message never displaces one of a higher class.
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
            let lane = &self.lanes[victim * 2 + 1];
            free_bytes += lane.bytes;
            free_messages += lane.filled;
        }
        let (kept_bytes, kept_messages) = reserve(class, config);
        if self.bytes() - free_bytes + bytes > config.bytes_max - kept_bytes
            || self.messages() - free_messages + 1 > config.messages_max - kept_messages
        {
            return None;
        }
        let mut displaced = 0;
        for victim in victims.rev() {
            let lane = victim * 2 + 1;
            while !self.fits(class, bytes, config) && self.lanes[lane].filled > 0 {
                let place = match config.drop_first {
                    DropFirst::Oldest => 0,
                    DropFirst::Newest => self.lanes[lane].entries.len() - 1,
                };
                self.take(lane, place);
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

    /// True when a message that must not be dropped, and came from another router, should wait for room: it would not be
    /// refused by an empty queue. Above the high-water mark half of the room is left to those who cannot wait: local sources,
    /// who are told to hold back when the mark is passed.
    pub(crate) fn is_full_for(&self, class: Priority, bytes: usize, config: &PipeConfig) -> bool {
        let (kept_bytes, kept_messages) = reserve(class, config);
        let (bytes_max, messages_max) = (config.bytes_max - kept_bytes, config.messages_max - kept_messages);
        let bytes_limit = bytes_max - bytes_max.saturating_sub(config.high_water) / 2;
        let messages_limit = messages_max - messages_max / 4;
        let over = |used: usize, messages: usize| used + bytes > bytes_limit || messages >= messages_limit;
        if !over(self.bytes(), self.messages()) {
            return false;
        }
        let droppable = self.lanes.iter().skip(1).step_by(2);
        let (free_bytes, free_messages) =
            droppable.fold((0, 0), |(bytes, messages), lane| (bytes + lane.bytes, messages + lane.filled));
        let (used, messages) = (self.bytes() - free_bytes, self.messages() - free_messages);
        let never = bytes > config.message_bytes_max || bytes > bytes_max || messages_max == 0;
        messages > 0 && !never && over(used, messages)
    }

    /// Takes the filled entry at `place` out of a lane.
    fn take(&mut self, lane: usize, place: usize) -> Option<Envelope<M>> {
        if place == 0 {
            return self.take_first(lane);
        }
        let entry = &mut self.lanes[lane].entries[place];
        let envelope = entry.envelope.take()?;
        let (bytes, key) = (entry.bytes, entry.key.take());
        self.taken(lane, bytes, key);
        Some(envelope)
    }

    /// Takes the first entry of a lane.
    fn take_first(&mut self, lane: usize) -> Option<Envelope<M>> {
        let Entry { bytes, envelope, key, .. } = self.lanes[lane].entries.pop_front()?;
        self.taken(lane, bytes, key);
        envelope
    }

    /// An entry was taken out of a lane: counts it out, and keeps the ends of the lane filled.
    fn taken(&mut self, lane: usize, bytes: usize, key: Option<u128>) {
        if let Some(key) = key {
            self.by_key.remove(&key);
        }
        self.bytes -= bytes;
        self.messages -= 1;
        let bit = 1 << lane;
        let Lane { entries, bytes: lane_bytes, filled } = &mut self.lanes[lane];
        *lane_bytes -= bytes;
        *filled -= 1;
        if *filled == 0 {
            // From its beginning again: a ring that turns through all it ever had room for finds nothing in the cache.
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

    /// Takes the next message: of the highest class that has one, or, `ordered`, the oldest of all.
    pub(crate) fn pop(&mut self, ordered: bool) -> Option<Envelope<M>> {
        if self.messages == 0 {
            return None;
        }
        if ordered {
            return self.pop_oldest(0..KINDS, Lanes::ALL);
        }
        Priority::ALL.iter().find_map(|class| self.pop_class(*class, Lanes::ALL))
    }

    /// Takes the oldest message of all classes.
    pub(crate) fn pop_any(&mut self, of: Lanes) -> Option<Envelope<M>> {
        self.pop_oldest(0..KINDS, of)
    }

    /// Takes the oldest message of one class.
    pub(crate) fn pop_class(&mut self, class: Priority, of: Lanes) -> Option<Envelope<M>> {
        let first = kind_of(class, false);
        self.pop_oldest(first..first + 2, of)
    }

    fn pop_oldest(&mut self, lanes: std::ops::Range<usize>, of: Lanes) -> Option<Envelope<M>> {
        let waiting = self.filled >> lanes.start & ((1 << lanes.len()) - 1);
        if waiting == 0 {
            return None;
        }
        if of == Lanes::ALL && waiting.is_power_of_two() {
            return self.take_first(lanes.start + waiting.trailing_zeros() as usize);
        }
        let oldest = |lane: &usize| self.lanes[*lane].entries.front().map(|entry| entry.order);
        let kind = |lane: &usize| if lane.is_multiple_of(2) { Lanes::RELIABLE } else { Lanes::BEST_EFFORT };
        let candidates = lanes.filter(|lane| of.contains(kind(lane)) && oldest(lane).is_some());
        let lane = candidates.min_by_key(oldest)?;
        self.take(lane, 0)
    }

    /// True when a message of one of these kinds waits.
    pub(crate) fn has(&self, of: Lanes) -> bool {
        if of == Lanes::ALL {
            return !self.is_empty();
        }
        let kind = if of.contains(Lanes::BEST_EFFORT) { DROPPABLE_LANES } else { !DROPPABLE_LANES };
        self.filled & kind != 0
    }

    /// Counts a message that was taken out, but is not gone yet, against the limits.
    pub(crate) fn hold(&mut self, bytes: usize) {
        self.held_bytes += bytes;
        self.held_messages += 1;
    }

    /// Ends [`Queue::hold`].
    pub(crate) fn release(&mut self, bytes: usize) {
        self.held_bytes -= bytes;
        self.held_messages -= 1;
    }

    /// Drops the droppable messages, and says how many.
    pub(crate) fn drop_droppable(&mut self, stats: &mut PipeStats) -> u64 {
        let mut dropped = 0;
        for victim in Priority::ALL {
            let lane = kind_of(victim, true);
            while self.take_first(lane).is_some() {
                stats.drop(victim, DropReason::Displaced);
                dropped += 1;
            }
        }
        dropped
    }

    /// Empties the queue, counting what is lost.
    pub(crate) fn clear(&mut self, stats: &mut PipeStats) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            stats.dropped[index / 2][DropReason::Gone as usize] += lane.filled as u64;
            lane.entries = VecDeque::new();
            (lane.bytes, lane.filled) = (0, 0);
        }
        self.by_key.clear();
        self.filled = 0;
        (self.bytes, self.messages, self.held_bytes, self.held_messages) = (0, 0, 0, 0);
    }
}
