//! Answers to NACKs.

use super::sender::{Answer, Piece, Sender};
use super::share::Share;
use super::table::Why;
use crate::model::{DataId, Dsn, NackItem, Relation, Sn};
use base::Moment;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// NACKs for more than half of the data elements within this time start a sweep, which sends every
/// element once.
const SWEEP_WITHIN: Duration = Duration::from_secs(1);
/// With fewer data elements there is no sweep.
const SWEEP_MIN: usize = 8;

/// The sending from which a hold-off is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// The last one.
    Sent,
    /// The last one, not counting the first.
    SentAgain,
}

/// A piece that waits to be sent again. Those of the newest versions go first, and segments in
/// order.
type Waiting = (Moment, DataId, Reverse<u16>, u32);

/// The pieces that wait to be sent again.
#[derive(Debug)]
pub(super) struct Repairs {
    queue: BinaryHeap<Waiting>,
    share: Share,
    /// No repair leaves before this time, because repairs have used their share of the rate.
    not_before: Option<Moment>,
    sweeping: bool,
    /// Counts the data elements that were asked for: the start of the count, its generation, and
    /// the elements counted.
    counted: (Moment, u64, usize),
}

impl Repairs {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            queue: BinaryHeap::new(),
            share: Share::new(now),
            not_before: None,
            sweeping: false,
            counted: (now, 0, 0),
        }
    }
}

impl Sender {
    /// A receiver asks the whole group for a repair of this sender's data.
    pub(crate) fn handle_nack(&mut self, now: Moment, wanted: NackItem, r_max: Duration) -> Answer {
        self.counters.nacks += 1;
        let Some(element) = self.table.elements.get_mut(&wanted.data).filter(|element| !element.is_retired())
        else {
            self.counters.nacks_unknown += 1;
            return Answer::Ignored;
        };
        let relation = self.config.space.compare(wanted.sn, element.dsn.sn);
        if relation == Relation::Newer {
            self.counters.nacks_future += 1;
            return Answer::Ignored;
        }
        element.nacks = element.nacks.saturating_add(1);
        element.last_nack = Some(now);
        if relation == Relation::Equal {
            self.copies.drew_nack(now, element);
        }
        self.count_for_sweep(now, wanted.data);
        // The pass over all messages brings it.
        if self.repairs.sweeping {
            self.counters.nacks_swept += 1;
            return Answer::Ignored;
        }
        let Some(element) = self.table.elements.get(&wanted.data) else { return Answer::Ignored };
        let older = relation == Relation::Older;
        let wished = element.wished(wanted.segment, older);
        // A receiver that names the newest version learned of it from a later bundle, so the first
        // sending cannot have crossed the request.
        let since = if older { Since::Sent } else { Since::SentAgain };
        let held = (since, self.config.timing.holdoff(r_max));
        let queued = self.queue_again(now, wanted.data, wished, Why::Repair, held);
        self.counters.nacks_held_off += u64::from(!queued);
        self.begin_sweep_if_due(now, r_max);
        if queued { Answer::Repair } else { Answer::Ignored }
    }

    /// A logger requests a repair, which goes to it alone. Returns the pieces to send; `None` when
    /// this member has no such version, or when one of the pieces is still unsent or was sent again
    /// within half the hold-off.
    pub(crate) fn handle_child_nack(
        &mut self,
        now: Moment,
        wanted: NackItem,
        r_max: Duration,
    ) -> Option<(Dsn, std::ops::Range<u16>)> {
        self.counters.nacks += 1;
        self.counters.nacks_of_loggers += 1;
        let Some(element) =
            self.table.elements.get_mut(&wanted.data).filter(|element| element.announced.is_some())
        else {
            self.counters.nacks_unknown += 1;
            return None;
        };
        let relation = self.config.space.compare(wanted.sn, element.dsn.sn);
        if relation == Relation::Newer {
            self.counters.nacks_future += 1;
            return None;
        }
        element.nacks = element.nacks.saturating_add(1);
        element.last_nack = Some(now);
        // A logger asks for its whole site, and waits before it asks again: its requests are not
        // echoes of each other.
        let holdoff = self.config.timing.holdoff(r_max) / 2;
        let wished = element.wished(wanted.segment, relation == Relation::Older);
        let held = |piece: &super::table::PieceState| {
            piece.sent.is_none() || piece.again.is_some_and(|at| now < at + holdoff)
        };
        if element.pieces.get(wished.clone()).is_none_or(|pieces| pieces.iter().any(held)) {
            self.counters.nacks_held_off += 1;
            return None;
        }
        Some((element.dsn, wished.start as u16..wished.end as u16))
    }

