//! A snapshot of a kernel, for people and tools.

/// A snapshot of a [`Kernel`](crate::Kernel).
#[derive(Clone, Debug)]
pub struct Status {
    /// Federation executions, by name.
    pub federations: Vec<rti::FederationStatus>,
    /// Sessions, interrupted ones included.
    pub sessions: usize,
    /// Connections.
    pub connections: usize,
    /// The uses of memory.
    pub memory: Vec<base::MemoryStatus>,
    /// Counters of the endpoint of the sessions.
    pub endpoint: fedpro::server::Stats,
    /// Connect calls with a wrong password.
    pub passwords_wrong: u64,
    /// Connect calls that were refused because their address had tried too many wrong passwords.
    pub passwords_refused: u64,
}
