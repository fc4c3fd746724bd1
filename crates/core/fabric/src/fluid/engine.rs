//! The messages under way, and their rates.

use std::hint::black_box;

use super::Sharing;
use super::max_min::Solver;
use super::runs::Runs;
use crate::heap::IndexedHeap;
use crate::units::{Picos, Rate};

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;
/// Rates that differ by less than this part are the same: solving twice in another order rounds differently.
const SAME_RATE: f64 = 1e-12;

/// A message that was added and has not ended. Reused after its end.
pub type MessageId = u32;

/// A directed link.
#[derive(Clone, Debug)]
#[repr(align(32))] // so that none lies across two lines of the cache
pub(super) struct Link {
    /// Bytes per picosecond.
    pub(super) capacity: f64,
    /// What it offers each of its messages: capacity / active.
    share: f64,
    /// Bytes carried since the counters were last read.
    carried: f64,
    /// The first hop of its list.
    pub(super) head: u32,
    /// Messages that cross it now.
    pub(super) active: u32,
}

/// One link of the path of a message, and its place in the list of that link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) link: u32,
    pub(super) message: MessageId,
    pub(super) next: u32,
    previous: u32,
}

#[derive(Clone, Debug)]
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
    pub(super) fn path(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.hops) as usize
    }
}

/// Messages on links, as fluid.
///
/// Contract: `now` never decreases; messages are ended when [`Fluid::next_end`] says so.
#[derive(Clone, Debug)]
pub struct Fluid {
    sharing: Sharing,
    pub(super) links: Vec<Link>,
    pub(super) messages: Vec<Message>,
    pub(super) hops: Vec<Hop>,
    runs: Runs,
    unused: Vec<MessageId>,
    /// By message: whether its links were read because it ends soon.
    looked_at: Vec<bool>,
    ends: IndexedHeap,
    solver: Solver,
    rate_changes: u64,
}

impl Fluid {
    /// Idle links of these rates.
    pub fn new(sharing: Sharing, rates: impl IntoIterator<Item = Rate>) -> Self {
        let link = |rate: Rate| Link {
            capacity: rate.bytes_per_ps(),
            share: rate.bytes_per_ps(),
            carried: 0.0,
            head: NONE,
            active: 0,
        };
        let links: Vec<Link> = rates.into_iter().map(link).collect();
        let solver = Solver::new(if sharing == Sharing::MaxMin { links.len() } else { 0 });
        Self {
            sharing,
            links,
            messages: Vec::new(),
            hops: Vec::new(),
            runs: Runs::default(),
            unused: Vec::new(),
            looked_at: Vec::new(),
            ends: IndexedHeap::default(),
            solver,
            rate_changes: 0,
        }
    }

    /// Adds a message that does not move yet.
    ///
    /// # Panics
    /// `path` is empty, or names a link that there is not: a mistake of the caller.
    pub fn add(&mut self, path: &[u32], bytes: u64) -> MessageId {
        assert!(!path.is_empty(), "a message needs a link");
        let first = self.runs.take(path.len());
        let id = self.unused.pop().unwrap_or(self.messages.len() as u32);
        let hop = |link: &u32| Hop { link: *link, message: id, next: NONE, previous: NONE };
        self.hops.resize(self.runs.end().max(self.hops.len()), hop(&0));
        for (place, link) in self.hops[first as usize..].iter_mut().zip(path) {
            assert!((*link as usize) < self.links.len(), "link {link} is none of {}", self.links.len());
            *place = hop(link);
        }
        let message = Message {
            remaining: bytes as f64,
            rate: 0.0,
            since: Picos::ZERO,
            uncounted: bytes as f64,
            first,
            hops: path.len() as u32,
        };
        match self.messages.get_mut(id as usize) {
            Some(place) => {
                *place = message;
                self.looked_at[id as usize] = false;
            }
            None => {
                self.messages.push(message);
                self.looked_at.push(false);
            }
        }
        id
    }

    /// Reads the links of a path that a message takes soon, so that they are near then; changes nothing.
    #[inline]
    pub fn look(&self, path: &[u32]) {
        for link in path {
            self.look_at(*link);
        }
    }

    #[inline]
    fn look_at(&self, link: u32) {
        black_box(self.links[link as usize].active);
        self.solver.look(link);
    }

    /// Reads the links of messages that end soon, several at once; `next` is told of these messages. For most calls there is nothing to do.
    #[inline]
    pub fn look_at_ends(&mut self, mut next: impl FnMut(MessageId)) {
        if self.ends.first().is_none_or(|(_, id)| self.looked_at[id as usize]) {
            return;
        }
        for id in self.ends.upper() {
            if !std::mem::replace(&mut self.looked_at[id as usize], true) {
                for hop in &self.hops[self.messages[id as usize].path()] {
                    self.look_at(hop.link);
                }
                next(id);
            }
        }
    }

    /// Lets a message move that was added.
    pub fn start(&mut self, now: Picos, id: MessageId) {
        self.messages[id as usize].since = now;
        let path = self.messages[id as usize].path();
        for at in path.clone() {
            self.enter(at);
        }
        match self.sharing {
            Sharing::MinShare => {
                let mut rate = f64::INFINITY;
                for at in path {
                    let link = &self.links[self.hops[at].link as usize];
                    let share = link.share;
                    rate = rate.min(share);
                    if link.active > 1 {
                        self.slow_down(now, link.head, share);
                    }
                }
                self.set_rate(now, id, rate);
            }
            Sharing::MaxMin => self.solve(now, path),
        }
    }

