//! The messages of an asking federate: how many are under way, and which times are kept.

use std::time::{Duration, Instant};

use base::HandleMap;
use console::rounds::Rounds;

use super::data::Data;
use workload::share;

/// The number of messages that are under way at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum InFlight {
    /// So many: an answer makes room for the next message.
    Messages(usize),
    /// One for each object: a sweep ends before the next one begins.
    Sweep,
}

/// Messages, and the times of which are kept. Those of several asking federates are a share each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Bytes of the data.
    pub(crate) size: usize,
    pub(crate) in_flight: InFlight,
    /// Messages before those that are measured.
    pub(crate) warm_up: u64,
    /// Messages that are measured.
    pub(crate) count: u64,
    /// Messages that are sent per second, whether or not earlier ones were answered; then
    /// `in_flight` does not matter. A time begins when its message is due, not when it leaves: a
    /// server that halts delays all that are due meanwhile (no coordinated omission).
    pub(crate) rate_per_s: Option<f64>,
}

impl Load {
    /// The share of the asking federate `index` of `federates`: of the messages and of the rate, but not
    /// of those under way.
    pub(super) fn of(self, index: usize, federates: usize) -> Self {
        let part = |whole| share(whole, federates as u64, index as u64);
        Self {
            warm_up: part(self.warm_up),
            count: part(self.count),
            rate_per_s: self.rate_per_s.map(|rate| rate / federates as f64),
            ..self
        }
    }
}

/// The result of a load.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) rounds: Rounds,
    /// The moment when the first message that is measured was due, and that of the last answer; `None`
    /// without answers.
    pub(super) span: Option<(Instant, Instant)>,
    /// Messages without an answer, all of them HLAbestEffort.
    pub(crate) lost: u64,
}

impl Measured {
    /// Of no federate.
    pub(super) fn nothing(size: usize) -> Self {
        Self { rounds: Rounds::new(size), span: None, lost: 0 }
    }

    /// Adds what another federate has measured at the same time.
    pub(super) fn add(&mut self, other: &Self) {
        self.rounds.add(&other.rounds);
        self.lost += other.lost;
        self.span = match (self.span, other.span) {
            (Some((begun, ended)), Some((other_begun, other_ended))) => {
                Some((begun.min(other_begun), ended.max(other_ended)))
            }
            (one, other) => one.or(other),
        };
    }

    /// Time from the first message that is measured to the last answer, in seconds.
    pub(crate) fn took_s(&self) -> f64 {
        self.span.map_or(0.0, |(begun, ended)| ended.saturating_duration_since(begun).as_secs_f64())
    }
}

/// The messages that are not answered yet by everybody, by number, and how many answers are missing.
#[derive(Debug, Default)]
pub(super) struct UnderWay(HandleMap<u64, usize>);

impl UnderWay {
    pub(super) fn sent(&mut self, number: u64, answers: usize) {
        self.0.insert(number, answers);
    }

    /// How many answers to a message are missing after this one; `None` if no such message is under
    /// way.
    pub(super) fn answered(&mut self, number: u64) -> Option<usize> {
        let missing = self.0.get_mut(&number)?;
        *missing -= 1;
        let missing = *missing;
        if missing == 0 {
            self.0.remove(&number);
        }
        Some(missing)
    }

    /// Forgets all of them. Returns how many there were.
    pub(super) fn clear(&mut self) -> u64 {
        let count = self.0.len() as u64;
        self.0.clear();
        count
    }
}

/// The messages of a load: counted, and the times of those that are measured.
pub(super) struct Tally {
    /// The number of the first message that is measured.
    measured_from: u64,
    pub(super) done: u64,
    begun: Option<Instant>,
    ended: Instant,
    rounds: Rounds,
    pub(super) size: usize,
    /// The data that answers have to contain.
    pub(super) data: Option<Data>,
    pub(super) lost: u64,
}

impl Tally {
    /// `measured_from` is the number of the first message that is measured.
    pub(super) fn new(size: usize, measured_from: u64) -> Self {
        let ended = Instant::now();
        Self {
            measured_from,
            done: 0,
            begun: None,
            ended,
            rounds: Rounds::new(size),
            size,
            data: None,
            lost: 0,
        }
    }

    /// An answer that came at `now` to message `number`, which is as old as `age`, and whether it is the
    /// last one to that message.
    pub(super) fn answer(&mut self, number: u64, (now, age): (Instant, Duration), is_last: bool) {
        if number >= self.measured_from {
            let due = now.checked_sub(age).unwrap_or(now);
            self.begun = Some(self.begun.map_or(due, |begun| begun.min(due)));
            self.rounds.record(age);
            self.ended = now;
        }
        self.done += u64::from(is_last);
    }

    pub(super) fn measured(self) -> Measured {
        let span = self.begun.map(|begun| (begun, self.ended));
        Measured { rounds: self.rounds, span, lost: self.lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_its_answers() {
        let mut under_way = UnderWay::default();
        under_way.sent(3, 1);
        under_way.sent(4, 2);
        assert_eq!(
            [2, 3, 3, 4, 4, 4].map(|number| under_way.answered(number)),
            [None, Some(0), None, Some(1), Some(0), None]
        );
    }

    #[test]
    fn the_warm_up_is_not_measured() {
        let (mut tally, now) = (Tally::new(8, 2), Instant::now() + Duration::from_secs(9));
        for at in 0..5 {
            tally.answer(at, (now + Duration::from_millis(at), Duration::from_millis(1)), true);
        }
        assert_eq!((tally.done, tally.rounds.samples()), (5, 3));
        let took_s = tally.measured().took_s();
        assert!((took_s - 0.003).abs() < 1e-9, "from the sending of the third to the last answer: {took_s}");
    }

    #[test]
    fn federates_share_a_load() {
        let load = Load {
            size: 8,
            in_flight: InFlight::Messages(4),
            warm_up: 5,
            count: 100,
            rate_per_s: Some(30.0),
        };
        let parts: Vec<Load> = (0..3).map(|index| load.of(index, 3)).collect();
        assert_eq!(parts.iter().map(|load| load.count).sum::<u64>(), 100);
        assert_eq!(parts.iter().map(|load| load.warm_up).sum::<u64>(), 5);
        assert!(parts.iter().all(|load| load.in_flight == InFlight::Messages(4)));
        assert!(parts.iter().all(|load| load.rate_per_s == Some(10.0)));
    }

    #[test]
    fn the_time_of_all_federates_is_from_the_first_message_to_the_last_answer() {
        let now = Instant::now();
        let at = |millis| now + Duration::from_millis(millis);
        let mut all = Measured::nothing(8);
        assert!(all.took_s().abs() < 1e-9);
        for span in [Some((at(5), at(9))), None, Some((at(6), at(11)))] {
            all.add(&Measured { span, lost: 1, ..Measured::nothing(8) });
        }
        assert!((all.took_s() - 0.006).abs() < 1e-9);
        assert_eq!(all.lost, 3);
    }
}
