//! Advances of logical time and their grants (8.8 to 8.14).

use super::{Advance, Answer, Bound, Callback, Flaw, TimeModel};
use hla::Exception;
use hla::api::OrderType;
use hla::handle::FederateHandle;
use hla::time::LogicalTime;

impl TimeModel {
    pub(super) fn advance(
        &mut self,
        handle: FederateHandle,
        service: Advance,
        to: LogicalTime,
    ) -> Result<Answer, Vec<Exception>> {
        let me = &self.federates[&handle];
        let mut faults = Vec::new();
        if me.advancing.is_some() {
            faults.push(Exception::InTimeAdvancingState);
        }
        if me.constraint_pending {
            faults.push(Exception::RequestForTimeConstrainedPending);
        }
        if to < me.time {
            faults.push(Exception::LogicalTimeAlreadyPassed);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        self.me(handle).advancing = Some((service, to));
        self.release_withheld(handle);
        if !self.federates[&handle].constrained {
            self.grant(handle, service, to, to);
        } else if service == Advance::Fqr {
            self.flush(handle, to);
        }
        Ok(Answer::Done)
    }

    /// Flush Queue Request: everything is delivered, and the federate advances as far as it may.
    fn flush(&mut self, handle: FederateHandle, to: LogicalTime) {
        let (time, limit) = (self.federates[&handle].time, self.limit(handle));
        let next = self.least_queued(handle);
        let reached = |bound: Bound| bound.time().map_or(to, |time| time.min(to));
        let optimistic = reached(next);
        let granted = time.max(optimistic.min(reached(limit)));
        self.deliver_queued(handle, |_| true);
        self.grant(handle, Advance::Fqr, granted, optimistic.max(granted));
    }

    /// GALT as far as it lets a federate advance: without regulating federates, not at all, unless
    /// the object model or the edition lets it.
    fn limit(&self, handle: FederateHandle) -> Bound {
        let me = &self.federates[&handle];
        match self.has_galt(handle) || self.non_regulated_grant || me.evolved {
            true => self.galt(handle),
            false => Bound::above(me.time),
        }
    }

    /// Grants whatever can be granted, until nothing changes.
    pub(super) fn settle(&mut self) {
        let everybody: Vec<_> = self.federates.keys().copied().collect();
        while everybody.iter().any(|&handle| self.begin_constraint(handle) || self.grant_if_possible(handle))
        {
        }
    }

    fn grant_if_possible(&mut self, handle: FederateHandle) -> bool {
        let me = &self.federates[&handle];
        let Some((service, requested)) = me.advancing else { return false };
        let next = self.least_queued(handle).time().filter(|_| service.is_next_message());
        let to = next.map_or(requested, |next| next.min(requested));
        let inclusive = service.is_available() || self.has(Flaw::InclusiveGrant);
        let needed = if inclusive { Bound::at(to) } else { Bound::above(to) };
        if self.limit(handle) < needed {
            return false;
        }
        self.deliver_queued(handle, |message| message <= to);
        self.grant(handle, service, to, to);
        true
    }

    /// Delivers the queued messages with these time stamps, in time-stamp order.
    pub(super) fn deliver_queued(&mut self, handle: FederateHandle, due: impl Fn(LogicalTime) -> bool) {
        for message in self.sorted_queue(handle) {
            if self.messages[message].time.is_some_and(&due) {
                self.me(handle).queue.retain(|&queued| queued != message);
                self.deliver(handle, message, OrderType::Timestamp);
            }
        }
    }

    /// The queue in time-stamp order; among equals, in the order of sending.
    pub(super) fn sorted_queue(&self, handle: FederateHandle) -> Vec<usize> {
        let mut queue = self.federates[&handle].queue.clone();
        if self.has(Flaw::QueueByArrival) {
            return queue;
        }
        queue.sort_by_key(|&message| (self.messages[message].time, message));
        queue
    }

    pub(super) fn grant(
        &mut self,
        handle: FederateHandle,
        service: Advance,
        time: LogicalTime,
        optimistic: LogicalTime,
    ) {
        let no_floor = self.has(Flaw::NoFloor);
        let me = self.me(handle);
        me.time = time;
        me.advancing = None;
        me.strict = !service.is_available();
        if me.constrained {
            let promise = if service.is_available() { Bound::at(time) } else { Bound::above(time) };
            me.promised = me.promised.max(promise);
        }
        if let Some(bound) = me.send_bound()
            && let Some(regulation) = &mut me.regulation
        {
            regulation.floor = if no_floor { Bound::at(time) } else { bound };
            self.finish_messages(|message| {
                message.sender == handle && message.time.is_some_and(|time| Bound::at(time) <= bound)
            });
        }
        let flushed = service == Advance::Fqr && !self.federates[&handle].evolved;
        self.tell(
            handle,
            match flushed {
                true => Callback::Flushed(time, optimistic),
                false => Callback::Granted(time),
            },
        );
    }
}
