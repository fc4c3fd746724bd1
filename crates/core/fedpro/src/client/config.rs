//! Limits and timeouts of a client session.

use crate::frame::MESSAGE_BYTES_MAX;
use base::Serial31;
use std::time::Duration;

/// Limits and timeouts of a [`Session`](super::Session). [`Config::default`] gives the documented
/// defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// How long connecting and opening the session, or one attempt to resume it, may take. Default
    /// 30 s.
    pub connect_timeout: Duration,
    /// The session sends a heartbeat when it has written nothing for 5/6 of this. Default 60 s.
    pub heartbeat_interval: Duration,
    /// After the server has been silent for this long, the connection counts as broken. Default 180
    /// s.
    pub heart_timeout: Duration,
    /// How long the session keeps trying to resume. Default 600 s.
    pub reconnect_window: Duration,
    /// Wait after a failed attempt to resume. The first attempt is made at once. Default 5 s.
    pub retry_delay: Duration,
    /// How long to wait for the server's confirmation when terminating. Default 10 s.
    pub terminate_timeout: Duration,
    /// Largest message accepted from the server, in bytes with the header. Default 64 MiB.
    pub message_bytes_max: usize,
    /// Limit of unsent bytes, beyond which [`Session::call`](super::Session::call) refuses a call.
    /// Default 16 MiB.
    pub unsent_bytes_max: usize,
    /// Unsent bytes at which a session that has refused a call is writable again. Default 4 MiB.
    pub unsent_bytes_low: usize,
    /// Written messages kept for a resume. Messages that the server has acknowledged by answering
    /// are not kept. Default 65,536.
    pub history_messages_max: usize,
    /// Bytes of written messages kept for a resume. Default 64 MiB.
    pub history_bytes_max: usize,
    /// Number of the first message. Default 0; other values are for tests of the wraparound.
    pub first_sequence: Serial31,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(30),
            heartbeat_interval: Duration::from_secs(60),
            heart_timeout: Duration::from_secs(180),
            reconnect_window: Duration::from_secs(600),
            retry_delay: Duration::from_secs(5),
            terminate_timeout: Duration::from_secs(10),
            message_bytes_max: MESSAGE_BYTES_MAX,
            unsent_bytes_max: 16 << 20,
            unsent_bytes_low: 4 << 20,
            history_messages_max: 65_536,
            history_bytes_max: 64 << 20,
            first_sequence: Serial31::default(),
        }
    }
}
