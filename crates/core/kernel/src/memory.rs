//! The memory of the process: the bytes of each use, and the actions taken when a use exceeds its
//! bound.
//!
//! The [budget](MemoryBudget) is told the sums after each turn, so that within a turn no call has
//! to look at it. A use can exceed its bound by the growth within one turn, which is limited by the
//! size of one read from a connection.

use crate::Kernel;
use base::{MemoryActions, MemoryBudget, MemoryStatus, MemoryUse, Moment, Room};
use fedpro::server::{EndReason, Overload};
use rti::MemoryBounds;
use std::time::Duration;

/// A client with less input than this is never paused, so that calls without object models proceed.
const SMALL_INPUT_BYTES: usize = 64 << 10;

/// A client with more input than this is paused when memory for input is short, however few clients
/// there are.
const LARGE_INPUT_BYTES: usize = 1 << 20;

/// The memory budget of a kernel.
#[derive(Debug)]
pub(crate) struct Memory {
    budget: MemoryBudget,
    /// How long clients may be paused before one of them is ended.
    pause_max: Duration,
    /// When clients with much input were paused, or when the last one of them was ended.
    input_paused: Option<Moment>,
    output_paused: bool,
    /// The budget is not reviewed before a use exceeds its value here. `None`: it is reviewed after
    /// the next turn.
    review_above: Option<Sums>,
}

/// The bytes of each use, indexed by [`MemoryUse`].
type Sums = [usize; MemoryUse::ALL.len()];

/// The most that a use may grow before the budget is told again. It is the precision of the peaks
/// in reports.
const REVIEW_STEP_BYTES_MAX: usize = 1 << 20;

impl Memory {
    pub(crate) const fn new(bytes: usize, pause_max: Duration) -> Self {
        Self {
            budget: MemoryBudget::new(bytes),
            pause_max,
            input_paused: None,
            output_paused: false,
            review_above: None,
        }
    }

    /// When a paused client that does not complete its messages is ended.
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        Some(self.input_paused? + self.pause_max)
    }

    /// Tells the budget the bytes of each use.
    fn set_used(&mut self, sums: Sums) {
        for (of, bytes) in MemoryUse::ALL.into_iter().zip(sums) {
            self.budget.set_used(of, bytes);
        }
    }

    /// The sums up to which the uses may grow before the budget must be told again; `None` while
    /// clients are paused, because a use that shrinks may end the pause.
    fn next_review(&self, sums: Sums) -> Option<Sums> {
        if self.input_paused.is_some() || self.output_paused {
            return None;
        }
        // The growth of one use lowers the bounds of the others. If each use grows by at most an
        // eighth of the smallest remainder, none of them becomes short. Models and federations are
        // not included: calls that need more memory for them are refused when they come.
        let left = |of: MemoryUse, parts: usize| {
            (self.budget.bound(of) / 4 * parts).saturating_sub(self.budget.used(of))
        };
        let input_or_queues = left(MemoryUse::Input, 3).min(left(MemoryUse::Queues, 3));
        let least = input_or_queues.min(left(MemoryUse::History, 4)).min(left(MemoryUse::Links, 4));
        Some(sums.map(|used| used + (least / 8).min(REVIEW_STEP_BYTES_MAX)))
    }

    /// Makes the next turn review the budget: the services were replaced, and do not know their
    /// bounds yet.
    pub(crate) fn review_next(&mut self) {
        self.review_above = None;
    }

    /// Whether paused clients may continue. The threshold is an eighth of the bound below the one
    /// at which they are paused, so that they are not paused again at once.
    fn is_relieved(&self, of: MemoryUse) -> bool {
        self.budget.used(of) <= self.budget.bound(of) / 8 * 5
    }

    fn ended(&mut self, of: MemoryUse, ended: u64) {
        self.budget.count(of, MemoryActions { ended, ..MemoryActions::default() });
    }

    fn dropped(&mut self, of: MemoryUse, dropped: u64) {
        self.budget.count(of, MemoryActions { dropped, ..MemoryActions::default() });
    }
}

