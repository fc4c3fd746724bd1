//! The choice of the receiver whose time stamp a bundle echoes (RFC 4654, section 3.5).

use super::super::Rate;
use crate::model::{Clock, MemberId, Stamp};
use base::Moment;

/// The most reports that wait for their echo. Beyond that the least urgent is dropped, since its
/// receiver will report again.
const WAITING_MAX: usize = 64;

/// The urgency of an echo, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// The receiver has just become the CLR.
    NewClr,
    /// The receiver has no round-trip time; the oldest round goes first.
    NoRtt(u64),
    /// Any other receiver.
    Other,
}

/// A report that waits for its echo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) receiver: MemberId,
    pub(super) stamp: Stamp,
    pub(super) at: Moment,
    pub(super) urgency: Urgency,
    pub(super) rate: Rate,
}

impl Waiting {
    /// The time stamp, advanced by the time since the report arrived.
    pub(super) fn held(&self, clock: Clock, now: Moment) -> Stamp {
        clock.add(self.stamp, now - self.at)
    }
}

/// Reports of receivers other than the CLR that wait for their echo, one for each receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Echoes {
    waiting: Vec<Waiting>,
}

impl Echoes {
    pub(super) fn push(&mut self, entry: Waiting) {
        self.forget(entry.receiver);
        self.waiting.push(entry);
        if self.waiting.len() > WAITING_MAX {
            let key = |entry: &Waiting| (entry.urgency, entry.rate);
            let last = (0..self.waiting.len()).max_by_key(|&index| key(&self.waiting[index]));
            self.waiting.swap_remove(last.unwrap_or_default());
        }
    }

    /// Takes the most urgent report; among equally urgent ones, that of the slowest receiver.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let key = |entry: &Waiting| (entry.urgency, entry.rate, entry.receiver);
        let first = (0..self.waiting.len()).min_by_key(|&index| key(&self.waiting[index]))?;
        Some(self.waiting.swap_remove(first))
    }

    pub(super) fn forget(&mut self, receiver: MemberId) {
        self.waiting.retain(|entry| entry.receiver != receiver);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_goes_first_and_the_least_urgent_is_dropped() {
        let mut echoes = Echoes::default();
        let entry = |receiver, urgency, rate| Waiting {
            receiver: MemberId(receiver),
            stamp: Stamp(0),
            at: Moment::ZERO,
            urgency,
            rate: Rate::new(rate).expect("a rate"),
        };
        for receiver in 100..200 {
            echoes.push(entry(receiver, Urgency::Other, receiver as f64));
        }
        assert_eq!(echoes.len(), WAITING_MAX);
        echoes.push(entry(1, Urgency::NoRtt(7), 5.0));
        echoes.push(entry(2, Urgency::NoRtt(6), 9.0));
        echoes.push(entry(3, Urgency::NewClr, 9.0));
        echoes.push(entry(3, Urgency::NewClr, 8.0));
        let order: Vec<u64> = std::iter::from_fn(|| echoes.pop()).map(|entry| entry.receiver.0).collect();
        assert_eq!(order[..5], [3, 2, 1, 100, 101]);
        assert_eq!(order.len(), WAITING_MAX);
    }
}
