//! Faults as rules: each rule gives its verdict on every packet.

use crate::{ConnId, Digest, HostId};
use base::{Moment, Rng, Seed};
use bytes::Bytes;
use rand_core::RngCore;
use std::ops::RangeInclusive;
use std::time::Duration;

base::id! {
    /// A fault rule of one network; ids are never reused.
    pub struct RuleId(u32) as "rule";
}

/// Maximum number of extra copies that all rules together make of one datagram.
pub const DUPLICATES_MAX: u32 = 16;

/// Denominator of probabilities. They are whole numbers of parts per million, so that they are
/// exact.
pub const MILLION: u32 = 1_000_000;

/// A packet about to be put on a link.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The present.
    pub at: Moment,
    /// The sender.
    pub from: HostId,
    /// The receiver.
    pub to: HostId,
    /// The kind of the packet.
    pub kind: PacketKind,
    /// The payload; empty unless it is a datagram or bytes of a stream.
    pub bytes: &'a Bytes,
}

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketKind {
    /// A datagram.
    Datagram,
    /// The opening of a connection, or its answer.
    Open(ConnId),
    /// Bytes of a connection.
    Bytes(ConnId),
    /// The end of one direction of a connection.
    End(ConnId),
    /// The reset of a connection.
    Reset(ConnId),
}

impl PacketKind {
    /// The connection that the packet belongs to; `None` for a datagram.
    pub fn conn(self) -> Option<ConnId> {
        match self {
            PacketKind::Datagram => None,
            PacketKind::Open(c) | PacketKind::Bytes(c) | PacketKind::End(c) | PacketKind::Reset(c) => Some(c),
        }
    }
}

/// The effect of a rule on a packet. Verdicts of several rules combine: delays and copies add up,
/// and the smallest fragment size counts. Of `Drop`, `Cut` and `Stall`, that of the oldest rule
/// counts.
///
/// A connection hides from its ends what TCP hides: `Drop`, `Duplicate` and `Reorder` have no
/// effect on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No effect.
    Pass,
    /// Loses a datagram.
    Drop,
    /// Delays the packet by this time; on a connection, everything after it as well.
    Delay(Duration),
    /// Delivers this many extra copies of a datagram.
    Duplicate(u32),
    /// Delays a datagram by a time drawn from zero to this one, so that others overtake it.
    Reorder(Duration),
    /// Delivers bytes of a connection in pieces of at most this many (at least 1).
    Fragment(usize),
    /// Breaks the connection. A first part of the bytes, of random length, still arrives; then both
    /// ends see [`Broken`](crate::HostEvent::Broken). A datagram is lost.
    Cut,
    /// Half-opens the connection: these bytes and all later ones in this direction wait until the
    /// rule is removed, and neither end notices. A datagram is lost.
    Stall,
}

/// A judge of packets. Closures `FnMut(&Packet, &mut Draws) -> Verdict` are rules, and so is the
/// plain data of a [`Fault`].
pub trait Rule {
    /// The verdict on `packet`. All randomness must come from `draws`.
    fn judge(&mut self, packet: &Packet<'_>, draws: &mut Draws<'_>) -> Verdict;
}

impl<F: FnMut(&Packet<'_>, &mut Draws<'_>) -> Verdict> Rule for F {
    fn judge(&mut self, packet: &Packet<'_>, draws: &mut Draws<'_>) -> Verdict {
        self(packet, draws)
    }
}

/// The random numbers for one rule and one packet. They depend only on the seed, the link, the
/// number of the packet on that link, and the rule, so that a new host, link or rule shifts no
/// other draw. Every draw enters the digest.
#[derive(Debug)]
pub struct Draws<'a> {
    seed: Seed,
    rng: Option<Rng>,
    digest: &'a mut Digest,
}

impl<'a> Draws<'a> {
    fn new(seed: Seed, digest: &'a mut Digest) -> Self {
        Self { seed, rng: None, digest }
    }

    /// A number from 0 to `n` − 1; 0 for `n` = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let seed = self.seed;
        let bits = self.rng.get_or_insert_with(|| seed.rng()).next_u64();
        // The high word of the product; its deviation from uniform is less than n / 2^64.
        let drawn = ((u128::from(bits) * u128::from(n)) >> 64) as u64;
        self.digest.word(drawn);
        drawn
    }

    /// True with a probability of `ppm` parts per million.
    pub fn chance(&mut self, ppm: u32) -> bool {
        ppm > 0 && (ppm >= MILLION || self.below(MILLION.into()) < ppm.into())
    }

    /// A duration from the range, to the nanosecond.
    pub fn duration(&mut self, range: &RangeInclusive<Duration>) -> Duration {
        let nanos = |d: &Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX - 1);
        let (low, high) = (nanos(range.start()), nanos(range.end()));
        Duration::from_nanos(low + self.below(high.saturating_sub(low).saturating_add(1)))
    }
}

/// A rule as plain data, which can be printed and generated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The packets that the fault applies to.
    pub scope: Scope,
    /// Its effect.
    pub effect: Effect,
    /// Share of these packets that it affects, in parts per million.
    pub chance: u32,
}

