//! Regulating and constrained federates (8.2 to 8.7), asynchronous delivery (8.15, 8.16) and
//! lookahead (8.20, 8.21).

use super::{Answer, Bound, Callback, Flaw, Regulation, TimeModel, refuse};
use hla::Exception;
use hla::api::OrderType;
use hla::handle::FederateHandle;
use hla::time::LogicalTimeInterval;

type Served = Result<Answer, Vec<Exception>>;

impl TimeModel {
    /// The new regulating federate gets a time from which it cannot send into the past of any
    /// constrained federate.
    pub(super) fn enable_regulation(
        &mut self,
        handle: FederateHandle,
        lookahead: LogicalTimeInterval,
    ) -> Served {
        let me = &self.federates[&handle];
        let mut faults = Vec::new();
        if me.regulation.is_some() {
            faults.push(Exception::TimeRegulationAlreadyEnabled);
        }
        if me.advancing.is_some() {
            faults.push(Exception::InTimeAdvancingState);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let others =
            self.federates.iter().filter(|&(&other, federate)| other != handle && federate.constrained);
        let promised = others.map(|(_, federate)| federate.promised).max();
        let nothing = Bound::at(self.kind.initial());
        let promised = promised.filter(|_| !self.has(Flaw::RegulationInThePast)).unwrap_or(nothing);
        let last = promised.time().unwrap_or(self.kind.final_time());
        let least = last.subtract(lookahead).ok();
        let time = least.map_or(me.time, |least| least.max(me.time));
        if time > me.time {
            self.deliver_queued(handle, |message| message < time);
            let me = self.me(handle);
            me.time = time;
            me.strict = false;
            me.promised = me.promised.max(Bound::at(time));
        }
        let me = self.me(handle);
        let strict = me.strict && lookahead.is_zero();
        let floor = promised.max(Bound::at(time).after(lookahead, strict));
        me.regulation = Some(Regulation { lookahead, floor, lowered: None });
        self.tell(handle, Callback::RegulationEnabled(time));
        Ok(Answer::Done)
    }

    pub(super) fn disable_regulation(&mut self, handle: FederateHandle) -> Served {
        if self.me(handle).regulation.take().is_none() {
            return refuse(Exception::TimeRegulationIsNotEnabled);
        }
        self.finish_messages(|message| message.sender == handle);
        Ok(Answer::Done)
    }

    pub(super) fn enable_constrained(&mut self, handle: FederateHandle) -> Served {
        let me = self.me(handle);
        let mut faults = Vec::new();
        if me.constrained {
            faults.push(Exception::TimeConstrainedAlreadyEnabled);
        }
        if me.constraint_pending {
            faults.push(Exception::RequestForTimeConstrainedPending);
        }
        if me.advancing.is_some() {
            faults.push(Exception::InTimeAdvancingState);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        me.constraint_pending = true;
        Ok(Answer::Done)
    }

    /// Queued messages become messages in receive order, and a pending advance is granted.
    pub(super) fn disable_constrained(&mut self, handle: FederateHandle) -> Served {
        let me = self.me(handle);
        if !me.constrained {
            return refuse(Exception::TimeConstrainedIsNotEnabled);
        }
        me.constrained = false;
        self.release_withheld(handle);
        for message in self.sorted_queue(handle) {
            self.me(handle).queue.retain(|&queued| queued != message);
            self.deliver(handle, message, OrderType::Receive);
        }
        if let Some((service, to)) = self.federates[&handle].advancing {
            self.grant(handle, service, to, to);
        }
        Ok(Answer::Done)
    }

    /// A pending constraint begins when nothing below the federate's time can come any more.
    pub(super) fn begin_constraint(&mut self, handle: FederateHandle) -> bool {
        let me = &self.federates[&handle];
        let time = me.time;
        if !me.constraint_pending || self.galt(handle) < Bound::at(time) {
            return false;
        }
        let me = self.me(handle);
        me.constraint_pending = false;
        me.constrained = true;
        me.promised = Bound::at(time);
        self.tell(handle, Callback::ConstrainedEnabled(time));
        true
    }

    pub(super) fn set_asynchronous(&mut self, handle: FederateHandle, on: bool) -> Served {
        let me = self.me(handle);
        if me.asynchronous == on {
            return refuse(match on {
                true => Exception::AsynchronousDeliveryAlreadyEnabled,
                false => Exception::AsynchronousDeliveryAlreadyDisabled,
            });
        }
        me.asynchronous = on;
        if on {
            self.release_withheld(handle);
        }
        Ok(Answer::Done)
    }

    /// A greater lookahead counts at once. A smaller one counts as logical time advances: no
    /// message may have a time stamp that was promised not to come.
    pub(super) fn modify_lookahead(
        &mut self,
        handle: FederateHandle,
        lookahead: LogicalTimeInterval,
    ) -> Served {
        let (last, no_floor) = (self.kind.final_time(), self.has(Flaw::NoFloor));
        let me = self.me(handle);
        let bound = me.send_bound();
        let (time, advancing) = (me.time, me.advancing.is_some());
        let Some(regulation) = &mut me.regulation else {
            return refuse(Exception::TimeRegulationIsNotEnabled);
        };
        if advancing {
            return refuse(Exception::InTimeAdvancingState);
        }
        let end = |lookahead| time.add(lookahead).unwrap_or(last);
        let before = regulation.lowered.unwrap_or(end(regulation.lookahead)).max(end(regulation.lookahead));
        if !no_floor {
            regulation.floor = regulation.floor.max(bound.unwrap_or(regulation.floor));
        }
        regulation.lookahead = lookahead;
        regulation.lowered = (before > end(lookahead)).then_some(before);
        Ok(Answer::Done)
    }

    pub(super) fn query_lookahead(&mut self, handle: FederateHandle) -> Served {
        let me = &self.federates[&handle];
        let Some(regulation) = me.regulation else {
            return refuse(Exception::TimeRegulationIsNotEnabled);
        };
        let remains = regulation.lowered.filter(|&lowered| lowered > me.time);
        let remains = remains.and_then(|lowered| lowered.distance(me.time).ok());
        Ok(Answer::Lookahead(remains.map_or(regulation.lookahead, |rest| rest.max(regulation.lookahead))))
    }
}
