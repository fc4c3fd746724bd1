//! Logical time of one federation execution on one node (clause 8).
//!
//! A machine: services and inputs go in, [`TimeEvent`]s come out, in the order in which they must
//! happen. It knows neither pipes nor object instances.
//!
//! - [`bound`]: lower bounds on time stamps; [`bounds`]: those of all regulating federates, and
//!   GALT in closed form;
//! - [`summary`]: the bounds of any set of federates, in constant size;
//! - [`clock`]: the state of one federate;
//! - [`queue`]: messages in time-stamp order that wait for one federate;
//! - [`role`]: regulating and constrained federates, lookahead;
//! - [`advance`]: advances and grants; [`slices`]: grants that deliver very many messages;
//! - [`save`]: saves with a time; [`image`]: the state that a save keeps;
//! - [`retraction`]: messages that their senders can still retract;
//! - [`network`]: the same over many nodes; [`participant`]: what a node reports, and when it uses
//!   a result; [`carried`]: the changes that unused results tell of; [`streams`]: what it has to know of streams; [`coordinator`]: the node that merges the reports; [`message`]: their octets;
//! - [`report`]: what the management object model tells; [`status`]: what is shown to people.
//!
//! A service changes the clock of its caller, and [`TimeManager::refresh`] enters the change into
//! two ordered sets: the bounds of regulating federates, and the needs of those that wait for a
//! grant. A grant is found at the front of the second set, so its cost is O(log F) for F federates.

mod advance;
mod bound;
mod bounds;
mod carried;
mod clock;
mod coordinator;
mod image;
mod message;
mod network;
mod participant;
mod queue;
mod report;
mod retraction;
mod role;
mod save;
mod slices;
mod status;
mod streams;
mod summary;
#[cfg(test)]
mod tests;

pub(crate) use advance::AdvanceService;
pub(crate) use image::{RestoredClocks, TimeImage};
pub(crate) use network::Query;
pub(crate) use queue::{Subject, TimedMessage};
pub(crate) use report::TimeState;
pub(crate) use retraction::Sending;
pub(crate) use status::Reason;
pub(crate) use streams::{Progress, Streams};

use crate::control::PublishedClass;
use crate::proposal::{CallId, CallerId};
use crate::stamp::Stamp;
use base::Moment;
use bound::Bound;
use bounds::Bounds;
use clock::Clock;
use hla::api::{self, OrderType, callback_request::CallbackRequest as Callback};
use hla::handle::{FederateHandle, MessageRetractionHandle, ObjectInstanceHandle};
use hla::time::{LogicalTime, TimeKind};
use hla::{Exception, RtiError};
use network::Network;
use report::Spent;
use slices::Turn;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A change outside that time management has to know of.
#[derive(Debug)]
pub(crate) enum TimeInput {
    /// A message in time-stamp order has arrived for a constrained federate.
    Queue { to: FederateHandle, message: Box<TimedMessage> },
    /// A federate has received a message before it was due, because it is not constrained.
    Early { to: FederateHandle, retraction: MessageRetractionHandle, time: LogicalTime },
    /// A federate of another node has retracted a message.
    Retracted { retraction: MessageRetractionHandle, time: LogicalTime },
    /// A federate has left.
    Left(FederateHandle),
}

/// A request of time management.
#[derive(Debug)]
pub(crate) enum TimeEvent {
    /// Deliver a message that was queued for a federate.
    Deliver { to: FederateHandle, message: Box<TimedMessage>, received: OrderType },
    /// Invoke a callback that is not a message.
    Notify { to: FederateHandle, callback: Callback },
    /// Withhold messages in receive order from a federate, or deliver them again.
    Withhold { to: FederateHandle, on: bool },
    /// A federate is constrained from now on, or no longer.
    Constrained { federate: FederateHandle, on: bool },
    /// A constrained federate has come to the time of a save.
    SaveReached(FederateHandle),
    /// The queue of a federate has become shorter.
    Shortened(FederateHandle),
    /// The deletion of an instance was retracted.
    Reinstate(ObjectInstanceHandle),
    /// The deletion of an instance can no longer be retracted.
    DeletionFinal(ObjectInstanceHandle),
    /// Tell the nodes that follow these streams that a message was retracted.
    RetractInStreams {
        retraction: MessageRetractionHandle,
        time: LogicalTime,
        streams: Vec<(PublishedClass, Option<ObjectInstanceHandle>)>,
    },
    /// A call that has waited is answered with this time, or that there is none.
    Answer { caller: CallerId, call: CallId, query: Query, time: Option<LogicalTime> },
}

