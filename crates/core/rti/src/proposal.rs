//! Proposals to the control plane, and the calls that wait for their outcome or for work in slices.

use crate::control::Command;
use base::id;
use bytes::Bytes;
use hla::RtiError;
use hla::api::JoinResult;
use hla::api::call_response::CallResponse;

id! {
    /// A session of a federate with this RTI, from connect to disconnect. The driver assigns the
    /// number.
    pub struct CallerId(u64) as "s";
    /// The number by which a caller recognizes its service call.
    pub struct CallId(u32) as "call";
}

/// The result of an accepted proposal, for the call it came from.
#[derive(Default)]
pub(crate) struct Outcome {
    /// For Join Federation Execution: the caller's new identity.
    pub(crate) joined: Option<JoinResult>,
}

/// Makes the response of one service from the outcome of its proposal.
pub(crate) type Finish = fn(Outcome) -> CallResponse;

/// The service call that a proposal came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) caller: CallerId,
    pub(crate) call: CallId,
    pub(crate) finish: Finish,
}

impl Waiting {
    /// The end of the call.
    pub(crate) fn end(self, answer: Result<CallResponse, RtiError>) -> Completion {
        Completion { caller: self.caller, call: self.call, answer }
    }
}

/// The completion of a service call whose outcome came after [`Rti::call`](crate::Rti::call) had returned.
#[derive(Debug)]
pub struct Completion {
    /// The caller.
    pub caller: CallerId,
    /// The call.
    pub call: CallId,
    /// Its response or exception.
    pub answer: Result<CallResponse, RtiError>,
}

/// The report of the two list services (4.7, 4.9), from the state at the moment of the report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Report {
    /// All federation executions.
    Federations,
    /// The members of the federation execution of this name.
    Members(String),
}

/// A command for the control plane, and the call that waits for its outcome.
#[derive(Debug)]
pub struct Proposal {
    pub(crate) command: Command,
    pub(crate) waiting: Option<Waiting>,
    /// The report for the caller at the command's turn.
    pub(crate) report: Option<Report>,
}

impl Proposal {
    /// A proposal whose outcome no call waits for.
    pub(crate) fn new(command: Command) -> Self {
        Self { command, waiting: None, report: None }
    }

    /// The command to put into the total order.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// The command in its wire form, for [`Rti::commit_remote`](crate::Rti::commit_remote) at the
    /// other nodes.
    pub fn to_bytes(&self) -> Bytes {
        self.command.to_bytes()
    }
}
