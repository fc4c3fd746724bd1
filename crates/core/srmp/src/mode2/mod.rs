//! Mode 2: a message to one address, sent again until it is acknowledged, and delivered once.

mod peers;
#[cfg(test)]
mod tests;

use crate::model::{DataId, Transaction};
use base::Moment;
use bytes::Bytes;
use peers::Peers;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

/// The least time for which a received message is remembered.
const DEDUPE_MIN: Duration = Duration::from_secs(30);

/// The counters of mode 2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mode2Counters {
    /// Messages accepted for sending.
    pub sent: u64,
    /// Datagrams sent again.
    pub retried: u64,
    /// Messages acknowledged.
    pub acknowledged: u64,
    /// Messages given up after the last retry.
    pub timed_out: u64,
    /// Messages delivered to the application.
    pub received: u64,
    /// Messages received again.
    pub duplicates: u64,
    /// Acknowledgements without a pending message.
    pub stray_acks: u64,
}

/// The settings of mode 2.
#[derive(Clone, Debug)]
pub(crate) struct Mode2Config {
    /// The most messages that wait for an acknowledgement.
    pub(crate) pending_max: usize,
    /// The most received messages that are remembered, so that they are not delivered twice.
    pub(crate) remembered_max: usize,
    /// The number of retransmissions of a message.
    pub(crate) retries: u32,
    /// The range to which retransmission timeouts are clamped.
    pub(crate) rto: (Duration, Duration),
    /// The timeout for a peer with an unknown round-trip time: the greatest one of the group plus
    /// this.
    pub(crate) rto_margin: Duration,
    /// The least timeout for such a peer.
    pub(crate) rto_unknown_min: Duration,
}

impl Default for Mode2Config {
    fn default() -> Self {
        Self {
            pending_max: 256,
            remembered_max: 65_536,
            retries: 6,
            rto: (Duration::from_millis(20), Duration::from_secs(3)),
            rto_margin: Duration::from_millis(50),
            rto_unknown_min: Duration::from_millis(100),
        }
    }
}

impl Mode2Config {
    /// The time for which a received message is remembered: twice the time for which it may be sent
    /// again.
    fn dedupe_life(&self) -> Duration {
        (self.rto.1 * (self.retries + 1) * 2).max(DEDUPE_MIN)
    }
}

/// A message that waits for its acknowledgement.
#[derive(Debug)]
struct Pending {
    data: DataId,
    body: Bytes,
    ticket: u64,
    first: Moment,
    attempts: u32,
    rto: Duration,
    next: Moment,
}

/// An action that is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Send the message again.
    Again { to: SocketAddr, transaction: Transaction, data: DataId, body: Bytes },
    /// The message is given up.
    TimedOut { ticket: u64 },
}

/// The mode 2 messages of one member in one group.
#[derive(Debug)]
pub(crate) struct Mode2 {
    config: Mode2Config,
    pending: BTreeMap<(SocketAddr, Transaction), Pending>,
    timers: BinaryHeap<Reverse<(Moment, SocketAddr, Transaction)>>,
    peers: Peers,
    known: BTreeSet<(SocketAddr, u64, Transaction)>,
    known_since: VecDeque<(Moment, (SocketAddr, u64, Transaction))>,
    counters: Mode2Counters,
}

impl Mode2 {
    pub(crate) fn new(config: Mode2Config) -> Self {
        Self {
            pending: BTreeMap::new(),
            timers: BinaryHeap::new(),
            peers: Peers::default(),
            known: BTreeSet::new(),
            known_since: VecDeque::new(),
            counters: Mode2Counters::default(),
            config,
        }
    }

    /// Whether there is no room for another message.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= self.config.pending_max
    }

    /// Registers a message that is sent now.
    pub(crate) fn send(
        &mut self,
        now: Moment,
        to: SocketAddr,
        (transaction, data, body): (Transaction, DataId, Bytes),
        ticket: u64,
        r_max: Duration,
    ) {
        let (least, most) = self.config.rto;
        let unknown = (r_max + self.config.rto_margin).max(self.config.rto_unknown_min);
        let rto = self.peers.rto(to).unwrap_or(unknown).clamp(least, most);
        let next = now + rto;
        self.counters.sent += 1;
        let pending = Pending { data, body, ticket, first: now, attempts: 1, rto, next };
        self.pending.insert((to, transaction), pending);
        self.timers.push(Reverse((next, to, transaction)));
    }

    /// Handles an acknowledgement. Returns the ticket of its message.
    pub(crate) fn acknowledge(
        &mut self,
        now: Moment,
        from: SocketAddr,
        transaction: Transaction,
    ) -> Option<u64> {
        let Some(pending) = self.pending.remove(&(from, transaction)) else {
            self.counters.stray_acks += 1;
            return None;
        };
        // When a message was sent more than once, it is unknown which sending was acknowledged
        // (Karn's algorithm).
        if pending.attempts == 1 {
            self.peers.measured(from, now.since(pending.first));
        }
        self.counters.acknowledged += 1;
        Some(pending.ticket)
    }

    /// Handles a message of one epoch of its sender. Returns whether to deliver it; it is to be
    /// acknowledged in either case.
    pub(crate) fn receive(
        &mut self,
        now: Moment,
        from: SocketAddr,
        life: u64,
        transaction: Transaction,
    ) -> bool {
        self.forget_old(now);
        let key = (from, life, transaction);
        if !self.known.insert(key) {
            self.counters.duplicates += 1;
            return false;
        }
        self.counters.received += 1;
        self.known_since.push_back((now, key));
        true
    }

    fn forget_old(&mut self, now: Moment) {
        let life = self.config.dedupe_life();
        while let Some((since, key)) = self.known_since.front().copied() {
            if now.since(since) < life && self.known_since.len() < self.config.remembered_max {
                return;
            }
            self.known_since.pop_front();
            self.known.remove(&key);
        }
    }

    /// The time at which [`Mode2::expire`] has an action.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next action that is due.
    pub(crate) fn expire(&mut self, now: Moment) -> Option<Due> {
        while let Some(Reverse((at, to, transaction))) = self.timers.peek().copied() {
            if at > now {
                return None;
            }
            self.timers.pop();
            let Some(pending) = self.pending.get_mut(&(to, transaction)) else { continue };
            if pending.next != at {
                continue;
            }
            if pending.attempts > self.config.retries {
                let ticket = pending.ticket;
                self.pending.remove(&(to, transaction));
                self.counters.timed_out += 1;
                return Some(Due::TimedOut { ticket });
            }
            pending.attempts += 1;
            pending.rto = (pending.rto * 2).min(self.config.rto.1);
            pending.next = now + pending.rto;
            self.timers.push(Reverse((pending.next, to, transaction)));
            self.counters.retried += 1;
            return Some(Due::Again { to, transaction, data: pending.data, body: pending.body.clone() });
        }
        None
    }

    pub(crate) fn counters(&self) -> &Mode2Counters {
        &self.counters
    }
}
