//! Second copies. Where nearly every message is missed by somebody, a copy costs what the repair would, and saves a round trip.

use super::repair::Since;
use super::sender::Sender;
use super::table::{Element, Why};
use crate::model::{DataId, Sn};
use crate::timing::Timing;
use base::Moment;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Copies begin when more than this share of messages drew a NACK,
const BEGIN_ABOVE: f64 = 0.8;
/// and end below this.
const END_BELOW: f64 = 0.5;
/// The weight of one message in the share.
const WEIGHT: f64 = 1.0 / 16.0;
/// Every so many messages one is not copied, to measure anew.
const MEASURED_EVERY: u32 = 32;
/// A message that drew no NACK for this long, or four round-trip times, needed no repair.
const JUDGED_AFTER: Duration = Duration::from_secs(1);

/// What is to happen to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// It is sent once more.
    Copy,
    /// It needed no repair if nobody asked.
    Judge,
}

/// How many messages need repairs, and what follows from it.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The share of messages that drew a NACK.
    nacked: f64,
    active: bool,
    since_measured: u32,
    due: BinaryHeap<Reverse<(Moment, DataId, u32, Step)>>,
}

impl Copies {
    fn judge(&mut self, nacked: bool) {
        self.nacked += WEIGHT * (f64::from(u8::from(nacked)) - self.nacked);
        self.active = if self.active { self.nacked >= END_BELOW } else { self.nacked > BEGIN_ABOVE };
    }

    /// A receiver asked for a message.
    pub(super) fn drew_nack(&mut self, element: &mut Element) {
        if std::mem::take(&mut element.unjudged) {
            self.judge(true);
        }
    }

    /// All of a message was sent for the first time.
    pub(super) fn first_sent(
        &mut self,
        now: Moment,
        element: &mut Element,
        allowed: bool,
        r_max: Duration,
        timing: &Timing,
    ) {
        let (data, sn) = (element.dsn.data, element.dsn.sn.0);
        self.since_measured += 1;
        if allowed && self.active && self.since_measured < MEASURED_EVERY {
            let spacing = (r_max / 4).max(timing.copy_spacing_min);
            self.due.push(Reverse((now + spacing, data, sn, Step::Copy)));
        } else {
            self.since_measured = 0;
            element.unjudged = true;
            self.due.push(Reverse((now + JUDGED_AFTER.max(r_max * 4), data, sn, Step::Judge)));
        }
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.due.peek().map(|Reverse((at, ..))| *at)
    }
}

impl Sender {
    pub(super) fn expire_copies(&mut self, now: Moment) {
        while let Some(Reverse((_, data, sn, step))) =
            self.copies.due.peek().copied().filter(|next| next.0.0 <= now)
        {
            self.copies.due.pop();
            let current = self.table.elements.get_mut(&data).filter(|element| element.dsn.sn == Sn(sn));
            let Some(element) = current else { continue };
            match step {
                Step::Judge => {
                    if std::mem::take(&mut element.unjudged) {
                        self.copies.judge(false);
                    }
                }
                Step::Copy => {
                    let pieces = element.pieces.len();
                    // A repair in between makes the copy useless.
                    let held = (Since::SentAgain, self.config.timing.copy_spacing_min);
                    self.queue_again(now, data, 0..pieces, Why::Copy, held);
                }
            }
        }
    }

    /// The share of messages that drew a NACK of late.
    pub(crate) fn nacked_share(&self) -> f64 {
        self.copies.nacked
    }
}
