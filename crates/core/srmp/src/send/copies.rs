//! Copies: a message that some receiver is likely to miss is sent again before anybody asks for it.
//!
//! Where some receiver misses nearly every message, a copy costs as much as the repair that it
//! replaces, and saves round trips. Such copies follow from the loss and the size of the group
//! alone. Where receivers miss only some messages, a copy gives those that missed one the fresh
//! state sooner. Such copies are paid for from a share of the bytes sent.

use super::repair::Since;
use super::sender::Sender;
use super::table::{Element, Trial, Why};
use super::worth::{Audience, Level, Worth};
use crate::model::{DataId, Sn};
use crate::timing::Timing;
use base::Moment;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// The most copies of a message.
pub(super) const COPIES_MAX: usize = 10;
/// One message in this many gets one copy fewer than the others, so that its NACKs show whether the
/// last copy is still needed.
const MEASURED_EVERY: u32 = 16;
/// A message that draws no NACK for this long after its last copy, or for four round-trip times if
/// that is longer, counts as received by all.
const JUDGED_AFTER: Duration = Duration::from_secs(1);
/// The most credit for copies, in bytes.
const CREDIT_MAX: f64 = 16_384.0;

/// The next step of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Send it once more.
    Copy,
    /// Decide that nobody missed it, if nobody has asked.
    Judge,
}

/// The number of copies of messages, and the statistics that decide it.
#[derive(Debug, Default)]
pub(super) struct Copies {
    audience: Audience,
    /// Statistics of messages by their number of copies.
    levels: [Level; COPIES_MAX + 1],
    since_measured: u32,
    /// Bytes that copies may still take.
    credit: f64,
    due: BinaryHeap<Reverse<(Moment, DataId, u32, Step)>>,
}

impl Copies {
    /// A receiver asked for the message.
    pub(super) fn drew_nack(&mut self, now: Moment, element: &mut Element) {
        // A receiver that asked before the last copy could reach it may have that copy by now.
        if let Some(trial) = element.trial.take_if(|trial| trial.from <= now) {
            self.levels[trial.copies].judge(true);
        }
    }

    /// The number of copies for a message of `bytes`. Copies that must be paid for are taken from
    /// the credit.
    fn plan(&mut self, bytes: usize) -> usize {
        let mut copies = 0;
        // The price of the last copy.
        let mut last = 0.0;
        while copies < COPIES_MAX {
            last = match self.levels[copies].worth(self.audience, copies + 1) {
                Worth::ItsCost => 0.0,
                Worth::Something if self.credit >= bytes as f64 => bytes as f64,
                Worth::Something | Worth::Nothing => break,
            };
            self.credit -= last;
            copies += 1;
        }
        // One copy less now and then, to measure whether the last one is still needed.
        if copies > 0 && self.since_measured + 1 >= MEASURED_EVERY {
            self.since_measured = 0;
            self.credit += last;
            return copies - 1;
        }
        self.since_measured += u32::from(copies > 0);
        copies
    }

    /// The last piece of a message has been sent for the first time.
    pub(super) fn first_sent(
        &mut self,
        now: Moment,
        element: &mut Element,
        allowed: bool,
        r_max: Duration,
        timing: &Timing,
    ) {
        let (data, sn) = (element.dsn.data, element.dsn.sn.0);
        let copies = if allowed { self.plan(element.body.len()) } else { 0 };
        let (least, most) = timing.copy_spacing;
        // Apart, because losses come in bursts; but within a round trip, before the first request.
        let spacing = (r_max / 5).min(most).max(least);
        let after = |copies: usize| now + spacing * copies as u32;
        for copy in 1..=copies {
            self.due.push(Reverse((after(copy), data, sn, Step::Copy)));
        }
        let last = after(copies);
        // Requests before this moment may have crossed the last copy, and say nothing about it.
        let from = if copies == 0 { now } else { last + r_max };
        element.trial = Some(Trial { copies, from });
        self.due.push(Reverse((last + JUDGED_AFTER.max(r_max * 4), data, sn, Step::Judge)));
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
                    if let Some(trial) = element.trial.take() {
                        self.copies.levels[trial.copies].judge(false);
                    }
                }
                Step::Copy => {
                    let pieces = element.pieces.len();
                    // A repair sent meanwhile makes the copy useless.
                    let held = (Since::SentAgain, self.config.timing.copy_spacing.0 / 2);
                    self.queue_again(now, data, 0..pieces, Why::Copy, held);
                }
            }
        }
    }

    /// Sets the size of the audience and its loss.
    pub(crate) fn set_audience(&mut self, audience: Audience) {
        self.copies.audience = audience;
    }

    /// Adds the share that copies may take of `bytes` sent.
    pub(crate) fn earn_copies(&mut self, bytes: usize) {
        let earned = bytes as f64 * self.config.copy_share;
        self.copies.credit = (self.copies.credit + earned).min(CREDIT_MAX);
    }

    /// The share of messages that some receiver misses after the first sending.
    pub(crate) fn missed_share(&self) -> f64 {
        self.copies.levels[0].share(self.copies.audience.expects(1))
    }
}
