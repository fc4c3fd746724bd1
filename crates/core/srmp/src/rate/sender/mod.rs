//! The sending rate of one member in one group (RFC 4654, section 3).

mod clr;
mod echoes;
mod falls;
mod rounds;

use super::config::{BUNDLE_SPACING_MAX, CLR_LATE, CLR_LOST};
use super::feedback::round_trip;
use super::units::{MeanSize, Meter};
use super::{CLR_INTERVAL_MAX, Config, Echo, Feedback, RTT_MAX, Rate, Round, SenderInfo};
use crate::model::MemberId;
use base::Moment;
use clr::{Clr, Silence};
use echoes::{Echoes, Urgency, Waiting};
use falls::Falls;
use rounds::Rounds;
use std::time::Duration;

/// A sender that has used less than half of its rate for this many round-trip times is limited by
/// its application.
const LIMITED_RTTS: u32 = 10;

/// The outcome of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The report was taken into account.
    Accepted,
    /// The report is for another sender, is of an old round, comes from a receiver that should not
    /// have reported, or has an echo that this sender did not send.
    Ignored,
}

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Reports taken into account.
    pub accepted: u64,
    /// Reports ignored.
    pub ignored: u64,
    /// Changes of the current limiting receiver.
    pub clr_changes: u64,
    /// Halvings of the rate because no reports came.
    pub silent_halvings: u64,
    /// Times that the halving guard kept the rate up.
    pub guarded: u64,
}

/// The TFMCC sender of one member in one group.
///
/// Call [`info`](Self::info) for every bundle right before it is sent and
/// [`handle_sent`](Self::handle_sent) after that, [`handle_feedback`](Self::handle_feedback) for
/// every report to this member, and [`handle_timeout`](Self::handle_timeout) when
/// [`poll_timeout`](Self::poll_timeout) is due. The [`Shaper`](super::Shaper) keeps to the
/// [`rate`](Self::rate).
///
/// The rate does not change before the first report, nor after the last known receiver has
/// announced that it leaves: without receivers there is no congestion to react to.
#[derive(Debug)]
pub struct Sender {
    config: Config,
    me: MemberId,
    rate: Rate,
    slow_start: bool,
    rounds: Rounds,
    sizes: MeanSize,
    sent: Sent,
    clr: Option<Clr>,
    /// Without a CLR: the time without reports, if some receiver should report.
    nobody: Option<Silence>,
    echoes: Echoes,
    falls: Falls,
    /// The time from which the allowed growth of the rate is counted.
    grown: Moment,
    /// The rate does not rise before this round.
    held_until: u64,
    stats: SenderStats,
}

/// The bundles sent.
#[derive(Clone, Debug)]
struct Sent {
    meter: Meter,
    bundles: u64,
    /// The time since which the sender has used less than half of its rate.
    limited_since: Option<Moment>,
}

impl Sender {
    /// Creates a sender that starts with one bundle per [`Config::rtt_initial`].
    pub fn new(config: Config, me: MemberId, now: Moment) -> Self {
        let sizes = MeanSize::new(config.bundle_bytes);
        let mut sender = Self {
            me,
            rate: Rate::of(sizes.bytes(), config.rtt_initial),
            slow_start: true,
            rounds: Rounds::new(now, config.rtt_initial),
            sizes,
            sent: Sent { meter: Meter::default(), bundles: 0, limited_since: Some(now) },
            clr: None,
            nobody: None,
            echoes: Echoes::default(),
            falls: Falls::default(),
            grown: now,
            held_until: 0,
            stats: SenderStats::default(),
            config,
        };
        sender.set_rate(sender.rate);
        sender
    }

    /// `X`: the rate at which this member may send to the group.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// `R_max`: the longest round-trip time of the group, and at least the time between two
    /// bundles.
    pub fn rtt_max(&self) -> Duration {
        // At a low rate bundles are further apart than a round trip. Timers that count round trips
        // would otherwise run out before anybody could answer (RFC 4654, 3.6).
        let spacing = self.rate.time_of(self.sizes.bytes()).saturating_add(self.config.clock.granularity());
        self.rounds.rtt_max.max(spacing).min(RTT_MAX)
    }