/// A set of packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All packets.
    All,
    /// All packets from and to a host.
    Host(HostId),
    /// All packets from the first host to the second.
    Link(HostId, HostId),
    /// All packets between two hosts, in either direction.
    Between(HostId, HostId),
    /// All packets of one connection.
    Conn(ConnId),
    /// All packets between a listed host and one that is not listed: a network partition.
    Parting(Vec<HostId>),
}

/// The effect of a fault; see [`Verdict`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// See [`Verdict::Drop`].
    Drop,
    /// See [`Verdict::Delay`]; each packet's delay is drawn from the range.
    Delay(RangeInclusive<Duration>),
    /// See [`Verdict::Duplicate`].
    Duplicate(u32),
    /// See [`Verdict::Reorder`].
    Reorder(Duration),
    /// See [`Verdict::Fragment`].
    Fragment(usize),
    /// See [`Verdict::Cut`].
    Cut,
    /// See [`Verdict::Stall`].
    Stall,
}

impl Fault {
    /// A fault with `effect` on every packet of `scope`.
    pub const fn new(scope: Scope, effect: Effect) -> Self {
        Self { scope, effect, chance: MILLION }
    }

    /// The same fault on only `ppm` parts per million of the packets.
    #[must_use]
    pub fn with_chance(mut self, ppm: u32) -> Self {
        self.chance = ppm;
        self
    }
}

impl Rule for Fault {
    fn judge(&mut self, packet: &Packet<'_>, draws: &mut Draws<'_>) -> Verdict {
        if !self.scope.holds(packet) || !draws.chance(self.chance) {
            return Verdict::Pass;
        }
        match &self.effect {
            Effect::Drop => Verdict::Drop,
            Effect::Delay(range) => Verdict::Delay(draws.duration(range)),
            Effect::Duplicate(copies) => Verdict::Duplicate(*copies),
            Effect::Reorder(window) => Verdict::Reorder(*window),
            Effect::Fragment(size) => Verdict::Fragment(*size),
            Effect::Cut => Verdict::Cut,
            Effect::Stall => Verdict::Stall,
        }
    }
}

impl Scope {
    /// Whether `packet` is in the set.
    pub fn holds(&self, packet: &Packet<'_>) -> bool {
        let (from, to) = (packet.from, packet.to);
        match self {
            Scope::All => true,
            &Scope::Host(host) => from == host || to == host,
            &Scope::Link(a, b) => (from, to) == (a, b),
            &Scope::Between(a, b) => (from, to) == (a, b) || (from, to) == (b, a),
            &Scope::Conn(conn) => packet.kind.conn() == Some(conn),
            Scope::Parting(hosts) => hosts.contains(&from) != hosts.contains(&to),
        }
    }
}

/// The fate of a packet after all rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Arrives(Arrival),
    Dropped,
    /// Breaks its connection after this many of its bytes.
    Cut(usize),
    /// Waits until the rule is removed.
    Stalled(RuleId),
}

/// The arrival of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) delay: Duration,
    pub(crate) reordered: bool,
    pub(crate) copies: u32,
    pub(crate) fragment: Option<usize>,
}

/// The rules in force, oldest first.
#[derive(Default)]
pub(crate) struct Rules {
    rules: Vec<(RuleId, Box<dyn Rule>)>,
    given: u32,
}

impl Rules {
    /// An id for a rule that is added now or later.
    pub(crate) fn reserve(&mut self) -> RuleId {
        let id = RuleId(self.given);
        self.given += 1;
        id
    }

    pub(crate) fn add(&mut self, id: RuleId, rule: Box<dyn Rule>) {
        let place = self.rules.partition_point(|&(other, _)| other < id);
        self.rules.insert(place, (id, rule));
    }

    pub(crate) fn remove(&mut self, id: RuleId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|&(other, _)| other != id);
        self.rules.len() < before
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Applies every rule to a packet. `seed` must derive from the link and the packet's number on
    /// it.
    pub(crate) fn judge(&mut self, packet: &Packet<'_>, seed: Seed, digest: &mut Digest) -> Fate {
        let stream = packet.kind != PacketKind::Datagram;
        let mut arrival = Arrival::default();
        for (id, rule) in &mut self.rules {
            let mut draws = Draws::new(seed.split_index(id.0.into()), digest);
            match rule.judge(packet, &mut draws) {
                Verdict::Pass => {}
                Verdict::Delay(by) => arrival.delay = arrival.delay.saturating_add(by),
                Verdict::Fragment(size) => {
                    arrival.fragment = Some(arrival.fragment.unwrap_or(usize::MAX).min(size.max(1)));
                }
                Verdict::Cut if stream => {
                    return Fate::Cut(draws.below(packet.bytes.len() as u64 + 1) as usize);
                }
                Verdict::Stall if stream => return Fate::Stalled(*id),
                Verdict::Drop | Verdict::Duplicate(_) | Verdict::Reorder(_) if stream => {}
                Verdict::Drop | Verdict::Cut | Verdict::Stall => return Fate::Dropped,
                Verdict::Duplicate(n) => {
                    arrival.copies = arrival.copies.saturating_add(n).min(DUPLICATES_MAX);
                }
                Verdict::Reorder(window) => {
                    let late = draws.duration(&(Duration::ZERO..=window));
                    arrival.delay = arrival.delay.saturating_add(late);
                    arrival.reordered = true;
                }
            }
        }
        Fate::Arrives(arrival)
    }
}
