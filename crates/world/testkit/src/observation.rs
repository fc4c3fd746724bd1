//! Observations of a run: at the server's side of the wire, in the order in which the kernel
//! executes and sends, and at each federate.

use base::{Moment, Serial31};
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use netsim::HostId;

base::id! {
    /// A session of the Federate Protocol, as both its ends know it.
    pub struct SessionId(u64) as "s";
}

/// An observation and its time.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The time.
    pub at: Moment,
    /// The observation.
    pub observation: Observation,
}

/// How the server lost the connection of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The client closed it, or it broke.
    Closed,
    /// The client was silent for too long.
    Silent,
}

/// A federation execution as the kernel reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FederationView {
    /// Its name.
    pub name: String,
    /// Number of object instances.
    pub instances: usize,
    /// Names of the joined federates, with the best-effort callbacks dropped for each.
    pub federates: Vec<(String, u64)>,
}

/// An observation.
#[derive(Clone, Debug)]
pub enum Observation {
    // At the server's side of the wire.
    /// A client opened a session.
    Opened {
        /// The session.
        session: SessionId,
        /// The client's host.
        host: HostId,
    },
    /// The kernel executes a call.
    Executed {
        /// The caller.
        session: SessionId,
        /// The number of the call.
        call: Serial31,
        /// The call.
        request: Call,
    },
    /// The kernel answers a call, for the first time.
    Answered {
        /// The caller.
        session: SessionId,
        /// The number of the call.
        call: Serial31,
        /// The answer.
        answer: Answer,
    },
    /// The kernel sends a callback, for the first time.
    Called {
        /// The session of its receiver.
        session: SessionId,
        /// Number of the callback.
        number: Serial31,
        /// The encoded callback.
        body: Bytes,
    },
    /// The kernel sends a message again, after a resume.
    Repeated {
        /// The session of its receiver.
        session: SessionId,
        /// Number of the message.
        number: Serial31,
        /// Whether it is identical to the octet.
        identical: bool,
    },
    /// The session's socket has no room, or has room again.
    Full {
        /// The session.
        session: SessionId,
    },
    /// The session no longer has a connection.
    Interrupted {
        /// The session.
        session: SessionId,
        /// The way in which it was lost.
        loss: Loss,
    },
    /// The session continues on another connection.
    Resumed {
        /// The session.
        session: SessionId,
    },
    /// The client ended the session.
    Terminated {
        /// The session.
        session: SessionId,
    },
    /// The server ended the session by itself.
    Ended {
        /// The session.
        session: SessionId,
    },
    /// The kernel was woken by its timer.
    TimedOut,
    /// The kernel's status has changed.
    Status(Vec<FederationView>),

    // At a federate.
    /// The federate has a session.
    Established {
        /// The session.
        session: SessionId,
        /// The federate's host.
        host: HostId,
    },
    /// The federate makes a call.
    Made {
        /// Its session.
        session: SessionId,
        /// Number of the call.
        call: Serial31,
        /// The call.
        request: Call,
    },
    /// The federate received an answer.
    Got {
        /// Its session.
        session: SessionId,
        /// Number of the call.
        call: Serial31,
        /// The call; `None` if the federate made no call of that number.
        request: Option<Call>,
        /// The answer.
        answer: Answer,
    },
    /// The federate received a callback.
    Received {
        /// Its session.
        session: SessionId,
        /// Number of the callback.
        number: Serial31,
        /// The callback.
        callback: Callback,
    },
    /// The federate's session is over, whether the federate wanted it or not.
    Over {
        /// The session.
        session: SessionId,
        /// The reason, for people.
        reason: String,
    },
    /// The federate's process is killed.
    Killed {
        /// Its session, if it had one.
        session: Option<SessionId>,
    },
}
