//! Pairs of federates: one sends requests, the other answers each with as many bytes.

use super::RunError;
use super::message::{Letter, Mailbox};
use super::station::Application;
use base::{Moment, Rng};
use bytes::Bytes;
use rand_core::RngCore;
use router::{ClientId, Router};
use std::sync::Arc;
use std::time::Duration;

/// Minimum and maximum number of links that messages crossed, as counted by the routers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Links {
    pub(super) min: u8,
    pub(super) max: u8,
}

impl Links {
    pub(super) const NONE: Links = Links { min: u8::MAX, max: 0 };

    pub(super) fn add(&mut self, other: Links) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// A federate behind a router of its own.
#[derive(Debug)]
pub(super) struct Federate {
    pub(super) number: u32,
    /// Its local client at that router.
    pub(super) client: ClientId,
    /// The requests of a first partner; `None` if it only answers.
    pub(super) asks: Option<Asker>,
    pub(super) answers: Answers,
    pub(super) links: Links,
    pub(super) looks: Looks,
    pub(super) plan: Arc<Plan>,
}

/// The state of a second partner.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Answers {
    /// Bytes of the current request that have arrived.
    got: usize,
    /// Requests that it has answered.
    done: usize,
}

/// The moments at which a federate looks for messages: a message waits for a uniform time.
#[derive(Debug)]
pub(super) struct Looks {
    /// Upper bound of that time.
    within: Duration,
    rng: Rng,
    /// The next moment, if a message waits.
    next: Option<Moment>,
}

impl Looks {
    pub(super) const fn new(within: Duration, rng: Rng) -> Self {
        Self { within, rng, next: None }
    }

    /// Whether the federate looks now.
    fn is_now(&mut self, now: Moment, waits: bool) -> bool {
        if self.within.is_zero() {
            return true;
        }
        if !waits {
            return false;
        }
        let (rng, within) = (&mut self.rng, self.within);
        let next = *self.next.get_or_insert_with(|| now + uniform(rng.next_u64(), within));
        if next <= now {
            self.next = None;
        }
        next <= now
    }
}

/// A time from zero to below `bound`, from 64 random bits.
pub(super) fn uniform(bits: u64, bound: Duration) -> Duration {
    let bound = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(((u128::from(bits) * u128::from(bound)) >> 64) as u64)
}

/// The state of the first partner of a pair.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) partner: u32,
    pub(super) start: Moment,
    pub(super) plan: Arc<Plan>,
    /// Sums of round-trip times, one for each size begun so far, the current one last.
    pub(super) sums: Vec<Duration>,
    /// Sums of the squares of these times in nanoseconds.
    squares: Vec<u128>,
    /// Completed exchanges of the current size.
    done: u32,
    asked: Option<Moment>,
    /// Bytes of the answer that have not arrived.
    missing: usize,
    pub(super) finished: Option<Moment>,
}

/// The plan of all pairs: a number of exchanges of each size, one size after another.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) bodies: Vec<Bytes>,
    pub(super) exchanges: u32,
    /// Longer messages go as pieces of so many bytes.
    pub(super) piece_bytes_max: usize,
}

impl Asker {
    pub(super) fn new(partner: u32, start: Moment, plan: Arc<Plan>) -> Self {
        let (sums, squares) = (Vec::new(), Vec::new());
        Self { partner, start, plan, sums, squares, done: 0, asked: None, missing: 0, finished: None }
    }

    /// Mean round-trip time of each size.
    pub(super) fn means(&self) -> Vec<Duration> {
        self.sums.iter().map(|sum| *sum / self.plan.exchanges).collect()
    }

    /// Sample standard deviation of the round-trip times of each size.
    pub(super) fn spreads(&self) -> Vec<Duration> {
        let n = u128::from(self.plan.exchanges);
        let of = |(sum, squares): (&Duration, &u128)| {
            let squared = sum.as_nanos() * sum.as_nanos();
            let variance = (n * squares).saturating_sub(squared) as f64 / (n * (n - 1)).max(1) as f64;
            Duration::from_nanos(variance.sqrt().round() as u64)
        };
        self.sums.iter().zip(&self.squares).map(of).collect()
    }

