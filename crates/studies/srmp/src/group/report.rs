//! The results of a simulated group.

use super::totals::Totals;

/// Sent octets, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of datagrams.
    pub datagrams: u64,
    /// Octets of message bodies.
    pub body_bytes: u64,
    /// Octets of UDP payload.
    pub udp_bytes: u64,
    /// Octets with the headers of UDP and IP.
    pub ip_bytes: u64,
    /// Octets of NACKs, announcements and digests, and of all datagrams without messages. Headers
    /// count where the whole datagram does.
    pub control_bytes: u64,
    /// The part of these that belongs to reports for congestion control.
    pub feedback_bytes: u64,
}

/// Repair traffic over links, counted by copy. A datagram crosses the link to each host that it
/// reaches and, if it comes from another site, a link between sites before that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    /// Retransmitted messages between sites.
    pub repairs_between_sites: u64,
    /// Retransmitted messages to hosts.
    pub repairs_to_hosts: u64,
    /// Repair requests between sites.
    pub asks_between_sites: u64,
    /// Repair requests to hosts.
    pub asks_to_hosts: u64,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Counters of the objects.
    pub generated: workload::Counters,
    /// Counters of the endpoints.
    pub totals: Totals,
    /// Traffic from the beginning to the end of the objects' traffic.
    pub sent: Sent,
    /// Traffic before that.
    pub joining: Sent,
    /// Messages that objects of dead hosts would have sent.
    pub unsent: u64,
    /// Mode 0 messages that could have reached an object, and those that did, with
    /// [`LossAt::Object`](super::LossAt::Object).
    pub object_receptions: (u64, u64),
    /// Mode 1 messages that some host missed, each counted once.
    pub lost: u64,
    /// Number of copies of final values that should exist, and number of those that do.
    pub finals: (u64, u64),
    /// Time for which copies were stale, beyond the delay of the lines, in seconds per hour and
    /// copy.
    pub stale_seconds_per_hour: f64,
    /// Time from the expected arrival of a lost message to the detection of the loss. For a single
    /// data element only.
    pub detection: srmp::Histogram,
    /// Repair traffic over links.
    pub crossings: Crossings,
    /// The largest number of requests for one message that reached its source.
    pub most_asked: u64,
    /// Time from the restart of a host until it has all data elements that existed then.
    pub joins: srmp::Histogram,
    /// Restarted hosts that still missed some of them at the end.
    pub unjoined: u64,
    /// Region loggers that died by [`Setup::region_crashes`](super::Setup::region_crashes).
    pub region_deaths: u64,
    /// Octets that sources sent, with headers, by second.
    pub source_bytes: Vec<u64>,
    /// Events of the simulation.
    pub events: u64,
}
