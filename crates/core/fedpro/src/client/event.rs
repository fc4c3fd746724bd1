//! The events and actions of a client session.

use crate::frame::{FrameError, NewSessionReason, ResumeStatus};
use base::Serial31;
use hla::api::{CallResponse, CallbackRequest};
use std::borrow::Cow;

/// An event of a client session.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The session is open.
    Established,
    /// A call has been answered. Each call is answered exactly once, even if connections break in
    /// between.
    Response {
        /// Number of the call.
        call: Serial31,
        /// The result, or the exception. A response that cannot be decoded counts as
        /// RTIinternalError.
        response: CallResponse,
    },
    /// The RTI invokes a callback. Each callback comes once, and in order. Report the outcome with
    /// [`callback_done`](super::Session::callback_done).
    Callback {
        /// Number of the callback.
        callback: Serial31,
        /// The callback. Its request is always one that this crate knows; the session itself
        /// answers others as failed.
        request: CallbackRequest,
    },
    /// The connection is lost. The session tries to resume; meanwhile it accepts and queues calls.
    Interrupted {
        /// The cause.
        reason: Interruption,
    },
    /// The session continues on a new connection.
    Resumed,
    /// A session that had refused a call accepts calls again.
    Writable,
    /// The session has ended as requested. This is the last event. Outstanding calls get no
    /// response.
    Terminated,
    /// The session has ended without a request from its owner. This is the last event. Outstanding
    /// calls get no response.
    Lost {
        /// The cause.
        reason: LostReason,
    },
}

/// Why a connection was given up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Interruption {
    /// The world reported that it is closed.
    #[error("connection closed: {0}")]
    Closed(Cow<'static, str>),
    /// The server was silent for [`Config::heart_timeout`](super::Config::heart_timeout).
    #[error("the server is silent")]
    Silent,
}

/// Why a session was lost.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LostReason {
    /// The first connection failed.
    #[error("cannot connect: {0}")]
    ConnectFailed(Cow<'static, str>),
    /// No session was opened within [`Config::connect_timeout`](super::Config::connect_timeout).
    #[error("no session in time")]
    ConnectTimeout,
    /// The server refused the session.
    #[error("the server gives no session: {0}")]
    Refused(NewSessionReason),
    /// The server broke the protocol.
    #[error("bad message from the server: {0}")]
    BadMessage(#[from] FrameError),
    /// The server refused to resume the session.
    #[error("the server does not resume the session: {0}")]
    ResumeRefused(ResumeStatus),
    /// The server lacks messages that the history no longer holds.
    #[error("the server lacks messages that are no longer kept")]
    HistoryTooShort,
    /// No attempt to resume succeeded within
    /// [`Config::reconnect_window`](super::Config::reconnect_window).
    #[error("connection lost and not resumed in time")]
    ReconnectWindowExpired,
}

/// A request of the session to its world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Connect to the server once, dropping any older connection. Then call
    /// [`handle_connected`](super::Session::handle_connected) or
    /// [`handle_closed`](super::Session::handle_closed).
    Connect,
    /// Write what [`poll_transmit`](super::Session::poll_transmit) still gives, without waiting,
    /// and close the connection. Report nothing more of this connection, not even its end.
    CloseConnection,
}

/// The reason why a call was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallError {
    /// The session has ended or is being terminated.
    #[error("the session is over")]
    Ended,
    /// Too many bytes wait to be written. [`Event::Writable`] reports when calls are accepted
    /// again.
    #[error("over {limit} bytes wait to be written")]
    Full {
        /// [`Config::unsent_bytes_max`](super::Config::unsent_bytes_max).
        limit: usize,
    },
    /// The encoded call exceeds the largest body of a message.
    #[error("the call takes {len} bytes, a message carries at most {limit}")]
    TooLong {
        /// Encoded size in bytes.
        len: usize,
        /// [`BODY_BYTES_LIMIT`](crate::frame::BODY_BYTES_LIMIT).
        limit: usize,
    },
}
