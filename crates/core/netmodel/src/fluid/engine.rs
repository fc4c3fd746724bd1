//! The messages under way, and their rates.

use std::ops::Range;

use super::Sharing;
use super::ends::Ends;
use super::indices::NONE;
use super::links::{Hop, Links};
use super::max_min::Solver;
use crate::units::{Picos, Rate};

/// Rates that differ by less than this fraction are equal: solving in another order rounds
/// differently.
const SAME_RATE: f64 = 1e-12;

/// A message that was added and has not ended. The number is reused after its end.
pub type MessageId = u32;

#[derive(Clone, Debug)]
#[repr(align(64))] // so that none straddles two cache lines
pub(super) struct Message {
    /// Bytes left at `since`.
    remaining: f64,
    /// Bytes per picosecond from `since` on.
    pub(super) rate: f64,
    since: Picos,
    /// Bytes that no link has counted yet.
    uncounted: f64,
    first: u32,
    hops: u32,
}

impl Message {
    pub(super) fn path(&self) -> Range<usize> {
        self.first as usize..(self.first + self.hops) as usize
    }
}

/// Messages on links, as fluid.
///
/// Contract: `now` never decreases; messages are ended at the time of [`Fluid::next_end`].
#[derive(Clone, Debug)]
pub struct Fluid {
    sharing: Sharing,
    pub(super) links: Links,
    pub(super) messages: Vec<Message>,
    unused: Vec<MessageId>,
    ends: Ends,
    solver: Solver,
    rate_changes: u64,
}

impl Fluid {
    /// Idle links of these rates.
    ///
    /// # Panics
    /// There are more than 256 different rates, which no topology has.
    pub fn new(sharing: Sharing, rates: impl IntoIterator<Item = Rate>) -> Self {
        Self {
            sharing,
            links: Links::new(rates),
            messages: Vec::new(),
            unused: Vec::new(),
            ends: Ends::default(),
            solver: Solver::default(),
            rate_changes: 0,
        }
    }

    /// Adds a message that does not move yet.
    ///
    /// # Panics
    /// `path` is empty, or names a link that does not exist: a mistake of the caller.
    pub fn add(&mut self, path: &[u32], bytes: u64) -> MessageId {
        assert!(!path.is_empty(), "a message needs a link");
        let id = self.unused.pop().unwrap_or(self.messages.len() as u32);
        let first = self.links.add(id, path);
        let message = Message {
            remaining: bytes as f64,
            rate: 0.0,
            since: Picos::ZERO,
            uncounted: bytes as f64,
            first,
            hops: path.len() as u32,
        };
        match self.messages.get_mut(id as usize) {
            Some(place) => *place = message,
            None => self.messages.push(message),
        }
        id
    }

    /// Touches the links of a path that a message takes soon, so that they are in a near cache by
    /// then; changes nothing.
    #[inline]
    pub fn look(&self, path: &[u32]) {
        for link in path {
            self.links.look(*link);
        }
    }

    /// Touches the links of messages that end soon, several at once, and calls `next` with these
    /// messages. Most calls have nothing to do.
    #[inline]
    pub fn look_at_ends(&mut self, mut next: impl FnMut(MessageId)) {
        for (_, id) in self.ends.fresh() {
            for hop in &self.links.hops[self.messages[*id as usize].path()] {
                self.links.look(hop.link);
            }
            next(*id);
        }
    }

    /// Starts a message that was added.
    pub fn start(&mut self, now: Picos, id: MessageId) {
        self.messages[id as usize].since = now;
        let path = self.messages[id as usize].path();
        for at in path.clone() {
            self.links.enter(at);
        }
        if path.clone().all(|at| self.links.is_alone(at)) {
            let capacities = path.map(|at| self.links.capacity(self.links.hops[at].link));
            return self.set_rate(now, id, capacities.fold(f64::INFINITY, f64::min));
        }
        match self.sharing {
            Sharing::MinShare => {
                let mut rate = f64::INFINITY;
                for at in path {
                    let link = self.links.hops[at].link;
                    let share = self.links.share(link);
                    rate = rate.min(share);
                    if !self.links.is_alone(at) {
                        self.slow_down(now, link, share);
                    }
                }
                self.set_rate(now, id, rate);
            }
            Sharing::MaxMin => self.solve(now, path),
        }
    }

    /// The time of the next end, and its message.
    #[inline]
    pub fn next_end(&self) -> Option<(Picos, MessageId)> {
        self.ends.first().map(|(time, id)| (Picos(time), id))
    }