    /// `X_supp`: the rate below which receivers report.
    pub fn suppression(&self) -> Rate {
        self.rounds.suppression
    }

    /// The feedback round.
    pub fn round(&self) -> Round {
        self.rounds.number
    }

    /// The current limiting receiver.
    pub fn clr(&self) -> Option<MemberId> {
        self.clr.as_ref().map(|clr| clr.receiver)
    }

    /// Loss events per bundle at the current limiting receiver; 0 without one, or where the wire
    /// does not carry it.
    pub fn loss(&self) -> f64 {
        // Without a loss its rate is twice the received one, and says nothing of loss.
        self.clr.as_ref().filter(|clr| clr.have_loss).map_or(0.0, |clr| clr.loss)
    }

    /// Whether the sender still looks for its rate and no loss has been reported.
    pub fn is_slow_start(&self) -> bool {
        self.slow_start
    }

    /// The mean size of the latest bundles in bytes: the `s` of the equation.
    pub fn bundle_bytes(&self) -> f64 {
        self.sizes.bytes()
    }

    /// Whether this member has used less than half of its rate for ten round-trip times. False
    /// without a CLR, since the report of any receiver is welcome then.
    pub fn is_application_limited(&self, now: Moment) -> bool {
        let since = self.sent.limited_since.filter(|_| self.clr.is_some());
        since.is_some_and(|since| now - since >= self.rtt_max() * LIMITED_RTTS)
    }

    /// The counters.
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// The congestion control information for the bundle that is sent now. Call it once per bundle,
    /// since it takes the next echo.
    pub fn info(&mut self, now: Moment) -> SenderInfo {
        SenderInfo {
            round: self.rounds.number,
            suppression: self.rounds.suppression,
            rtt_max: self.rtt_max(),
            echo: self.next_echo(now),
            application_limited: self.is_application_limited(now),
        }
    }

    /// Records that a bundle was sent to the group. `bytes` does not include the headers of IP and
    /// UDP.
    pub fn handle_sent(&mut self, now: Moment, bytes: usize) {
        self.sizes.record(bytes);
        self.sent.bundles += 1;
        self.sent.meter.record(now, bytes, self.rtt_max() * 2);
        self.advance(now);
        let used = self.sent.meter.rate_at(now).unwrap_or_default();
        // Half of the rate, because a sender that is only sometimes idle reaches that.
        if used.times(2.0) >= self.rate {
            self.sent.limited_since = None;
        } else {
            self.sent.limited_since.get_or_insert(now);
        }
    }

    /// Handles a receiver's report.
    pub fn handle_feedback(&mut self, now: Moment, feedback: &Feedback) -> Verdict {
        // Counted before it is judged: even an ignored answer shows that somebody is there.
        if feedback.sender == self.me && self.clr() != Some(feedback.receiver) {
            self.rounds.answered();
        }
        let rtt = round_trip(self.config.clock, feedback.echo, now);
        let Some(rtt) = rtt.filter(|&rtt| self.accepts(feedback, rtt)) else {
            self.stats.ignored += 1;
            return Verdict::Ignored;
        };
        self.stats.accepted += 1;
        self.nobody = None;
        let from_clr = self.clr() == Some(feedback.receiver);
        // The one that was announced, before this sample changes it: the receiver computed with it.
        let rtt_max = self.rtt_max();
        self.rounds.measured(rtt);
        // Others compare themselves with it. The limiting receiver answers without being asked, and
        // would suppress everybody.
        if !from_clr && !feedback.leaving {
            self.rounds.heard(feedback.rate);
        }
        self.apply(now, feedback, rtt, rtt_max);
        self.advance(now);
        Verdict::Accepted
    }

    /// Forgets a member that is gone. If it was the CLR, another one has to report.
    pub fn forget(&mut self, now: Moment, member: MemberId) {
        self.echoes.forget(member);
        if self.clr() == Some(member) {
            self.clr = None;
            self.nobody = Some(Silence::new(now, self.sent.bundles));
        }
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let unit = self.rtt_max();
        let silence = match (&self.clr, &self.nobody) {
            (Some(clr), _) => {
                let times = if clr.halved { CLR_LOST } else { CLR_LATE };
                clr.silence.deadline(times, unit, self.sent.bundles, &self.config)
            }
            (None, Some(nobody)) => nobody.deadline(CLR_LOST, unit, self.sent.bundles, &self.config),
            (None, None) => None,
        };
        let sent = self.config.feedback_budget.then_some(self.sent.bundles);
        silence.into_iter().chain([self.rounds.deadline(unit, sent)]).min()
    }

