//! The counters of an endpoint, which RFC 4410 leaves to implementations.

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
    /// Bundles without messages and NACKs.
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
    /// Repair requests: the items of NACKs.
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

/// The counters of the endpoint itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounters {
    /// Traffic sent.
    pub sent: Traffic,
    /// Traffic received and authenticated.
    pub received: Traffic,
    /// Datagrams and records dropped, by reason.
    pub faults: FaultCounts,
    /// This member's own datagrams that came back.
    pub looped: u64,
    /// Bundles received before.
    pub duplicate_bundles: u64,
    /// Mode 0 messages held back because none of the data that their sender announces is here.
    pub mode0_gated: u64,
    /// Mode 0 messages that a newer one of their stream replaced in the bundle.
    pub mode0_conflated: u64,
    /// Datagrams of members for which there is no room.
    pub members_refused: u64,
    /// Datagrams of a second host with the identity of a member.
    pub conflicts: u64,
    /// Repair requests above the limit of one member.
    pub nacks_limited: u64,
    /// Datagrams that could not be written or sealed, because of an error in this library or its
    /// use.
    pub not_written: u64,
}

/// All counters of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Counters<'a> {
    /// Traffic, faults and membership.
    pub endpoint: &'a EndpointCounters,
    /// Mode 1 of other members.
    pub receive: &'a ReceiveCounters,
    /// Mode 1 of this member.
    pub send: &'a SendCounters,
    /// Mode 2.
    pub mode2: &'a Mode2Counters,
    /// Traffic of the shaper.
    pub shaper: ShaperStats,
    /// Congestion control of this member as a sender.
    pub rate: SenderStats,
    /// Loggers, and this member as one; `None` in profile v2 and in strict.
    pub logger: Option<&'a LoggerCounters>,
}

/// A member's role among the loggers of its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggerView {
    /// Whether it is the site's logger.
    pub is_active: bool,
    /// Whether it is the standby.
    pub is_standby: bool,
    /// This member's tier as the site's logger: 1 when it serves other sites, 2 when it does not.
    pub tier: u8,
    /// The logger that this member asks as the site's logger; [`MemberId::NOBODY`] for the sources.
    pub parent: MemberId,
    /// The number of other sites' loggers that ask this one.
    pub children: usize,
    /// The loggers of the site that this member knows: the one that it would ask first, and the
    /// next.
    pub known: (Option<MemberId>, Option<MemberId>),
    /// The round-trip time within the site.
    pub site_rtt: std::time::Duration,
    /// Bytes of messages kept for others.
    pub kept_bytes: usize,
}

/// The state of this member's congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateView {
    /// X: the rate in bit/s.
    pub rate: f64,
    /// `X_supp` in bit/s.
    pub suppression: f64,
    /// `R_max`: the longest round-trip time of the group.
    pub rtt_max: std::time::Duration,
    /// The current limiting receiver.
    pub clr: Option<crate::model::MemberId>,
}
