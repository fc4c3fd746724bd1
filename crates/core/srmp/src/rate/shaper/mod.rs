//! Keeping to the rate (RFC 4410, section 4.7): mode 0 gives way.

mod bucket;
mod random;
mod reliable;
mod sorted;
mod streams;

use super::Rate;
use crate::model::{DataId, Sn, StreamKey};
use base::{Moment, Seed};
use bucket::Bucket;
use random::Random;
use reliable::Reliable;
use std::collections::VecDeque;
use std::time::Duration;
use streams::Streams;

/// What is sent, in the order in which it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// NACKs, feedback, mode 2 and its acknowledgements: never wait.
    Control,
    /// Retransmissions: never wait here.
    Repair,
    /// New mode 1 messages: wait while the debt of tokens is more than is sent in 250 ms, and only the newest version of each
    /// data element then. The guard for those who send mode 1 instead of mode 0.
    Reliable,
    /// Mode 0: waits for tokens, and is dropped.
    BestEffort,
}

impl Class {
    /// All classes, in order.
    pub const ALL: [Class; 4] = [Self::Control, Self::Repair, Self::Reliable, Self::BestEffort];
}

/// Which mode 0 messages give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Any, at random (RFC 4410, section 4.7).
    Random,
    /// Older ones of a stream for the newest; the stream that was served longest ago goes first. When too much waits, the
    /// lowest priority is dropped. So every stream is updated less often, and none is left out.
    Conflate,
    /// Older ones of a stream for the newest; the highest priority goes first, but every stream once in
    /// [`ShaperConfig::floor`].
    Floor,
}

/// Settings of a [`Shaper`].
#[derive(Clone, Debug)]
pub struct ShaperConfig {
    /// Which mode 0 messages give way. Default: [`Policy::Conflate`].
    pub policy: Policy,
    /// The longest datagram; the bucket holds two. Default: 1454 bytes.
    pub datagram_bytes: usize,
    /// Mode 0 messages that may wait. Default: 4096.
    pub queue_max: usize,
    /// Mode 0 messages of no stream are dropped when they waited longer. Default: 1 s.
    pub stale_after: Duration,
    /// What waits of a stream leaves within this time, whatever mode 1 is offered, where the rate carries that: where three eighths of it
    /// carry a message of each stream in a quarter of this, and control and repairs take no more than a fourth. With less, streams
    /// take turns. [`Policy::Floor`] serves the least important once in this time, and not sooner. Not with [`Policy::Random`]. Default: 5 s, the
    /// heartbeat of DIS.
    pub floor: Duration,
    /// Streams that are told apart; messages of more are taken as of no stream. Default: 65 536.
    pub streams_max: usize,
}

impl Default for ShaperConfig {
    fn default() -> Self {
        Self {
            policy: Policy::Conflate,
            datagram_bytes: 1_454,
            queue_max: 4_096,
            stale_after: Duration::from_secs(1),
            floor: Duration::from_secs(5),
            streams_max: 65_536,
        }
    }
}

/// Why a message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discard {
    /// By chance, because more was offered than the rate carries.
    Random,
    /// A newer message of the same stream or data element came.
    Superseded,
    /// Too much waited.
    Overflow,
    /// It waited too long.
    Stale,
}

/// A message that is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<M> {
    /// The message.
    pub message: M,
    /// Why.
    pub why: Discard,
}

/// What a shaper let pass and what not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaperStats {
    /// Bytes by [`Class`], in the order of [`Class::ALL`].
    pub bytes: [u64; 4],
    /// Messages dropped by chance.
    pub random: u64,
    /// Messages replaced by newer ones.
    pub superseded: u64,
    /// Messages dropped because too much waited.
    pub overflow: u64,
    /// Messages dropped because they waited too long.
    pub stale: u64,
}

