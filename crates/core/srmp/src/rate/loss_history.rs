//! The loss events of one sender, as one receiver sees them (RFC 4654, section 5).

use super::RTT_MIN;
use crate::model::{Seq, SeqSpace};
use base::Moment;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::time::Duration;

/// The number of closed loss intervals in the mean: the `n` of RFC 4654, section 5.3.
pub const INTERVALS: usize = 8;
/// A jump of the numbers by more than this, in either direction, is not a loss but a restart or a
/// long outage: the record starts again.
pub const JUMP_MAX: u64 = 2_048;
/// A bundle counts as lost when this many later ones have arrived.
const LATER: u8 = 3;
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// One discounting leaves an old interval at least this share of its weight.
const DISCOUNT_MIN: f64 = 0.5;

/// The effect of a bundle on the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// It has the next number, or is the first bundle.
    Next,
    /// Numbers were skipped. They may still arrive.
    Ahead,
    /// Its number was missing.
    Late,
    /// Its number was not missing.
    Duplicate,
    /// Its number jumped by more than [`JUMP_MAX`]; everything before it is forgotten.
    Restart,
}

/// Numbers that have not arrived and do not count as lost yet.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u64,
    last: u64,
    /// The positions and arrival times of the bundles on both sides of the gap when it was found.
    before: (u64, Moment),
    after: (u64, Moment),
    /// The number of later bundles that have arrived.
    later: u8,
}

impl Gap {
    /// The time at which the bundle would have arrived, interpolated between its neighbours.
    fn time_of(&self, position: u64) -> Moment {
        let nanos = (self.after.1 - self.before.1).as_nanos();
        let share = nanos * u128::from(position - self.before.0) / u128::from(self.after.0 - self.before.0);
        self.before.1 + Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// The first position whose bundle would have arrived after `limit`.
    fn first_after(&self, limit: Moment) -> u64 {
        let Some(ahead) = limit.as_nanos().checked_sub(self.before.1.as_nanos()) else { return self.first };
        let nanos = (self.after.1 - self.before.1).as_nanos();
        if nanos == 0 {
            return self.after.0;
        }
        let steps = u128::from(ahead) * u128::from(self.after.0 - self.before.0) / nanos;
        self.before.0.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX)).saturating_add(1)
    }
}

/// The losses within one round-trip time, which count as one event.
#[derive(Clone, Copy, Debug)]
struct Event {
    start: u64,
    last: u64,
    at: Moment,
    lost: u64,
    /// Bundles from the start of the previous event to the start of this one; an estimate for the
    /// first.
    interval: f64,
    /// The product of the discounts applied to the interval so far.
    discount: f64,
}

/// The loss record of one sender.
///
/// Its size is bounded: at most [`INTERVALS`] events and three open gaps.
#[derive(Clone, Debug)]
pub struct LossHistory {
    space: SeqSpace,
    newest: Option<Newest>,
    gaps: SmallVec<[Gap; 4]>,
    /// The newest event comes first.
    events: VecDeque<Event>,
    /// Whether the interval of the oldest event is the estimate made at the first loss.
    guessed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    seq: Seq,
    /// The sequence number, unwrapped.
    position: u64,
    at: Moment,
}

impl LossHistory {
    /// Creates an empty record.
    pub fn new(space: SeqSpace) -> Self {
        Self {
            space,
            newest: None,
            gaps: SmallVec::new(),
            events: VecDeque::with_capacity(INTERVALS + 1),
            guessed: false,
        }
    }

    /// Records the arrival of a bundle. `rtt` is the span of a loss event. `first` returns the
    /// interval before the first one (see
    /// [`interval_before_first_loss`](super::interval_before_first_loss)).
    pub fn arrive(
        &mut self,
        now: Moment,
        seq: Seq,
        rtt: Duration,
        first: impl FnOnce() -> f64,
    ) -> Observation {
        let Some(newest) = self.newest else {
            self.start_at(seq, now);
            return Observation::Next;
        };
        let offset = self.space.offset(seq, newest.seq);
        // A sender that was started again, or a cut of many seconds. Counted as losses, the gap
        // would hold the rate down for minutes.
        if offset.unsigned_abs() > JUMP_MAX {
            self.forget();
            self.start_at(seq, now);
            return Observation::Restart;
        }
        let observation = match offset.unsigned_abs() {
            0 => return Observation::Duplicate,
            steps if offset > 0 => self.advance(now, seq, newest, steps),
            steps if self.fill(newest.position - steps) => Observation::Late,
            _ => return Observation::Duplicate,
        };
        self.give_up(rtt.max(RTT_MIN), first);
        observation
    }

