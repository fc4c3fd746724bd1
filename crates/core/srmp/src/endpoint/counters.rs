//! Everything that is counted (what RFC 4410 leaves to implementations).

use crate::fault::FaultCounts;
use crate::logger::LoggerCounters;
use crate::mode2::Mode2Counters;
use crate::model::MemberId;
use crate::rate::{SenderStats, ShaperStats};
use crate::receive::ReceiveCounters;
use crate::send::SendCounters;

/// Datagrams, messages and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams of any kind.
    pub datagrams: u64,
    /// Their bytes, without the headers of IP and UDP.
    pub bytes: u64,
    /// Bundles.
    pub bundles: u64,
    /// Bundles without any message or NACK.
    pub heartbeats: u64,
    /// Mode 0 messages.
    pub mode0: u64,
    /// Bytes of their bodies.
    pub mode0_bytes: u64,
    /// Mode 1 messages and segments, repairs and copies included.
    pub mode1: u64,
    /// Bytes of their bodies.
    pub mode1_bytes: u64,
    /// Mode 2 messages, retransmissions included.
    pub mode2: u64,
    /// Bytes of their bodies.
    pub mode2_bytes: u64,
    /// Acknowledgements.
    pub acks: u64,
    /// NACK items.
    pub nacks: u64,
    /// Bytes of NACKs.
    pub nack_bytes: u64,
    /// Versions announced.
    pub announcements: u64,
    /// Bytes of announcements.
    pub announcement_bytes: u64,
    /// Reports for congestion control.
    pub feedback: u64,
}

/// What an endpoint itself counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounters {
    /// What was sent.
    pub sent: Traffic,
    /// What came and was believed.
    pub received: Traffic,
    /// What was dropped, and why.
    pub faults: FaultCounts,
    /// Own datagrams that came back.
    pub looped: u64,
    /// Bundles that came before.
    pub duplicate_bundles: u64,
    /// Mode 0 messages held back because nothing of what their sender announces is here.
    pub mode0_gated: u64,
    /// Mode 0 messages in the bundle that a newer one of their stream replaced.
    pub mode0_conflated: u64,
    /// Datagrams of members that there is no room for.
    pub members_refused: u64,
    /// Datagrams of a second host with a member's identity.
    pub conflicts: u64,
    /// Wishes of members that ask too much.
    pub nacks_limited: u64,
    /// Datagrams that could not be written, or sealed: errors in this library or its use.
    pub not_written: u64,
}

/// All counters of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Counters<'a> {
    /// Traffic, faults and membership.
    pub endpoint: &'a EndpointCounters,
    /// Mode 1 of others.
    pub receive: &'a ReceiveCounters,
    /// Own mode 1.
    pub send: &'a SendCounters,
    /// Mode 2.
    pub mode2: &'a Mode2Counters,
    /// What the shaper let pass.
    pub shaper: ShaperStats,
    /// Own congestion control.
    pub rate: SenderStats,
    /// Loggers, and this member as one; none in profile v2 and in strict.
    pub logger: Option<&'a LoggerCounters>,
}

/// What a member is among the loggers of its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggerView {
    /// It is the site's logger.
    pub is_active: bool,
    /// It is the next.
    pub is_standby: bool,
    /// Of the site's logger: 1 when it serves other sites, 2 when it does not.
    pub tier: u8,
    /// Whom the site's logger asks, as far as this member is that logger; nobody: the sources.
    pub parent: MemberId,
    /// The loggers of other sites that ask this one.
    pub children: usize,
    /// The loggers of the site as this member knows them: the first that it would ask, and the next.
    pub known: (Option<MemberId>, Option<MemberId>),
    /// The round-trip time within the site.
    pub site_rtt: std::time::Duration,
    /// Bytes that are kept for others.
    pub kept_bytes: usize,
}

/// Where own congestion control stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateView {
    /// X, bit/s.
    pub rate: f64,
    /// `X_supp`, bit/s.
    pub suppression: f64,
    /// `R_max`.
    pub rtt_max: std::time::Duration,
    /// The receiver that limits it.
    pub clr: Option<crate::model::MemberId>,
}
