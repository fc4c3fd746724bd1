//! Counters of the sockets.

/// Datagrams and system calls of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounters {
    /// Datagrams handed to the system.
    pub sent: u64,
    /// System calls that sent them.
    pub send_calls: u64,
    /// Datagrams that the system did not accept.
    pub send_errors: u64,
    /// Datagrams received, including its own that came back.
    pub received: u64,
    /// System calls that received them.
    pub receive_calls: u64,
    /// Errors while receiving, such as refusals of earlier datagrams.
    pub receive_errors: u64,
    /// Datagrams that the emulated lines lost.
    pub emulated_losses: u64,
    /// Mode 0 messages and notices dropped because they were not read in time.
    pub events_dropped: u64,
}
