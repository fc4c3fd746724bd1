//! What a client session tells its owner.

use crate::frame::{FrameError, NewSessionReason, ResumeStatus};
use base::Serial31;
use hla::api::{CallResponse, CallbackRequest};
use std::borrow::Cow;

/// What happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The session is open.
    Established,
    /// A call is answered: exactly once, whatever happens to connections in between.
    Response {
        /// Number of the call.
        call: Serial31,
        /// The result, or the exception. An answer that cannot be read is RTIinternalError.
        response: CallResponse,
    },
    /// The RTI calls back; each callback comes once, in order. Report the outcome with
    /// [`callback_done`](super::Session::callback_done).
    Callback {
        /// Number of the callback.
        callback: Serial31,
        /// The callback; it always holds one that this crate knows. Others are answered as failed.
        request: CallbackRequest,
    },
    /// The connection is lost; calls are taken and queued while the session tries to resume.
    Interrupted {
        /// What happened to the connection.
        reason: Interruption,
    },
    /// The session goes on.
    Resumed,
    /// A session that had refused a call takes calls again.
    Writable,
    /// The session is over, as asked for. Last event. Calls without an answer will get none.
    Terminated,
    /// The session is over, against the owner's will. Last event. Calls without an answer will get none.
    Lost {
        /// Why.
        reason: LostReason,
    },
}

/// Why a connection was given up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Interruption {
    /// The world says that it is closed.
    #[error("connection closed: {0}")]
    Closed(Cow<'static, str>),
    /// Nothing came from the server for too long.
    #[error("the server is silent")]
    Silent,
}

/// Why a session was lost.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LostReason {
    /// The first connection failed.
    #[error("cannot connect: {0}")]
    ConnectFailed(Cow<'static, str>),
    /// No session within [`Config::connect_timeout`](super::Config::connect_timeout).
    #[error("no session in time")]
    ConnectTimeout,
    /// The server gave no session.
    #[error("the server gives no session: {0}")]
    Refused(NewSessionReason),
    /// The server broke the protocol.
    #[error("bad message from the server: {0}")]
    BadMessage(#[from] FrameError),
    /// The server does not go on with the session.
    #[error("the server does not resume the session: {0}")]
    ResumeRefused(ResumeStatus),
    /// The server lacks messages that are no longer in the history.
    #[error("the server lacks messages that are no longer kept")]
    HistoryTooShort,
    /// All tries to resume failed within [`Config::reconnect_window`](super::Config::reconnect_window).
    #[error("connection lost and not resumed in time")]
    ReconnectWindowExpired,
}

/// What the world shall do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Connect to the server, dropping any older connection, then call
    /// [`handle_connected`](super::Session::handle_connected) or
    /// [`handle_closed`](super::Session::handle_closed). One try.
    Connect,
    /// Write what [`poll_transmit`](super::Session::poll_transmit) still gives, without waiting, and
    /// close. Hand in nothing more from this connection, not even its end.
    CloseConnection,
}

/// A call was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallError {
    /// The session is over or is being terminated.
    #[error("the session is over")]
    Ended,
    /// Too much is waiting to be written; [`Event::Writable`] will say when to go on.
    #[error("over {limit} bytes wait to be written")]
    Full {
        /// [`Config::unsent_bytes_max`](super::Config::unsent_bytes_max).
        limit: usize,
    },
    /// The encoded call is larger than a message can be.
    #[error("the call takes {len} bytes, a message carries at most {limit}")]
    TooLong {
        /// Encoded size in bytes.
        len: usize,
        /// [`BODY_BYTES_LIMIT`](crate::frame::BODY_BYTES_LIMIT).
        limit: usize,
    },
}
