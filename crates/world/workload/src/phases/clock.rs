//! The logical time (clause 8) of a federate that advances in steps of 1.0.

use hla::api;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};

/// The clock of a federate in a federation execution whose time is HLAfloat64Time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    now: LogicalTime,
    /// The end of the step.
    next: LogicalTime,
    /// In steps.
    lookahead: u32,
    /// It has requested an advance, which is not granted.
    waits: bool,
}

impl Clock {
    pub(super) fn new() -> Self {
        let initial = TimeKind::Float64.initial();
        Self { now: initial, next: initial, lookahead: 0, waits: false }
    }

    /// The lookahead with which it will regulate.
    pub(super) fn regulate(&mut self, lookahead: u32) -> Option<api::LogicalTimeInterval> {
        self.lookahead = lookahead;
        interval(lookahead).map(Into::into)
    }

    /// Begins a step. Returns whether there is a time at its end.
    pub(super) fn begin_step(&mut self) -> bool {
        let next = interval(1).and_then(|step| self.now.add(step).ok());
        next.into_iter().for_each(|next| self.next = next);
        next.is_some()
    }

    /// The earliest time stamp that it may send now.
    pub(super) fn stamp(&self) -> Option<api::LogicalTime> {
        interval(self.lookahead).and_then(|lookahead| self.now.add(lookahead).ok()).map(Into::into)
    }

    /// It has reached the end of the step.
    pub(super) fn is_there(&self) -> bool {
        self.now >= self.next
    }

    /// The time to request, unless a request is not granted yet.
    pub(super) fn request(&mut self) -> Option<api::LogicalTime> {
        let waits = std::mem::replace(&mut self.waits, true);
        (!waits).then(|| self.next.into())
    }

    /// Takes the time of a callback. Returns whether it is a time of this kind.
    pub(super) fn granted(&mut self, time: Option<api::LogicalTime>) -> bool {
        let time = time.and_then(|time| TimeKind::Float64.decode_time(&time.data).ok());
        time.into_iter().for_each(|time| self.now = time);
        self.waits = false;
        time.is_some()
    }
}

fn interval(steps: u32) -> Option<LogicalTimeInterval> {
    LogicalTimeInterval::float64(f64::from(steps)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: f64) -> Option<api::LogicalTime> {
        LogicalTime::float64(time).ok().map(Into::into)
    }

    #[test]
    fn a_step_ends_one_after_it_began() {
        let mut clock = Clock::new();
        assert!(clock.regulate(2).is_some() && clock.granted(at(4.0)) && clock.begin_step());
        assert_eq!((clock.stamp(), clock.is_there()), (at(6.0), false));
        assert_eq!((clock.request(), clock.request()), (at(5.0), None), "one request at a time");
        assert!(clock.granted(at(4.5)) && !clock.is_there(), "Next Message Request may stop before");
        assert_eq!(clock.request(), at(5.0));
        assert!(clock.granted(at(5.0)) && clock.is_there());
    }

    #[test]
    fn another_kind_of_time_is_refused() {
        let mut clock = Clock::new();
        assert!(!clock.granted(None));
        let data = bytes::Bytes::from_static(&[1]);
        assert!(!clock.granted(Some(api::LogicalTime { data })));
    }
}