    /// The body of the next request; `None` when all exchanges are done.
    fn next(&mut self, now: Moment) -> Option<Bytes> {
        if self.sums.is_empty() || self.done == self.plan.exchanges {
            if self.sums.len() == self.plan.bodies.len() {
                self.finished = Some(now);
                return None;
            }
            self.sums.push(Duration::ZERO);
            self.squares.push(0);
            self.done = 0;
        }
        self.asked = Some(now);
        let body = self.plan.bodies[self.sums.len() - 1].clone();
        self.missing = body.len();
        Some(body)
    }

    /// Handles an answer, or a piece of it. Returns whether it is whole now.
    fn answered(&mut self, now: Moment, bytes: usize) -> bool {
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing == 0 {
            self.count(now);
        }
        self.missing == 0
    }

    fn count(&mut self, now: Moment) {
        let Some(asked) = self.asked.take() else { return };
        self.done += 1;
        let took = now.since(asked);
        if let (Some(sum), Some(squares)) = (self.sums.last_mut(), self.squares.last_mut()) {
            *sum += took;
            *squares += took.as_nanos() * took.as_nanos();
        }
    }
}

impl Application for Federate {
    type Message = Letter;
    type Interest = Mailbox;

    fn poll_timeout(&self) -> Option<Moment> {
        self.begins().into_iter().chain(self.looks.next).min()
    }

    fn act(&mut self, now: Moment, router: &mut Router<Letter, Mailbox>) -> Result<(), RunError> {
        if self.begins().is_some_and(|start| start <= now) {
            self.ask(now, router)?;
        }
        let waits = router.queued(self.client).is_some_and(|(messages, _)| messages > 0);
        if !self.looks.is_now(now, waits) {
            return Ok(());
        }
        while let Some(envelope) = router.poll_envelope(self.client) {
            self.links.add(Links { min: envelope.hops, max: envelope.hops });
            let Letter { from, body, .. } = envelope.message;
            match &mut self.asks {
                Some(asker) => {
                    if asker.answered(now, body.len()) {
                        self.ask(now, router)?;
                    }
                }
                None => self.answer(now, router, from, body.len())?,
            }
        }
        Ok(())
    }
}

impl Federate {
    /// The moment of the first request, until it is sent.
    fn begins(&self) -> Option<Moment> {
        self.asks.as_ref().filter(|asker| asker.sums.is_empty()).map(|asker| asker.start)
    }

    fn ask(&mut self, now: Moment, router: &mut Router<Letter, Mailbox>) -> Result<(), RunError> {
        let Some(asker) = &mut self.asks else { return Ok(()) };
        let partner = asker.partner;
        let Some(body) = asker.next(now) else { return Ok(()) };
        self.send(now, router, partner, body)
    }

    /// Answers a request as soon as all its bytes have arrived.
    fn answer(
        &mut self,
        now: Moment,
        router: &mut Router<Letter, Mailbox>,
        to: u32,
        bytes: usize,
    ) -> Result<(), RunError> {
        let Answers { got, done } = &mut self.answers;
        let Some(body) = self.plan.bodies.get(*done / self.plan.exchanges as usize) else { return Ok(()) };
        *got += bytes;
        if *got < body.len() {
            return Ok(());
        }
        (*got, *done) = (0, *done + 1);
        let body = body.clone();
        self.send(now, router, to, body)
    }

    fn send(
        &self,
        now: Moment,
        router: &mut Router<Letter, Mailbox>,
        to: u32,
        mut body: Bytes,
    ) -> Result<(), RunError> {
        while !body.is_empty() {
            let piece = body.split_to(body.len().min(self.plan.piece_bytes_max));
            Letter { to, from: self.number, body: piece }.submit(now, router, self.client)?;
        }
        Ok(())
    }
}
