//! The shaper, which keeps to the rate (RFC 4410, section 4.7): mode 0 gives way.

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

/// The classes of traffic, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// NACKs, feedback, mode 2 and its acknowledgements. Never waits.
    Control,
    /// Retransmissions. Never waits here.
    Repair,
    /// New mode 1 messages. Waits while the debt of tokens exceeds 250 ms at the rate; meanwhile
    /// only the newest version of each data element is kept. That protects against applications
    /// that use mode 1 instead of mode 0.
    Reliable,
    /// Mode 0. Waits for tokens, and may be dropped.
    BestEffort,
}

impl Class {
    /// All classes, in order of precedence.
    pub const ALL: [Class; 4] = [Self::Control, Self::Repair, Self::Reliable, Self::BestEffort];
}

/// The choice of mode 0 messages that give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Any messages, at random (RFC 4410, section 4.7).
    Random,
    /// Older messages of a stream give way to its newest one. The stream that was served longest
    /// ago goes first; when too many messages wait, the lowest priority is dropped. Every stream is
    /// updated less often then, and none is left out.
    Conflate,
    /// Older messages of a stream give way to its newest one. The highest priority goes first, but
    /// every stream is served once in [`ShaperConfig::floor`].
    Floor,
}

/// The settings of a [`Shaper`].
#[derive(Clone, Debug)]
pub struct ShaperConfig {
    /// The choice of mode 0 messages that give way. Default: [`Policy::Conflate`].
    pub policy: Policy,
    /// Bytes of the longest datagram; the bucket holds at least two. Default: 1454.
    pub datagram_bytes: usize,
    /// The most mode 0 messages that wait. Default: 4096.
    pub queue_max: usize,
    /// Mode 0 messages without a stream are dropped after waiting longer than this. Default: 1 s.
    pub stale_after: Duration,
    /// The waiting message of a stream leaves within this time, however much mode 1 is offered, if
    /// the rate suffices: three eighths of the rate carry one message of each stream in a quarter
    /// of this time, and control and repairs take at most a fourth of the rate. At lower rates the
    /// streams take turns.
    ///
    /// [`Policy::Floor`] serves the least important stream once in this time, and not sooner.
    /// [`Policy::Random`] does not use it. Default: 5 s, the heartbeat of DIS.
    pub floor: Duration,
    /// The most streams that are told apart; messages of further streams count as without a stream.
    /// Default: 65 536.
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

/// The reason why a message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discard {
    /// Chance, because more was offered than the rate carries.
    Random,
    /// A newer message of the same stream or data element.
    Superseded,
    /// Too many waiting messages.
    Overflow,
    /// A wait that was too long.
    Stale,
}

/// A message that will not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<M> {
    /// The message.
    pub message: M,
    /// The reason.
    pub why: Discard,
}

/// The counters of a shaper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaperStats {
    /// Bytes sent by [`Class`], in the order of [`Class::ALL`].
    pub bytes: [u64; 4],
    /// Messages dropped at random.
    pub random: u64,
    /// Messages replaced by newer ones.
    pub superseded: u64,
    /// Messages dropped because too many waited.
    pub overflow: u64,
    /// Messages dropped because they waited too long.
    pub stale: u64,
}

/// A token bucket, with the messages `M` that wait for tokens.
///
/// Callers report traffic that does not wait with [`charge`](Self::charge), and headers as well.
/// They offer all other messages and take them with [`poll`](Self::poll) whenever
/// [`poll_timeout`](Self::poll_timeout) is due. [`poll_dropped`](Self::poll_dropped) returns the
/// dropped ones, so that every message offered comes out once.
#[derive(Debug)]
pub struct Shaper<M> {
    config: ShaperConfig,
    bucket: Bucket,
    reliable: Reliable<M>,
    streams: Streams<M>,
    random: Random<M>,
    /// Bytes by which mode 1 is ahead of overdue mode 0 messages, when both are sent on debt.
    ahead: i64,
    /// Whether there were tokens for a whole datagram; mode 0 messages then leave until the tokens
    /// are used up.
    releasing: bool,
    dropped: VecDeque<Dropped<M>>,
    stats: ShaperStats,
}

