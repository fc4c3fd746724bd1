//! Regulating and constrained federates (8.2 to 8.7), asynchronous delivery (8.15, 8.16) and
//! lookahead (8.20, 8.21).

use super::bound::{Bound, Delay};
use super::clock::{Entering, Regulation};
use super::save::Barrier;
use super::{TimeEvent, TimeManager};
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::FederateHandle;
use hla::time::{LogicalTime, LogicalTimeInterval};
use hla::{Exception, RtiError};

impl TimeManager {
    /// Decodes the lookahead of a request.
    ///
    /// # Errors
    /// `InvalidLookahead`.
    pub(crate) fn decode_lookahead(
        &self,
        lookahead: Option<&api::LogicalTimeInterval>,
    ) -> Result<LogicalTimeInterval, RtiError> {
        let octets = lookahead.map(|lookahead| &lookahead.data[..]).unwrap_or_default();
        let lookahead = self.kind.decode_interval(octets);
        lookahead.map_err(|error| RtiError::new(Exception::InvalidLookahead, error.details))
    }

    /// Enable Time Regulation (8.2), which is effective (8.3) once the federate has received the
    /// messages from before its new time: nearly always at once.
    ///
    /// The federate's logical time becomes the least from which, with its lookahead, it cannot send
    /// into the past of a constrained federate. Those have advanced no further than their GALT, and
    /// so no further than the GALT of this federate: it never has to wait.
    pub(crate) fn enable_regulation(
        &mut self,
        federate: FederateHandle,
        lookahead: LogicalTimeInterval,
    ) -> Result<(), RtiError> {
        let clock = self.clock_mut(federate);
        if clock.regulation.is_some() {
            let text = "this federate already regulates time";
            return Err(RtiError::new(Exception::TimeRegulationAlreadyEnabled, text));
        }
        clock.refuse_if_regulation_pending()?;
        clock.refuse_if_advancing()?;
        if self.request_regulation(federate, lookahead) {
            return Ok(());
        }
        let others = self.clocks.iter().filter(|&(&other, clock)| other != federate && clock.constrained);
        let promised = others.map(|(_, clock)| clock.promised).max();
        let promised = promised.unwrap_or(Bound::at(self.kind.initial()));
        let from = Some(self.start_of_regulation(federate, lookahead, promised));
        self.clock_mut(federate).entering = Some(Entering { lookahead, recall: 0, from, begun: false });
        self.begin_regulation(federate);
        Ok(())
    }

    /// The logical time at which a federate begins to regulate, and its floor, when constrained
    /// federates were `promised` that nothing below that bound comes.
    pub(super) fn start_of_regulation(
        &mut self,
        federate: FederateHandle,
        lookahead: LogicalTimeInterval,
        promised: Bound,
    ) -> (LogicalTime, Bound) {
        let clock = self.clock_mut(federate);
        let (start, strict) = (clock.time, clock.strict);
        let last = promised.time(self.kind).unwrap_or(self.kind.final_time());
        let least = last.subtract(lookahead).ok();
        let time = least.map_or(start, |least| least.max(start));
        let strict = strict && time == start;
        (time, promised.max(Bound::at(time).after(Delay::new(lookahead, strict))))
    }

    /// Begins the regulation of a federate whose request was pending: first the messages from before
    /// its new time, if it is constrained, and then the callback.
    pub(super) fn begin_regulation(&mut self, federate: FederateHandle) {
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        let Some(Entering { from: Some((time, _)), begun, .. }) = &mut clock.entering else { return };
        if clock.constrained && *time > clock.time {
            *begun = true;
            let bound = Bound::at(*time);
            clock.promise(bound);
            self.continue_grant(federate);
        } else {
            self.regulate(federate);
        }
    }

    /// Makes a federate regulate time whose request was pending.
    pub(super) fn regulate(&mut self, federate: FederateHandle) {
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        let Some(Entering { lookahead, from: Some((time, floor)), .. }) = clock.entering.take() else {
            return;
        };
        if time > clock.time {
            clock.time = time;
            clock.strict = false;
        }
        clock.regulation = Some(Regulation { lookahead, floor, lowered: None });
        let enabled = api::TimeRegulationEnabled { time: Some(time.into()) };
        self.notify(federate, Callback::TimeRegulationEnabled(enabled));
        self.refresh(federate);
    }

    /// Disable Time Regulation (8.4). The federate can no longer retract messages.
    pub(crate) fn disable_regulation(&mut self, federate: FederateHandle) -> Result<(), RtiError> {
        let clock = self.clocks.get_mut(&federate).ok_or_else(does_not_regulate)?;
        clock.regulation.take().ok_or_else(does_not_regulate)?;
        let finals = clock.sent.finish(Bound::INFINITE);
        self.events.extend(finals.map(TimeEvent::DeletionFinal));
        self.refresh(federate);
        Ok(())
    }

