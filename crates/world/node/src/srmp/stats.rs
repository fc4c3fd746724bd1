//! What the sockets count.

/// Datagrams and system calls of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounters {
    /// Datagrams handed to the system.
    pub sent: u64,
    /// System calls for that.
    pub send_calls: u64,
    /// Datagrams that the system did not take.
    pub send_errors: u64,
    /// Datagrams that came, own ones that came back included.
    pub received: u64,
    /// System calls for that.
    pub receive_calls: u64,
    /// Errors while receiving, such as refusals of earlier datagrams.
    pub receive_errors: u64,
    /// Datagrams that the emulated lines lost.
    pub emulated_losses: u64,
    /// Mode 0 messages and notices that nobody read in time.
    pub events_dropped: u64,
}
