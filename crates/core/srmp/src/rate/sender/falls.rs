//! A limit on the share of the rate that one receiver can take away.

use super::super::Rate;
use super::super::config::ROUND_RTTS;
use crate::model::MemberId;
use base::Moment;
use std::collections::VecDeque;
use std::time::Duration;

/// One receiver can halve the rate once in this many rounds.
const ROUNDS: u32 = 2;
/// The most time for which these rounds count. A queue that fills makes rounds long just when the
/// rate has to fall.
const WINDOW_MAX: Duration = Duration::from_secs(2);
/// The number of receivers remembered. Only when more than this many lower the rate within two
/// rounds can one of them lower it again too soon.
const REMEMBERED_MAX: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Fall {
    receiver: MemberId,
    until: Moment,
    /// Half of the rate before the fall.
    floor: Rate,
}

/// The receivers that lowered the rate recently, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Falls {
    falls: VecDeque<Fall>,
}

impl Falls {
    /// The lowest rate to which `receiver` may lower the current `rate` now.
    pub(super) fn floor(&mut self, now: Moment, receiver: MemberId, rate: Rate, rtt_max: Duration) -> Rate {
        self.falls.retain(|fall| fall.until > now);
        if let Some(fall) = self.falls.iter().find(|fall| fall.receiver == receiver) {
            return fall.floor;
        }
        // A hostile receiver with many names must not take more memory than this.
        if self.falls.len() == REMEMBERED_MAX {
            self.falls.pop_front();
        }
        let floor = rate.times(0.5);
        let until = now + (rtt_max * (ROUNDS * ROUND_RTTS)).min(WINDOW_MAX);
        self.falls.push_back(Fall { receiver, until, floor });
        floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_receiver_halves_once_in_two_rounds() {
        let rate = |value| Rate::new(value).expect("a rate");
        let rtt = Duration::from_millis(100);
        let mut falls = Falls::default();
        let mut floor = |ms, receiver, from, rtt| {
            falls.floor(Moment::from_millis(ms), MemberId(receiver), rate(from), rtt)
        };
        assert_eq!(floor(0, 1, 80.0, rtt), rate(40.0));
        assert_eq!(floor(400, 1, 40.0, rtt), rate(40.0));
        assert_eq!(floor(400, 2, 40.0, rtt), rate(20.0));
        assert_eq!(floor(800, 1, 20.0, rtt), rate(10.0));
        assert_eq!(floor(800, 2, 20.0, rtt), rate(20.0));
        // Long rounds are cut to two seconds.
        assert_eq!(floor(10_000, 1, 20.0, rtt * 100), rate(10.0));
        assert_eq!(floor(11_999, 1, 10.0, rtt * 100), rate(10.0));
        assert_eq!(floor(12_000, 1, 10.0, rtt * 100), rate(5.0));
        for receiver in 0..1_000 {
            falls.floor(Moment::from_secs(20), MemberId(receiver), rate(1.0), rtt);
        }
        assert_eq!(falls.falls.len(), REMEMBERED_MAX);
    }
}
