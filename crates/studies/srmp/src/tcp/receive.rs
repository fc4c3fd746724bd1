//! The receiving half: reassembly, and the timing of acknowledgements.

use std::collections::BTreeMap;

use base::Moment;

use super::{BLOCKS_MAX, Config};

/// Number of segments that trigger an acknowledgement.
const EVERY: u32 = 2;

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    config: Config,
    /// All octets before this position have been received.
    next: u64,
    /// Disjoint ranges received beyond it, by begin, with their ends.
    early: BTreeMap<u64, u64>,
    /// Begins of the ranges that grew last, the latest first.
    fresh: Vec<u64>,
    /// Number of unacknowledged segments.
    silent: u32,
    due: Option<Moment>,
    now: bool,
}

impl Receiver {
    pub(super) fn new(config: Config) -> Self {
        Self { config, next: 0, early: BTreeMap::new(), fresh: Vec::new(), silent: 0, due: None, now: false }
    }

    pub(super) fn handle_data(&mut self, now: Moment, begin: u64, end: u64) {
        self.silent += 1;
        // If data is or was missing, or arrived twice, the sender must learn of it at once.
        self.now |= begin != self.next || !self.early.is_empty() || self.silent >= EVERY;
        self.due.get_or_insert(now + self.config.ack_delay);
        if end <= self.next {
            return;
        }
        if begin <= self.next {
            self.next = end;
            while let Some((&begin, &end)) =
                self.early.first_key_value().filter(|(begin, _)| **begin <= self.next)
            {
                self.early.remove(&begin);
                self.next = self.next.max(end);
            }
        } else {
            self.keep(begin, end);
        }
        let (early, fresh) = (&self.early, &mut self.fresh);
        fresh.retain(|begin| early.contains_key(begin));
    }

    /// Stores an early range, merged with its neighbours.
    fn keep(&mut self, mut begin: u64, mut end: u64) {
        while let Some((&other, &other_end)) =
            self.early.range(..=end).next_back().filter(|(_, other_end)| **other_end >= begin)
        {
            self.early.remove(&other);
            (begin, end) = (begin.min(other), end.max(other_end));
        }
        self.early.insert(begin, end);
        self.fresh.retain(|other| *other != begin);
        self.fresh.insert(0, begin);
        self.fresh.truncate(2 * BLOCKS_MAX);
    }

    pub(super) fn handle_timeout(&mut self, now: Moment) {
        self.now |= self.due.is_some_and(|due| due <= now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        self.due.filter(|_| !self.now)
    }

    pub(super) fn wants_ack(&self) -> bool {
        self.now
    }

    /// The contents of an acknowledgement: cumulative position, SACK blocks, and their number.
    /// Resets the timer, since everything is acknowledged then.
    pub(super) fn acknowledge(&mut self) -> (u64, [(u64, u64); BLOCKS_MAX], u8) {
        (self.silent, self.due, self.now) = (0, None, false);
        let mut sacks = [(0, 0); BLOCKS_MAX];
        let mut count = 0;
        for begin in &self.fresh {
            if let Some(end) = self.early.get(begin)
                && count < BLOCKS_MAX
            {
                sacks[count] = (*begin, *end);
                count += 1;
            }
        }
        (self.next, sacks, count as u8)
    }

    pub(super) fn delivered(&self) -> u64 {
        self.next
    }

    pub(super) fn has(&self, begin: u64, end: u64) -> bool {
        end <= self.next || {
            let begin = begin.max(self.next);
            self.early.range(..=begin).next_back().is_some_and(|(_, there)| *there >= end)
        }
    }
}