    /// Whether `seq` directly follows the newest bundle and nothing is missing.
    pub fn is_next(&self, seq: Seq) -> bool {
        self.gaps.is_empty() && self.newest.is_some_and(|newest| self.space.offset(seq, newest.seq) == 1)
    }

    /// Whether there is a loss event on record.
    pub fn has_loss(&self) -> bool {
        !self.events.is_empty()
    }

    /// Loss events per bundle, from 0 to 1.
    pub fn loss_event_rate(&self) -> f64 {
        self.mean_interval().map_or(0.0, |mean| 1.0 / mean)
    }

    /// The weighted mean of the loss intervals, at least 1; `None` without a loss.
    ///
    /// The open interval since the last loss counts once it raises the mean. A long one also
    /// reduces the weight of the older intervals (history discounting).
    pub fn mean_interval(&self) -> Option<f64> {
        let closed = self.closed_mean()?;
        let discount = self.discount(closed);
        let (mut sum, mut weight) = (self.open_interval(), 1.0);
        for (event, share) in self.events.iter().zip(&WEIGHTS[1..]) {
            sum += event.interval * share * event.discount * discount;
            weight += share * event.discount * discount;
        }
        // The open interval counts only when it raises the mean: it would otherwise look short
        // after each loss (RFC 5348, 5.4).
        Some((sum / weight).max(closed).max(1.0))
    }

    /// Forgets the losses, but not the numbers.
    pub fn forget(&mut self) {
        self.events.clear();
        self.gaps.clear();
        self.guessed = false;
    }

    /// Corrects the estimate of the interval before the first loss, which was made with a
    /// round-trip time that has turned out to be wrong by the factor `ratio`. Returns whether that
    /// estimate was still on record.
    pub fn rescale_guess(&mut self, ratio: f64) -> bool {
        if !self.guessed || !ratio.is_finite() {
            return false;
        }
        let Some(first) = self.events.back_mut() else { return false };
        first.interval = (first.interval * ratio * ratio).max(1.0);
        self.guessed = false;
        true
    }

    /// Positions start above [`JUMP_MAX`], so that late bundles from before the first one have
    /// positions as well.
    fn start_at(&mut self, seq: Seq, now: Moment) {
        self.newest = Some(Newest { seq, position: JUMP_MAX + 1, at: now });
    }

    fn advance(&mut self, now: Moment, seq: Seq, newest: Newest, steps: u64) -> Observation {
        // Positions do not wrap, unlike numbers on the wire.
        let position = newest.position + steps;
        for gap in &mut self.gaps {
            gap.later += 1;
        }
        self.newest = Some(Newest { seq, position, at: now });
        if steps == 1 {
            return Observation::Next;
        }
        self.gaps.push(Gap {
            first: newest.position + 1,
            last: position - 1,
            before: (newest.position, newest.at),
            after: (position, now),
            later: 1,
        });
        Observation::Ahead
    }

    /// Handles a late bundle: removes it from a gap, or from the losses. Returns whether it was
    /// missing.
    fn fill(&mut self, position: u64) -> bool {
        let Some(index) = self.gaps.iter().position(|gap| (gap.first..=gap.last).contains(&position)) else {
            return self.repair(position);
        };
        // A late bundle is a later one for the gaps before it.
        for gap in &mut self.gaps[..index] {
            gap.later += 1;
        }
        let gap = self.gaps.remove(index);
        if position < gap.last {
            self.gaps.insert(index, Gap { first: position + 1, ..gap });
        }
        if position > gap.first {
            self.gaps.insert(index, Gap { last: position - 1, later: gap.later + 1, ..gap });
        }
        true
    }