    /// Handles the timers that have expired.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.advance(now);
        self.notice_silence(now);
    }

    fn advance(&mut self, now: Moment) {
        let unit = self.rtt_max();
        self.rounds.advance(now, unit, self.sent.bundles, self.config.feedback_budget);
    }

    /// RFC 4410, section 4.4, ignores the feedback of receivers "not selected". Selected are the
    /// CLR, and each receiver that answers the current round or the one before and is slower or
    /// further away than all heard so far.
    fn accepts(&self, feedback: &Feedback, rtt: Duration) -> bool {
        // A sender that was its own receiver would follow itself.
        if feedback.sender != self.me || feedback.receiver == self.me {
            return false;
        }
        // Only what suppression would have let through. Others should have been silent, and are
        // late or hostile.
        let selected = feedback.rate < self.rounds.suppression || rtt > self.rounds.rtt_max;
        self.clr() == Some(feedback.receiver) || (self.rounds.is_current(feedback.round) && selected)
    }

    /// Applies an accepted report to the CLR and the rate.
    fn apply(&mut self, now: Moment, feedback: &Feedback, rtt: Duration, rtt_max: Duration) {
        let receiver = feedback.receiver;
        // A receiver without a round-trip time assumed the longest one of the group.
        let rate = if feedback.have_loss && !feedback.have_rtt {
            feedback.rate.times(rtt_max.as_secs_f64() / rtt.as_secs_f64())
        } else {
            feedback.rate
        };
        if feedback.leaving {
            self.echoes.forget(receiver);
            if self.clr() == Some(receiver) {
                self.clr = None;
                // The next slowest is not known yet. The rate does not rise for a round, in which
                // it can say so.
                self.held_until = self.rounds.count + 1;
            }
            return;
        }
        // As in TCP: the first loss of anybody shows where the network ends.
        self.slow_start &= !feedback.have_loss;
        let takes_over = self.takes_over(feedback, rate);
        let is_clr = match &mut self.clr {
            Some(clr) if clr.receiver == receiver => {
                clr.update(now, self.sent.bundles, feedback, rate);
                true
            }
            _ if takes_over => {
                self.clr = Some(Clr::new(now, self.sent.bundles, feedback, rate));
                self.stats.clr_changes += 1;
                self.echoes.forget(receiver);
                true
            }
            _ => false,
        };
        if is_clr {
            self.steer(now, receiver, rate, feedback.have_loss);
        }
        self.plan_echo(now, feedback, rate, takes_over);
    }

    /// Whether a receiver that is not the CLR becomes the CLR.
    fn takes_over(&self, feedback: &Feedback, rate: Rate) -> bool {
        match &self.clr {
            None => true,
            Some(clr) if clr.receiver == feedback.receiver => false,
            // Where others have seen loss, twice the received rate is not a limit: it only shows
            // how little was sent.
            Some(clr) if clr.have_loss => feedback.have_loss && rate < self.rate,
            Some(clr) => rate < clr.rate,
        }
    }

    /// Moves the rate towards the one that the CLR can take: down at once, up no faster than TCP
    /// would.
    fn steer(&mut self, now: Moment, receiver: MemberId, target: Rate, have_loss: bool) {
        if have_loss && target < self.rate {
            self.lower(now, receiver, target);
            return;
        }
        // Time counts even when the rate does not rise: growth is not saved up for later.
        let since = std::mem::replace(&mut self.grown, now);
        if self.rounds.count < self.held_until || target <= self.rate {
            return;
        }
        let limit = if self.slow_start {
            // Doubled with each report, as in slow start.
            self.rate.times(2.0)
        } else {
            // TCP grows by one bundle per round-trip time in every round-trip time.
            let step = Rate::of(self.sizes.bytes(), self.rtt_max());
            let elapsed = (now - since).min(CLR_INTERVAL_MAX);
            self.rate.plus(step.times(elapsed.as_secs_f64() / self.rtt_max().as_secs_f64()))
        };
        // A rate that has not been tried is not known to fit.
        let used = self.sent.meter.rate_at(now).unwrap_or(self.rate).times(2.0);
        self.set_rate(target.min(limit).min(used).max(self.rate));
    }

    fn lower(&mut self, now: Moment, receiver: MemberId, target: Rate) {
        self.grown = now;
        let mut rate = target;
        if self.config.halving_guard {
            // A receiver halves the rate once in two rounds at most: reports that follow at once tell of
            // losses that the sender has not been able to react to.
            let floor = self.falls.floor(now, receiver, self.rate, self.rtt_max());
            self.stats.guarded += u64::from(rate < floor);
            rate = rate.max(floor.min(self.rate));
        }
        self.set_rate(rate);
    }

    fn set_rate(&mut self, rate: Rate) {
        // A sender that stops altogether gets no reports, and would never start again.
        let floor = Rate::of(self.sizes.bytes(), BUNDLE_SPACING_MAX).max(self.config.rate_min);
        self.rate = rate.max(floor).min(self.config.rate_max);
    }

    /// Handles the absence of reports: halves the rate when the CLR is late, and gives the CLR up
    /// when it is later still.
    fn notice_silence(&mut self, now: Moment) {
        let (unit, sent) = (self.rtt_max(), self.sent.bundles);
        let overdue = |silence: &Silence, times: u32, config: &Config| {
            silence.deadline(times, unit, sent, config).is_some_and(|at| at <= now)
        };
        if let Some(clr) = &mut self.clr {
            if overdue(&clr.silence, CLR_LOST, &self.config) {
                self.clr = None;
                self.nobody = Some(Silence::new(now, sent));
                return;
            }
            if clr.halved || !overdue(&clr.silence, CLR_LATE, &self.config) {
                return;
            }
            clr.halved = true;
            // A receiver that took over a moment ago has had no time to report twice.
            if now - clr.since < unit * CLR_LOST {
                return;
            }
        } else {
            let Some(nobody) = &mut self.nobody else { return };
            if !overdue(nobody, CLR_LOST, &self.config) {
                return;
            }
            // Halved once for each such time, until somebody answers (RFC 5348, 4.4).
            *nobody = Silence::new(now, sent);
        }
        self.stats.silent_halvings += 1;
        self.set_rate(self.rate.times(0.5));
    }

    fn plan_echo(&mut self, now: Moment, feedback: &Feedback, rate: Rate, new_clr: bool) {
        let urgency = match feedback.have_rtt {
            _ if new_clr => Urgency::NewClr,
            false => Urgency::NoRtt(self.rounds.count),
            true => Urgency::Other,
        };
        let entry = Waiting { receiver: feedback.receiver, stamp: feedback.stamp, at: now, urgency, rate };
        match &mut self.clr {
            Some(clr) if clr.receiver == feedback.receiver => {
                clr.echo = entry;
                // Its first echo goes before all others, later ones go after them.
                // It needs a round trip of its own soon: its reports steer the rate of all.
                clr.echo_first |= new_clr;
            }
            _ => self.echoes.push(entry),
        }
    }

    /// The next echo. A new CLR goes first, and so does one that has not been echoed in this round.
    /// Then the others follow, and then the CLR again.
    fn next_echo(&mut self, now: Moment) -> Option<Echo> {
        let clock = self.config.clock;
        // The limiting receiver gets one echo in each round, however many others wait.
        let others_turn =
            self.clr.as_ref().is_none_or(|clr| !clr.echo_first && clr.echo_round == self.rounds.count);
        if let Some(entry) = others_turn.then(|| self.echoes.pop()).flatten() {
            let stamp = entry.held(clock, now);
            return Some(Echo { receiver: entry.receiver, stamp, is_clr: false });
        }
        let clr = self.clr.as_mut()?;
        clr.echo_first = false;
        clr.echo_round = self.rounds.count;
        Some(Echo { receiver: clr.receiver, stamp: clr.echo.held(clock, now), is_clr: true })
    }
}

#[cfg(test)]
mod tests;
