//! Dispatch of service calls: from a call to the machine that serves it, and back to its response.
//!
//! A service is an implementation of [`Serve`] for its request, in the file of its group. The call
//! table ([`hla::api::SERVICES`]) holds the requirements of each service and the exceptions of
//! calls that do not meet them. They are checked ([`admission`]) before the service is served. The
//! checks of handles follow, and then those of state. A service that fails has had no effect.

pub(crate) mod admission;
pub(crate) mod authorization;
pub(crate) mod connection;
mod declaration;
mod distribution;
pub(crate) mod executions;
mod federation;
mod lookup;
pub(crate) mod module_call;
mod object;
mod ownership;
mod saving;
pub(crate) mod switches;
mod time;
mod transport;

pub(crate) use time::query_answer;

use crate::control::{Command, ControlPlane, Federation};
use crate::effect::{Effect, Effects};
use crate::limits::Growth;
use crate::object::objects::Objects;
use crate::proposal::{CallId, CallerId, Completion, Outcome, Proposal, Report, Waiting};
use crate::time::TimeManager;
use hla::RtiError;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{JoinResult, Request};
use hla::handle::FederateHandle;

/// The immediate result of a service call.
pub(crate) enum Reply<T> {
    /// The call ends with this result.
    Now(T),
    /// The call ends later: with the outcome of a proposal to the control plane, or with
    /// [`Effect::Complete`].
    Later,
}

impl<T> Reply<T> {
    pub(crate) fn map<U>(self, f: impl FnOnce(T) -> U) -> Reply<U> {
        match self {
            Reply::Now(result) => Reply::Now(f(result)),
            Reply::Later => Reply::Later,
        }
    }
}

impl Reply<()> {
    /// The reply of a call that is done already, or ends later.
    fn now_if(done: bool) -> Self {
        if done { Reply::Now(()) } else { Reply::Later }
    }
}

pub(crate) type Served<T> = Result<Reply<T>, RtiError>;

/// A service of joined federates.
pub(crate) trait Serve: Request {
    fn serve(self, context: Context<'_>) -> Served<Self::Output>;
}

/// A call of a joined federate, with the context for serving it.
pub(crate) struct Context<'a> {
    pub(crate) control: &'a ControlPlane,
    pub(crate) objects: &'a mut Objects,
    pub(crate) time: &'a mut TimeManager,
    pub(crate) effects: &'a mut Effects,
    /// Room for the memory that the call makes this node keep.
    pub(crate) growth: Growth<'a>,
    pub(crate) caller: CallerId,
    pub(crate) call: CallId,
    /// The calling federate.
    pub(crate) federate: FederateHandle,
    /// Whether it speaks the 2010 edition through an adapter.
    pub(crate) evolved: bool,
}

impl Context<'_> {
    /// The federation execution as recorded by the control plane.
    pub(crate) fn federation(&self) -> &Federation {
        self.control.execution(self.objects.id).expect("an execution has its federation")
    }

    /// The end of the call with `output`, if it must wait.
    pub(crate) fn completion<R: Request>(&self, output: R::Output) -> Completion {
        Completion { caller: self.caller, call: self.call, answer: Ok(R::response(output)) }
    }

    /// A proposal whose outcome ends the call.
    pub(crate) fn proposal<R: Request<Output: FromOutcome>>(&self, command: Command) -> Proposal {
        proposal::<R>((self.caller, self.call), command, None)
    }

    /// Proposes a command, whose outcome ends the call.
    pub(crate) fn propose<R: Request<Output: FromOutcome>>(&mut self, command: Command) -> Served<R::Output> {
        propose::<R>(self.effects, (self.caller, self.call), command, None)
    }
}

/// A result that can be made from the outcome of a proposal.
pub(crate) trait FromOutcome {
    fn from_outcome(outcome: Outcome) -> Self;
}

impl FromOutcome for () {
    fn from_outcome(_: Outcome) {}
}

impl FromOutcome for JoinResult {
    fn from_outcome(outcome: Outcome) -> Self {
        outcome.joined.unwrap_or_default()
    }
}

/// Proposes a command whose outcome ends a call of the service `R`. The caller gets `report` at
/// that time.
fn propose<R: Request<Output: FromOutcome>>(
    effects: &mut Effects,
    call: (CallerId, CallId),
    command: Command,
    report: Option<Report>,
) -> Served<R::Output> {
    effects.push(Effect::Propose(Box::new(proposal::<R>(call, command, report))));
    Ok(Reply::Later)
}

fn proposal<R: Request<Output: FromOutcome>>(
    (caller, call): (CallerId, CallId),
    command: Command,
    report: Option<Report>,
) -> Proposal {
    Proposal { command, waiting: Some(waiting::<R>(caller, call)), report }
}

/// A call of the service `R` that waits for the outcome of a proposal.
fn waiting<R: Request<Output: FromOutcome>>(caller: CallerId, call: CallId) -> Waiting {
    fn finish<R: Request<Output: FromOutcome>>(outcome: Outcome) -> Answer {
        R::response(FromOutcome::from_outcome(outcome))
    }
    Waiting { caller, call, finish: finish::<R> }
}
