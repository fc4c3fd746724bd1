//! Faults as rules: for every packet each rule is asked for its verdict.

use crate::{ConnId, Digest, HostId};
use base::{Moment, Rng, Seed};
use bytes::Bytes;
use rand_core::RngCore;
use std::ops::RangeInclusive;
use std::time::Duration;

base::id! {
    /// A fault rule of one network; never used again.
    pub struct RuleId(u32) as "rule";
}

/// The most extra copies that all rules together make of one datagram.
pub const DUPLICATES_MAX: u32 = 16;

/// A million: probabilities are whole numbers of parts per million, so that they are exact.
pub const MILLION: u32 = 1_000_000;

/// Something about to be put on a link.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When.
    pub at: Moment,
    /// Who sends it.
    pub from: HostId,
    /// For whom it is.
    pub to: HostId,
    /// What it is.
    pub kind: PacketKind,
    /// What it carries; empty unless a datagram or bytes of a stream.
    pub bytes: &'a Bytes,
}

/// What a packet is.
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
    /// The connection that it belongs to.
    pub fn conn(self) -> Option<ConnId> {
        match self {
            PacketKind::Datagram => None,
            PacketKind::Open(c) | PacketKind::Bytes(c) | PacketKind::End(c) | PacketKind::Reset(c) => Some(c),
        }
    }
}

/// What a rule does to a packet. Verdicts of several rules add up: delays and copies sum, the
/// smallest fragment counts, and of `Drop`, `Cut` and `Stall` the one of the oldest rule.
///
/// A connection hides from its ends what TCP hides: `Drop`, `Duplicate` and `Reorder` do nothing to
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// A datagram is lost.
    Drop,
    /// It arrives that much later; of a connection, so does all that follows.
    Delay(Duration),
    /// A datagram arrives that many times more.
    Duplicate(u32),
    /// A datagram arrives later by a time drawn from zero to this, so that others overtake it.
    Reorder(Duration),
    /// Bytes of a connection arrive in pieces of at most that many (at least 1).
    Fragment(usize),
    /// The connection breaks: some first part of the bytes, of a length drawn, still arrives, then
    /// both ends see [`Broken`](crate::HostEvent::Broken). A datagram is lost.
    Cut,
    /// Half open: the bytes and all that follow in this direction wait until the rule is removed, and
    /// no end notices. A datagram is lost.
    Stall,
}

/// Something that judges packets. Closures `FnMut(&Packet, &mut Draws) -> Verdict` are rules, and so is
/// the plain data of a [`Fault`].
pub trait Rule {
    /// The verdict on `packet`. Whatever is random about it is drawn from `draws`.
    fn judge(&mut self, packet: &Packet<'_>, draws: &mut Draws<'_>) -> Verdict;
}

impl<F: FnMut(&Packet<'_>, &mut Draws<'_>) -> Verdict> Rule for F {
    fn judge(&mut self, packet: &Packet<'_>, draws: &mut Draws<'_>) -> Verdict {
        self(packet, draws)
    }
}

/// The random numbers for one rule and one packet. They depend on the seed, the link, the number of
/// the packet on that link, and the rule: nothing else shifts them. Every draw enters the digest.
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
        // The high word of the product: off from uniform by less than n / 2^64.
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

/// A rule as plain data, which prints and can be drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Which packets it is about.
    pub scope: Scope,
    /// What it does to them.
    pub effect: Effect,
    /// To how many of them, in parts per million.
    pub chance: u32,
}

/// Which packets a fault is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All.
    All,
    /// All from and to a host.
    Host(HostId),
    /// All from the first host to the second.
    Link(HostId, HostId),
    /// All between two hosts, either way.
    Between(HostId, HostId),
    /// All of one connection.
    Conn(ConnId),
    /// All between a host of the list and one that is not of it: the network is parted in two.
    Parting(Vec<HostId>),
}

/// What a fault does; see [`Verdict`].
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
    /// `effect` on every packet of `scope`.
    pub const fn new(scope: Scope, effect: Effect) -> Self {
        Self { scope, effect, chance: MILLION }
    }

    /// The same on only `ppm` parts per million of the packets.
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
    /// True when `packet` is one of those meant.
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

/// What becomes of a packet after all rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Arrives(Arrival),
    Dropped,
    /// Breaks its connection after that many of its bytes.
    Cut(usize),
    /// Waits for the removal of the rule.
    Stalled(RuleId),
}

/// How a packet arrives.
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

    /// Asks every rule. `seed` belongs to the link and the packet's number on it.
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
