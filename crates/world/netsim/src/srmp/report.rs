//! What a simulated group came to.

use super::totals::Totals;

/// Bytes that were sent, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams.
    pub datagrams: u64,
    /// Octets of messages.
    pub body_bytes: u64,
    /// Octets of UDP payload.
    pub udp_bytes: u64,
    /// Octets with the headers of UDP and IP.
    pub ip_bytes: u64,
    /// Octets of NACKs, announcements and digests, and of all datagrams without messages; with headers where it is the whole datagram.
    pub control_bytes: u64,
    /// Of these, octets of reports for congestion control.
    pub feedback_bytes: u64,
}

/// Copies that crossed a link, for repair: a datagram crosses the link to each host that it reaches, and before that, when it comes
/// from another site, a link between sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    /// Messages sent again, between sites.
    pub repairs_between_sites: u64,
    /// Messages sent again, to hosts.
    pub repairs_to_hosts: u64,
    /// Wishes between sites.
    pub asks_between_sites: u64,
    /// Wishes to hosts.
    pub asks_to_hosts: u64,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What the objects did.
    pub generated: workload::Counters,
    /// What the endpoints counted.
    pub totals: Totals,
    /// What was sent from when the objects began until they stopped.
    pub sent: Sent,
    /// What was sent before.
    pub joining: Sent,
    /// Messages that objects of dead hosts would have sent.
    pub unsent: u64,
    /// Mode 0 messages that could have reached an object, and did, where each object loses by itself.
    pub object_receptions: (u64, u64),
    /// Mode 1 messages that somebody did not get at first, or not again.
    pub lost: u64,
    /// Copies of final values that must be, and that are.
    pub finals: (u64, u64),
    /// Time that copies were not the newest beyond the delay of the lines, in seconds per hour and copy.
    pub stale_seconds_per_hour: f64,
    /// What was lost, and detected by its receiver: from when the data would have come. Only of a single data element.
    pub detection: srmp::Histogram,
    /// What crossed links for repair.
    pub crossings: Crossings,
    /// The most wishes for one message that reached its source.
    pub most_asked: u64,
    /// From when hosts began again until they had all that there was then.
    pub joins: srmp::Histogram,
    /// Hosts that began again and had not all of it in the end.
    pub unjoined: u64,
    /// Loggers of regions that died because it was their turn.
    pub region_deaths: u64,
    /// Octets that sources sent, with headers, by second.
    pub source_bytes: Vec<u64>,
    /// Events.
    pub events: u64,
}