    /// Takes back the loss of a bundle. An event keeps the number of its losses, not their
    /// positions, so callers have to drop duplicates first.
    fn repair(&mut self, position: u64) -> bool {
        let Some(index) = self.events.iter().position(|event| event.start <= position) else { return false };
        let event = &mut self.events[index];
        if position > event.last {
            return false;
        }
        // A bundle that was given up has come after all: it was reordered, and not lost.
        event.lost -= 1;
        if event.lost == 0 {
            self.remove_event(index);
        }
        true
    }

    fn remove_event(&mut self, index: usize) {
        let was_first = index + 1 == self.events.len() && self.guessed;
        let Some(removed) = self.events.remove(index) else { return };
        let Some(after) = index.checked_sub(1).and_then(|newer| self.events.get_mut(newer)) else {
            self.guessed &= !self.events.is_empty();
            return;
        };
        // The estimate stands for the time before the first loss, whichever that was. A counted
        // interval grows by the removed one.
        after.interval = if was_first { removed.interval } else { after.interval + removed.interval };
    }

    /// Declares numbers lost that [`LATER`] later arrivals have passed.
    fn give_up(&mut self, rtt: Duration, first: impl FnOnce() -> f64) {
        let mut first = Some(first);
        while let Some(&gap) = self.gaps.first().filter(|gap| gap.later >= LATER) {
            // Gaps are in order, so that the oldest is the first to be given up.
            self.gaps.remove(0);
            self.lose(&gap, rtt, || first.take().map_or(1.0, |first| first()));
        }
    }

    fn lose(&mut self, gap: &Gap, rtt: Duration, first: impl FnOnce() -> f64) {
        let mut first = Some(first);
        let mut position = gap.first;
        while position <= gap.last {
            // Losses within a round trip of the first are one event, since the sender could not
            // have reacted in between.
            let fits = self.events.front().map_or(position, |event| gap.first_after(event.at + rtt));
            if let Some(event) = self.events.front_mut().filter(|_| fits > position) {
                let last = gap.last.min(fits - 1);
                event.lost += last - position + 1;
                event.last = last;
                position = last + 1;
                continue;
            }
            let interval = match self.events.front() {
                Some(event) => (position.saturating_sub(event.start)) as f64,
                None => first.take().map_or(1.0, |first| first()).max(1.0),
            };
            self.begin(position, gap.time_of(position), interval);
            position += 1;
        }
    }

    fn begin(&mut self, position: u64, at: Moment, interval: f64) {
        match self.closed_mean() {
            Some(closed) => {
                let discount = self.discount(closed);
                for event in &mut self.events {
                    // A discount that held while the interval was open stays with the older ones
                    // (RFC 5348, 5.5).
                    event.discount *= discount;
                }
            }
            // Nothing was counted before the first loss. The first round trip that is measured may
            // correct the estimate.
            None => self.guessed = true,
        }
        self.events.push_front(Event {
            start: position,
            last: position,
            at,
            lost: 1,
            interval,
            discount: 1.0,
        });
        if self.events.len() > INTERVALS {
            self.events.pop_back();
            self.guessed = false;
        }
    }

    /// The open interval: bundles since the start of the newest event.
    fn open_interval(&self) -> f64 {
        match (self.newest, self.events.front()) {
            (Some(newest), Some(event)) => newest.position.saturating_sub(event.start) as f64,
            _ => 0.0,
        }
    }

    /// The weighted mean of the closed intervals.
    fn closed_mean(&self) -> Option<f64> {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (event, share) in self.events.iter().zip(&WEIGHTS) {
            sum += event.interval * share * event.discount;
            weight += share * event.discount;
        }
        (weight > 0.0).then(|| (sum / weight).max(1.0))
    }

    /// The factor on the weight of closed intervals beside an open one of more than twice their
    /// mean.
    fn discount(&self, closed: f64) -> f64 {
        let open = self.open_interval();
        if open > 2.0 * closed { (2.0 * closed / open).max(DISCOUNT_MIN) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests;
