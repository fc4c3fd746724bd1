//! A line with the datagrams on it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use base::{Moment, Seed};

use crate::channel::{Channel, Verdict};
use crate::schedule::Schedule;
use crate::stats::{LineCounters, QueueStats};

/// One direction of an emulated line for datagrams of type `T`: a message, or a reference to one.
///
/// Cost: O(log n) per datagram, with n datagrams under way. It allocates only when its one array
/// grows.
#[derive(Clone, Debug)]
pub struct Line<T> {
    channel: Channel,
    under_way: BinaryHeap<Entry<T>>,
    numbered: u64,
    delivered: u64,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    arrives: Moment,
    number: u64,
    item: T,
}

impl<T: Clone> Line<T> {
    /// A line that follows `schedule`. All its random numbers come from `seed`.
    pub fn new(schedule: impl Into<Schedule>, seed: Seed) -> Self {
        let channel = Channel::new(schedule, seed);
        Self { channel, under_way: BinaryHeap::new(), numbered: 0, delivered: 0 }
    }

    /// Puts a datagram of `bytes` octets, headers included, on the line. `now` never goes back.
    pub fn offer(&mut self, now: Moment, item: T, bytes: usize) -> Verdict {
        let verdict = self.channel.offer(now, bytes);
        if let Verdict::Taken(passage) = verdict {
            if let Some(copy) = passage.copy {
                self.push(passage.arrives, item.clone());
                self.push(copy, item);
            } else {
                self.push(passage.arrives, item);
            }
        }
        verdict
    }

    fn push(&mut self, arrives: Moment, item: T) {
        self.under_way.push(Entry { arrives, number: self.numbered, item });
        self.numbered += 1;
    }
}

impl<T> Line<T> {
    /// The next datagram that has arrived by `now`. Datagrams of one moment keep the order in which
    /// they were offered.
    pub fn poll(&mut self, now: Moment) -> Option<T> {
        self.poll_at(now).map(|(_, item)| item)
    }

    /// Like [`poll`](Self::poll), but with the time of the arrival.
    pub fn poll_at(&mut self, now: Moment) -> Option<(Moment, T)> {
        if self.poll_timeout()? > now {
            return None;
        }
        let entry = self.under_way.pop()?;
        self.delivered += 1;
        Some((entry.arrives, entry.item))
    }

    /// The arrival time of the next datagram.
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.under_way.peek().map(|entry| entry.arrives)
    }

    /// Number of datagrams, copies included, that are under way.
    pub fn in_flight(&self) -> usize {
        self.under_way.len()
    }

    /// Number of datagrams, copies included, that have arrived.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The counters so far.
    pub fn counters(&self) -> &LineCounters {
        self.channel.counters()
    }

    /// The queue statistics so far.
    pub fn queue(&self) -> &QueueStats {
        self.channel.queue()
    }

    /// The line without the datagrams on it.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }
}

/// Reversed, because `BinaryHeap` returns the greatest first.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrives, other.number).cmp(&(self.arrives, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}
