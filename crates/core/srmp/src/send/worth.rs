//! The worth of sending a message once more.
//!
//! The probability that some receiver still misses a message after a number of sendings is
//! estimated from two sources: receivers' reports (the loss of the slowest, and the number of
//! members) and NACKs. Reports come first, within the first second of traffic, and are wrong where
//! receivers differ. NACKs come one by one and are right. So the reports count like a few messages,
//! and NACKs gain weight as they come.

use std::ops::Range;

/// The weight of the reports' estimate, in messages.
const PRIOR: f64 = 4.0;
/// Reports are used for at most this many sendings: they describe the receiver that loses most, and
/// the error of taking it for all grows with each sending.
const ANNOUNCEMENTS_MAX: usize = 2;
/// The number of messages over which the statistics average.
const MEMORY: f64 = 32.0;
/// A sending saves a repair once some receiver misses the message with more than the upper
/// probability, and until that falls below the lower one.
const SAVES: Range<f64> = 0.5..0.8;
/// A sending is worth its price once each receiver misses the message with more than the upper
/// probability, and until that falls below the lower one.
const PAYS: Range<f64> = 0.004..0.008;

/// The worth of one more sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// None: most likely nobody needs it.
    Nothing,
    /// Some receiver gets the message sooner.
    Something,
    /// It costs as much as the repair that it saves.
    ItsCost,
}

/// Statistics of messages that were sent the same number of times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// The number of messages judged, and of those that some receiver missed. Both decay.
    judged: f64,
    missed: f64,
    saves: bool,
    pays: bool,
}

impl Level {
    /// Counts a message that some receiver missed, or that nobody did.
    pub(super) fn judge(&mut self, missed: bool) {
        let keep = if self.judged >= MEMORY { 1.0 - 1.0 / MEMORY } else { 1.0 };
        self.judged = self.judged * keep + 1.0;
        self.missed = self.missed * keep + f64::from(u8::from(missed));
    }

    /// The share of messages that some receiver misses; `expected` is the reports' estimate.
    pub(super) fn share(&self, expected: f64) -> f64 {
        // The expectation counts like four judgements. It decides at first, and experience does
        // later.
        (self.missed + PRIOR * expected) / (self.judged + PRIOR)
    }

    /// The worth of one more sending, with hysteresis: the thresholds to begin are above those to
    /// end.
    pub(super) fn worth(&mut self, audience: Audience, sendings: usize) -> Worth {
        let somebody = self.share(audience.expects(sendings));
        // The share of receivers that miss it, if they miss it independently.
        let each = 1.0 - (1.0 - somebody).powf(1.0 / f64::from(audience.members.max(1)));
        let is_above =
            // Hysteresis: at the border, decisions would alternate with every message and nothing
            // could be learnt from them.
            |share: f64, was: bool, range: &Range<f64>| share > if was { range.start } else { range.end };
        self.saves = is_above(somebody, self.saves, &SAVES);
        self.pays = is_above(each, self.pays, &PAYS);
        match (self.saves, self.pays) {
            (true, _) => Worth::ItsCost,
            (false, true) => Worth::Something,
            (false, false) => Worth::Nothing,
        }
    }
}

/// The receivers, as reports describe them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Audience {
    /// The number of receivers.
    pub(crate) members: u32,
    /// The loss of the receiver that limits the rate, from 0 to 1; 0 when no report tells it.
    pub(crate) loss: f64,
}

impl Audience {
    /// The probability that some receiver misses a message after `sendings`, if all receivers lose
    /// as much, independently of each other. 0 after more than [`ANNOUNCEMENTS_MAX`] sendings.
    pub(super) fn expects(self, sendings: usize) -> f64 {
        if sendings > ANNOUNCEMENTS_MAX {
            return 0.0;
        }
        let miss = self.loss.clamp(0.0, 1.0).powi(sendings as i32);
        -(f64::from(self.members) * (-miss).ln_1p()).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_group_needs_more_sendings() {
        let near = |audience: Audience, sendings, expected: f64| {
            let got = audience.expects(sendings);
            assert!((got - expected).abs() < 5e-3, "{got} {expected}");
        };
        let many = Audience { members: 1_000, loss: 0.05 };
        for (sendings, expected) in [(1, 1.0), (2, 0.918), (3, 0.0)] {
            near(many, sendings, expected);
        }
        near(Audience { members: 3, loss: 0.05 }, 1, 0.143);
        near(Audience { members: 3, loss: 1.0 }, 2, 1.0);
        near(Audience { members: 0, loss: 0.5 }, 1, 0.0);
        near(Audience::default(), 1, 0.0);
    }

    #[test]
    fn nacks_take_over_from_reports() {
        // One receiver in a thousand has a high loss, which the reports' estimate assumes for all.
        let audience = Audience { members: 1_000, loss: 0.05 };
        let mut level = Level::default();
        assert_eq!(level.worth(audience, 1), Worth::ItsCost);
        let judged = (1..20).find(|_| {
            level.judge(false);
            level.worth(audience, 1) == Worth::Nothing
        });
        assert_eq!(judged, Some(4));
        // With Table 1's receivers some receiver misses one message in seven. Chance starts no
        // copies.
        let mut level = Level::default();
        (0..13).for_each(|_| {
            level.judge(true);
            assert_ne!(level.worth(Audience { members: 3, loss: 0.05 }, 1), Worth::ItsCost);
        });
    }

    #[test]
    fn a_new_phase_does_not_end_at_once() {
        use Worth::{ItsCost, Nothing, Something};
        let mut level = Level::default();
        let mut worths = |losses: [f64; 5]| losses.map(|loss| level.worth(Audience { members: 1, loss }, 1));
        assert_eq!(worths([0.81, 0.79, 0.51, 0.49, 0.79]), [ItsCost, ItsCost, ItsCost, Something, Something]);
        assert_eq!(
            worths([0.005, 0.003, 0.007, 0.009, 0.5]),
            [Something, Nothing, Nothing, Something, Something]
        );
    }
}