impl Kernel {
    /// The status of every use of memory.
    pub fn memory(&self) -> Vec<MemoryStatus> {
        let stats = self.endpoint.stats();
        let (refused_models, refused_federations) = self.rti.refused_for_memory();
        let mut budget = self.memory.budget.clone();
        MemoryUse::ALL.into_iter().zip(self.memory_sums()).for_each(|(of, bytes)| budget.set_used(of, bytes));
        let mut all: Vec<_> = budget.status().collect();
        for status in &mut all {
            let actions = &mut status.actions;
            match status.of {
                MemoryUse::Input => actions.paused = stats.paused_for_input,
                MemoryUse::Queues => actions.paused = stats.paused_for_output,
                MemoryUse::Models => actions.refused = refused_models,
                MemoryUse::Federations => actions.refused = refused_federations,
                MemoryUse::History | MemoryUse::Links => {}
            }
        }
        all
    }

    /// The memory that all clients together may use, in bytes.
    pub fn memory_total(&self) -> usize {
        self.memory.budget.total()
    }

    /// Compares each use of memory with its bound. Pauses clients, drops messages or ends sessions
    /// if a use is too large. Returns true when a session ended.
    pub(crate) fn review_memory(&mut self, now: Moment) -> bool {
        let sums = self.memory_sums();
        if let Some(limits) = &self.memory.review_above
            && sums.iter().zip(limits).all(|(used, limit)| used <= limit)
        {
            return false;
        }
        self.settle_memory(now, sums)
    }

    fn settle_memory(&mut self, now: Moment, sums: Sums) -> bool {
        self.memory.set_used(sums);
        let bound = |of| self.memory.budget.bound(of);
        self.rti.set_memory_bounds(MemoryBounds {
            models: bound(MemoryUse::Models),
            federations: bound(MemoryUse::Federations),
            links: bound(MemoryUse::Links),
        });
        let mut ended = self.review_input(now);
        ended |= self.review_output(now);
        let trimmed = self.review_history() | self.review_links();
        // Freed memory may be used again at once, so nothing is known about the next turn.
        self.memory.review_above = if ended || trimmed { None } else { self.memory.next_review(sums) };
        ended
    }

    fn review_history(&mut self) -> bool {
        if self.memory.budget.room(MemoryUse::History, 0) != Room::Refuse {
            return false;
        }
        let bound = self.memory.budget.bound(MemoryUse::History);
        // A quarter of the bound is free afterwards, so that trimming is rare.
        let dropped = self.endpoint.trim_history(bound / 4 * 3);
        self.memory.dropped(MemoryUse::History, dropped);
        tracing::warn!(
            dropped,
            "memory for resumes is used up: clients that lose their connection may have to start again"
        );
        true
    }

    fn review_links(&mut self) -> bool {
        if self.memory.budget.room(MemoryUse::Links, 0) != Room::Refuse {
            return false;
        }
        let (budget, kept) = (&self.memory.budget, self.rti.memory().repairs);
        let over = budget.used(MemoryUse::Links) - budget.bound(MemoryUse::Links) / 4 * 3;
        let dropped = self.rti.trim_repairs(kept.saturating_sub(over));
        self.memory.dropped(MemoryUse::Links, dropped);
        if dropped > 0 {
            tracing::warn!(
                dropped,
                "memory for links is used up: nodes that lost a message may have to start again"
            );
        }
        true
    }

    fn memory_sums(&self) -> Sums {
        let (clients, services) = (self.endpoint.usage(), self.rti.memory());
        let queued_for_nodes = self.network.as_ref().map_or(0, |network| network.queued_bytes());
        let queues = clients.unsent + services.queues;
        let links = queued_for_nodes + services.peer_messages + services.repairs + services.reordering;
        [clients.input, queues, clients.history, services.models, services.federations, links]
    }

