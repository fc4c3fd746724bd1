//! The timing constants of the protocol, by name.

use std::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// All members without data together send one presence bundle in this time on average, so that the
/// load does not grow with the group.
const PRESENCE_SPACING: Duration = ms(200);

/// The timers of modes 0 and 1. The defaults are those of RFC 4410 where it gives one, and this
/// library's elsewhere. Those marked "not in strict" are unused when only RFC 4410 is spoken.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The time for which a bundle waits for more messages; zero sends every message at once.
    /// Default 10 ms, at least 1 ms (RFC 4410).
    pub bundle_timeout: Duration,
    /// The time for which a bundle with urgent content waits: a NACK, a repair or an urgent
    /// message. Default 1 ms; not in strict.
    pub urgent_flush: Duration,
    /// A member with active data elements that has sent no bundle for this long sends an empty one.
    /// Default 1 s, the least that RFC 4410 allows.
    pub heartbeat: Duration,
    /// The interval at which a member without active data elements sends an empty bundle, so that
    /// the others know how many members share a loss. It grows with the group: all such members
    /// together send at most five in a second. `None` sends none. Default 5 s; not in strict.
    pub presence: Option<Duration>,
    /// The time from a new mode 1 message to its first trailing announcement. Each later interval
    /// is twice the one before, up to [`heartbeat`](Self::heartbeat). Default 20 ms; not in strict.
    pub trailing: Duration,
    /// The most trailing announcements of a message. Default 5: after 20, 60, 140, 300 and 620 ms.
    /// Not in strict.
    pub trailing_times: u32,
    /// Segments that are missing for this long count as lost. Default 250 ms, at least 50 ms
    /// (RFC 4410).
    pub segment_timeout: Duration,
    /// The least time between two NACKs for one message. The time is otherwise 1.5 times the
    /// greatest round-trip time of the group, plus [`bundle_timeout`](Self::bundle_timeout).
    /// Default 10 ms.
    pub nack_repeat_min: Duration,
    /// The most time between two NACKs for one message, since each attempt doubles it. Default 5 s.
    pub nack_repeat_max: Duration,
    /// Whether a receiver that has sent or overheard a NACK waits for the answer. Without this,
    /// every announcement of a missing message draws a NACK, as in an early prototype; experiments
    /// use that to measure the worth of the hold-off. Default true.
    pub nack_hold_off: bool,
    /// The backoff before a NACK is at most this many times the greatest round-trip time: K of
    /// RFC 5401. Default 4.
    pub backoff_factor: u32,
    /// The longest backoff. Default 500 ms.
    pub backoff_max: Duration,
    /// Groups of up to this many members do not back off. Default 3.
    pub backoff_free_members: u32,
    /// The first NACK of a joiner waits for a random time of up to twice the greatest round-trip
    /// time, or up to this if it is longer. Default 100 ms.
    pub join_spread_min: Duration,
    /// A piece is not repaired again within the greatest round-trip time, clamped to this range.
    /// Default 2 ms to 500 ms.
    pub repair_holdoff: (Duration, Duration),
    /// Copies of a message are a fifth of the greatest round-trip time apart, clamped to this
    /// range. Default 20 ms to 50 ms.
    pub copy_spacing: (Duration, Duration),
    /// A member that is silent for this long is lost, unless its heartbeats are rarer. Default
    /// 12 s.
    pub member_timeout: Duration,
    /// A data element that is not announced for this long is no longer asked for. Default 60 s.
    pub data_lost: Duration,
    /// A data element of this member that is not sent for this long is no longer announced
    /// (`dataID_Timeout`). Default none.
    pub data_timeout: Option<Duration>,
    /// The greatest round-trip time of a group, as assumed until its sender announces it. Default
    /// 500 ms.
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

    /// The presence interval of a member without data in a group of `members`.
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
