//! Time management (clause 8) in its simplest form: one federation execution, all federates in one
//! map, all messages in one list, and GALT by plain iteration of its definition.
//!
//! Every federate hears of everything: it subscribes each interaction and knows each object
//! instance from its registration (or from its own joining) on. The model judges time alone. It
//! follows the standard, and nothing in it is fast.

mod advance;
mod bound;
mod flaw;
mod message;
mod role;
#[cfg(test)]
mod tests;

pub use bound::Bound;
pub use flaw::Flaw;
pub use message::{Instance, Message, Sending};

use hla::Exception;
use hla::api::OrderType;
use hla::handle::FederateHandle;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use std::collections::BTreeMap;

/// A service that asks for an advance of logical time (8.8 to 8.12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// Time Advance Request.
    Tar,
    /// Time Advance Request Available.
    Tara,
    /// Next Message Request.
    Nmr,
    /// Next Message Request Available.
    Nmra,
    /// Flush Queue Request.
    Fqr,
}

impl Advance {
    /// Whether messages with the granted time may still arrive after the grant.
    fn is_available(self) -> bool {
        matches!(self, Self::Tara | Self::Nmra | Self::Fqr)
    }

    /// Whether the grant may come at the time of the next message.
    fn is_next_message(self) -> bool {
        matches!(self, Self::Nmr | Self::Nmra)
    }
}

/// A service call of a joined federate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Request {
    /// Enable Time Regulation (8.2).
    EnableRegulation(LogicalTimeInterval),
    /// Disable Time Regulation (8.4).
    DisableRegulation,
    /// Enable Time Constrained (8.5).
    EnableConstrained,
    /// Disable Time Constrained (8.7).
    DisableConstrained,
    /// One of the services from 8.8 to 8.12.
    Advance(Advance, LogicalTime),
    /// Enable (8.15) or disable (8.16) Asynchronous Delivery.
    Asynchronous(bool),
    /// Query GALT (8.17).
    QueryGalt,
    /// Query Logical Time (8.18).
    QueryTime,
    /// Query LITS (8.19).
    QueryLits,
    /// Modify Lookahead (8.20).
    ModifyLookahead(LogicalTimeInterval),
    /// Query Lookahead (8.21).
    QueryLookahead,
    /// Retract (8.22) of the message with this number.
    Retract(usize),
    /// Change Interaction Order Type (8.26).
    ChangeInteractionOrder(OrderType),
    /// Change Attribute Order Type (8.24) of the attribute of an instance.
    ChangeAttributeOrder(usize, OrderType),
    /// Change Attribute Order Type of the privilege to delete an instance.
    ChangeDeleteOrder(usize, OrderType),
    /// Register Object Instance (6.8).
    Register,
    /// Send Interaction (6.12), Update Attribute Values (6.10) or Delete Object Instance (6.16).
    Send(Sending, Option<LogicalTime>),
}

/// The result of a service call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Answer {
    /// The call has no result.
    Done,
    /// A logical time; `None` if there is none.
    Time(Option<LogicalTime>),
    /// The actual lookahead.
    Lookahead(LogicalTimeInterval),
    /// A message was sent; with this number if it can be retracted.
    Sent(Option<usize>),
    /// An instance was registered, with this number.
    Registered(usize),
}

/// A callback to a federate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Callback {
    /// A message in this order.
    Message(usize, OrderType),
    /// An instance was discovered.
    Discovered(usize),
    /// Time Regulation Enabled (8.3).
    RegulationEnabled(LogicalTime),
    /// Time Constrained Enabled (8.6).
    ConstrainedEnabled(LogicalTime),
    /// Time Advance Grant (8.13).
    Granted(LogicalTime),
    /// Flush Queue Grant (8.14), with the optimistic time.
    Flushed(LogicalTime, LogicalTime),
    /// Request Retraction (8.23) of the message with this number.
    RequestRetraction(usize),
}

/// The result of a step, and the callbacks that it causes, in order.
pub type Step<T> = (T, Vec<(FederateHandle, Callback)>);

/// A regulating federate's part of its state.
#[derive(Clone, Copy, Debug)]
struct Regulation {
    /// The requested lookahead.
    lookahead: LogicalTimeInterval,
    /// The federate has promised to send nothing below. It never falls.
    floor: Bound,
    /// The end of the old lookahead, after the lookahead has been lowered.
    lowered: Option<LogicalTime>,
}

/// A federate's state in logical time.
#[derive(Clone, Debug)]
struct Federate {
    time: LogicalTime,
    regulation: Option<Regulation>,
    constrained: bool,
    constraint_pending: bool,
    advancing: Option<(Advance, LogicalTime)>,
    /// The last grant was by a service after which no message of that time may be sent.
    strict: bool,
    /// No message in time-stamp order below this bound may come any more.
    promised: Bound,
    asynchronous: bool,
    /// It has the behaviour of the 2010 edition.
    evolved: bool,
    /// Messages in receive order that it must not get yet.
    withheld: Vec<Callback>,
    /// Messages in time-stamp order, in the order of their sending.
    queue: Vec<usize>,
    interaction_order: OrderType,
}

