//! Advances of logical time and their grants (8.8 to 8.14).

use super::bound::Bound;
use super::clock::Clock;
use super::save::Barrier;
use super::{TimeEvent, TimeManager};
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::FederateHandle;
use hla::time::LogicalTime;
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};

/// A service that requests an advance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum AdvanceService {
    /// Time Advance Request (8.8).
    TimeAdvance,
    /// Time Advance Request Available (8.9).
    TimeAdvanceAvailable,
    /// Next Message Request (8.10).
    NextMessage,
    /// Next Message Request Available (8.11).
    NextMessageAvailable,
    /// Flush Queue Request (8.12).
    FlushQueue,
}

impl AdvanceService {
    /// Its name in the standard.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::TimeAdvance => "Time Advance Request",
            Self::TimeAdvanceAvailable => "Time Advance Request Available",
            Self::NextMessage => "Next Message Request",
            Self::NextMessageAvailable => "Next Message Request Available",
            Self::FlushQueue => "Flush Queue Request",
        }
    }

    /// Whether no message of the granted time may arrive after the grant, nor be sent with a
    /// lookahead of zero.
    pub(super) const fn is_strict(self) -> bool {
        matches!(self, Self::TimeAdvance | Self::NextMessage)
    }

    /// Whether all queued messages are delivered.
    pub(super) const fn flushes(self) -> bool {
        matches!(self, Self::FlushQueue)
    }

    /// Whether the grant may come at the time of the next message.
    pub(super) const fn is_next_message(self) -> bool {
        matches!(self, Self::NextMessage | Self::NextMessageAvailable)
    }
}

impl Clock {
    pub(super) fn refuse_if_advancing(&self) -> Result<(), RtiError> {
        let Some((_, to)) = self.advancing else { return Ok(()) };
        let text = format!("this federate waits for its advance to {to}");
        Err(RtiError::new(Exception::InTimeAdvancingState, text))
    }

    pub(super) fn refuse_if_regulation_pending(&self) -> Result<(), RtiError> {
        if self.entering.is_none() {
            return Ok(());
        }
        let text = "Time Regulation Enabled has not come yet";
        Err(RtiError::new(Exception::RequestForTimeRegulationPending, text))
    }

    pub(super) fn refuse_if_constraint_pending(&self) -> Result<(), RtiError> {
        if !self.constraint_pending {
            return Ok(());
        }
        let text = "Time Constrained Enabled has not come yet";
        Err(RtiError::new(Exception::RequestForTimeConstrainedPending, text))
    }
}

impl TimeManager {
    /// One of the services from 8.8 to 8.12.
    pub(crate) fn advance(
        &mut self,
        federate: FederateHandle,
        service: AdvanceService,
        to: LogicalTime,
        evolved: bool,
    ) -> Result<(), RtiError> {
        let clock = self.clock_mut(federate);
        clock.refuse_if_advancing()?;
        clock.refuse_if_regulation_pending()?;
        clock.refuse_if_constraint_pending()?;
        if to < clock.time {
            let text = format!("the logical time of this federate is {}, after {to}", clock.time);
            return Err(RtiError::new(Exception::LogicalTimeAlreadyPassed, text));
        }
        clock.evolved = evolved;
        clock.advancing = Some((service, to));
        let constrained = clock.constrained;
        self.refresh(federate);
        if !constrained {
            self.grant(federate, service, to, to);
        } else if service.flushes() && !self.query_for_flush(federate) {
            self.flush(federate, to);
        }
        Ok(())
    }

    /// Flush Queue Request delivers everything, and advances the federate as far as it may: not
    /// beyond GALT, and not beyond the first of the delivered messages.
    pub(super) fn flush(&mut self, federate: FederateHandle, to: LogicalTime) {
        let limit = self.limit(federate).time(self.kind);
        let clock = self.clock_mut(federate);
        let optimistic = clock.queue.least().map_or(to, |least| least.min(to));
        let reached = limit.map_or(optimistic, |limit| limit.min(optimistic));
        let granted = reached.max(clock.time);
        if let Barrier::At(save) = clock.barrier
            && granted > save
        {
            return self.begin_save(federate, save);
        }
        self.begin_grant(federate, AdvanceService::FlushQueue, granted, optimistic.max(granted));
    }