/// A token bucket with messages `M` that wait for it.
///
/// What does not wait is reported with [`charge`](Self::charge), and so are headers. The rest is offered, and taken with
/// [`poll`](Self::poll) whenever [`poll_timeout`](Self::poll_timeout) is due; what is dropped comes from
/// [`poll_dropped`](Self::poll_dropped), so that every message offered comes out once.
#[derive(Debug)]
pub struct Shaper<M> {
    config: ShaperConfig,
    bucket: Bucket,
    reliable: Reliable<M>,
    streams: Streams<M>,
    random: Random<M>,
    /// Bytes by which mode 1 is ahead of mode 0 that is overdue, where both go on debt.
    ahead: i64,
    /// Tokens for a whole datagram were there, and mode 0 messages leave until there are none left.
    releasing: bool,
    dropped: VecDeque<Dropped<M>>,
    stats: ShaperStats,
}

impl<M> Shaper<M> {
    /// A shaper with a full bucket.
    pub fn new(config: ShaperConfig, rate: Rate, seed: Seed, now: Moment) -> Self {
        Self {
            bucket: Bucket::new(rate, config.datagram_bytes, now),
            reliable: Reliable::new(),
            streams: Streams::new(),
            random: Random::new(seed.rng(), now),
            ahead: 0,
            releasing: false,
            dropped: VecDeque::new(),
            stats: ShaperStats::default(),
            config,
        }
    }

    /// The rate is another one from now on.
    pub fn set_rate(&mut self, now: Moment, rate: Rate) {
        self.bucket.set_rate(now, rate);
    }

    /// `bytes` bytes leave without waiting: messages of [`Class::Control`] or [`Class::Repair`], or the headers around
    /// messages of any class.
    pub fn charge(&mut self, now: Moment, class: Class, bytes: usize) {
        self.bucket.refill(now);
        self.spend(class, bytes);
    }

    /// Offers a new mode 1 message, or a segment of one. What waits of another version of the data element is dropped.
    pub fn offer_reliable(&mut self, data: DataId, sn: Sn, bytes: usize, message: M) {
        let dropped = &mut self.dropped;
        self.reliable.push(data, sn, bytes, message, |message| {
            dropped.push_back(Dropped { message, why: Discard::Superseded });
        });
    }

    /// Offers a mode 0 message: of a stream, or of none. The higher the priority, the more important.
    pub fn offer_best_effort(
        &mut self,
        now: Moment,
        stream: Option<StreamKey>,
        priority: u8,
        bytes: usize,
        message: M,
    ) {
        self.bucket.refill(now);
        let (config, message) = (&self.config, (bytes, message));
        match config.policy {
            Policy::Random => self.random.push(now, config, &self.bucket, message, &mut self.dropped),
            Policy::Conflate | Policy::Floor => {
                self.streams.push(now, config, (stream, priority), message, &mut self.dropped);
            }
        }
    }

    /// The next message that may leave now.
    pub fn poll(&mut self, now: Moment) -> Option<(Class, M)> {
        self.bucket.refill(now);
        self.drop_stale(now);
        let (class, (bytes, message)) = self.select(now)?;
        self.spend(class, bytes);
        Some((class, message))
    }

    /// The next message that is not sent.
    pub fn poll_dropped(&mut self) -> Option<Dropped<M>> {
        let dropped = self.dropped.pop_front()?;
        match dropped.why {
            Discard::Random => self.stats.random += 1,
            Discard::Superseded => self.stats.superseded += 1,
            Discard::Overflow => self.stats.overflow += 1,
            Discard::Stale => self.stats.stale += 1,
        }
        Some(dropped)
    }

