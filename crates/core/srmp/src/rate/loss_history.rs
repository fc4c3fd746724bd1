//! Loss events of one sender, as one receiver sees them (RFC 4654, section 5).

use super::RTT_MIN;
use crate::model::{Seq, SeqSpace};
use base::Moment;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::time::Duration;

/// Closed intervals that count, the `n` of RFC 4654, section 5.3.
pub const INTERVALS: usize = 8;
/// Numbers further apart than this, either way, are not a loss but a restart or a long outage: the record starts anew.
pub const JUMP_MAX: u64 = 2_048;
/// A bundle is lost when this many later ones have arrived.
const LATER: u8 = 3;
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Old intervals never count for less than this share of their weight in one discounting.
const DISCOUNT_MIN: f64 = 0.5;

/// What a bundle told the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// The next number, or the first.
    Next,
    /// Numbers were skipped; they may still come.
    Ahead,
    /// A number that was missing.
    Late,
    /// A number that was not missing.
    Duplicate,
    /// A jump of more than [`JUMP_MAX`]: everything before is forgotten.
    Restart,
}

/// Numbers that have not come and are not given up yet.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u64,
    last: u64,
    /// Position and arrival of the bundles around the gap as it was found.
    before: (u64, Moment),
    after: (u64, Moment),
    /// Arrivals with a higher number.
    later: u8,
}

impl Gap {
    /// When the bundle would have arrived: between its neighbours, in proportion.
    fn time_of(&self, position: u64) -> Moment {
        let nanos = (self.after.1 - self.before.1).as_nanos();
        let share = nanos * u128::from(position - self.before.0) / u128::from(self.after.0 - self.before.0);
        self.before.1 + Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// The first position whose bundle would have arrived later than `limit`.
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

/// Losses within one round-trip time, which count once.
#[derive(Clone, Copy, Debug)]
struct Event {
    start: u64,
    last: u64,
    at: Moment,
    lost: u64,
    /// Bundles from the start of the event before to the start of this one; for the first, a guess.
    interval: f64,
    /// The product of the discounts the interval has had.
    discount: f64,
}

/// The record of the losses of one sender.
///
/// Bounded: at most [`INTERVALS`] events, and three gaps that are still open.
#[derive(Clone, Debug)]
pub struct LossHistory {
    space: SeqSpace,
    newest: Option<Newest>,
    gaps: SmallVec<[Gap; 4]>,
    /// Newest first.
    events: VecDeque<Event>,
    /// The oldest event's interval is the guess made at the first loss.
    guessed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    seq: Seq,
    /// The number without wrapping.
    position: u64,
    at: Moment,
}

impl LossHistory {
    /// An empty record.
    pub fn new(space: SeqSpace) -> Self {
        Self {
            space,
            newest: None,
            gaps: SmallVec::new(),
            events: VecDeque::with_capacity(INTERVALS + 1),
            guessed: false,
        }
    }

    /// A bundle arrived. `rtt` is the span of a loss event; `first` gives the interval before the first one
    /// (see [`interval_before_first_loss`](super::interval_before_first_loss)).
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

    /// Whether `seq` comes straight after the newest bundle, and nothing is missing.
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

    /// The mean of the loss intervals, at least 1; `None` without a loss.
    ///
    /// Long intervals since the last loss count as soon as they raise the mean, and then make the older ones count less
    /// (history discounting).
    pub fn mean_interval(&self) -> Option<f64> {
        let closed = self.closed_mean()?;
        let discount = self.discount(closed);
        let (mut sum, mut weight) = (self.open_interval(), 1.0);
        for (event, share) in self.events.iter().zip(&WEIGHTS[1..]) {
            sum += event.interval * share * event.discount * discount;
            weight += share * event.discount * discount;
        }
        Some((sum / weight).max(closed).max(1.0))
    }

    /// Forgets the losses, not the numbers.
    pub fn forget(&mut self) {
        self.events.clear();
        self.gaps.clear();
        self.guessed = false;
    }

    /// The interval before the first loss was guessed with a round-trip time that has turned out to be `ratio` times too
    /// short: while the guess is still on record, it is corrected. Says whether it was.
    pub fn rescale_guess(&mut self, ratio: f64) -> bool {
        if !self.guessed || !ratio.is_finite() {
            return false;
        }
        let Some(first) = self.events.back_mut() else { return false };
        first.interval = (first.interval * ratio * ratio).max(1.0);
        self.guessed = false;
        true
    }

    /// Positions start half-way to nowhere, so that the bundles before the first one have one as well.
    fn start_at(&mut self, seq: Seq, now: Moment) {
        self.newest = Some(Newest { seq, position: JUMP_MAX + 1, at: now });
    }

    fn advance(&mut self, now: Moment, seq: Seq, newest: Newest, steps: u64) -> Observation {
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

    /// A late bundle: takes it out of a gap, or out of the losses. Says whether it was missing.
    fn fill(&mut self, position: u64) -> bool {
        let Some(index) = self.gaps.iter().position(|gap| (gap.first..=gap.last).contains(&position)) else {
            return self.repair(position);
        };
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

    /// Takes back that the bundle was lost. Which bundles of an event were lost is not kept, only how many: callers drop
    /// duplicates before.
    fn repair(&mut self, position: u64) -> bool {
        let Some(index) = self.events.iter().position(|event| event.start <= position) else { return false };
        let event = &mut self.events[index];
        if position > event.last {
            return false;
        }
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
        // A guess is about what was before the first loss, wherever that was; a counted interval grows.
        after.interval = if was_first { removed.interval } else { after.interval + removed.interval };
    }

    /// Gives up what [`LATER`] arrivals have passed.
    fn give_up(&mut self, rtt: Duration, first: impl FnOnce() -> f64) {
        let mut first = Some(first);
        while let Some(&gap) = self.gaps.first().filter(|gap| gap.later >= LATER) {
            self.gaps.remove(0);
            self.lose(&gap, rtt, || first.take().map_or(1.0, |first| first()));
        }
    }

    fn lose(&mut self, gap: &Gap, rtt: Duration, first: impl FnOnce() -> f64) {
        let mut first = Some(first);
        let mut position = gap.first;
        while position <= gap.last {
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
                    event.discount *= discount;
                }
            }
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

    /// Bundles since the start of the newest event.
    fn open_interval(&self) -> f64 {
        match (self.newest, self.events.front()) {
            (Some(newest), Some(event)) => newest.position.saturating_sub(event.start) as f64,
            _ => 0.0,
        }
    }

    /// The weighted mean of the intervals that have ended.
    fn closed_mean(&self) -> Option<f64> {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (event, share) in self.events.iter().zip(&WEIGHTS) {
            sum += event.interval * share * event.discount;
            weight += share * event.discount;
        }
        (weight > 0.0).then(|| (sum / weight).max(1.0))
    }

    /// How much less the closed intervals count beside an open one of more than twice their mean.
    fn discount(&self, closed: f64) -> f64 {
        let open = self.open_interval();
        if open > 2.0 * closed { (2.0 * closed / open).max(DISCOUNT_MIN) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests;
