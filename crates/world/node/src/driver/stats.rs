//! Counters of a node.

/// What a node's sockets did since it started. Every field counts up and has its unit in its name, but for
/// `open_connections`, which is a level.
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
    /// Connections that ended with an error of the network rather than an orderly close.
    pub failed_connections: u64,
    /// Reads that brought data.
    pub reads: u64,
    /// Bytes received.
    pub read_bytes: u64,
    /// Writes that a socket took, at least in part.
    pub writes: u64,
    /// Bytes sent.
    pub written_bytes: u64,
    /// Writes that a socket did not take completely, because its peer reads too slowly.
    pub full_sockets: u64,
    /// Links to other nodes that came up.
    pub opened_links: u64,
    /// Attempts to make a link that failed.
    pub failed_link_attempts: u64,
    /// Links of others that were refused, or that never said who they are.
    pub refused_links: u64,
    /// Turns that took 20 ms or longer: whoever else had something to say waited for them.
    pub slow_turns: u64,
    /// The longest of all turns that took 20 ms or longer, in µs.
    pub longest_turn_us: u64,
}

impl NodeStats {
    /// Calls `f` with the name and the value of every counter: the only list of their names.
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
