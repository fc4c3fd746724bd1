//! Limits and timeouts of an endpoint.

use crate::frame::MESSAGE_BYTES_MAX;
use base::Serial31;
use std::time::Duration;

/// Limits and timeouts of an [`Endpoint`](super::Endpoint). [`Config::default`] gives the
/// documented defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// Largest message accepted from a client that has a session, in bytes with the header. Default
    /// 64 MiB ([`MESSAGE_BYTES_MAX`]), because one message carries all FOM modules of a call.
    pub message_bytes_max: usize,
    /// Concurrent sessions, interrupted ones included. Beyond it a new session is refused with "out
    /// of resources". Default 4,096.
    pub sessions_max: usize,
    /// Concurrent sessions of one [address](base::Address), interrupted ones included. Beyond it a
    /// new session is refused with "out of resources". Default 1,024.
    pub sessions_per_address_max: usize,
    /// Sessions, out of [`sessions_max`](Config::sessions_max), that are reserved for addresses
    /// without a session. Default 256.
    pub sessions_reserved: usize,
    /// Concurrent connections without a session, at least 1. Beyond this number, the oldest one of
    /// the address with the most is closed. Default 1,024.
    pub connections_without_session_max: usize,
    /// How long a session may stay [unconnected](super::Endpoint::set_connected). Default `None`:
    /// the endpoint does not learn which sessions connect, and does not expect them to.
    pub connect_timeout: Option<Duration>,
    /// Concurrent sessions that are not connected, at least 1. Beyond this number, the oldest one
    /// of the address with the most is ended. Default 1,024.
    pub unconnected_sessions_max: usize,
    /// How long a connection may take for its first message. Default 10 s.
    pub first_message_timeout: Duration,
    /// After a client has been silent for this long, its connection counts as broken; the session
    /// is kept for a resume. Default 180 s, the clients' own value; they send heartbeats every
    /// 60 s. `None` tolerates clients that send no heartbeats while their connection is open (MAK's
    /// Python client).
    pub heart_timeout: Option<Duration>,
    /// How long a session without a connection is kept for a resume. Default 600 s, which is as
    /// long as clients keep trying. See [`Endpoint::set_linger`](super::Endpoint::set_linger).
    pub resume_window: Duration,
    /// How long the last messages of a closed session may take to be written. Default 5 s.
    pub close_timeout: Duration,
    /// Written HLA messages kept per session for a resume. Acknowledged messages are not kept.
    /// Default 2,000, as many as the clients keep.
    pub history_messages_max: usize,
    /// Bytes of written HLA messages kept per session for a resume. Default 16 MiB.
    pub history_bytes_max: usize,
    /// A session with this many unsent bytes is not writable: hold callbacks back, and wait for
    /// [`Event::Writable`](super::Event::Writable). Default 1 MiB.
    pub unsent_bytes_high: usize,
    /// Unsent bytes at which a session is writable again. Default 256 KiB.
    pub unsent_bytes_low: usize,
    /// Unsent bytes beyond which a session is ended as overloaded. Default 64 MiB.
    pub unsent_bytes_max: usize,
    /// Calls of one session that wait for their response. Beyond it the session is ended as
    /// overloaded. Default 65,536.
    pub calls_max: usize,
    /// Control messages of one session that wait to be written. Beyond it the session is ended as
    /// overloaded: its client floods heartbeats and reads nothing. Default 256.
    pub control_messages_max: usize,
    /// The first sequence number of the server in a session. Default 1, which MAK's client
    /// requires. Other values are for tests of the wraparound.
    pub first_sequence: Serial31,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            message_bytes_max: MESSAGE_BYTES_MAX,
            sessions_max: 4_096,
            sessions_per_address_max: 1_024,
            sessions_reserved: 256,
            connections_without_session_max: 1_024,
            connect_timeout: None,
            unconnected_sessions_max: 1_024,
            first_message_timeout: Duration::from_secs(10),
            heart_timeout: Some(Duration::from_secs(180)),
            resume_window: Duration::from_secs(600),
            close_timeout: Duration::from_secs(5),
            history_messages_max: 2_000,
            history_bytes_max: 16 << 20,
            unsent_bytes_high: 1 << 20,
            unsent_bytes_low: 256 << 10,
            unsent_bytes_max: 64 << 20,
            calls_max: 65_536,
            control_messages_max: 256,
            first_sequence: Serial31::default().next(),
        }
    }
}
