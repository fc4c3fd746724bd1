//! One receiver's state for one sender (RFC 4654, sections 4 and 5).

use super::config::{BUNDLES_PER_REPORT, RECEIVERS_ASSUMED, ROUND_RTTS, SUPPRESSION_SLACK};
use super::feedback::{Budget, round_trip};
use super::units::{MeanSize, Meter};
use super::{
    BundleInfo, CLR_INTERVAL_MAX, CLR_INTERVAL_MIN, Config, Echo, Feedback, LossHistory, RTT_INITIAL,
    RTT_MAX, RTT_MIN, Rate, SenderInfo, interval_before_first_loss, throughput,
};
use crate::model::{Clock, MemberId, Stamp};
use base::{Moment, Rng, Seed};
use rand_core::RngCore;
use std::time::Duration;

/// A sender counts as idle after this many round-trip times without bundles, and looks for its rate
/// again.
const IDLE_RTTS: u32 = 10;
/// The CLR reports ahead of time when its rate has fallen below this share of the reported one.
const URGENT_FALL: f64 = 0.9;

/// The counters of a receiver's reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Reports sent.
    pub sent: u64,
    /// Reports planned and then not sent, because a slower receiver was heard.
    pub suppressed: u64,
    /// Echoes with an implausible round-trip time.
    pub implausible_echoes: u64,
}

/// The TFMCC receiver of one member for one remote sender.
///
/// Call [`handle_bundle`](Self::handle_bundle) once for every bundle of the sender,
/// [`handle_feedback`](Self::handle_feedback) for every report of another receiver to that sender,
/// and [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) is due.
/// After each of them call [`poll_feedback`](Self::poll_feedback).
#[derive(Debug)]
pub struct Receiver {
    config: Config,
    me: MemberId,
    sender: MemberId,
    rng: Rng,
    history: LossHistory,
    meter: Meter,
    sizes: MeanSize,
    path: Path,
    latest: Option<Latest>,
    is_clr: bool,
    timer: Option<Timer>,
    reports: Reports,
    leaving: bool,
    stats: ReceiverStats,
}

/// The newest bundle.
#[derive(Clone, Copy, Debug)]
struct Latest {
    at: Moment,
    stamp: Stamp,
    info: SenderInfo,
}

/// A report planned for the current round.
#[derive(Clone, Copy, Debug)]
struct Timer {
    at: Moment,
    /// The rate that a report at the start of the round would have carried.
    rate: Rate,
    /// The longest round-trip time of the group for which the delay was drawn.
    rtt_max: Duration,
}

/// The reports sent, and the budget for more.
#[derive(Clone, Copy, Debug)]
struct Reports {
    due: bool,
    last: Option<(Moment, Rate)>,
    bundles_since: u64,
    budget: Budget,
}

impl Receiver {
    /// Creates the receiver of `me` for `sender`, of which no bundle has arrived yet.
    pub fn new(config: Config, me: MemberId, sender: MemberId, seed: Seed) -> Self {
        Self {
            me,
            sender,
            rng: seed.rng(),
            history: LossHistory::new(config.seq_space),
            meter: Meter::default(),
            sizes: MeanSize::new(config.bundle_bytes),
            path: Path::new(config.clock),
            latest: None,
            is_clr: false,
            timer: None,
            reports: Reports { due: false, last: None, bundles_since: 0, budget: Budget::new() },
            leaving: false,
            stats: ReceiverStats::default(),
            config,
        }
    }

    /// Handles a bundle of the sender. Callers drop duplicates first.
    pub fn handle_bundle(&mut self, now: Moment, bundle: &BundleInfo) {
        // The field has room for hours. Timers of such a length would never run out.
        let info = SenderInfo { rtt_max: bundle.info.rtt_max.clamp(RTT_MIN, RTT_MAX), ..bundle.info };
        let before = self.latest;
        self.path.rtt_max = info.rtt_max;
        // Before the loss: whether losses are one event or two depends on the round trip.
        self.measure_path(now, bundle.stamp, info.echo);
        self.notice_idleness(now, bundle);
        self.measure_loss(now, bundle);
        self.latest = Some(Latest { at: now, stamp: bundle.stamp, info });
        self.follow_round(now, before);
        self.reports.bundles_since += 1;
        self.reports.budget.earn();
        self.report_as_clr(now);
    }