    /// Pauses clients with much input while memory for input is short. A client that does not
    /// complete its messages is ended after a while, so that it cannot keep the others waiting.
    fn review_input(&mut self, now: Moment) -> bool {
        let of = MemoryUse::Input;
        let mut any = false;
        while self.memory.budget.room(of, 0) == Room::Refuse && self.end_heaviest_input(now) {
            any = true;
        }
        match self.memory.input_paused {
            None if self.memory.budget.room(of, 0) == Room::Fits => {}
            None => {
                self.memory.input_paused = Some(now);
                let fair = self.memory.budget.bound(of) / 4 / self.endpoint.sessions().max(1);
                self.endpoint.pause_input(Some(fair.clamp(SMALL_INPUT_BYTES, LARGE_INPUT_BYTES)));
                tracing::warn!("memory for messages of clients is short: those with long ones wait");
            }
            Some(_) if self.memory.is_relieved(of) => {
                self.memory.input_paused = None;
                self.endpoint.pause_input(None);
            }
            Some(since) if since + self.memory.pause_max <= now => {
                self.memory.input_paused = Some(now);
                any |= self.end_heaviest_input(now);
            }
            Some(_) => {}
        }
        any
    }

    fn end_heaviest_input(&mut self, now: Moment) -> bool {
        let Some((session, bytes)) = self.endpoint.heaviest_input() else { return false };
        let limit = self.memory.budget.bound(MemoryUse::Input);
        self.memory.ended(MemoryUse::Input, 1);
        self.endpoint.end(now, session, EndReason::Overload(Overload::Input { bytes, limit }));
        self.memory.budget.set_used(MemoryUse::Input, self.endpoint.usage().input);
        true
    }

    /// While memory for output is short, pauses clients that do not read their output. If none is
    /// left to pause, the client with the most output loses it.
    fn review_output(&mut self, now: Moment) -> bool {
        let of = MemoryUse::Queues;
        let room = self.memory.budget.room(of, 0);
        let relieved = self.memory.output_paused && self.memory.is_relieved(of);
        if room == Room::Fits {
            if relieved {
                self.memory.output_paused = false;
                self.endpoint.pause_output(false);
            }
            return false;
        }
        if !std::mem::replace(&mut self.memory.output_paused, true) {
            self.endpoint.pause_output(true);
            tracing::warn!(
                "memory for what waits for clients is short: those that do not take it are not read"
            );
        }
        if room != Room::Refuse {
            return false;
        }
        let closing = self.endpoint.discard_tails();
        self.memory.ended(of, closing);
        self.count_output();
        let mut any = false;
        while self.memory.budget.room(of, 0) == Room::Refuse && self.relieve_output(now) {
            self.count_output();
            any = true;
        }
        any
    }

    fn count_output(&mut self) {
        let bytes = self.endpoint.usage().unsent + self.rti.memory().queues;
        self.memory.budget.set_used(MemoryUse::Queues, bytes);
    }

    /// Drops the best-effort callbacks of the client with the most output; if it has none, ends the
    /// client. Returns false when no client has any output.
    fn relieve_output(&mut self, now: Moment) -> bool {
        let queued =
            |session| self.sessions.caller(session).map_or(0, |caller| self.rti.queued_bytes(caller));
        let Some((session, bytes)) = self.endpoint.heaviest_output(queued) else { return false };
        let caller = self.sessions.caller(session);
        let dropped = caller.map_or(0, |caller| self.rti.drop_best_effort(caller));
        if dropped > 0 {
            self.memory.dropped(MemoryUse::Queues, dropped);
            return true;
        }
        let limit = self.memory.budget.bound(MemoryUse::Queues);
        self.memory.ended(MemoryUse::Queues, 1);
        self.endpoint.end(now, session, EndReason::Overload(Overload::Output { bytes, limit }));
        // The callbacks queued for its federate would go only with the event of the session's end.
        // Until then they would be counted again.
        if let Some(caller) = self.sessions.close(session) {
            self.paused.forget(caller);
            self.rti.close(now, caller);
        }
        true
    }
}
