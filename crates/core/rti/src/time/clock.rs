//! The clock of one federate.

use super::advance::AdvanceService;
use super::bound::{Bound, Delay};
use super::bounds::{Conditional, Output};
use super::queue::Queue;
use super::retraction::Sent;
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

/// The state of a federate in logical time.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) time: LogicalTime,
    pub(super) regulation: Option<Regulation>,
    pub(super) constrained: bool,
    /// It waits for the callback Time Constrained Enabled (8.6).
    pub(super) constraint_pending: bool,
    /// The advance that it waits for.
    pub(super) advancing: Option<(AdvanceService, LogicalTime)>,
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
    /// Its entry in the set of needs.
    pub(super) entered_need: Option<Bound>,
    /// Messages in receive order are withheld from it.
    pub(super) withholding: bool,
}

impl Clock {
    pub(super) fn new(kind: TimeKind) -> Self {
        Self {
            time: kind.initial(),
            regulation: None,
            constrained: false,
            constraint_pending: false,
            advancing: None,
            strict: false,
            promised: Bound::at(kind.initial()),
            asynchronous: false,
            evolved: false,
            queue: Queue::default(),
            sent: Sent::default(),
            entered_need: None,
            withholding: false,
        }
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
    pub(super) fn output(&self) -> Option<Output> {
        let bound = self.send_bound()?;
        let Regulation { lookahead, floor, .. } = self.regulation?;
        let next = self.advancing.filter(|(service, _)| service.is_next_message() && self.constrained);
        let Some((service, to)) = next else { return Some(Output { bound, conditional: None }) };
        let delay = Delay::new(lookahead, service.is_strict());
        // A queued message is delivered to it, and can be answered, before `to`.
        let target = self.queue.least().map_or(to, |least| least.min(to));
        let bound = Bound::at(target).after(delay).max(floor);
        let floor = (floor > Bound::at(self.time).after(delay)).then_some(floor);
        Some(Output { bound, conditional: Some(Conditional { delay, floor }) })
    }

    /// The time of the grant that it waits for, as far as is known by now.
    pub(super) fn target(&self) -> Option<(AdvanceService, LogicalTime)> {
        let (service, to) = self.advancing?;
        let next = self.queue.least().filter(|_| service.is_next_message());
        Some((service, next.map_or(to, |next| next.min(to))))
    }

    /// The bound that it needs for its grant or for its constraint to begin, if it waits for one.
    pub(super) fn need(&self) -> Option<Bound> {
        if self.constraint_pending {
            return Some(Bound::at(self.time));
        }
        let (service, to) = self.target()?;
        Some(if service.is_strict() { Bound::above(to) } else { Bound::at(to) })
    }

    /// Whether messages in receive order must wait (8.1.3).
    pub(super) fn withholds(&self) -> bool {
        self.constrained && self.advancing.is_none() && !self.asynchronous
    }
}