    /// Handles the report of another receiver to the same sender.
    ///
    /// A slower receiver makes this receiver's own report superfluous, unless this one is further
    /// away than the sender knows.
    pub fn handle_feedback(&mut self, feedback: &Feedback) {
        let Some(latest) = self.latest else { return };
        let about_this = feedback.sender == self.sender && feedback.receiver != self.me;
        let by_clr = latest.info.echo.is_some_and(|echo| echo.is_clr && echo.receiver == feedback.receiver);
        // A report from the limiting receiver does not answer this round. One from a member that
        // leaves soon counts for nothing.
        if about_this && !by_clr && !feedback.leaving && self.rtt() <= latest.info.rtt_max {
            self.suppress(feedback.rate.times(1.0 - SUPPRESSION_SLACK));
        }
    }

    /// Leaves the group. If this receiver is the CLR, one last report tells the sender.
    pub fn leave(&mut self) {
        self.leaving = true;
        self.timer = None;
        // Only the limiting receiver is missed: the sender would halve its rate for silence.
        self.reports.due = self.is_clr;
    }

    /// The report to send now, if any.
    pub fn poll_feedback(&mut self, now: Moment) -> Option<Feedback> {
        if !std::mem::take(&mut self.reports.due) {
            return None;
        }
        let latest = self.latest?;
        let rate = self.rate();
        self.reports.last = Some((now, rate));
        self.reports.bundles_since = 0;
        self.reports.budget.spend();
        self.timer = None;
        self.stats.sent += 1;
        Some(Feedback {
            sender: self.sender,
            receiver: self.me,
            round: latest.info.round,
            have_rtt: self.path.is_measured(),
            have_loss: self.history.has_loss(),
            leaving: self.leaving,
            rate,
            echo: self.config.clock.add(latest.stamp, now - latest.at),
            stamp: self.config.clock.stamp(now),
            loss_event_rate: self.history.loss_event_rate(),
            rtt: self.rtt(),
        })
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let planned = self.timer.map(|timer| timer.at);
        [planned, self.clr_deadline()].into_iter().flatten().min()
    }

    /// Handles the timers that have expired.
    pub fn handle_timeout(&mut self, now: Moment) {
        if self.timer.is_some_and(|timer| timer.at <= now) {
            self.timer = None;
            self.reports.due |= !self.config.feedback_budget || self.reports.budget.allows();
        }
        self.report_as_clr(now);
    }

    /// `X_r`: the rate that this receiver can take. After a loss it is that of the equation, before
    /// that twice the received rate.
    pub fn rate(&self) -> Rate {
        let bytes = self.sizes.bytes();
        if self.history.has_loss() {
            return throughput(bytes, self.rtt(), self.history.loss_event_rate());
        }
        // Twice what arrives, so that a sender without losses can double its rate (RFC 4654, 2.3).
        self.meter.rate().unwrap_or_else(|| Rate::of(bytes, self.path.rtt_max)).times(2.0)
    }

    /// The round-trip time: the measured one, or else the longest of the group as announced by the
    /// sender.
    pub fn rtt(&self) -> Duration {
        self.path.rtt()
    }

    /// Whether the round-trip time has been measured.
    pub fn has_rtt(&self) -> bool {
        self.path.is_measured()
    }

    /// Loss events per bundle; 0 without loss.
    pub fn loss_event_rate(&self) -> f64 {
        self.history.loss_event_rate()
    }

    /// Whether the sender's latest echo names this receiver as its current limiting one.
    pub fn is_clr(&self) -> bool {
        self.is_clr
    }