    /// When [`poll`](Self::poll) has a message, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let debt = self.bucket.when(self.bucket.debt_level());
        let reliable = debt.filter(|_| !self.reliable.is_empty());
        let overdue = self
            .streams
            .overdue_first()
            .zip(debt)
            .map(|((_, served), at)| at.max(served + self.overdue_after()));
        let ordinary = self.ordinary_bytes().and_then(|bytes| self.bucket.when(self.bucket.level_for(bytes)));
        [reliable, overdue, ordinary].into_iter().flatten().min()
    }

    /// When something may leave that can wait: when what was sent beyond the rate is made up for. Not while messages wait, with which it can go.
    pub fn solvent_at(&self) -> Option<Moment> {
        let waits = !self.reliable.is_empty() || self.streams.len() + self.random.len() > 0;
        if waits { None } else { self.bucket.when(0.0) }
    }

    /// Messages that wait: mode 1, and mode 0.
    pub fn waiting(&self) -> (usize, usize) {
        (self.reliable.len(), self.streams.len() + self.random.len())
    }

    /// Counters. Dropped messages count when they are taken with [`poll_dropped`](Self::poll_dropped).
    pub fn stats(&self) -> ShaperStats {
        self.stats
    }

    fn spend(&mut self, class: Class, bytes: usize) {
        self.bucket.take(bytes);
        self.stats.bytes[class as usize] += bytes as u64;
        if class != Class::BestEffort {
            self.random.note_other(bytes);
        }
    }

    fn select(&mut self, now: Moment) -> Option<(Class, (usize, M))> {
        if self.bucket.has(self.bucket.debt_level()) {
            // Both have the same share, by bytes.
            let overdue = self.overdue(now).filter(|_| self.reliable.is_empty() || self.ahead >= 0);
            let most = self.config.datagram_bytes as i64;
            if let Some(index) = overdue {
                let next = self.streams.take(index, Some(now))?;
                self.ahead = (self.ahead - next.0 as i64).max(-most);
                return Some((Class::BestEffort, next));
            }
            if let Some(next) = self.reliable.pop() {
                self.ahead = (self.ahead + next.0 as i64).min(most);
                return Some((Class::Reliable, next));
            }
        }
        self.select_ordinary(now).map(|next| (Class::BestEffort, next))
    }

    /// When a stream goes before mode 1. By turns that is early enough for all of them to be served in the other half of the floor.
    fn overdue_after(&self) -> Duration {
        if self.config.policy == Policy::Conflate { self.config.floor / 2 } else { self.config.floor }
    }

    /// A stream that has not been served for so long.
    fn overdue(&self, now: Moment) -> Option<u32> {
        let (index, served) = self.streams.overdue_first()?;
        (now - served >= self.overdue_after()).then_some(index)
    }

    /// The mode 0 message whose turn it is, if there are tokens for it.
    fn select_ordinary(&mut self, now: Moment) -> Option<(usize, M)> {
        if self.config.policy == Policy::Random {
            let ready = self.bucket.has(self.bucket.level_for(self.random.bytes()?));
            return if ready { self.random.pop() } else { None };
        }
        let index = self.turn();
        let needed = self.ordinary_bytes();
        self.releasing = needed.is_some_and(|bytes| self.bucket.has(self.bucket.level_for(bytes)));
        if self.releasing { self.streams.take(index?, Some(now)) } else { None }
    }

    /// What belongs to no stream ranks by its age, so that all that is too old is found at the front.
    fn drop_stale(&mut self, now: Moment) {
        while let Some(index) =
            self.streams.oldest().filter(|&at| self.streams.is_stale(at, now, &self.config))
        {
            let message = self.streams.take(index, None);
            self.dropped.extend(message.map(|(_, message)| Dropped { message, why: Discard::Stale }));
        }
    }

    fn turn(&self) -> Option<u32> {
        match self.config.policy {
            Policy::Floor => self.streams.most_important(),
            Policy::Conflate | Policy::Random => self.streams.oldest(),
        }
    }

    /// Bytes for which there must be tokens before the next mode 0 message leaves.
    fn ordinary_bytes(&self) -> Option<usize> {
        match self.config.policy {
            Policy::Random => self.random.bytes(),
            Policy::Conflate | Policy::Floor => {
                let next = self.streams.bytes(self.turn()?);
                // Of what waits a datagram's worth leaves together: its head and its announcements are paid for once.
                let together = self.streams.bytes_waiting().min(self.config.datagram_bytes);
                Some(if self.releasing { next } else { next.max(together) })
            }
        }
    }
}

#[cfg(test)]
mod tests;
