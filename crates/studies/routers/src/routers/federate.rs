//! Pairs of federates: one sends requests, the other answers each with as many bytes.

use super::RunError;
use super::message::{Letter, Mailbox};
use super::station::Application;
use base::Moment;
use bytes::Bytes;
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
    pub(super) links: Links,
}

/// The state of the first partner of a pair.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) partner: u32,
    pub(super) start: Moment,
    pub(super) plan: Arc<Plan>,
    /// Sums of round-trip times, one for each size begun so far, the current one last.
    pub(super) sums: Vec<Duration>,
    /// Completed exchanges of the current size.
    done: u32,
    asked: Option<Moment>,
    pub(super) finished: Option<Moment>,
}

/// The plan of all pairs: a number of exchanges of each size, one size after another.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) bodies: Vec<Bytes>,
    pub(super) exchanges: u32,
}

impl Asker {
    pub(super) fn new(partner: u32, start: Moment, plan: Arc<Plan>) -> Self {
        Self { partner, start, plan, sums: Vec::new(), done: 0, asked: None, finished: None }
    }

    /// Mean round-trip time of each size.
    pub(super) fn means(&self) -> Vec<Duration> {
        self.sums.iter().map(|sum| *sum / self.plan.exchanges).collect()
    }

    /// The body of the next request; `None` when all exchanges are done.
    fn next(&mut self, now: Moment) -> Option<Bytes> {
        if self.sums.is_empty() || self.done == self.plan.exchanges {
            if self.sums.len() == self.plan.bodies.len() {
                self.finished = Some(now);
                return None;
            }
            self.sums.push(Duration::ZERO);
            self.done = 0;
        }
        self.asked = Some(now);
        Some(self.plan.bodies[self.sums.len() - 1].clone())
    }

    /// Handles an answer.
    fn answered(&mut self, now: Moment) {
        let Some(asked) = self.asked.take() else { return };
        self.done += 1;
        if let Some(sum) = self.sums.last_mut() {
            *sum += now.since(asked);
        }
    }
}

impl Application for Federate {
    type Message = Letter;
    type Interest = Mailbox;

    fn poll_timeout(&self) -> Option<Moment> {
        self.asks.as_ref().filter(|asker| asker.sums.is_empty()).map(|asker| asker.start)
    }

    fn act(&mut self, now: Moment, router: &mut Router<Letter, Mailbox>) -> Result<(), RunError> {
        if self.poll_timeout().is_some_and(|start| start <= now) {
            self.ask(now, router)?;
        }
        while let Some(envelope) = router.poll_envelope(self.client) {
            self.links.add(Links { min: envelope.hops, max: envelope.hops });
            let Letter { from, body, .. } = envelope.message;
            match &mut self.asks {
                Some(asker) => {
                    asker.answered(now);
                    self.ask(now, router)?;
                }
                None => self.send(now, router, from, body)?,
            }
        }
        Ok(())
    }
}

impl Federate {
    fn ask(&mut self, now: Moment, router: &mut Router<Letter, Mailbox>) -> Result<(), RunError> {
        let Some(asker) = &mut self.asks else { return Ok(()) };
        let partner = asker.partner;
        let Some(body) = asker.next(now) else { return Ok(()) };
        self.send(now, router, partner, body)
    }

    fn send(
        &self,
        now: Moment,
        router: &mut Router<Letter, Mailbox>,
        to: u32,
        body: Bytes,
    ) -> Result<(), RunError> {
        Letter { to, from: self.number, body }.submit(now, router, self.client)
    }
}
