//! The information that senders and receivers exchange, independent of its form in either profile.

use super::config::BUNDLES_PER_REPORT;
use super::{FEEDBACK_SHARE, RTT_MAX, RTT_MIN, Rate};
use crate::model::{Clock, Echo, MemberId, Seq, Stamp};
use base::Moment;
use std::time::Duration;

/// The number of a feedback round, `fb_nr`: from 0 to 15, then 0 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Round(u8);

impl Round {
    const SPACE: u8 = 16;

    /// The round with the low four bits of `number`.
    pub const fn new(number: u8) -> Self {
        Self(number % Self::SPACE)
    }

    /// The number, from 0 to 15.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The round after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::new(self.0 + 1)
    }

    /// Whether this round is ahead of `other`: by 1 to 7 of 16, so that it is behind by more than
    /// half the space (RFC 4654, section 4.2).
    pub const fn is_newer_than(self, other: Self) -> bool {
        other.0.wrapping_sub(self.0) % Self::SPACE > Self::SPACE / 2
    }
}

/// The congestion control information of a sender, which every bundle carries (RFC 4410,
/// section 3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderInfo {
    /// The feedback round.
    pub round: Round,
    /// `X_supp`: receivers that are not slower than this do not report.
    pub suppression: Rate,
    /// `R_max`: the longest round-trip time of the group.
    pub rtt_max: Duration,
    /// The answer to one receiver's report.
    pub echo: Option<Echo>,
    /// Whether the sender uses less than its rate. Profile v2 cannot carry it; false there.
    pub application_limited: bool,
}

/// A received bundle, reduced to the information that congestion control needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BundleInfo {
    /// Its number, counted over the bundles that this receiver could get.
    pub seq: Seq,
    /// Its size in bytes, without the headers of IP and UDP.
    pub bytes: usize,
    /// The sender's clock at the time of sending.
    pub stamp: Stamp,
    /// The congestion control information of the sender.
    pub info: SenderInfo,
}

/// A receiver's report (RFC 4410, section 3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The sender that the report is for.
    pub sender: MemberId,
    /// The receiver that reports.
    pub receiver: MemberId,
    /// The round that the report answers.
    pub round: Round,
    /// Whether the receiver has measured its round-trip time; otherwise it assumed `R_max`.
    pub have_rtt: bool,
    /// Whether the receiver has seen loss. If so, it reports the rate of the equation, otherwise
    /// twice the rate that it receives.
    pub have_loss: bool,
    /// Whether the receiver leaves the group.
    pub leaving: bool,
    /// `X_r`: the rate that the receiver can take.
    pub rate: Rate,
    /// The stamp of the newest bundle, plus the time since it arrived.
    pub echo: Stamp,
    /// The receiver's clock now.
    pub stamp: Stamp,
    /// Loss events per bundle, which does not affect the rate; 0 where the wire does not carry it.
    pub loss_event_rate: f64,
    /// The receiver's round-trip time, for observers only; zero where the wire does not carry it.
    pub rtt: Duration,
}

/// The round-trip time of a stamp that this member sent and got back; `None` when it is
/// implausible.
pub(super) fn round_trip(clock: Clock, echoed: Stamp, now: Moment) -> Option<Duration> {
    let time = clock.since(echoed, now);
    if time > clock.span() / 2 {
        // The holding time was rounded up, so the echo may be one step ahead of the clock. An echo
        // further ahead is not one of ours.
        let ahead = clock.span() - time;
        return (ahead <= clock.granularity()).then_some(RTT_MIN);
    }
    (time <= RTT_MAX).then(|| time.max(RTT_MIN))
}

/// The most reports that can be saved up and sent in a row. Enough for the start, when every round
/// trip counts.
const CREDIT_MAX: f64 = 8.0;

/// The budget of a receiver for reports to one sender: a share of the bundles that it receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    credit: f64,
}

impl Budget {
    pub(super) const fn new() -> Self {
        Self { credit: CREDIT_MAX }
    }

    pub(super) fn earn(&mut self) {
        self.credit = (self.credit + FEEDBACK_SHARE).min(CREDIT_MAX);
    }

    /// Takes one report from the budget. Some reports are sent without credit; their debt is
    /// bounded.
    pub(super) fn spend(&mut self) {
        self.credit = (self.credit - 1.0).max(-1.0);
    }

    /// Whether the budget allows one more report; the slack keeps a rounding error from withholding
    /// it.
    pub(super) fn allows(&self) -> bool {
        self.credit >= 1.0 - FEEDBACK_SHARE / 2.0
    }
}

const _: () = assert!(BUNDLES_PER_REPORT as f64 * FEEDBACK_SHARE == 1.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_wrap() {
        for a in 0..16u8 {
            for b in 0..16u8 {
                let ahead = (16 + a - b) % 16;
                assert_eq!(Round::new(a).is_newer_than(Round::new(b)), (1..8).contains(&ahead), "{a} {b}");
            }
        }
        assert_eq!(Round::new(15).next(), Round::new(0));
        assert_eq!(Round::new(0x7f).get(), 15);
    }

    #[test]
    fn round_trips_are_plausible_or_none() {
        let clock = Clock::V2;
        let now = Moment::from_millis(65_536 + 20);
        let sent = |ms: u64| clock.stamp(Moment::from_millis(ms));
        assert_eq!(round_trip(clock, sent(65_526), now), Some(Duration::from_millis(30)));
        assert_eq!(round_trip(clock, sent(65_556), now), Some(RTT_MIN));
        assert_eq!(round_trip(clock, sent(65_557), now), Some(RTT_MIN), "one step ahead");
        assert_eq!(round_trip(clock, sent(65_560), now), None);
        assert_eq!(round_trip(clock, sent(50_000), now), None);
    }

    #[test]
    fn the_budget_is_one_report_in_twenty_bundles() {
        let mut budget = Budget::new();
        let mut reports = 0;
        for _ in 0..2_000 {
            budget.earn();
            if budget.allows() {
                budget.spend();
                reports += 1;
            }
        }
        assert!((100..=100 + CREDIT_MAX as u32).contains(&reports), "{reports}");
    }
}
