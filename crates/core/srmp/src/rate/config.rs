//! Constants and settings of congestion control.

use super::Rate;
use crate::model::{Clock, Profile, SeqSpace};
use std::time::Duration;

/// The round-trip time assumed before there is any (RFC 4654, section 3.1).
pub const RTT_INITIAL: Duration = Duration::from_millis(500);
/// No round-trip time is taken for shorter.
pub const RTT_MIN: Duration = Duration::from_millis(1);
/// Longer measurements are taken for errors or lies, and dropped.
pub const RTT_MAX: Duration = Duration::from_secs(10);
/// Reports that a receiver may send per bundle it receives, with [`Config::feedback_budget`].
pub const FEEDBACK_SHARE: f64 = 0.05;
/// With the budget the CLR reports no more often.
pub const CLR_INTERVAL_MIN: Duration = Duration::from_millis(100);
/// With the budget the CLR reports this often at least, while there are bundles.
pub const CLR_INTERVAL_MAX: Duration = Duration::from_secs(5);

/// Bundles per report that the budget grants.
pub(super) const BUNDLES_PER_REPORT: u64 = 20;
/// With the budget a feedback round lasts until [`BUNDLES_PER_REPORT`] bundles were sent for each report of receivers other than the CLR, so that
/// all of them together are held to a share, however many they are; but it ends after this time, unless it takes longer by its round-trip times.
pub(super) const ROUND_MAX: Duration = Duration::from_secs(5);
/// The CLR is given up after so many times that it should have reported (RFC 4654, section 3.4).
pub(super) const CLR_LOST: u32 = 10;
/// The rate is halved after so many times that the CLR should have reported.
pub(super) const CLR_LATE: u32 = 4;
/// A feedback round in round-trip times, with multicast feedback (RFC 4654, section 3.6).
pub(super) const ROUND_RTTS: u32 = 4;
/// How much lower than what was heard a rate must be to be reported: the `g` of RFC 4654.
pub(super) const SUPPRESSION_SLACK: f64 = 0.1;
/// The number of receivers that the waits are made for: the `N` of RFC 4654.
pub(super) const RECEIVERS_ASSUMED: f64 = 10_000.0;
/// The lowest rate: one bundle in this time.
pub(super) const BUNDLE_SPACING_MAX: Duration = Duration::from_secs(8);

/// Settings of a [`Sender`](super::Sender) or a [`Receiver`](super::Receiver).
#[derive(Clone, Debug)]
pub struct Config {
    /// Unit and width of time stamps.
    pub clock: Clock,
    /// Width of the numbers of bundles.
    pub seq_space: SeqSpace,
    /// The round-trip time assumed before there is any: the longest that members are likely to have, since it falls slowly. Default:
    /// [`RTT_INITIAL`].
    pub rtt_initial: Duration,
    /// The size of a bundle before there is one, in bytes. Default: 1454.
    pub bundle_bytes: usize,
    /// Bytes of IP and UDP headers of a bundle, which count in the rate received. Default: 28, for IPv4.
    pub header_bytes: usize,
    /// The rate never falls below this, whatever receivers report: for private networks with a known capacity.
    /// Default: none, that is, one bundle in 8 s.
    pub rate_min: Rate,
    /// The rate never rises above this, and wins over [`rate_min`](Self::rate_min). Default: 10 Gbit/s.
    pub rate_max: Rate,
    /// Reports cost at most [`FEEDBACK_SHARE`] of the bundles that a receiver gets, and a sender begins no new round before twenty bundles were sent
    /// for each report of the last one, but for five seconds. TFMCC is made for one fast sender; with many
    /// slow ones its reports outnumber the data. Both ends must agree, because the sender misses reports otherwise. Default:
    /// true, except [`strict`](Self::strict).
    pub feedback_budget: bool,
    /// One receiver lowers the rate at most to half of it in two feedback rounds, or 2 s if they are longer, so that a faulty or hostile one cannot
    /// stop a sender at once. Default: true, except [`strict`](Self::strict).
    pub halving_guard: bool,
}

impl Config {
    /// Defaults of a profile.
    pub const fn new(profile: Profile) -> Self {
        Self {
            clock: profile.clock(),
            seq_space: profile.seq_space(),
            rtt_initial: RTT_INITIAL,
            bundle_bytes: 1_454,
            header_bytes: 28,
            rate_min: Rate::ZERO,
            rate_max: Rate::TEN_GIGABIT,
            feedback_budget: true,
            halving_guard: true,
        }
    }

    /// RFC 4410 and RFC 4654 and nothing else.
    pub const fn strict(profile: Profile) -> Self {
        Self { feedback_budget: false, halving_guard: false, ..Self::new(profile) }
    }
}