    /// When the next message ends, and which.
    #[inline]
    pub fn next_end(&self) -> Option<(Picos, MessageId)> {
        self.ends.first().map(|(time, id)| (Picos(time), id))
    }

    /// Takes a message out: all of it has passed, or it is given up.
    pub fn end(&mut self, now: Picos, id: MessageId) {
        self.ends.remove(id);
        let path = self.messages[id as usize].path();
        let done = self.messages[id as usize].uncounted;
        for at in path.clone() {
            self.leave(at, done);
        }
        match self.sharing {
            Sharing::MinShare => {
                for at in path.clone() {
                    let link = &self.links[self.hops[at].link as usize];
                    if link.active > 0 {
                        self.speed_up(now, link.head, link.capacity / f64::from(link.active + 1));
                    }
                }
            }
            Sharing::MaxMin => self.solve(now, path.clone()),
        }
        self.messages[id as usize].rate = 0.0; // it moves no more: nothing of it is counted again
        self.runs.give_back(path.start as u32, path.len());
        self.unused.push(id);
    }

    /// Messages that move.
    pub fn active(&self) -> usize {
        self.ends.len()
    }

    /// The present rate of a message, in bytes per picosecond.
    pub fn rate(&self, id: MessageId) -> f64 {
        self.messages[id as usize].rate
    }

    /// How often the rate of a message was set.
    pub fn rate_changes(&self) -> u64 {
        self.rate_changes
    }

    /// Bytes that each link has carried since this was last called (or since the beginning).
    pub fn take_carried(&mut self, now: Picos) -> Vec<f64> {
        for id in 0..self.messages.len() as u32 {
            if self.messages[id as usize].rate > 0.0 {
                self.count(now, id);
            }
        }
        self.links.iter_mut().map(|link| std::mem::take(&mut link.carried)).collect()
    }

    /// Bytes that each link has carried since [`Fluid::take_carried`] was last called, as they are at `now`. Nothing changes.
    pub fn carried(&self, now: Picos) -> Vec<f64> {
        let mut carried: Vec<f64> = self.links.iter().map(|link| link.carried).collect();
        for message in self.messages.iter().filter(|message| message.rate > 0.0) {
            let passed = message.rate * now.since(message.since).0 as f64;
            let passed = message.uncounted - (message.remaining - passed).max(0.0);
            for hop in &self.hops[message.path()] {
                carried[hop.link as usize] += passed;
            }
        }
        carried
    }

    /// Lets the links count what of a message under way has passed.
    fn count(&mut self, now: Picos, id: MessageId) {
        self.bring_up_to(now, id);
        let message = &mut self.messages[id as usize];
        let passed = message.uncounted - message.remaining;
        message.uncounted = message.remaining;
        for at in message.path() {
            self.links[self.hops[at].link as usize].carried += passed;
        }
    }

    /// Puts a hop into the list of its link.
    fn enter(&mut self, at: usize) {
        let link = &mut self.links[self.hops[at].link as usize];
        link.active += 1;
        link.share = link.capacity / f64::from(link.active);
        let next = std::mem::replace(&mut link.head, at as u32);
        self.hops[at].next = next;
        self.hops[at].previous = NONE;
        if next != NONE {
            self.hops[next as usize].previous = at as u32;
        }
    }

    /// Takes a hop out of the list of its link.
    fn leave(&mut self, at: usize, bytes: f64) {
        let Hop { link, next, previous, .. } = self.hops[at];
        let link = &mut self.links[link as usize];
        link.carried += bytes;
        link.active -= 1;
        link.share = if link.active == 0 { link.capacity } else { link.capacity / f64::from(link.active) };
        if previous == NONE {
            link.head = next;
        } else {
            self.hops[previous as usize].next = next;
        }
        if next != NONE {
            self.hops[next as usize].previous = previous;
        }
    }

    /// A link offers less now: whoever had more gets its share.
    fn slow_down(&mut self, now: Picos, head: u32, share: f64) {
        let mut at = head;
        while at != NONE {
            let Hop { message, next, .. } = self.hops[at as usize];
            if self.messages[message as usize].rate > share {
                self.set_rate(now, message, share);
            }
            at = next;
        }
    }

    /// A link offered `before` until now and offers more: whoever was held back by it may move faster.
    fn speed_up(&mut self, now: Picos, head: u32, before: f64) {
        let mut at = head;
        while at != NONE {
            let Hop { message, next, .. } = self.hops[at as usize];
            // The same division gave the rate, so that equality is exact.
            let held_back = self.messages[message as usize].rate >= before;
            if held_back {
                let path = self.messages[message as usize].path();
                let shares = self.hops[path].iter().map(|hop| self.links[hop.link as usize].share);
                let rate = shares.fold(f64::INFINITY, f64::min);
                if rate > self.messages[message as usize].rate {
                    self.set_rate(now, message, rate);
                }
            }
            at = next;
        }
    }

    /// Max-min rates for all whom a change on `path` may concern.
    fn solve(&mut self, now: Picos, path: std::ops::Range<usize>) {
        let mut solver = std::mem::take(&mut self.solver);
        solver.solve(self, path);
        for &(id, rate) in solver.rates() {
            if (rate - self.messages[id as usize].rate).abs() > SAME_RATE * rate {
                self.set_rate(now, id, rate);
            }
        }
        self.solver = solver;
    }

    /// Brings the remaining bytes of a message to now, with its old rate.
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
        // A float converts to the nearest integer in range: what would take for ever takes until the end of time.
        let left = (message.remaining / rate).ceil() as u64;
        self.ends.set(id, now.0.saturating_add(left));
    }
}
