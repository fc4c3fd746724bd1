//! Counters of a node.

/// Counters of a node's sockets since its start. Every field only rises and has its unit in its
/// name, except `open_connections`, which is a level.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NodeStats {
    /// Connections that are open now.
    pub open_connections: u64,
    /// Connections that were accepted and served.
    pub accepted_connections: u64,
    /// Connections that were closed at once because `limits.connections` were open.
    pub refused_connections: u64,
    /// Failures to accept, such as a lack of file descriptors.
    pub accept_errors: u64,
    /// Connections that ended with a network error instead of an orderly close.
    pub failed_connections: u64,
    /// Reads that brought data.
    pub reads: u64,
    /// Bytes received.
    pub read_bytes: u64,
    /// Writes that a socket accepted, at least in part.
    pub writes: u64,
    /// Bytes sent.
    pub written_bytes: u64,
    /// Writes that a socket did not accept completely, because its peer reads too slowly.
    pub full_sockets: u64,
    /// Links to other nodes that came up.
    pub opened_links: u64,
    /// Attempts to make a link that failed.
    pub failed_link_attempts: u64,
    /// Links of others that were refused, or that never identified themselves.
    pub refused_links: u64,
    /// Turns of 20 ms or longer. All other federates and links waited for them.
    pub slow_turns: u64,
    /// The longest of these turns, in µs.
    pub longest_turn_us: u64,
}

impl NodeStats {
    /// Calls `f` with the name and the value of every counter. This is the only list of their
    /// names.
    pub fn each(&self, mut f: impl FnMut(&'static str, u64)) {
        f("open_connections", self.open_connections);
        f("accepted_connections", self.accepted_connections);
        f("refused_connections", self.refused_connections);
        f("accept_errors", self.accept_errors);
        f("failed_connections", self.failed_connections);
        f("reads", self.reads);
        f("read_bytes", self.read_bytes);
        f("writes", self.writes);
        f("written_bytes", self.written_bytes);
        f("full_sockets", self.full_sockets);
        f("opened_links", self.opened_links);
        f("failed_link_attempts", self.failed_link_attempts);
        f("refused_links", self.refused_links);
        f("slow_turns", self.slow_turns);
        f("longest_turn_us", self.longest_turn_us);
    }
}