    /// GALT as far as it lets a federate advance.
    fn limit(&self, federate: FederateHandle) -> Bound {
        let Some(clock) = self.clocks.get(&federate) else { return Bound::INFINITE };
        let galt = self.galt(federate);
        if self.has_others(federate) || self.non_regulated_grant || clock.evolved {
            return galt;
        }
        // The switch nonRegulatedGrant of the 2025 edition is off, and GALT is undefined.
        galt.min(Bound::above(clock.time))
    }

    /// Grants one of the pending requests that can be granted. Returns false if there is none.
    pub(super) fn grant_next(&mut self) -> bool {
        let Some(federate) = self.next_granted() else { return false };
        let Some(clock) = self.clocks.get(&federate) else { return false };
        if clock.constraint_pending {
            self.begin_constraint(federate);
        } else if clock.entering.is_some() {
            self.begin_regulation(federate);
        } else if let Some(save) = clock.save_ahead() {
            self.begin_save(federate, save);
        } else if let Some((service, to)) = clock.target() {
            self.begin_grant(federate, service, to, to);
        }
        true
    }

    /// A federate whose need is met. All federates have the same GALT, except the one that holds
    /// it, so the least needs decide.
    fn next_granted(&self) -> Option<FederateHandle> {
        let Some((galt, holder)) = self.summary().least() else {
            return self
                .needs
                .iter()
                .find(|&&(need, federate)| self.is_met(need, federate))
                .map(|&(_, federate)| federate);
        };
        let galt = galt.min(self.ceiling());
        let others = self.needs.iter().filter(|&&(_, federate)| federate != holder);
        let first = others.take(1).find(|&&(need, _)| need <= galt).map(|&(_, federate)| federate);
        let of_holder = || self.clocks.get(&holder)?.entered_need;
        first.or_else(|| of_holder().filter(|&need| self.is_met(need, holder)).map(|_| holder))
    }

    fn is_met(&self, need: Bound, federate: FederateHandle) -> bool {
        let is_role = |clock: &Clock| clock.constraint_pending || clock.entering.is_some();
        let pending = self.clocks.get(&federate).is_some_and(is_role);
        // The switch is about advances. A role begins without regulating federates too.
        need <= if pending { self.galt(federate) } else { self.limit(federate) }
    }

    /// Advances a federate, and tells it.
    pub(super) fn grant(
        &mut self,
        federate: FederateHandle,
        service: AdvanceService,
        time: LogicalTime,
        optimistic: LogicalTime,
    ) {
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        clock.time = time;
        clock.advancing = None;
        clock.granting = None;
        clock.strict = service.is_strict();
        let evolved = clock.evolved;
        if let Some(bound) = clock.send_bound() {
            #[cfg(test)]
            let bound = match super::tests::has_flaw(super::tests::Flaw::NoFloor) {
                true => Bound::at(time),
                false => bound,
            };
            clock.regulation.iter_mut().for_each(|regulation| regulation.floor = bound);
            let finals = clock.sent.finish(bound);
            self.events.extend(finals.map(TimeEvent::DeletionFinal));
        }
        let granted = match service == AdvanceService::FlushQueue && !evolved {
            true => Callback::FlushQueueGrant(api::FlushQueueGrant {
                time: Some(time.into()),
                optimistic_time: Some(optimistic.into()),
            }),
            false => Callback::TimeAdvanceGrant(api::TimeAdvanceGrant { time: Some(time.into()) }),
        };
        self.notify(federate, granted);
        self.refresh(federate);
    }
}