    /// The counters.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    fn measure_path(&mut self, now: Moment, stamp: Stamp, echo: Option<Echo>) {
        let mine = echo.filter(|echo| echo.receiver == self.me);
        if let Some(echo) = echo.filter(|echo| echo.is_clr || echo.receiver == self.me) {
            self.is_clr = mine.is_some() && echo.is_clr;
        }
        let Some(echo) = mine else {
            // No echo for this member: the change of the one-way delay still tells of the round
            // trip.
            self.path.follow(now, stamp);
            return;
        };
        let Some(sample) = round_trip(self.config.clock, echo.stamp, now) else {
            self.stats.implausible_echoes += 1;
            return;
        };
        let assumed = self.path.rtt();
        // The interval before the first loss was guessed with the assumed round trip. The first
        // measured one corrects it.
        if self.path.sample(now, stamp, sample, echo.is_clr) {
            self.history.rescale_guess(sample.as_secs_f64() / assumed.as_secs_f64());
        }
    }

    /// After a pause of the sender its old losses say little about the path, and its old rate says
    /// nothing. A gap in which bundles were lost was not a pause of the sender.
    fn notice_idleness(&mut self, now: Moment, bundle: &BundleInfo) {
        let idle = self.latest.is_some_and(|latest| now - latest.at >= self.rtt() * IDLE_RTTS);
        // Old losses say nothing of a path that was not used. A gap in the numbers shows that it
        // was used, and lossy.
        if idle && self.history.is_next(bundle.seq) {
            self.history.forget();
            self.meter.reset();
        }
    }

    fn measure_loss(&mut self, now: Moment, bundle: &BundleInfo) {
        let rtt = self.rtt();
        // The mean size is that of data alone; the rate counts headers, as the network does.
        self.sizes.record(bundle.bytes);
        self.meter.record(now, bundle.bytes.saturating_add(self.config.header_bytes), rtt * 2);
        let (bytes, received) = (self.sizes.bytes(), self.meter.rate());
        self.history.arrive(now, bundle.seq, rtt, || {
            interval_before_first_loss(received.unwrap_or_default(), bytes, rtt)
        });
    }

    fn follow_round(&mut self, now: Moment, before: Option<Latest>) {
        let Some(latest) = self.latest else { return };
        let info = latest.info;
        if before.is_none_or(|before| info.round.is_newer_than(before.info.round)) {
            self.timer = None;
            self.plan(now, &info, before.map(|before| now - before.at));
        } else if before.is_some_and(|before| before.info.round.is_newer_than(info.round)) {
            // An older bundle was overtaken. The current round goes on: the suppression rate of
            // this bundle belongs to another round.
            self.latest = Some(Latest { info: before.map_or(info, |before| before.info), ..latest });
            return;
        }
        // The round was planned with another round trip. Its rest is stretched or shortened with
        // it.
        if let Some(timer) = &mut self.timer {
            let ratio = info.rtt_max.as_secs_f64() / timer.rtt_max.as_secs_f64();
            timer.at = now + (timer.at - now).mul_f64(ratio);
            timer.rtt_max = info.rtt_max;
        }
        if self.rtt() <= info.rtt_max {
            self.suppress(info.suppression);
        }
    }

    /// Draws the feedback delay for this round, unless there is nothing to report.
    fn plan(&mut self, now: Moment, info: &SenderInfo, gap: Option<Duration>) {
        let rate = self.rate();
        // The rate is not what limits the sender. Reports without loss would change nothing.
        let silent = info.application_limited && self.config.feedback_budget && !self.history.has_loss();
        if self.is_clr || self.leaving || silent || (rate >= info.suppression && self.rtt() <= info.rtt_max) {
            return;
        }
        // Uniformly distributed in (0, 1].
        let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        // Exponential timers: the number of early answers hardly depends on that of receivers
        // (Fuhrmann and Widmer 2001).
        let share = (1.0 + uniform.ln() / RECEIVERS_ASSUMED.ln()).max(0.0);
        // Infrequent bundles announce a round late. The others have not heard of it either.
        let slack = gap.map_or(Duration::ZERO, |gap| gap.saturating_sub(info.rtt_max)).min(RTT_MAX);
        let at = now + (info.rtt_max * ROUND_RTTS).mul_f64(share) + slack;
        self.timer = Some(Timer { at, rate, rtt_max: info.rtt_max });
    }

    /// Drops the planned report when a receiver at `limit` or below it is known to be slower.
    fn suppress(&mut self, limit: Rate) {
        let rate = self.rate();
        if self.timer.take_if(|timer| limit < rate || limit < timer.rate).is_some() {
            self.stats.suppressed += 1;
        }
    }

    /// The interval between reports of the CLR.
    fn clr_interval(&self) -> Duration {
        if self.config.feedback_budget { self.rtt().max(CLR_INTERVAL_MIN) } else { self.rtt() }
    }

    fn clr_deadline(&self) -> Option<Moment> {
        if !self.is_clr || self.leaving || self.reports.bundles_since == 0 {
            return None;
        }
        let Some((last, _)) = self.reports.last else { return self.latest.map(|latest| latest.at) };
        let covered = !self.config.feedback_budget
            || self.reports.budget.allows()
            || self.reports.bundles_since >= BUNDLES_PER_REPORT;
        Some(last + if covered { self.clr_interval() } else { CLR_INTERVAL_MAX.max(self.rtt()) })
    }

    /// Reports once per interval as the CLR, and ahead of time when the rate has fallen.
    fn report_as_clr(&mut self, now: Moment) {
        if self.clr_deadline().is_some_and(|at| at <= now) {
            self.timer = None;
            self.reports.due = true;
            return;
        }
        let Some((last, reported)) = self.reports.last.filter(|_| self.is_clr && !self.leaving) else {
            return;
        };
        let covered = !self.config.feedback_budget || self.reports.budget.allows();
        // A fall must not wait for the next interval: until then the sender loads a network that is
        // congested.
        if covered && now - last >= self.rtt() && self.rate() < reported.times(URGENT_FALL) {
            self.reports.due = true;
        }
    }
}

