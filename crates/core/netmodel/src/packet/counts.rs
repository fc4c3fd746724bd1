//! Counters of packets.

/// The fates of the packets of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketCounts {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// Packets dropped because they found no room.
    pub dropped: u64,
    /// Packets lost on links.
    pub lost: u64,
    /// Messages that arrived with a mark on some packet.
    pub messages_marked: u64,
}

impl PacketCounts {
    /// Adds the counters of another run.
    pub fn add(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.marked += other.marked;
        self.dropped += other.dropped;
        self.lost += other.lost;
        self.messages_marked += other.messages_marked;
    }
}

/// The fates of packets at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounts {
    /// Packets dropped because they found no room at its port.
    pub dropped: u64,
    /// Packets lost on it.
    pub lost: u64,
    /// Packets marked at its port.
    pub marked: u64,
    /// Most bytes that waited at its port of a switch; `None` where this is not counted, because
    /// there is room for everything.
    pub backlog_max: Option<u64>,
}
