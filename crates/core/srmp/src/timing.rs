//! The constants of the protocol, by name.

use std::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// All members without data together show themselves once in this time.
const PRESENCE_SPACING: Duration = ms(200);

/// Every waiting time of modes 0 and 1. The defaults are those of RFC 4410 where it gives one; the others are this library's.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// How long a bundle waits for more messages. RFC 4410: 10 ms, at least 1 ms; zero sends every message at once.
    pub bundle_timeout: Duration,
    /// How long a bundle with something urgent waits: a NACK, a repair, an urgent message. 1 ms; not in strict.
    pub urgent_flush: Duration,
    /// A member with active data elements that sent no bundle for this long sends an empty one. 1 s, the least of RFC 4410.
    pub heartbeat: Duration,
    /// A member without active data elements sends an empty bundle this often, so that the others know how many share a loss; the more
    /// members there are, the more seldom, so that all together send five in a second. 5 s; not in strict, and not with none.
    pub presence: Option<Duration>,
    /// The first trailing announcement after a new mode 1 message; then the interval doubles, up to
    /// [`heartbeat`](Self::heartbeat). 20 ms; not in strict.
    pub trailing: Duration,
    /// How often, at most. 5: after 20, 60, 140, 300 and 620 ms; not in strict.
    pub trailing_times: u32,
    /// Segments that are missing this long are lost. RFC 4410: 250 ms, at least 50 ms.
    pub segment_timeout: Duration,
    /// The least time between two NACKs of one message, which otherwise is 1.5 times the greatest round-trip time of the group, plus
    /// [`bundle_timeout`](Self::bundle_timeout). 10 ms.
    pub nack_repeat_min: Duration,
    /// The most, after doubling with each attempt. 5 s.
    pub nack_repeat_max: Duration,
    /// Whether who asked, or heard another ask, waits for the answer. Without, every announcement of what is missing draws a NACK, as in
    /// a first prototype: to see by experiment what hold-off is worth. True.
    pub nack_hold_off: bool,
    /// Backoff before a NACK is at most this many times the greatest round-trip time: K of RFC 5401. 4.
    pub backoff_factor: u32,
    /// Backoff is at most this. 500 ms.
    pub backoff_max: Duration,
    /// Up to this many members there is no backoff. 3.
    pub backoff_free_members: u32,
    /// A joiner's first NACK waits up to twice the greatest round-trip time, at least up to this. 100 ms.
    pub join_spread_min: Duration,
    /// What was repaired is not repaired again within the greatest round-trip time, clamped to this. 2 ms to 500 ms.
    pub repair_holdoff: (Duration, Duration),
    /// Copies of a message come a fifth of the greatest round-trip time after each other, clamped to this. 20 ms to 50 ms.
    pub copy_spacing: (Duration, Duration),
    /// A member that is silent this long is lost, unless its heartbeats are rarer. 12 s.
    pub member_timeout: Duration,
    /// A data element that is not announced this long is not asked for any more. 60 s.
    pub data_lost: Duration,
    /// An own data element that is not sent this long is not announced any more (`dataID_Timeout`). None.
    pub data_timeout: Option<Duration>,
    /// What the greatest round-trip time of a group is taken for until its sender tells. 500 ms.
    pub r_max_initial: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            bundle_timeout: ms(10),
            urgent_flush: ms(1),
            heartbeat: ms(1_000),
            presence: Some(ms(5_000)),
            trailing: ms(20),
            trailing_times: 5,
            segment_timeout: ms(250),
            nack_repeat_min: ms(10),
            nack_repeat_max: ms(5_000),
            nack_hold_off: true,
            backoff_factor: 4,
            backoff_max: ms(500),
            backoff_free_members: 3,
            join_spread_min: ms(100),
            repair_holdoff: (ms(2), ms(500)),
            copy_spacing: (ms(20), ms(50)),
            member_timeout: ms(12_000),
            data_lost: ms(60_000),
            data_timeout: None,
            r_max_initial: ms(500),
        }
    }
}

impl Timing {
    /// `NACK_Repeat_Timeout` of the given attempt, counted from 0.
    pub(crate) fn nack_repeat(&self, r_max: Duration, attempt: u32) -> Duration {
        let first = (r_max * 3 / 2 + self.bundle_timeout).max(self.nack_repeat_min);
        first.saturating_mul(1 << attempt.min(16)).min(self.nack_repeat_max)
    }

    /// How often a member without data shows itself among so many.
    pub(crate) fn presence_among(&self, members: u32) -> Option<Duration> {
        self.presence.map(|least| least.max(PRESENCE_SPACING * members))
    }

    /// `Repair_Holdoff`.
    pub(crate) fn holdoff(&self, r_max: Duration) -> Duration {
        let (least, most) = self.repair_holdoff;
        r_max.min(most).max(least)
    }

    /// `Join_Spread`.
    pub(crate) fn join_spread(&self, r_max: Duration) -> Duration {
        (r_max * 2).max(self.join_spread_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_double_up_to_the_limit() {
        let timing = Timing::default();
        assert_eq!(timing.nack_repeat(ms(100), 0), ms(160));
        assert_eq!(timing.nack_repeat(ms(100), 2), ms(640));
        assert_eq!(timing.nack_repeat(ms(100), 99), ms(5_000));
        assert_eq!(timing.presence_among(7), Some(ms(5_000)));
        assert_eq!(timing.presence_among(1_000), Some(ms(200_000)));
        assert_eq!(timing.holdoff(Duration::ZERO), ms(2));
        assert_eq!(timing.holdoff(ms(900)), ms(500));
        assert_eq!(timing.join_spread(ms(10)), ms(100));
    }
}
