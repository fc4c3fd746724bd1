//! Trailing announcements: a sender that falls silent after a message announces it a few more
//! times, at intervals that double. A receiver that lost the message learns of it within
//! milliseconds instead of at the next heartbeat. Bundles that leave for other reasons count as
//! announcements.

use super::sender::Sender;
use crate::model::Dsn;
use crate::timing::Timing;
use base::Moment;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Versions to announce, by the time at which that is due.
#[derive(Debug, Default)]
pub(super) struct Trailing {
    slots: BinaryHeap<Reverse<(Moment, Slot)>>,
}

/// A version, and the number of its trailing announcement, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    data: crate::model::DataId,
    sn: u32,
    time: u32,
}

impl Trailing {
    /// The last piece of a version has been sent.
    pub(super) fn begin(&mut self, now: Moment, dsn: Dsn, timing: &Timing) {
        let slot = Slot { data: dsn.data, sn: dsn.sn.0, time: 0 };
        if timing.trailing_times > 0 {
            self.slots.push(Reverse((now + interval(timing, 0), slot)));
        }
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.slots.peek().map(|Reverse((at, _))| *at)
    }
}

fn interval(timing: &Timing, time: u32) -> Duration {
    timing.trailing.saturating_mul(1 << time.min(16)).min(timing.heartbeat)
}

impl Sender {
    pub(super) fn expire_trailing(&mut self, now: Moment) {
        let urged = self.must_announce();
        while let Some(Reverse((at, slot))) =
            self.trailing.slots.peek().copied().filter(|next| next.0.0 <= now)
        {
            self.trailing.slots.pop();
            let Some(element) = self.table.elements.get(&slot.data) else { continue };
            if element.dsn.sn.0 != slot.sn {
                continue;
            }
            let timing = &self.config.timing;
            let begin = Moment::from_nanos(
                at.as_nanos().saturating_sub(interval(timing, slot.time).as_nanos() as u64),
            );
            if element.announced_at <= begin {
                self.announcer.urge(slot.data);
            }
            if slot.time + 1 < timing.trailing_times {
                let next = Slot { time: slot.time + 1, ..slot };
                self.trailing.slots.push(Reverse((at + interval(timing, next.time), next)));
            }
        }
        self.counters.trailing += u64::from(!urged && self.must_announce());
    }
}