/// A federation execution.
#[derive(Clone, Debug)]
pub struct TimeModel {
    kind: TimeKind,
    non_regulated_grant: bool,
    federates: BTreeMap<FederateHandle, Federate>,
    messages: Vec<Message>,
    instances: Vec<Instance>,
    callbacks: Vec<(FederateHandle, Callback)>,
    flaw: Option<Flaw>,
}

impl TimeModel {
    /// A federation execution without federates. Constrained federates advance without regulating
    /// ones if `non_regulated_grant`.
    pub fn new(kind: TimeKind, non_regulated_grant: bool) -> Self {
        let (federates, callbacks) = (BTreeMap::new(), Vec::new());
        let (messages, instances) = (Vec::new(), Vec::new());
        Self { kind, non_regulated_grant, federates, messages, instances, callbacks, flaw: None }
    }

    /// The same federation execution with a deliberate mistake.
    pub fn with_flaw(self, flaw: Flaw) -> Self {
        Self { flaw: Some(flaw), ..self }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// A federate joins, with this preferred order of interactions.
    pub fn join(&mut self, handle: FederateHandle, evolved: bool) -> Step<()> {
        let time = self.kind.initial();
        let federate = Federate {
            time,
            regulation: None,
            constrained: false,
            constraint_pending: false,
            advancing: None,
            strict: false,
            promised: Bound::at(time),
            asynchronous: false,
            evolved,
            withheld: Vec::new(),
            queue: Vec::new(),
            interaction_order: OrderType::Timestamp,
        };
        self.federates.insert(handle, federate);
        self.discover(handle);
        ((), std::mem::take(&mut self.callbacks))
    }

    /// A federate leaves. Its instances are deleted, or have no owner any longer.
    pub fn leave(&mut self, handle: FederateHandle, delete: bool) -> Step<()> {
        self.dispose(handle, delete);
        self.federates.remove(&handle);
        self.finish_messages(|message| message.sender == handle);
        self.settle();
        ((), std::mem::take(&mut self.callbacks))
    }

    /// A federate calls a service. If several exceptions apply, any of them is right.
    pub fn call(&mut self, handle: FederateHandle, request: Request) -> Step<Result<Answer, Vec<Exception>>> {
        let answer = self.serve(handle, request);
        self.settle();
        (answer, std::mem::take(&mut self.callbacks))
    }

    /// The logical time and GALT of a federate, for invariants; `None` for a GALT that is undefined.
    pub fn times(&self, handle: FederateHandle) -> (LogicalTime, Option<LogicalTime>) {
        (self.federates[&handle].time, self.galt(handle).time())
    }

    /// All messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// All object instances.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// Whether a federate waits for a grant.
    pub fn is_advancing(&self, handle: FederateHandle) -> bool {
        self.federates.get(&handle).is_some_and(|federate| federate.advancing.is_some())
    }

    fn serve(&mut self, handle: FederateHandle, request: Request) -> Result<Answer, Vec<Exception>> {
        match request {
            Request::EnableRegulation(lookahead) => self.enable_regulation(handle, lookahead),
            Request::DisableRegulation => self.disable_regulation(handle),
            Request::EnableConstrained => self.enable_constrained(handle),
            Request::DisableConstrained => self.disable_constrained(handle),
            Request::Advance(service, to) => self.advance(handle, service, to),
            Request::Asynchronous(on) => self.set_asynchronous(handle, on),
            Request::QueryGalt => Ok(Answer::Time(self.galt(handle).time())),
            Request::QueryTime => Ok(Answer::Time(Some(self.federates[&handle].time))),
            Request::QueryLits => Ok(Answer::Time(self.lits(handle).time())),
            Request::ModifyLookahead(lookahead) => self.modify_lookahead(handle, lookahead),
            Request::QueryLookahead => self.query_lookahead(handle),
            Request::Retract(message) => self.retract(handle, message),
            Request::ChangeInteractionOrder(order) => {
                self.me(handle).interaction_order = order;
                Ok(Answer::Done)
            }
            Request::ChangeAttributeOrder(instance, order) => {
                self.owned(handle, instance)?.attribute_order = order;
                Ok(Answer::Done)
            }
            Request::ChangeDeleteOrder(instance, order) => {
                self.owned(handle, instance)?.delete_order = order;
                Ok(Answer::Done)
            }
            Request::Register => Ok(self.register(handle)),
            Request::Send(sending, time) => self.send(handle, sending, time),
        }
    }

    fn me(&mut self, handle: FederateHandle) -> &mut Federate {
        self.federates.get_mut(&handle).expect("a caller is joined")
    }

    fn tell(&mut self, handle: FederateHandle, callback: Callback) {
        self.callbacks.push((handle, callback));
    }
}

fn refuse<T>(exception: Exception) -> Result<T, Vec<Exception>> {
    Err(vec![exception])
}