impl<M> Shaper<M> {
    /// Creates a shaper with a full bucket.
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

    /// Changes the rate.
    pub fn set_rate(&mut self, now: Moment, rate: Rate) {
        self.bucket.set_rate(now, rate);
    }

    /// Takes tokens for `bytes` that leave without waiting: messages of [`Class::Control`] or
    /// [`Class::Repair`], or the headers around messages of any class.
    pub fn charge(&mut self, now: Moment, class: Class, bytes: usize) {
        self.bucket.refill(now);
        self.spend(class, bytes);
    }

    /// Offers a new mode 1 message, or a segment of one. Waiting segments of other versions of the
    /// data element are dropped.
    pub fn offer_reliable(&mut self, data: DataId, sn: Sn, bytes: usize, message: M) {
        let dropped = &mut self.dropped;
        self.reliable.push(data, sn, bytes, message, |message| {
            dropped.push_back(Dropped { message, why: Discard::Superseded });
        });
    }

    /// Offers a mode 0 message, with or without a stream. Higher priorities are more important.
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

    /// The next message that will not be sent.
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

    /// The time at which [`poll`](Self::poll) has a message, if nothing else happens.
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

    /// The time at which the debt is paid, so that a bundle that can wait may leave. `None` while
    /// messages wait, since it can leave with them.
    pub fn solvent_at(&self) -> Option<Moment> {
        let waits = !self.reliable.is_empty() || self.streams.len() + self.random.len() > 0;
        if waits { None } else { self.bucket.when(0.0) }
    }

    /// The number of messages that wait, in mode 1 and in mode 0.
    pub fn waiting(&self) -> (usize, usize) {
        (self.reliable.len(), self.streams.len() + self.random.len())
    }

    /// The counters. A dropped message counts once it is taken with
    /// [`poll_dropped`](Self::poll_dropped).
    pub fn stats(&self) -> ShaperStats {
        self.stats
    }

    fn spend(&mut self, class: Class, bytes: usize) {
        self.bucket.take(bytes);
        self.stats.bytes[class as usize] += bytes as u64;
        // It takes from what best effort may use, and the discard rate has to follow.
        if class != Class::BestEffort {
            self.random.note_other(bytes);
        }
    }

    fn select(&mut self, now: Moment) -> Option<(Class, (usize, M))> {
        if self.bucket.has(self.bucket.debt_level()) {
            // Mode 1 and overdue mode 0 have equal shares, in bytes.
            let overdue = self.overdue(now).filter(|_| self.reliable.is_empty() || self.ahead >= 0);
            let most = self.config.datagram_bytes as i64;
            if let Some(index) = overdue {
                let next = self.streams.take(index, Some(now))?;
                // Limited, so that a class that had nothing to send does not later take everything
                // for as long.
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

    /// The time without service after which a stream goes before mode 1. With turns, the other half
    /// of the floor is long enough to serve all of them.
    fn overdue_after(&self) -> Duration {
        if self.config.policy == Policy::Conflate { self.config.floor / 2 } else { self.config.floor }
    }

    /// A stream that has not been served for that long.
    fn overdue(&self, now: Moment) -> Option<u32> {
        let (index, served) = self.streams.overdue_first()?;
        (now - served >= self.overdue_after()).then_some(index)
    }

    /// The next mode 0 message, if there are tokens for it.
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

    /// Drops messages that are too old. A message without a stream ranks by its age, so that those
    /// too old are found at the front.
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

    /// The bytes for which there must be tokens before the next mode 0 message leaves.
    fn ordinary_bytes(&self) -> Option<usize> {
        match self.config.policy {
            Policy::Random => self.random.bytes(),
            Policy::Conflate | Policy::Floor => {
                let next = self.streams.bytes(self.turn()?);
                // Waiting messages leave by the datagram, so that its header and its announcements
                // are paid for once.
                let together = self.streams.bytes_waiting().min(self.config.datagram_bytes);
                Some(if self.releasing { next } else { next.max(together) })
            }
        }
    }
}

#[cfg(test)]
mod tests;
