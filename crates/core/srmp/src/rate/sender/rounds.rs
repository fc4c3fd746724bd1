//! Feedback rounds (RFC 4654, section 3.6) and the longest round-trip time (section 3.2).

use super::super::config::{ROUND_RTTS, SUPPRESSION_SLACK};
use super::super::{RTT_MIN, Rate, Round};
use base::Moment;
use std::time::Duration;

/// What is left of the longest round-trip time in every round that measured less.
const RTT_DECAY: f64 = 0.9;

/// The round that runs, and what was heard in it.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    pub(super) number: Round,
    /// Rounds so far; does not wrap.
    pub(super) count: u64,
    started: Moment,
    /// Somebody other than the CLR reported in this round.
    heard: bool,
    pub(super) suppression: Rate,
    /// The longest round-trip time, by measurement.
    pub(super) rtt_max: Duration,
    /// The longest of this round.
    peak: Option<Duration>,
}

impl Rounds {
    pub(super) fn new(now: Moment, rtt_max: Duration) -> Self {
        Self {
            number: Round::default(),
            count: 0,
            started: now,
            heard: false,
            suppression: Rate::UNLIMITED,
            rtt_max,
            peak: None,
        }
    }

    /// Whether a report of this round is still looked at: of the current one or the one before.
    pub(super) fn is_current(&self, round: Round) -> bool {
        round == self.number || round.next() == self.number
    }

    /// A round-trip time was measured.
    pub(super) fn measured(&mut self, rtt: Duration) {
        self.rtt_max = self.rtt_max.max(rtt);
        self.peak = self.peak.max(Some(rtt));
    }

    /// A receiver other than the CLR reported `rate`: from now on only slower ones do. The first one ends a round that is over
    /// its time.
    pub(super) fn heard(&mut self, rate: Rate) {
        self.heard = true;
        self.suppression = self.suppression.min(rate.times(1.0 - SUPPRESSION_SLACK));
    }

    /// When the round ends: after its time when somebody was heard, else after twice that. `unit` is `R_max`.
    pub(super) fn deadline(&self, unit: Duration) -> Moment {
        self.started + unit * if self.heard { ROUND_RTTS } else { 2 * ROUND_RTTS }
    }

    /// Starts the next round when this one is over.
    pub(super) fn advance(&mut self, now: Moment, unit: Duration) {
        if now < self.deadline(unit) {
            return;
        }
        // Without any measurement there is no reason to think that the group has become smaller.
        if let Some(peak) = self.peak.take() {
            self.rtt_max = self.rtt_max.mul_f64(RTT_DECAY).max(peak).max(RTT_MIN);
        }
        self.number = self.number.next();
        self.count += 1;
        self.started = now;
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
        assert_eq!(rounds.deadline(RTT), Moment::from_millis(800));
        rounds.heard(Rate::of(1_250.0, Duration::from_secs(1)));
        assert_eq!(rounds.deadline(RTT), Moment::from_millis(400));
        assert_eq!(rounds.suppression.bits_per_second(), 9_000.0);
        rounds.advance(Moment::from_millis(399), RTT);
        assert_eq!(rounds.count, 0);
        rounds.advance(Moment::from_millis(400), RTT);
        assert_eq!((rounds.count, rounds.number, rounds.suppression), (1, Round::new(1), Rate::UNLIMITED));
        assert!(rounds.is_current(Round::new(0)) && rounds.is_current(Round::new(1)));
        assert!(!rounds.is_current(Round::new(2)) && !rounds.is_current(Round::new(15)));
    }

    #[test]
    fn the_longest_time_rises_at_once_and_falls_slowly() {
        let mut rounds = Rounds::new(Moment::ZERO, RTT);
        rounds.measured(RTT * 3);
        assert_eq!(rounds.rtt_max, RTT * 3);
        rounds.advance(Moment::from_secs(10), RTT);
        assert_eq!(rounds.rtt_max, RTT * 3, "the peak of the round");
        rounds.measured(RTT);
        rounds.advance(Moment::from_secs(20), RTT);
        assert_eq!(rounds.rtt_max, Duration::from_millis(270));
        rounds.advance(Moment::from_secs(30), RTT);
        assert_eq!(rounds.rtt_max, Duration::from_millis(270), "nothing measured, nothing learnt");
    }
}