    /// Queues pieces that were sent, but not within the hold-off, and do not wait already. Returns
    /// whether it queued any.
    pub(super) fn queue_again(
        &mut self,
        now: Moment,
        data: DataId,
        pieces: std::ops::Range<usize>,
        why: Why,
        (since, holdoff): (Since, Duration),
    ) -> bool {
        let Some(element) = self.table.elements.get_mut(&data).filter(|element| !element.is_retired()) else {
            return false;
        };
        let (updated, sn) = (element.updated, element.dsn.sn);
        let mut any = false;
        for index in pieces {
            let Some(piece) = element.pieces.get_mut(index) else { break };
            let last = if since == Since::Sent { piece.sent } else { piece.again };
            let held = last.is_some_and(|last| now < last + holdoff);
            // Pieces that have never been sent will be, without a request.
            if held || piece.sent.is_none() || piece.queued.is_some() {
                continue;
            }
            piece.queued = Some(why);
            any = true;
            self.repairs.queue.push((updated, data, Reverse(index as u16), sn.0));
        }
        any
    }

    /// The next piece to send again, and why; `None` when nothing waits, or when repairs have used
    /// their share of `rate` bytes per second.
    pub(crate) fn next_again(&mut self, now: Moment, rate: f64) -> Option<(Piece, Why)> {
        while let Some((_, data, Reverse(index), sn)) = self.repairs.queue.peek().copied() {
            let current = self.table.elements.get(&data);
            let current = current.filter(|element| element.dsn.sn == Sn(sn) && !element.is_retired());
            let why = current.and_then(|e| e.pieces.get(usize::from(index)).and_then(|piece| piece.queued));
            let (Some(element), Some(why)) = (current, why) else {
                self.repairs.queue.pop();
                continue;
            };
            let piece = Piece { dsn: element.dsn, index, body: self.table.slice(element, index) };
            let share = rate * self.config.repair_share;
            // Copies have their own credit. Repairs have a share of the rate, so that a few bad
            // receivers do not stop new data.
            if why == Why::Repair {
                if !self.repairs.share.allows(now, share, piece.body.len()) {
                    self.repairs.not_before = Some(self.repairs.share.ready(share, piece.body.len()));
                    return None;
                }
                self.repairs.share.spend(piece.body.len());
            }
            self.repairs.queue.pop();
            self.repairs.not_before = None;
            return Some((piece, why));
        }
        self.repairs.not_before = None;
        self.repairs.sweeping = false;
        None
    }

    /// The time from which [`Sender::next_again`] may return a piece: now, later, or never.
    pub(crate) fn again_at(&self, now: Moment) -> Option<Moment> {
        if self.repairs.queue.is_empty() { None } else { Some(self.repairs.not_before.unwrap_or(now)) }
    }

    fn count_for_sweep(&mut self, now: Moment, data: DataId) {
        let (since, generation, count) = &mut self.repairs.counted;
        if now.since(*since) > SWEEP_WITHIN || *generation == 0 {
            (*since, *generation, *count) = (now, *generation + 1, 0);
        }
        let Some(element) = self.table.elements.get_mut(&data) else { return };
        if element.counted != *generation {
            element.counted = *generation;
            *count += 1;
        }
    }

    /// Sends everything once when most data elements were asked for. Momentary elements are not
    /// swept: most of the current ones did not exist when the others were asked for.
    fn begin_sweep_if_due(&mut self, now: Moment, r_max: Duration) {
        let active = self.active();
        let counted = self.repairs.counted.2;
        let lasts = self.config.timing.data_timeout.is_none();
        // More than half of all messages within a second: somebody lacks everything. One pass over
        // all of them is cheaper than single requests, and serves all that joined.
        if self.config.strict || !lasts || active < SWEEP_MIN || counted * 2 <= active {
            return;
        }
        self.counters.sweeps += 1;
        self.repairs.counted.2 = 0;
        let held = (Since::Sent, self.config.timing.holdoff(r_max));
        // By key, because queueing changes the table that an iterator would borrow.
        let mut next = self.table.elements.first_key_value().map(|(data, _)| *data);
        while let Some(data) = next {
            let pieces = self.table.elements.get(&data).map_or(0, |element| element.pieces.len());
            self.queue_again(now, data, 0..pieces, Why::Repair, held);
            let after = (std::ops::Bound::Excluded(data), std::ops::Bound::Unbounded);
            next = self.table.elements.range(after).next().map(|(data, _)| *data);
        }
        self.repairs.sweeping = !self.repairs.queue.is_empty();
    }
}
