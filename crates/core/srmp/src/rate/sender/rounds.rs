//! Feedback rounds (RFC 4654, section 3.6) and the longest round-trip time (section 3.2).

use super::super::config::{BUNDLES_PER_REPORT, ROUND_MAX, ROUND_RTTS, SUPPRESSION_SLACK};
use super::super::{RTT_MIN, Rate, Round};
use base::Moment;
use std::time::Duration;

/// The factor on the longest round-trip time for every round in which all measurements were
/// shorter.
const RTT_DECAY: f64 = 0.9;

/// The current round, and the reports heard in it.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    pub(super) number: Round,
    /// The number of rounds so far, unwrapped.
    pub(super) count: u64,
    started: Moment,
    /// Whether an accepted report of a receiver other than the CLR has arrived in this round.
    heard: bool,
    /// The reports of receivers other than the CLR in this round, accepted or not.
    answers: u64,
    /// The number of bundles sent before it.
    sent: u64,
    pub(super) suppression: Rate,
    /// The longest round-trip time measured, decayed.
    pub(super) rtt_max: Duration,
    /// The longest round-trip time measured in this round.
    peak: Option<Duration>,
}

impl Rounds {
    pub(super) fn new(now: Moment, rtt_max: Duration) -> Self {
        Self {
            number: Round::default(),
            count: 0,
            started: now,
            heard: false,
            answers: 0,
            sent: 0,
            suppression: Rate::UNLIMITED,
            rtt_max,
            peak: None,
        }
    }

    /// Whether reports of `round` are still accepted: the current round or the one before.
    pub(super) fn is_current(&self, round: Round) -> bool {
        round == self.number || round.next() == self.number
    }

    /// Records a measured round-trip time.
    pub(super) fn measured(&mut self, rtt: Duration) {
        // It rises at once: with a round trip that is too short, receivers would not suppress each
        // other.
        self.rtt_max = self.rtt_max.max(rtt);
        self.peak = self.peak.max(Some(rtt));
    }

    /// Records the `rate` that a receiver other than the CLR reported: from now on only slower ones
    /// report. The first report ends a round that has lasted its time.
    pub(super) fn heard(&mut self, rate: Rate) {
        self.heard = true;
        // A little below, so that receivers with about the same rate do not all report (RFC 4654,
        // 2.5).
        self.suppression = self.suppression.min(rate.times(1.0 - SUPPRESSION_SLACK));
    }

    /// Counts a report of a receiver other than the CLR.
    pub(super) fn answered(&mut self) {
        self.answers += 1;
    }

    /// The end of the round: after its normal length when a report was heard, otherwise after twice
    /// that. `unit` is `R_max`. With a budget, `sent` is the number of bundles so far, and the
    /// round does not end before enough were sent for its reports, up to [`ROUND_MAX`].
    pub(super) fn deadline(&self, unit: Duration, sent: Option<u64>) -> Moment {
        let time = unit * if self.heard { ROUND_RTTS } else { 2 * ROUND_RTTS };
        let owes = sent.is_some_and(|sent| sent < self.sent + self.answers * BUNDLES_PER_REPORT);
        self.started + if owes { time.max(ROUND_MAX) } else { time }
    }

    /// Starts the next round when this one is over. `sent` is the number of bundles so far.
    pub(super) fn advance(&mut self, now: Moment, unit: Duration, sent: u64, has_budget: bool) {
        if now < self.deadline(unit, has_budget.then_some(sent)) {
            return;
        }
        // Without any measurement there is no reason to assume that the group has become smaller.
        if let Some(peak) = self.peak.take() {
            let rounds = (now - self.started).as_secs_f64() / (unit * ROUND_RTTS).as_secs_f64();
            let left = RTT_DECAY.powf(rounds.max(1.0));
            self.rtt_max = self.rtt_max.mul_f64(left).max(peak).max(RTT_MIN);
        }
        self.number = self.number.next();
        self.count += 1;
        self.started = now;
        (self.answers, self.sent) = (0, sent);
        self.heard = false;
        self.suppression = Rate::UNLIMITED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn a_round_ends_early_when_somebody_was_heard() {
        let mut rounds = Rounds::new(Moment::ZERO, RTT);
        assert_eq!(rounds.deadline(RTT, None), Moment::from_millis(800));
        rounds.heard(Rate::of(1_250.0, Duration::from_secs(1)));
        assert_eq!(rounds.deadline(RTT, None), Moment::from_millis(400));
        assert_eq!(rounds.suppression.bits_per_second(), 9_000.0);
        rounds.advance(Moment::from_millis(399), RTT, 0, false);
        assert_eq!(rounds.count, 0);
        rounds.advance(Moment::from_millis(400), RTT, 0, false);
        assert_eq!((rounds.count, rounds.number, rounds.suppression), (1, Round::new(1), Rate::UNLIMITED));
        assert!(rounds.is_current(Round::new(0)) && rounds.is_current(Round::new(1)));
        assert!(!rounds.is_current(Round::new(2)) && !rounds.is_current(Round::new(15)));
    }

    #[test]
    fn many_answers_make_a_round_longer() {
        let mut rounds = Rounds::new(Moment::ZERO, RTT);
        rounds.heard(Rate::of(1_250.0, Duration::from_secs(1)));
        (0..7).for_each(|_| rounds.answered());
        rounds.advance(Moment::from_millis(4_999), RTT, 139, true);
        assert_eq!(rounds.count, 0);
        rounds.advance(Moment::from_millis(500), RTT, 140, true);
        assert_eq!(rounds.count, 1, "twenty bundles for each");
        rounds.heard(Rate::of(1_250.0, Duration::from_secs(1)));
        rounds.answered();
        assert_eq!(rounds.deadline(RTT, Some(160)), Moment::from_millis(900), "few answers change nothing");
        assert_eq!(rounds.deadline(RTT, Some(159)), Moment::from_millis(5_500), "a sender that says little");
        assert_eq!(rounds.deadline(RTT * 20, Some(159)), Moment::from_millis(8_500));
    }

    #[test]
    fn the_longest_time_rises_at_once_and_falls_slowly() {
        let mut rounds = Rounds::new(Moment::ZERO, RTT);
        let mut after = |ms, measured: Option<Duration>| {
            measured.into_iter().for_each(|rtt| rounds.measured(rtt));
            rounds.started = Moment::from_millis(ms);
            rounds.advance(Moment::from_millis(ms + 1_000), RTT, 0, false);
            rounds.rtt_max.as_millis()
        };
        assert_eq!(after(0, Some(RTT * 3)), 300, "the peak of the round");
        // A second is two and a half rounds.
        assert_eq!(after(1_000, Some(RTT)), 230);
        assert_eq!(after(2_000, None), 230, "nothing measured, nothing learnt");
    }
}