impl TimeEvent {
    /// The federate whose state may have changed.
    pub(crate) fn concerns(&self) -> Option<FederateHandle> {
        match *self {
            Self::Notify { to, .. } => Some(to),
            Self::Constrained { federate, .. } => Some(federate),
            _ => None,
        }
    }
}

/// The clocks of the federates of a federation execution.
#[derive(Debug)]
pub(crate) struct TimeManager {
    kind: TimeKind,
    /// Constrained federates advance although no other federate regulates time.
    non_regulated_grant: bool,
    clocks: BTreeMap<FederateHandle, Clock>,
    /// The federates of this node, with how they have spent their time.
    spent: BTreeMap<FederateHandle, Spent>,
    bounds: Bounds,
    /// The bound that each waiting federate needs.
    needs: BTreeSet<(Bound, FederateHandle)>,
    events: VecDeque<TimeEvent>,
    /// Set if the node is one of a network.
    network: Option<Box<Network>>,
    /// Messages that were dropped because they came below a promise.
    late: u64,
    /// A bound or a need has changed since the last search for grants.
    changed: bool,
    /// Federates whose grants have begun.
    granting: VecDeque<FederateHandle>,
    /// Messages that may still be delivered in this turn, and in any.
    turn: Turn,
    /// The time of the save that is scheduled.
    save: Option<LogicalTime>,
    /// The moment of the present input. Nothing but the status depends on it.
    now: Moment,
}

impl TimeManager {
    /// The machine of a federation execution without federates.
    pub(crate) fn new(kind: TimeKind) -> Self {
        Self {
            kind,
            non_regulated_grant: false,
            clocks: BTreeMap::new(),
            spent: BTreeMap::new(),
            bounds: Bounds::default(),
            needs: BTreeSet::new(),
            events: VecDeque::new(),
            network: None,
            late: 0,
            changed: false,
            granting: VecDeque::new(),
            turn: Turn::default(),
            save: None,
            now: Moment::ZERO,
        }
    }

    /// Sets the moment of the present input.
    pub(crate) fn set_now(&mut self, now: Moment) {
        self.now = now;
    }

    /// Sets whether constrained federates advance although no other federate regulates time.
    pub(crate) fn set_non_regulated_grant(&mut self, on: bool) {
        self.non_regulated_grant = on;
    }

    /// Handles a change outside. Returns a federate whose queue has grown so much that it has to be
    /// counted again.
    pub(crate) fn handle(&mut self, input: TimeInput) -> Option<FederateHandle> {
        match input {
            TimeInput::Queue { to, message } => return self.enqueue(to, message).then_some(to),
            TimeInput::Early { to, retraction, time } => self.note_early(to, retraction, time),
            TimeInput::Retracted { retraction, time } => self.retracted_elsewhere(retraction, time),
            TimeInput::Left(federate) => self.leave(federate),
        }
        None
    }

    /// The next request. Grants are searched for when nothing else is left to do.
    pub(crate) fn poll_event(&mut self) -> Option<TimeEvent> {
        while self.events.is_empty() && !self.turn.is_over() {
            if let Some(federate) = self.granting.pop_front() {
                self.continue_grant(federate);
            } else if self.changed {
                self.changed = self.grant_next();
            } else {
                break;
            }
        }
        self.events.pop_front()
    }

    /// Messages, and their bytes, in the queue of a federate.
    pub(crate) fn queued(&self, federate: FederateHandle) -> (usize, usize) {
        self.clocks.get(&federate).map_or((0, 0), Clock::queued)
    }

    /// The stamp of a message that `sender` wants to send at `time`.
    ///
    /// # Errors
    /// `InvalidLogicalTime`: it is no time of the federation, or the sender regulates time and has
    /// promised not to send at that time.
    pub(crate) fn stamp(
        &mut self,
        sender: FederateHandle,
        time: Option<&api::LogicalTime>,
    ) -> Result<Sending, RtiError> {
        let time = self.decode(time)?;
        let receive_order = Stamp {
            time: time.encode(),
            sent: OrderType::Receive,
            retraction: MessageRetractionHandle::INVALID,
        };
        let bound = self.clocks.get(&sender).and_then(|clock| Some((clock, clock.send_bound()?)));
        let Some((clock, bound)) = bound else {
            return Ok(Sending { stamp: receive_order, time, is_retractable: false });
        };
        if !bound.admits(time) {
            let text = format!("this federate may send at {}, not at {time}", bound.describe(self.kind));
            return Err(RtiError::new(Exception::InvalidLogicalTime, text));
        }
        let retraction = clock.sent.next(sender)?;
        let stamp = Stamp { sent: OrderType::Timestamp, retraction, ..receive_order };
        Ok(Sending { stamp, time, is_retractable: !bound.is_at_or_after(time) })
    }

