//! Mode 2: a message to one address, sent again until it is acknowledged, and handed up once.

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

/// A message that came is remembered at least this long.
const DEDUPE_MIN: Duration = Duration::from_secs(30);

/// What a mode 2 machine counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mode2Counters {
    /// Messages accepted.
    pub sent: u64,
    /// Datagrams sent again.
    pub retried: u64,
    /// Messages acknowledged.
    pub acknowledged: u64,
    /// Messages given up.
    pub timed_out: u64,
    /// Messages handed up.
    pub received: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Acknowledgements of nothing.
    pub stray_acks: u64,
}

/// What does not change.
#[derive(Clone, Debug)]
pub(crate) struct Mode2Config {
    /// Messages that wait for an acknowledgement.
    pub(crate) pending_max: usize,
    /// Messages that are remembered, so that they are not handed up twice.
    pub(crate) remembered_max: usize,
    /// How often a message is sent again.
    pub(crate) retries: u32,
    /// Retransmission timeouts are clamped to this.
    pub(crate) rto: (Duration, Duration),
    /// The timeout to a peer whose round-trip time is not known: this much above the greatest of the group,
    pub(crate) rto_margin: Duration,
    /// and at least this.
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
    /// How long a message that came is remembered: twice as long as it may be sent again.
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

/// What is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Send it again.
    Again { to: SocketAddr, transaction: Transaction, data: DataId, body: Bytes },
    /// It is given up.
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

    /// A message is sent now.
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

    /// An acknowledgement came; the ticket of its message.
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
        // Of a message sent twice nobody knows which one was acknowledged.
        if pending.attempts == 1 {
            self.peers.measured(from, now.since(pending.first));
        }
        self.counters.acknowledged += 1;
        Some(pending.ticket)
    }

    /// A message came, in a life of its sender; whether it is to be handed up. It is to be acknowledged in any case.
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

    /// When [`Mode2::expire`] has something.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next thing that is due.
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