    /// Removes a message, because all of it has passed or it is given up.
    pub fn end(&mut self, now: Picos, id: MessageId) {
        self.ends.remove(id);
        let path = self.messages[id as usize].path();
        let done = self.messages[id as usize].uncounted;
        let mut was_alone = true;
        for at in path.clone() {
            was_alone &= self.links.is_alone(at);
            self.links.carried.add(self.links.hops[at].link, done);
            self.links.leave(at);
        }
        match self.sharing {
            _ if was_alone => {}
            Sharing::MinShare => {
                for at in path.clone() {
                    self.speed_up(now, self.links.hops[at].link);
                }
            }
            Sharing::MaxMin => self.solve(now, path.clone()),
        }
        self.messages[id as usize].rate = 0.0; // it no longer moves: nothing of it is counted again
        self.links.give_back(path);
        self.unused.push(id);
    }

    /// Number of messages that move.
    pub fn active(&self) -> usize {
        self.ends.len()
    }

    /// The present rate of a message, in bytes per picosecond.
    pub fn rate(&self, id: MessageId) -> f64 {
        self.messages[id as usize].rate
    }

    /// Number of times that the rate of a message was set.
    pub fn rate_changes(&self) -> u64 {
        self.rate_changes
    }

    /// Bytes that each link has carried since the last call (or since the beginning).
    pub fn take_carried(&mut self, now: Picos) -> Vec<f64> {
        for id in 0..self.messages.len() as u32 {
            if self.messages[id as usize].rate > 0.0 {
                self.count(now, id);
            }
        }
        self.links.carried.take()
    }

    /// Bytes that each link has carried from the last call of [`Fluid::take_carried`] until `now`.
    /// Nothing changes.
    pub fn carried(&self, now: Picos) -> Vec<f64> {
        let mut carried = self.links.carried.so_far();
        for message in self.messages.iter().filter(|message| message.rate > 0.0) {
            let passed = message.rate * now.since(message.since).0 as f64;
            let passed = message.uncounted - (message.remaining - passed).max(0.0);
            for hop in &self.links.hops[message.path()] {
                carried[hop.link as usize] += passed;
            }
        }
        carried
    }

    /// Lets the links count the part of a moving message that has passed.
    fn count(&mut self, now: Picos, id: MessageId) {
        self.bring_up_to(now, id);
        let message = &mut self.messages[id as usize];
        let passed = message.uncounted - message.remaining;
        message.uncounted = message.remaining;
        for at in message.path() {
            self.links.carried.add(self.links.hops[at].link, passed);
        }
    }

    /// Slows messages down because a link offers less now: those with more get its share.
    fn slow_down(&mut self, now: Picos, link: u32, share: f64) {
        let mut at = self.links.head(link);
        while at != NONE {
            let Hop { message, next, .. } = self.links.hops[at as usize];
            if self.messages[message as usize].rate > share {
                self.set_rate(now, message, share);
            }
            at = next;
        }
    }

    /// Speeds messages up because a link has one message fewer: those that it held back may move
    /// faster.
    fn speed_up(&mut self, now: Picos, link: u32) {
        let mut at = self.links.head(link);
        // The same division gave the rate, so that equality is exact.
        let before = self.links.capacity(link) / f64::from(self.links.active(at) + 1);
        while at != NONE {
            let Hop { message, next, .. } = self.links.hops[at as usize];
            let held_back = self.messages[message as usize].rate >= before;
            if held_back {
                let path = &self.links.hops[self.messages[message as usize].path()];
                let shares = path.iter().map(|hop| self.links.share(hop.link));
                let rate = shares.fold(f64::INFINITY, f64::min);
                if rate > self.messages[message as usize].rate {
                    self.set_rate(now, message, rate);
                }
            }
            at = next;
        }
    }

    /// Max-min rates for all messages that a change on `path` may concern.
    fn solve(&mut self, now: Picos, path: Range<usize>) {
        let mut solver = std::mem::take(&mut self.solver);
        solver.solve(self, path);
        for &(id, rate) in solver.rates() {
            if (rate - self.messages[id as usize].rate).abs() > SAME_RATE * rate {
                self.set_rate(now, id, rate);
            }
        }
        self.solver = solver;
    }

    /// Advances the remaining bytes of a message to now, at its old rate.
    #[inline]
    fn bring_up_to(&mut self, now: Picos, id: MessageId) {
        let message = &mut self.messages[id as usize];
        let passed = message.rate * now.since(message.since).0 as f64;
        message.remaining = (message.remaining - passed).max(0.0);
        message.since = now;
    }

    #[inline]
    fn set_rate(&mut self, now: Picos, id: MessageId, rate: f64) {
        self.bring_up_to(now, id);
        self.rate_changes += 1;
        let message = &mut self.messages[id as usize];
        message.rate = rate;
        // A float converts to the nearest integer in range, so an infinite time becomes the end of
        // time.
        let left = (message.remaining / rate).ceil() as u64;
        self.ends.set(id, now.0.saturating_add(left));
    }
}
