//! From a service call to the machine that serves it, and back to its response.
//!
//! Checks come in this order: connection, membership, handles, state. A service that fails has had no
//! effect. Each group has a file; a call that is not of a group is handed to the next one.

pub(crate) mod connection;
pub(crate) mod declaration;
pub(crate) mod federation;
pub(crate) mod later;
pub(crate) mod lookup;
pub(crate) mod object;
pub(crate) mod switches;
pub(crate) mod transport;

use crate::control::{Command, ControlPlane, Federation};
use crate::effect::{Effect, Effects};
use crate::object::objects::Objects;
use crate::proposal::{CallId, CallerId, Finish, Proposal, Waiting};
use hla::RtiError;
use hla::api::call_response::CallResponse as Answer;
use hla::handle::FederateHandle;

/// How a service call ends for now.
pub(crate) enum Reply {
    /// With this response.
    Now(Answer),
    /// With the outcome of a proposal to the control effects.
    Later,
}

pub(crate) type Served = Result<Reply, RtiError>;

/// The response without a result called `$variant`.
macro_rules! done {
    ($variant:ident) => {
        Ok($crate::services::Reply::Now(hla::api::call_response::CallResponse::$variant(Default::default())))
    };
}

/// The response called `$variant` with a result.
macro_rules! answer {
    ($variant:ident, $result:expr) => {
        Ok($crate::services::Reply::Now(hla::api::call_response::CallResponse::$variant(
            hla::api::$variant { result: $result.into() },
        )))
    };
}

/// Makes the response called `$variant`, without a result, from any outcome.
macro_rules! finish {
    ($variant:ident) => {
        |_| hla::api::call_response::CallResponse::$variant(Default::default())
    };
}

pub(crate) use {answer, done, finish};

/// A call of a joined federate, with what serving it needs.
pub(crate) struct Context<'a> {
    pub(crate) control: &'a ControlPlane,
    pub(crate) objects: &'a mut Objects,
    pub(crate) effects: &'a mut Effects,
    pub(crate) caller: CallerId,
    pub(crate) call: CallId,
    /// The federate that calls.
    pub(crate) who: FederateHandle,
}

impl Context<'_> {
    /// The federation execution as the control effects knows it.
    pub(crate) fn federation(&self) -> &Federation {
        self.control.execution(self.objects.id).expect("an execution has its federation")
    }

    /// Proposes a command; its outcome ends the call with the response that `finish` makes.
    pub(crate) fn propose(&mut self, command: Command, finish: Finish) -> Served {
        let waiting = Some(Waiting { caller: self.caller, call: self.call, finish });
        self.effects.push(Effect::Propose(Proposal { command, waiting, report: None }));
        Ok(Reply::Later)
    }
}