/// The weights of the old estimate against a new sample. The first two are those of RFC 4654,
/// section 4.1. One-way delays come with every bundle, so theirs is higher to make up for their
/// number.
const SMOOTHING: f64 = 0.5;
const SMOOTHING_CLR: f64 = 0.9;
const SMOOTHING_ONE_WAY: f64 = 0.95;

/// The round-trip time to a sender.
#[derive(Clone, Copy, Debug)]
struct Path {
    clock: Clock,
    rtt_max: Duration,
    smoothed: Option<Duration>,
    /// The last sample, with its time of arrival and the sender's stamp that came with it. Later
    /// stamps show how the one-way delay has changed since.
    anchor: Option<(Duration, Moment, Stamp)>,
}

impl Path {
    const fn new(clock: Clock) -> Self {
        Self { clock, rtt_max: RTT_INITIAL, smoothed: None, anchor: None }
    }

    const fn is_measured(&self) -> bool {
        self.smoothed.is_some()
    }

    fn rtt(&self) -> Duration {
        self.smoothed.unwrap_or(self.rtt_max)
    }

    /// Adds a measurement. Returns whether it was the first.
    fn sample(&mut self, now: Moment, stamp: Stamp, sample: Duration, is_clr: bool) -> bool {
        self.anchor = Some((sample, now, stamp));
        let first = self.smoothed.is_none();
        self.smooth(sample, if is_clr { SMOOTHING_CLR } else { SMOOTHING });
        first
    }

    /// Handles a bundle without a measurement: adds the change of its one-way delay since the last
    /// measurement.
    fn follow(&mut self, now: Moment, stamp: Stamp) {
        let Some((sample, at, anchor)) = self.anchor else { return };
        // Modulo the span of the clock, which is right as long as delays change by less than half
        // of it.
        let span = self.clock.span().as_nanos();
        let here = (now - at).as_nanos() % span;
        // The clock of the sender wraps: the difference is taken within its span.
        let change = (here + span - self.clock.between(anchor, stamp).as_nanos()) % span;
        let change_of = |nanos: u128| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let rtt = if change <= span / 2 {
            sample + change_of(change)
        } else {
            sample.saturating_sub(change_of(span - change))
        };
        // A longer one is a clock that was set, not a path.
        if rtt <= RTT_MAX {
            self.smooth(rtt.max(RTT_MIN), SMOOTHING_ONE_WAY);
        }
    }

    fn smooth(&mut self, sample: Duration, keep: f64) {
        self.smoothed = Some(match self.smoothed {
            Some(old) => (old.mul_f64(keep) + sample.mul_f64(1.0 - keep)).max(RTT_MIN),
            None => sample,
        });
    }
}

#[cfg(test)]
mod tests;
