//! Limits and timeouts of an endpoint.

use crate::frame::MESSAGE_BYTES_MAX;
use base::Serial31;
use std::time::Duration;

/// Limits and timeouts of an [`Endpoint`](super::Endpoint). [`Config::default`] gives the documented defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// Largest message accepted from a client that has a session, in bytes with the header.
    /// Default 64 MiB ([`MESSAGE_BYTES_MAX`]): all FOM modules of a call are in one message.
    pub message_bytes_max: usize,
    /// Sessions at one time, interrupted ones included. Default 4,096; over it a new session is
    /// refused with "out of resources".
    pub sessions_max: usize,
    /// Sessions of one [address](base::Address) at one time, interrupted ones included. Default 1,024; over it a new
    /// session is refused with "out of resources".
    pub sessions_per_address_max: usize,
    /// How many of [`sessions_max`](Config::sessions_max) are kept for addresses that have no session. Default 256.
    pub sessions_reserved: usize,
    /// Connections at one time that have no session (yet), at least 1. Default 1,024; over it the oldest one of the
    /// address with the most of them is closed.
    pub connections_without_session_max: usize,
    /// How long a session may go without being [connected](super::Endpoint::set_connected). Default `None`: the owner
    /// of the endpoint does not tell, and sessions are not expected to connect.
    pub connect_timeout: Option<Duration>,
    /// Sessions at one time that are not connected, at least 1. Default 1,024; over it the oldest one of the address
    /// with the most of them is ended.
    pub unconnected_sessions_max: usize,
    /// How long a connection may take for its first message. Default 10 s.
    pub first_message_timeout: Duration,
    /// Silence of a client after which its connection counts as broken (the session stays for a
    /// resume). Default 180 s, the clients' own value; they send heartbeats every 60 s. `None`
    /// tolerates clients that send none while their connection is open (MAK's Python client).
    pub heart_timeout: Option<Duration>,
    /// How long a session without a connection is kept for a resume. Default 600 s, which is as long
    /// as clients keep trying. See [`Endpoint::set_linger`](super::Endpoint::set_linger).
    pub resume_window: Duration,
    /// How long the last messages of a closed session may take to be written. Default 5 s.
    pub close_timeout: Duration,
    /// Written HLA messages kept per session for a resume. Default 2,000, what the clients keep.
    /// Acknowledged messages are not kept.
    pub history_messages_max: usize,
    /// Bytes of written HLA messages kept per session for a resume. Default 16 MiB.
    pub history_bytes_max: usize,
    /// Unsent bytes of a session from which on it is not writable: hold back what can be held back,
    /// and wait for [`Event::Writable`](super::Event::Writable). Default 1 MiB.
    pub unsent_bytes_high: usize,
    /// Unsent bytes at which a session is writable again. Default 256 KiB.
    pub unsent_bytes_low: usize,
    /// Unsent bytes of a session over which it is ended as overloaded. Default 64 MiB.
    pub unsent_bytes_max: usize,
    /// Calls of one session that wait for their response; over it the session is ended as
    /// overloaded. Default 65,536.
    pub calls_max: usize,
    /// Control messages of one session that wait to be written; over it the session is ended as
    /// overloaded (a client that floods heartbeats and reads nothing). Default 256.
    pub control_messages_max: usize,
    /// The first sequence number of the server in a session. Default 1, which MAK's client insists
    /// on; other values are for tests of the wrap.
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
