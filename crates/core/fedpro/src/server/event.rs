//! The events of an endpoint.

use super::{ConnId, SessionKey};
use crate::frame::{FrameError, ResumeStatus};
use base::{Address, Serial31};
use hla::api::{CallRequest, ExceptionData};
use std::borrow::Cow;
use std::time::Duration;

/// An event of an endpoint. Events of one session are in order.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A client opened a session.
    SessionOpened {
        /// The session.
        session: SessionKey,
        /// Its connection.
        conn: ConnId,
    },
    /// A federate calls a service. The owner owes exactly one response, by
    /// [`respond`](super::Endpoint::respond).
    Call {
        /// The session.
        session: SessionKey,
        /// Number of the call.
        call: Serial31,
        /// The call. It always holds a service.
        request: CallRequest,
    },
    /// A federate has handled a callback. This is only a hint: not every client answers every
    /// callback.
    CallbackResponse {
        /// The session.
        session: SessionKey,
        /// Number of the callback. It is meaningless with clients that use a numbering of their
        /// own.
        callback: Serial31,
        /// `Err` holds the exception that the callback raised. A response that cannot be decoded
        /// counts as CouldNotDecode, an empty one as success.
        result: Result<(), ExceptionData>,
    },
    /// The connection is lost, and the session is kept for a resume. Outstanding calls proceed;
    /// responses and callbacks wait.
    Interrupted {
        /// The session.
        session: SessionKey,
    },
    /// The client has resumed the session on a new connection. [`Event::Interrupted`] does not
    /// precede it if the client noticed the loss first.
    Resumed {
        /// The session.
        session: SessionKey,
        /// Its new connection.
        conn: ConnId,
    },
    /// A session that had exceeded its high watermark is below its low one.
    Writable {
        /// The session.
        session: SessionKey,
    },
    /// The session has ended. Each session has exactly one such event, as its last one. From now on
    /// its key finds nothing.
    SessionEnded {
        /// The session.
        session: SessionKey,
        /// The cause.
        reason: EndReason,
    },
    /// A connection that never carried a session is being closed.
    Refused {
        /// The connection.
        conn: ConnId,
        /// Its address.
        address: Address,
        /// The cause.
        reason: Refusal,
    },
}

/// Why a session ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndReason {
    /// The client terminated it.
    #[error("terminated by the client")]
    Terminated,
    /// The client broke the protocol.
    #[error("bad message: {0}")]
    BadMessage(#[from] FrameError),
    /// The connection was lost, and the client did not resume in time.
    #[error("connection lost and not resumed in time")]
    ResumeWindowExpired,
    /// The client tried to resume, but messages that one side lacks are gone.
    #[error("resume refused: {0}")]
    NotResumable(ResumeStatus),
    /// Too much waits for this client.
    #[error("overload: {0}")]
    Overload(Overload),
    /// It was not [connected](super::Endpoint::set_connected) within
    /// [`Config::connect_timeout`](super::Config::connect_timeout).
    #[error("no connect call within {timeout:?}")]
    NotConnected {
        /// The limit.
        timeout: Duration,
    },
    /// It was not connected, and its place was needed. See
    /// [`Config::unconnected_sessions_max`](super::Config::unconnected_sessions_max).
    #[error("no connect call yet, and its place was needed")]
    Evicted,
    /// The owner of the endpoint ended it.
    #[error("{0}")]
    Closed(Cow<'static, str>),
}

/// The limit that was exceeded, and its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Overload {
    /// [`Config::unsent_bytes_max`](super::Config::unsent_bytes_max).
    #[error("the client does not read: over {limit} bytes wait to be sent")]
    UnsentBytes {
        /// The limit.
        limit: usize,
    },
    /// [`Config::calls_max`](super::Config::calls_max).
    #[error("over {limit} calls wait for their response")]
    Calls {
        /// The limit.
        limit: usize,
    },
    /// The memory for input is exhausted, and the client's address uses most of it.
    #[error("memory: messages and calls of clients take over {limit} bytes, {bytes} of them this client's")]
    Input {
        /// Bytes of this client.
        bytes: usize,
        /// Bytes that all clients together may use.
        limit: usize,
    },
    /// The memory for output is exhausted, and this client uses most of it.
    #[error("memory: over {limit} bytes wait for clients, {bytes} of them for this one")]
    Output {
        /// Bytes that waited for this client.
        bytes: usize,
        /// Bytes that may wait for all clients together.
        limit: usize,
    },
    /// [`Config::control_messages_max`](super::Config::control_messages_max).
    #[error("the client does not read: over {limit} control messages wait to be sent")]
    ControlMessages {
        /// The limit.
        limit: usize,
    },
}

/// Why a connection got no session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The first message is malformed, or is not one that opens or resumes a session.
    #[error("bad message: {0}")]
    BadMessage(#[from] FrameError),
    /// The first message did not come in time.
    #[error("no message in time")]
    Silent,
    /// The client speaks another version of the protocol.
    #[error("protocol version {0} is not supported")]
    Version(u32),
    /// [`Config::sessions_max`](super::Config::sessions_max).
    #[error("all {limit} sessions are taken")]
    Sessions {
        /// The limit.
        limit: usize,
    },
    /// [`Config::sessions_per_address_max`](super::Config::sessions_per_address_max).
    #[error("its address has {limit} sessions, which is its share")]
    SessionsOfAddress {
        /// The limit.
        limit: usize,
    },
    /// [`Config::unconnected_sessions_max`](super::Config::unconnected_sessions_max).
    #[error("{limit} sessions are waiting for their connect call")]
    UnconnectedSessions {
        /// The limit.
        limit: usize,
    },
    /// [`Config::connections_without_session_max`](super::Config::connections_without_session_max).
    #[error("over {limit} connections have no session, and its address has the most of them")]
    Connections {
        /// The limit.
        limit: usize,
    },
    /// The session to resume is unknown or over.
    #[error("no session {0:#018x} to resume")]
    UnknownSession(u64),
    /// The session to resume was opened over a connection with another [`Proof`](super::Proof).
    #[error("it resumes a session without the proof of identity that this was opened with")]
    Unproved,
    /// The id drawn for the new session is 0 or already in use.
    #[error("session id {0:#018x} cannot be used")]
    SessionId(u64),
}

impl Refusal {
    /// Whether a limit caused the refusal, for this client's address or for the whole server.
    pub const fn is_overload(&self) -> bool {
        matches!(
            self,
            Self::Sessions { .. } | Self::SessionsOfAddress { .. } | Self::UnconnectedSessions { .. }
        )
    }
}
