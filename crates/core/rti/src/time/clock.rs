//! The clock of one federate.

use super::advance::AdvanceService;
use super::bound::{Bound, Delay};
use super::bounds::{Conditional, Output};
use super::queue::Queue;
use super::retraction::Sent;
use super::save::Barrier;
use base::Moment;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};

/// A federate that regulates time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regulation {
    /// The lookahead that the federate has requested.
    pub(super) lookahead: LogicalTimeInterval,
    /// The federate has promised to send nothing below. It never falls: a lookahead that is lowered
    /// takes effect as logical time advances (8.20), and a Time Advance Request Available does not
    /// reopen a time that a Time Advance Request has closed.
    pub(super) floor: Bound,
    /// The end of the former lookahead, while it is after that of the requested one.
    pub(super) lowered: Option<LogicalTime>,
}

/// A federate that waits for Time Regulation Enabled (8.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Entering {
    pub(super) lookahead: LogicalTimeInterval,
    /// The number of the recall that was requested for it, in a network of nodes.
    pub(super) recall: u64,
    /// The logical time at which it will regulate, and its floor, once all nodes have answered.
    pub(super) from: Option<(LogicalTime, Bound)>,
    /// It is constrained, and the messages from before that time are being delivered.
    pub(super) begun: bool,
}

/// A grant whose messages are being delivered, in slices if there are very many.
#[derive(Debug)]
pub(super) struct Granting {
    pub(super) service: AdvanceService,
    pub(super) time: LogicalTime,
    /// The optimistic time, if the queue is flushed.
    pub(super) optimistic: LogicalTime,
    /// Messages that are flushed. Those that arrive later are not among them.
    pub(super) flushed: Queue,
}

/// The state of a federate in logical time.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) time: LogicalTime,
    pub(super) regulation: Option<Regulation>,
    pub(super) entering: Option<Entering>,
    pub(super) constrained: bool,
    /// It waits for the callback Time Constrained Enabled (8.6).
    pub(super) constraint_pending: bool,
    /// The advance that it waits for.
    pub(super) advancing: Option<(AdvanceService, LogicalTime)>,
    /// The grant of this advance has begun.
    pub(super) granting: Option<Box<Granting>>,
    /// It is no longer constrained, and what was queued is being delivered in receive order.
    pub(super) draining: bool,
    /// With a lookahead of zero it may not send at its time, because of the service that granted
    /// it.
    pub(super) strict: bool,
    /// A constrained federate was promised that nothing below comes any more.
    pub(super) promised: Bound,
    pub(super) asynchronous: bool,
    /// Its federate speaks the 2010 edition.
    pub(super) evolved: bool,
    pub(super) queue: Queue,
    pub(super) sent: Sent,
    /// A save that its grants wait for.
    pub(super) barrier: Barrier,
    /// Its entry in the set of needs.
    pub(super) entered_need: Option<Bound>,
    /// Messages in receive order are withheld from it.
    pub(super) withholding: bool,
    /// When its request or grant began that lasts, for people.
    pub(super) since: Moment,
    /// The request or grant that began then.
    pub(super) begun: Phase,
}

/// The part of a clock that people see change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Phase {
    time: LogicalTime,
    advancing: Option<(AdvanceService, LogicalTime)>,
    /// Whether it waits for Time Regulation Enabled, and for Time Constrained Enabled.
    enabling: (bool, bool),
}

impl Clock {
    pub(super) fn new(kind: TimeKind) -> Self {
        Self {
            time: kind.initial(),
            regulation: None,
            entering: None,
            constrained: false,
            constraint_pending: false,
            advancing: None,
            granting: None,
            draining: false,
            strict: false,
            promised: Bound::at(kind.initial()),
            asynchronous: false,
            evolved: false,
            queue: Queue::default(),
            sent: Sent::default(),
            barrier: Barrier::None,
            entered_need: None,
            withholding: false,
            since: Moment::ZERO,
            begun: Phase { time: kind.initial(), advancing: None, enabling: (false, false) },
        }
    }

    /// Promises that nothing below `bound` comes to the federate any more, if it is constrained.
    pub(super) fn promise(&mut self, bound: Bound) {
        if self.constrained {
            self.promised = self.promised.max(bound);
        }
    }

    pub(super) fn phase(&self) -> Phase {
        let enabling = (self.entering.is_some(), self.constraint_pending);
        Phase { time: self.time, advancing: self.advancing, enabling }
    }

