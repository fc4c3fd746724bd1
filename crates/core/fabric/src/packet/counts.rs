//! What is counted of packets.

/// What became of the packets of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketCounts {
    /// Packets that arrived,
    pub arrived: u64,
    /// those of them with a mark of congestion,
    pub marked: u64,
    /// packets that found no room,
    pub dropped: u64,
    /// and packets that were lost on links.
    pub lost: u64,
    /// Messages that arrived with a mark on some packet.
    pub messages_marked: u64,
}

impl PacketCounts {
    /// Those of another run as well.
    pub fn add(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.marked += other.marked;
        self.dropped += other.dropped;
        self.lost += other.lost;
        self.messages_marked += other.messages_marked;
    }
}

/// What became of packets at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounts {
    /// Packets that found no room at its port,
    pub dropped: u64,
    /// that were lost on it,
    pub lost: u64,
    /// or that were marked at its port.
    pub marked: u64,
    /// The most bytes that waited at its port of a switch; `None` where nobody counts them, since there is room for all.
    pub backlog_max: Option<u64>,
}