    /// Enable Time Constrained (8.5). The callback (8.6) comes once no message can arrive with a
    /// time stamp below the federate's logical time.
    pub(crate) fn enable_constrained(&mut self, federate: FederateHandle) -> Result<(), RtiError> {
        let clock = self.clock_mut(federate);
        if clock.constrained {
            let text = "this federate is already time-constrained";
            return Err(RtiError::new(Exception::TimeConstrainedAlreadyEnabled, text));
        }
        clock.refuse_if_constraint_pending()?;
        clock.refuse_if_advancing()?;
        clock.constraint_pending = true;
        self.take_part();
        self.refresh(federate);
        Ok(())
    }

    /// Makes a federate constrained whose request was pending.
    pub(super) fn begin_constraint(&mut self, federate: FederateHandle) {
        let clock = self.clock_mut(federate);
        clock.constraint_pending = false;
        clock.constrained = true;
        clock.promised = Bound::at(clock.time);
        let enabled = api::TimeConstrainedEnabled { time: Some(clock.time.into()) };
        self.events.push_back(TimeEvent::Constrained { federate, on: true });
        self.notify(federate, Callback::TimeConstrainedEnabled(enabled));
        self.refresh(federate);
        self.meet_save(federate);
    }

    /// Disable Time Constrained (8.7). Queued messages are delivered in receive order, and then a
    /// pending advance is granted.
    pub(crate) fn disable_constrained(&mut self, federate: FederateHandle) -> Result<(), RtiError> {
        let Some(clock) = self.clocks.get_mut(&federate).filter(|clock| clock.constrained) else {
            let text = "this federate is not time-constrained";
            return Err(RtiError::new(Exception::TimeConstrainedIsNotEnabled, text));
        };
        clock.constrained = false;
        clock.barrier = Barrier::None;
        clock.draining = true;
        self.events.push_back(TimeEvent::Constrained { federate, on: false });
        self.continue_drain(federate);
        Ok(())
    }

    /// Enables or disables asynchronous delivery.
    pub(crate) fn set_asynchronous(&mut self, federate: FederateHandle, on: bool) -> Result<(), RtiError> {
        if self.clocks.get(&federate).is_some_and(|clock| clock.asynchronous) == on {
            let (exception, text) = match on {
                true => (Exception::AsynchronousDeliveryAlreadyEnabled, "asynchronous delivery is enabled"),
                false => {
                    (Exception::AsynchronousDeliveryAlreadyDisabled, "asynchronous delivery is disabled")
                }
            };
            return Err(RtiError::new(exception, text));
        }
        self.clock_mut(federate).asynchronous = on;
        self.refresh(federate);
        Ok(())
    }

    /// Modify Lookahead (8.20). A greater one counts at once, a smaller one as time advances.
    pub(crate) fn modify_lookahead(
        &mut self,
        federate: FederateHandle,
        lookahead: LogicalTimeInterval,
    ) -> Result<(), RtiError> {
        let last = self.kind.final_time();
        let clock = self.clocks.get_mut(&federate).ok_or_else(does_not_regulate)?;
        let (Some(bound), Some(before)) = (clock.send_bound(), clock.regulation) else {
            return Err(does_not_regulate());
        };
        clock.refuse_if_advancing()?;
        let end = |lookahead| clock.time.add(lookahead).unwrap_or(last);
        let former = end(before.lookahead).max(before.lowered.unwrap_or(clock.time));
        let lowered = (former > end(lookahead)).then_some(former);
        clock.regulation = Some(Regulation { lookahead, floor: bound, lowered });
        self.refresh(federate);
        Ok(())
    }

    /// Query Lookahead (8.21): the actual one.
    pub(crate) fn query_lookahead(&self, federate: FederateHandle) -> Result<LogicalTimeInterval, RtiError> {
        let clock = self.clocks.get(&federate).and_then(|clock| Some((clock.time, clock.regulation?)));
        let (time, regulation) = clock.ok_or_else(does_not_regulate)?;
        let rest = regulation.lowered.filter(|&end| end > time).and_then(|end| end.distance(time).ok());
        Ok(rest.map_or(regulation.lookahead, |rest| rest.max(regulation.lookahead)))
    }
}

pub(super) fn does_not_regulate() -> RtiError {
    RtiError::new(Exception::TimeRegulationIsNotEnabled, "this federate does not regulate time")
}
