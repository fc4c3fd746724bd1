//! Constants and settings of congestion control.

use super::Rate;
use crate::model::{Clock, Profile, SeqSpace};
use std::time::Duration;

/// The round-trip time assumed before any is measured (RFC 4654, section 3.1).
pub const RTT_INITIAL: Duration = Duration::from_millis(500);
/// The shortest round-trip time; shorter measurements count as this.
pub const RTT_MIN: Duration = Duration::from_millis(1);
/// The longest round-trip time; longer measurements are dropped as errors or lies.
pub const RTT_MAX: Duration = Duration::from_secs(10);
/// The most reports that a receiver may send for each bundle it receives, with
/// [`Config::feedback_budget`].
pub const FEEDBACK_SHARE: f64 = 0.05;
/// The shortest interval between reports of the CLR, with the budget.
pub const CLR_INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The longest interval between reports of the CLR while there are bundles, with the budget.
pub const CLR_INTERVAL_MAX: Duration = Duration::from_secs(5);

/// Bundles for which the budget grants one report.
pub(super) const BUNDLES_PER_REPORT: u64 = 20;
/// The longest feedback round, with the budget, unless its round-trip times make it longer.
///
/// A round lasts until [`BUNDLES_PER_REPORT`] bundles have been sent for each report of a receiver
/// other than the CLR. So all of them together are held to a share of the traffic, however many
/// they are.
pub(super) const ROUND_MAX: Duration = Duration::from_secs(5);
/// The CLR is given up after missing this many reports (RFC 4654, section 3.4).
pub(super) const CLR_LOST: u32 = 10;
/// The rate is halved after the CLR has missed this many reports.
pub(super) const CLR_LATE: u32 = 4;
/// The length of a feedback round in round-trip times, with multicast feedback (RFC 4654,
/// section 3.6).
pub(super) const ROUND_RTTS: u32 = 4;
/// A receiver reports only a rate that is lower by this share than the lowest one heard: the `g` of
/// RFC 4654.
pub(super) const SUPPRESSION_SLACK: f64 = 0.1;
/// The number of receivers for which feedback delays are drawn: the `N` of RFC 4654.
pub(super) const RECEIVERS_ASSUMED: f64 = 10_000.0;
/// The lowest rate is one bundle in this time.
pub(super) const BUNDLE_SPACING_MAX: Duration = Duration::from_secs(8);

/// The settings of a [`Sender`](super::Sender) or a [`Receiver`](super::Receiver).
#[derive(Clone, Debug)]
pub struct Config {
    /// The unit and width of time stamps.
    pub clock: Clock,
    /// The width of bundle numbers.
    pub seq_space: SeqSpace,
    /// The round-trip time assumed before any is measured. It should be the longest that members
    /// are likely to have, since the estimate falls slowly. Default: [`RTT_INITIAL`].
    pub rtt_initial: Duration,
    /// The size in bytes assumed before the first bundle. Default: 1454.
    pub bundle_bytes: usize,
    /// Bytes of the IP and UDP headers of a bundle, which count in the received rate. Default: 28,
    /// for IPv4.
    pub header_bytes: usize,
    /// The rate never falls below this, whatever receivers report. For private networks with a
    /// known capacity. Default: none, that is, one bundle in 8 s.
    pub rate_min: Rate,
    /// The rate never rises above this, which takes precedence over [`rate_min`](Self::rate_min).
    /// Default: 10 Gbit/s.
    pub rate_max: Rate,
    /// Limits the reports of a receiver to [`FEEDBACK_SHARE`] of the bundles that it receives. A
    /// sender begins no new round before it has sent twenty bundles for each report of the last
    /// one, or five seconds have passed.
    ///
    /// TFMCC is made for one fast sender; with many slow ones its reports would outnumber the data.
    /// Both ends must agree, because the sender otherwise misses reports. Default: true, except
    /// [`strict`](Self::strict).
    pub feedback_budget: bool,
    /// Lets one receiver lower the rate at most to half of it in two feedback rounds, or in 2 s if
    /// they are longer. So a faulty or hostile receiver cannot stop a sender at once. Default:
    /// true, except [`strict`](Self::strict).
    pub halving_guard: bool,
}

impl Config {
    /// The defaults of a profile.
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

    /// RFC 4410 and RFC 4654 without this library's extensions.
    pub const fn strict(profile: Profile) -> Self {
        Self { feedback_budget: false, halving_guard: false, ..Self::new(profile) }
    }
}