    /// Decodes the time of a request.
    ///
    /// # Errors
    /// `InvalidLogicalTime`.
    pub(crate) fn decode(&self, time: Option<&api::LogicalTime>) -> Result<LogicalTime, RtiError> {
        let octets = time.map(|time| &time.data[..]).unwrap_or_default();
        let time = self.kind.decode_time(octets);
        time.map_err(|error| RtiError::new(Exception::InvalidLogicalTime, error.details))
    }

    /// Query Logical Time (8.18).
    pub(crate) fn logical_time(&self, federate: FederateHandle) -> LogicalTime {
        self.clocks.get(&federate).map_or(self.kind.initial(), |clock| clock.time)
    }

    /// Query GALT (8.17); `None` while it is undefined or beyond the last time.
    pub(crate) fn query_galt(&self, federate: FederateHandle) -> Option<LogicalTime> {
        // A node that waits for a result grants nothing beyond a bound of its own. That bound is no
        // GALT as long as no other federate regulates time.
        if !self.has_others(federate) {
            return None;
        }
        self.galt(federate).time(self.kind)
    }

    /// Query LITS (8.19); `None` while it is undefined.
    pub(crate) fn query_lits(&self, federate: FederateHandle) -> Option<LogicalTime> {
        let queued = self.clocks.get(&federate).and_then(Clock::least_queued);
        self.query_galt(federate).into_iter().chain(queued).min()
    }

    /// The clock of a joined federate. Those that never ask for anything need none.
    fn clock_mut(&mut self, federate: FederateHandle) -> &mut Clock {
        self.clocks.entry(federate).or_insert_with(|| Clock::new(self.kind))
    }

    fn notify(&mut self, to: FederateHandle, callback: Callback) {
        self.events.push_back(TimeEvent::Notify { to, callback });
    }

    /// Returns whether the queue has to be counted again.
    fn enqueue(&mut self, to: FederateHandle, message: Box<TimedMessage>) -> bool {
        let Some(clock) = self.clocks.get_mut(&to) else { return false };
        // A stream that is followed from its beginning brings messages from before its receiver
        // subscribed.
        if !clock.promised.admits(message.time) {
            self.late += 1;
            tracing::debug!(?to, time = %message.time, sender = ?message.sender, "message below a promise");
            return false;
        }
        let is_next = clock.queue.least().is_none_or(|least| message.time < least);
        let is_to_count = clock.queue.insert(message);
        // Needs and bounds depend on the next message only.
        if is_next {
            self.refresh(to);
        }
        is_to_count
    }

    /// Forgets a federate. Its messages stay in the queues of others, and are final.
    pub(crate) fn leave(&mut self, federate: FederateHandle) {
        self.spent.remove(&federate);
        let Some(mut clock) = self.clocks.remove(&federate) else { return };
        let finals = clock.sent.finish(Bound::INFINITE);
        self.events.extend(finals.map(TimeEvent::DeletionFinal));
        self.bounds.set(federate, None);
        self.streams_changed();
        if let Some(need) = clock.entered_need {
            self.needs.remove(&(need, federate));
        }
        self.changed = true;
    }

    /// Enters a changed clock into the sets of bounds and needs.
    fn refresh(&mut self, federate: FederateHandle) {
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        let output_changed = self.bounds.set(federate, clock.output(self.network.is_some()));
        let need = clock.need();
        let phase = clock.phase();
        if phase != clock.begun {
            (clock.begun, clock.since) = (phase, self.now);
            if let Some(spent) = self.spent.get_mut(&federate) {
                spent.note(self.now, clock.advancing.is_some());
            }
        }
        if let Some(network) = &mut self.network {
            network.note(output_changed || need != clock.entered_need);
        }
        self.changed |= output_changed;
        if need != clock.entered_need {
            if let Some(before) = clock.entered_need {
                self.needs.remove(&(before, federate));
            }
            self.needs.extend(need.map(|need| (need, federate)));
            clock.entered_need = need;
            self.changed = true;
        }
        let withholds = clock.withholds();
        if withholds != clock.withholding {
            clock.withholding = withholds;
            self.events.push_back(TimeEvent::Withhold { to: federate, on: withholds });
        }
    }
}
