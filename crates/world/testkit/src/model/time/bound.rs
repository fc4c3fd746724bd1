//! Bounds on time stamps, and GALT by its definition.

use super::{Federate, Flaw, TimeModel};
use hla::handle::FederateHandle;
use hla::time::{LogicalTime, LogicalTimeInterval};
use std::cmp::Ordering;

/// A lower bound on the time stamps that may still come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// `None`: nothing may come any more.
    time: Option<LogicalTime>,
    /// Only greater time stamps may come.
    exclusive: bool,
}

impl Bound {
    /// Nothing may come.
    pub const INFINITE: Self = Self { time: None, exclusive: false };

    /// `time` and everything above may come.
    pub fn at(time: LogicalTime) -> Self {
        Self { time: Some(time), exclusive: false }
    }

    /// Everything above `time` may come; above the last time, nothing.
    pub fn above(time: LogicalTime) -> Self {
        match time.is_final() {
            true => Self::INFINITE,
            false => Self { time: Some(time), exclusive: true },
        }
    }

    /// The least time at which something may come, or its infimum.
    pub fn time(self) -> Option<LogicalTime> {
        self.time
    }

    /// Whether a message of this time may come.
    pub fn admits(self, time: LogicalTime) -> bool {
        self.time.is_some_and(|least| least < time || least == time && !self.exclusive)
    }

    /// The bound after a lookahead. Times beyond the last one are infinite.
    pub(super) fn after(self, lookahead: LogicalTimeInterval, exclusive: bool) -> Self {
        match self.time.and_then(|time| time.add(lookahead).ok()) {
            None => Self::INFINITE,
            Some(time) if self.exclusive || exclusive => Self::above(time),
            Some(time) => Self::at(time),
        }
    }
}

impl Ord for Bound {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.time, other.time) {
            (Some(mine), Some(theirs)) => mine.cmp(&theirs).then(self.exclusive.cmp(&other.exclusive)),
            (mine, theirs) => mine.is_none().cmp(&theirs.is_none()),
        }
    }
}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Federate {
    /// The least time stamp that a regulating federate may give to a message.
    pub(super) fn send_bound(&self) -> Option<Bound> {
        let regulation = self.regulation?;
        let (from, strict) = match self.advancing {
            Some((service, to)) => (to, !service.is_available()),
            None => (self.time, self.strict),
        };
        let lookahead = regulation.lookahead;
        let bound = Bound::at(from).after(lookahead, strict && lookahead.is_zero());
        Some(bound.max(regulation.floor))
    }
}

impl TimeModel {
    /// The least time stamp of the queued messages of a federate.
    pub(super) fn least_queued(&self, handle: FederateHandle) -> Bound {
        let times = self.federates[&handle].queue.iter().filter_map(|&message| self.messages[message].time);
        times.min().map_or(Bound::INFINITE, Bound::at)
    }

    /// The greatest available logical time of a federate, from the output bounds of all others.
    pub(super) fn galt(&self, handle: FederateHandle) -> Bound {
        let outputs = self.outputs();
        let others = outputs.iter().filter(|&&(other, _)| other != handle).map(|&(_, output)| output);
        others.min().unwrap_or(Bound::INFINITE)
    }

    /// Whether any other federate regulates time.
    pub(super) fn has_galt(&self, handle: FederateHandle) -> bool {
        self.federates.iter().any(|(&other, federate)| other != handle && federate.regulation.is_some())
    }

    pub(super) fn lits(&self, handle: FederateHandle) -> Bound {
        self.galt(handle).min(self.least_queued(handle))
    }

    /// The output bounds of all regulating federates: the greatest fixed point of their
    /// definition, from above.
    fn outputs(&self) -> Vec<(FederateHandle, Bound)> {
        let regulating = self.federates.iter().filter(|(_, federate)| federate.regulation.is_some());
        let mut outputs: Vec<_> = regulating.map(|(&handle, _)| (handle, Bound::INFINITE)).collect();
        loop {
            let lower: Vec<_> =
                outputs.iter().map(|&(handle, _)| (handle, self.output(handle, &outputs))).collect();
            if lower == outputs {
                return outputs;
            }
            outputs = lower;
        }
    }

    /// The least time stamp that a federate may still send, whatever it receives, if the others
    /// keep to `outputs`.
    fn output(&self, handle: FederateHandle, outputs: &[(FederateHandle, Bound)]) -> Bound {
        let federate = &self.federates[&handle];
        let (Some(bound), Some(regulation)) = (federate.send_bound(), federate.regulation) else {
            return Bound::INFINITE;
        };
        let Some((service, _)) = federate.advancing.filter(|(service, _)| service.is_next_message()) else {
            return bound;
        };
        if !federate.constrained || self.has(Flaw::UnconditionalNextMessage) {
            return bound;
        }
        // It is granted at the time of the next message, which is queued or still to come.
        let others = outputs.iter().filter(|&&(other, _)| other != handle).map(|&(_, output)| output);
        let next = others.min().unwrap_or(Bound::INFINITE).min(self.least_queued(handle));
        let strict = !service.is_available() && regulation.lookahead.is_zero();
        bound.min(next.after(regulation.lookahead, strict)).max(regulation.floor)
    }
}
