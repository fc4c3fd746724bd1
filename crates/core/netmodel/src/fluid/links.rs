//! The links, and the messages on them.
//!
//! Nearly all links of a large network are idle. So a link is one number here, the first hop of its
//! list. Everything else is stored with the hops of the messages under way, which are few and
//! reused soon, so that they stay in a near cache.

use std::hint::black_box;

use super::MessageId;
use super::carried::Carried;
use super::indices::{Indices, NONE};
use super::runs::Runs;
use crate::units::Rate;

/// Marks the first hop of a list, which stores the length of the list in place of a previous hop.
const HEAD: u32 = 1 << 31;

/// One link of the path of a message, and its place in the list of that link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) link: u32,
    pub(super) message: MessageId,
    pub(super) next: u32,
    /// The previous hop of the list; or [`HEAD`] plus the length of the list.
    previous: u32,
}

/// Links, and the hops of all messages.
#[derive(Clone, Debug)]
pub(super) struct Links {
    /// By link: the first hop of its list.
    heads: Indices,
    /// By link: its index in `capacities`; empty if all are the same.
    class: Vec<u8>,
    /// Bytes per picosecond.
    capacities: Vec<f64>,
    pub(super) hops: Vec<Hop>,
    runs: Runs,
    pub(super) carried: Carried,
}

impl Links {
    /// Idle links of these rates.
    ///
    /// # Panics
    /// There are more than 256 different rates, which no topology has.
    pub(super) fn new(rates: impl IntoIterator<Item = Rate>) -> Self {
        let mut known: Vec<Rate> = Vec::new();
        let mut class: Vec<u8> = Vec::new();
        for rate in rates {
            let place = known.iter().position(|other| *other == rate).unwrap_or(known.len());
            if place == known.len() {
                known.push(rate);
            }
            class.push(u8::try_from(place).expect("links have at most 256 different rates"));
        }
        let count = class.len();
        if known.len() < 2 {
            class = Vec::new();
        }
        Self {
            heads: Indices::new(count),
            class,
            capacities: known.into_iter().map(Rate::bytes_per_ps).collect(),
            hops: Vec::new(),
            runs: Runs::default(),
            carried: Carried::new(count),
        }
    }

    /// Bytes per picosecond of a link.
    #[inline]
    pub(super) fn capacity(&self, link: u32) -> f64 {
        self.capacities[self.class.get(link as usize).map_or(0, |class| usize::from(*class))]
    }

    /// The first hop of the list of a link; [`NONE`] if it is idle.
    #[inline]
    pub(super) fn head(&self, link: u32) -> u32 {
        self.heads.get(link)
    }

    /// Number of messages on the link whose list begins with `head`.
    #[inline]
    pub(super) fn active(&self, head: u32) -> u32 {
        if head == NONE { 0 } else { self.hops[head as usize].previous & !HEAD }
    }

    /// The rate that a link which is not idle offers each of its messages.
    #[inline]
    pub(super) fn share(&self, link: u32) -> f64 {
        self.capacity(link) / f64::from(self.active(self.head(link)))
    }

    /// True when the message of a hop has its link to itself.
    #[inline]
    pub(super) fn is_alone(&self, at: usize) -> bool {
        self.hops[at].previous == HEAD + 1
    }

    /// Touches a link that a message enters or leaves soon, so that it is in a near cache by then;
    /// changes nothing.
    #[inline]
    pub(super) fn look(&self, link: u32) {
        black_box(self.heads.get(link));
        black_box(self.class.get(link as usize));
    }

    /// Allocates the hops of a message that is on none of its links yet; returns the index of the
    /// first.
    pub(super) fn add(&mut self, message: MessageId, path: &[u32]) -> u32 {
        let first = self.runs.take(path.len());
        let hop = |link: u32| Hop { link, message, next: NONE, previous: NONE };
        if self.hops.len() < self.runs.end() {
            assert!(self.runs.end() < HEAD as usize, "fewer than 2^31 hops are in use");
            self.hops.resize(self.runs.end(), hop(0));
        }
        for (place, link) in self.hops[first as usize..].iter_mut().zip(path) {
            assert!((*link as usize) < self.heads.len(), "link {link} is none of {}", self.heads.len());
            *place = hop(*link);
        }
        first
    }

    /// Frees the hops of a message.
    pub(super) fn give_back(&mut self, path: std::ops::Range<usize>) {
        self.runs.give_back(path.start as u32, path.len());
    }

    /// Puts a hop into the list of its link.
    #[inline]
    pub(super) fn enter(&mut self, at: usize) {
        let link = self.hops[at].link;
        let next = self.heads.get(link);
        self.heads.set(link, at as u32);
        let mut count = HEAD;
        if next != NONE {
            count = std::mem::replace(&mut self.hops[next as usize].previous, at as u32);
        }
        (self.hops[at].next, self.hops[at].previous) = (next, count + 1);
    }

    /// Takes a hop out of the list of its link.
    #[inline]
    pub(super) fn leave(&mut self, at: usize) {
        let Hop { link, next, previous, .. } = self.hops[at];
        if previous >= HEAD {
            self.heads.set(link, next);
            if next != NONE {
                self.hops[next as usize].previous = previous - 1;
            }
            return;
        }
        self.hops[self.heads.get(link) as usize].previous -= 1;
        self.hops[previous as usize].next = next;
        if next != NONE {
            self.hops[next as usize].previous = previous;
        }
    }
}
