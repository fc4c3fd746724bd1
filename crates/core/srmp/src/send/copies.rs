//! Copies: a message that somebody would ask for is sent again before anybody does.
//!
//! Where nearly every message is missed by somebody, a copy costs what the repair would, and saves round trips: such copies follow
//! from loss and the size of the group alone. Where it is only some, a copy makes the state of those who missed the message
//! fresher, and is paid from a share of what is sent.

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

/// At most so many copies follow a message.
pub(super) const COPIES_MAX: usize = 10;
/// One message in so many has a copy less than the others, to measure anew.
const MEASURED_EVERY: u32 = 16;
/// A message that drew no NACK for this long after its last copy, or four round-trip times, was missed by nobody.
const JUDGED_AFTER: Duration = Duration::from_secs(1);
/// What is saved up for copies is at most this many bytes.
const CREDIT_MAX: f64 = 16_384.0;

/// What is to happen to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// It is sent once more.
    Copy,
    /// Nobody missed it if nobody asked.
    Judge,
}

/// How often messages are sent, and what follows from it.
#[derive(Debug, Default)]
pub(super) struct Copies {
    audience: Audience,
    /// By how many copies messages had.
    levels: [Level; COPIES_MAX + 1],
    since_measured: u32,
    /// Bytes that may be spent on copies.
    credit: f64,
    due: BinaryHeap<Reverse<(Moment, DataId, u32, Step)>>,
}

impl Copies {
    /// A receiver asked for a message.
    pub(super) fn drew_nack(&mut self, now: Moment, element: &mut Element) {
        // Who asked before the last copy reached him may have it.
        if let Some(trial) = element.trial.take_if(|trial| trial.from <= now) {
            self.levels[trial.copies].judge(true);
        }
    }

    /// How many copies follow a message of so many bytes. What is paid for is taken from the credit.
    fn plan(&mut self, bytes: usize) -> usize {
        let mut copies = 0;
        // What the last copy costs of the credit.
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
        if copies > 0 && self.since_measured + 1 >= MEASURED_EVERY {
            self.since_measured = 0;
            self.credit += last;
            return copies - 1;
        }
        self.since_measured += u32::from(copies > 0);
        copies
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
        let copies = if allowed { self.plan(element.body.len()) } else { 0 };
        let (least, most) = timing.copy_spacing;
        let spacing = (r_max / 5).min(most).max(least);
        let after = |copies: usize| now + spacing * copies as u32;
        for copy in 1..=copies {
            self.due.push(Reverse((after(copy), data, sn, Step::Copy)));
        }
        let last = after(copies);
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
                    // A repair in between makes the copy useless.
                    let held = (Since::SentAgain, self.config.timing.copy_spacing.0 / 2);
                    self.queue_again(now, data, 0..pieces, Why::Copy, held);
                }
            }
        }
    }

    /// What is known of those who listen.
    pub(crate) fn set_audience(&mut self, audience: Audience) {
        self.copies.audience = audience;
    }

    /// So many bytes were sent, a share of which copies may cost.
    pub(crate) fn earn_copies(&mut self, bytes: usize) {
        let earned = bytes as f64 * self.config.copy_share;
        self.copies.credit = (self.copies.credit + earned).min(CREDIT_MAX);
    }

    /// The share of messages that somebody misses after their first sending.
    pub(crate) fn missed_share(&self) -> f64 {
        self.copies.levels[0].share(self.copies.audience.expects(1))
    }
}