    /// The least time stamp that it may give to a message; `None` if it does not regulate time.
    pub(super) fn send_bound(&self) -> Option<Bound> {
        let Regulation { lookahead, floor, .. } = self.regulation?;
        let (from, strict) = match self.advancing {
            Some((service, to)) => (to, service.is_strict()),
            None => (self.time, self.strict),
        };
        Some(Bound::at(from).after(Delay::new(lookahead, strict)).max(floor))
    }

    /// Its contribution to the bounds of others; `None` if it does not regulate time.
    pub(super) fn output(&self, in_network: bool) -> Option<Output> {
        if let Some(Entering { lookahead, from, .. }) = self.entering {
            // Its time will be no less than now.
            let (time, floor) = from.unwrap_or((self.time, Bound::at(self.time)));
            let bound = Bound::at(time).after(Delay::new(lookahead, self.strict)).max(floor);
            return Some(Output::unconditional(bound));
        }
        let bound = self.send_bound()?;
        let Regulation { lookahead, floor, .. } = self.regulation?;
        let after = |time, strict| Bound::at(time).after(Delay::new(lookahead, strict)).max(floor);
        if let Some(Granting { service, time, .. }) = self.granting.as_deref().filter(|_| !self.draining) {
            return Some(Output::unconditional(after(*time, service.is_strict())));
        }
        Some(match self.advancing.filter(|_| self.constrained) {
            // It waits for the answer of the time home, and is granted the GALT that its node knows
            // when the answer comes. That may be no later than its present time.
            Some((service, _)) if service.flushes() && in_network => {
                Output::unconditional(after(self.time, false))
            }
            // Without a network a queue is flushed at once, no further than to GALT and to the first
            // message.
            Some((service, to)) if service.flushes() || service.is_next_message() => {
                let delay = Delay::new(lookahead, service.is_strict());
                // A queued message is delivered to it, and can be answered, before `to`.
                let target = self.queue.least().map_or(to, |least| least.min(to));
                let bound = after(target, service.is_strict());
                let floor = (floor > Bound::at(self.time).after(delay)).then_some(floor);
                Output { bound, conditional: Some(Conditional { delay, floor }) }
            }
            _ => Output::unconditional(bound),
        })
    }

    /// The time of the grant that it waits for, as far as is known by now.
    pub(super) fn target(&self) -> Option<(AdvanceService, LogicalTime)> {
        let (service, to) = self.advancing?;
        let next = self.queue.least().filter(|_| service.is_next_message());
        Some((service, next.map_or(to, |next| next.min(to))))
    }

    /// The bound that it needs for its grant or for its constraint to begin, if it waits for one.
    pub(super) fn need(&self) -> Option<Bound> {
        // The rest of its queue is delivered first.
        if self.draining {
            return None;
        }
        if self.constraint_pending {
            return Some(Bound::at(self.time));
        }
        if let Some(Entering { from: Some((time, _)), begun: false, .. }) = self.entering {
            return Some(Bound::at(time));
        }
        if self.granting.is_some() || matches!(self.barrier, Barrier::Reaching(_) | Barrier::Reached) {
            return None;
        }
        if let Some(save) = self.save_ahead().filter(|_| !self.flushes()) {
            return Some(Bound::above(save));
        }
        let (service, to) = self.target().filter(|(service, _)| !service.flushes())?;
        Some(if service.is_strict() { Bound::above(to) } else { Bound::at(to) })
    }

    fn flushes(&self) -> bool {
        self.advancing.is_some_and(|(service, _)| service.flushes())
    }

    /// Messages in time-stamp order that wait for it, and their bytes.
    pub(super) fn queued(&self) -> (usize, usize) {
        let flushed = self.granting.as_ref().map_or((0, 0), |granting| granting.flushed.size());
        let (messages, bytes) = self.queue.size();
        (messages + flushed.0, bytes + flushed.1)
    }

    /// The least time stamp of a message that waits for it.
    pub(super) fn least_queued(&self) -> Option<LogicalTime> {
        let flushed = self.granting.as_ref().and_then(|granting| granting.flushed.least());
        flushed.into_iter().chain(self.queue.least()).min()
    }

    /// Whether messages in receive order must wait (8.1.3).
    pub(super) fn withholds(&self) -> bool {
        self.constrained && self.advancing.is_none() && !self.asynchronous
    }
}
