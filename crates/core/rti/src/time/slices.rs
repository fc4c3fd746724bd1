//! Grants that deliver very many messages, and queues that are given up: in slices, between the
//! inputs of other federates.
//!
//! A grant begins when it can no longer change: no message that is due can arrive any more. Its
//! messages are delivered, and then the callback follows. In a turn only so many messages are
//! delivered. The rest, and the search for other grants, follow in the next turns.
//! To others, a federate whose grant has begun is one that waits for it. The promise of the grant
//! holds from its beginning, so that no federate that begins to regulate time meanwhile breaks it.
//!
//! The same holds for a constrained federate whose logical time rises as it begins to regulate.

use super::bound::Bound;
use super::clock::{Clock, Entering, Granting};
use super::queue::Queue;
use super::save::Barrier;
use super::{AdvanceService, TimeEvent, TimeManager, TimedMessage};
use hla::api::OrderType;
use hla::handle::{FederateHandle, MessageRetractionHandle};
use hla::time::LogicalTime;
use std::collections::VecDeque;

/// Messages that are delivered in one turn. With their callbacks they take a few milliseconds.
const SLICE_MESSAGES: usize = 2_000;

/// The part of this turn that is left.
#[derive(Debug)]
pub(super) struct Turn {
    left: usize,
    size: usize,
}

impl Default for Turn {
    fn default() -> Self {
        Self { left: SLICE_MESSAGES, size: SLICE_MESSAGES }
    }
}

impl Turn {
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }
}

impl Clock {
    /// The next message of the grant, or of the regulation, that has begun.
    fn next_due(&mut self) -> Option<Box<TimedMessage>> {
        if let Some(Entering { from: Some((time, _)), begun: true, .. }) = self.entering {
            return self.queue.pop(|message| message < time);
        }
        if let Barrier::Reaching(time) = self.barrier {
            return self.queue.pop(|message| message <= time);
        }
        let granting = self.granting.as_mut()?;
        let time = granting.time;
        match granting.service.flushes() {
            true => granting.flushed.pop(|_| true),
            false => self.queue.pop(|message| message <= time),
        }
    }

    /// The next message of the queue, or of the grant that has begun.
    fn next_left(&mut self) -> Option<Box<TimedMessage>> {
        let flushed = self.granting.as_mut().and_then(|granting| granting.flushed.pop(|_| true));
        flushed.or_else(|| self.queue.pop(|_| true))
    }

    /// Removes a message that was retracted. Returns whether it was queued.
    pub(super) fn unqueue(
        &mut self,
        time: LogicalTime,
        sender: FederateHandle,
        retraction: MessageRetractionHandle,
    ) -> bool {
        let flushed = self.granting.as_mut().map(|granting| &mut granting.flushed);
        flushed.is_some_and(|flushed| flushed.retract(time, sender, retraction))
            | self.queue.retract(time, sender, retraction)
    }
}

/// Requests to deliver messages to a federate. Returns how many there are.
fn deliver(
    events: &mut VecDeque<TimeEvent>,
    to: FederateHandle,
    received: OrderType,
    messages: impl Iterator<Item = Box<TimedMessage>>,
) -> usize {
    let before = events.len();
    events.extend(messages.map(|message| TimeEvent::Deliver { to, message, received }));
    let delivered = events.len() - before;
    if delivered > 0 {
        events.push_back(TimeEvent::Shortened(to));
    }
    delivered
}

impl TimeManager {
    /// Begins a turn for an input. If the last one has left something, it waits for
    /// [`work`](Self::work), so that the input does not.
    pub(crate) fn begin_turn(&mut self) {
        if !self.has_work() {
            self.work();
        }
    }

    /// Begins a turn for the work that is left.
    pub(crate) fn work(&mut self) {
        self.turn.left = self.turn.size;
    }

    /// Lets turns deliver fewer messages.
    #[cfg(test)]
    pub(super) fn set_slice(&mut self, messages: usize) {
        self.turn = Turn { left: messages, size: messages };
    }

    /// Whether this turn has left something to the next one.
    pub(crate) fn has_work(&self) -> bool {
        self.turn.is_over() && (self.changed || !self.granting.is_empty())
    }

    /// Begins the grant of an advance: first the messages, then the callback.
    pub(super) fn begin_grant(
        &mut self,
        federate: FederateHandle,
        service: AdvanceService,
        time: LogicalTime,
        optimistic: LogicalTime,
    ) {
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        clock.promise(if service.is_strict() { Bound::above(time) } else { Bound::at(time) });
        let flushed = match service.flushes() {
            true => std::mem::take(&mut clock.queue),
            false => Queue::default(),
        };
        clock.granting = Some(Box::new(Granting { service, time, optimistic, flushed }));
        self.continue_grant(federate);
    }

    /// Delivers a slice of the messages of a grant, or of a regulation that begins. After the last
    /// one the federate gets the callback.
    pub(super) fn continue_grant(&mut self, federate: FederateHandle) {
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        if clock.draining {
            return self.continue_drain(federate);
        }
        let slice = std::iter::from_fn(|| clock.next_due()).take(self.turn.left);
        let delivered = deliver(&mut self.events, federate, OrderType::Timestamp, slice);
        self.turn.left -= delivered;
        if self.turn.is_over() {
            self.granting.push_back(federate);
            self.refresh(federate);
        } else if matches!(clock.barrier, Barrier::Reaching(_)) {
            self.save_reached(federate);
        } else if let Some(&Granting { service, time, optimistic, .. }) = clock.granting.as_deref() {
            self.grant(federate, service, time, optimistic);
        } else if clock.entering.is_some_and(|entering| entering.begun) {
            self.regulate(federate);
        }
    }

    /// Delivers a slice of what was queued for a federate that is no longer constrained, in receive
    /// order. After the last one a pending advance is granted.
    pub(super) fn continue_drain(&mut self, federate: FederateHandle) {
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        let slice = std::iter::from_fn(|| clock.next_left()).take(self.turn.left);
        let delivered = deliver(&mut self.events, federate, OrderType::Receive, slice);
        self.turn.left -= delivered;
        if self.turn.is_over() {
            self.granting.push_back(federate);
            return self.refresh(federate);
        }
        clock.draining = false;
        clock.granting = None;
        match clock.advancing {
            Some((service, to)) => self.grant(federate, service, to, to),
            None if clock.entering.is_some_and(|entering| entering.begun) => self.regulate(federate),
            None => self.refresh(federate),
        }
    }
}
