//! When a further sending of a message is worth it.
//!
//! After some sendings somebody still misses a message with a probability that is estimated from both what receivers report (the loss
//! of the slowest, and how many there are) and what NACKs show. Reports come first, with the first second of traffic, and are wrong where receivers
//! are unlike; NACKs come one by one and are right. So reports count like a few messages, and NACKs take over.

use std::ops::Range;

/// What reports say counts like so many messages.
const PRIOR: f64 = 4.0;
/// Reports say nothing of more sendings: they are of the receiver that loses most, which matters more with each.
const TOLD_MAX: usize = 2;
/// Messages that are remembered.
const MEMORY: f64 = 32.0;
/// A sending saves a repair where somebody misses the message with more than this probability, until it is less than that.
const SAVES: Range<f64> = 0.5..0.8;
/// It is worth being paid for where a receiver misses the message with more than this probability, until it is less than that.
const PAYS: Range<f64> = 0.004..0.008;

/// What one more sending is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// In vain, most likely.
    Nothing,
    /// Some receiver has the message sooner.
    Something,
    /// It costs what the repair would that it saves.
    ItsCost,
}

/// Messages that were sent the same number of times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// How many were judged, and how many of them somebody missed; both fade.
    judged: f64,
    missed: f64,
    saves: bool,
    pays: bool,
}

impl Level {
    /// Somebody missed one, or nobody did.
    pub(super) fn judge(&mut self, missed: bool) {
        let keep = if self.judged >= MEMORY { 1.0 - 1.0 / MEMORY } else { 1.0 };
        self.judged = self.judged * keep + 1.0;
        self.missed = self.missed * keep + f64::from(u8::from(missed));
    }

    /// The share that somebody misses, when `expected` is what reports say.
    pub(super) fn share(&self, expected: f64) -> f64 {
        (self.missed + PRIOR * expected) / (self.judged + PRIOR)
    }

    /// What one more sending is; neither begins where it would end.
    pub(super) fn worth(&mut self, audience: Audience, sendings: usize) -> Worth {
        let somebody = self.share(audience.expects(sendings));
        let each = 1.0 - (1.0 - somebody).powf(1.0 / f64::from(audience.members.max(1)));
        let is_above =
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

/// What is known of those who listen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Audience {
    /// How many they are.
    pub(crate) members: u32,
    /// What the one that limits the rate loses; 0 if nobody says so.
    pub(crate) loss: f64,
}

impl Audience {
    /// The probability that somebody misses a message after so many sendings, if all lose as much, each by itself; 0 after more than
    /// [`TOLD_MAX`].
    pub(super) fn expects(self, sendings: usize) -> f64 {
        if sendings > TOLD_MAX {
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
        // One of a thousand loses much, which reports take for all.
        let audience = Audience { members: 1_000, loss: 0.05 };
        let mut level = Level::default();
        assert_eq!(level.worth(audience, 1), Worth::ItsCost);
        let judged = (1..20).find(|_| {
            level.judge(false);
            level.worth(audience, 1) == Worth::Nothing
        });
        assert_eq!(judged, Some(4));
        // Of Table 1's receivers one message in seven is missed: nothing begins by chance.
        let mut level = Level::default();
        (0..13).for_each(|_| {
            level.judge(true);
            assert_ne!(level.worth(Audience { members: 3, loss: 0.05 }, 1), Worth::ItsCost);
        });
    }

    #[test]
    fn what_begins_does_not_end_at_once() {
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
