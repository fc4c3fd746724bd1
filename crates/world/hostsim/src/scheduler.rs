//! The scheduler of the cores of a computer.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use base::Moment;

use crate::model::OTHERS_MAX;

/// A process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ProcessId(pub(crate) u32);

/// Time slice: a process keeps its core this long while others wait. About the base slice of
/// Linux's scheduler.
const SLICE: Duration = Duration::from_millis(3);

/// Number of processes whose order is remembered: enough for [`OTHERS_MAX`] on each of several
/// cores.
const LATEST_MAX: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Asleep,
    /// It has a core and is about to run.
    Coming,
    /// It waits for a core.
    Waiting,
    Running {
        /// The moment at which it got its core.
        since: Moment,
        /// Input arrived during the turn.
        again: bool,
    },
}

/// Cores and a FIFO queue of waiting processes. A process keeps its core until it has nothing to do
/// or its slice is over.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    idle: u32,
    waiting: VecDeque<ProcessId>,
    cores: u32,
    /// Processes that ran last, the latest first; at most `LATEST_MAX`.
    latest: VecDeque<ProcessId>,
    /// States of the processes that have been woken at least once.
    states: BTreeMap<ProcessId, State>,
}

impl Scheduler {
    /// Creates a scheduler whose cores are idle.
    pub(crate) fn new(cores: u32) -> Self {
        Self {
            idle: cores,
            cores,
            latest: VecDeque::new(),
            waiting: VecDeque::new(),
            states: BTreeMap::new(),
        }
    }

    /// Wakes a process. Returns true if it gets an idle core, on which the caller must begin it.
    pub(crate) fn wake(&mut self, process: ProcessId) -> bool {
        let state = self.states.entry(process).or_default();
        match state {
            State::Asleep if self.idle > 0 => {
                self.idle -= 1;
                *state = State::Coming;
                return true;
            }
            State::Asleep => {
                *state = State::Waiting;
                self.waiting.push_back(process);
            }
            State::Running { again, .. } => *again = true,
            State::Coming | State::Waiting => {}
        }
        false
    }

    /// Begins a turn of a process. Returns how many other processes ran on its core since its last
    /// turn, at most [`OTHERS_MAX`]. With several cores, each is assumed to have an equal share of
    /// them.
    pub(crate) fn begin(&mut self, process: ProcessId, now: Moment) -> f64 {
        let state = self.states.entry(process).or_default();
        let since = if let State::Running { since, .. } = *state { since } else { now };
        *state = State::Running { since, again: false };
        let others = self.latest.iter().position(|latest| *latest == process);
        match others {
            Some(place) => drop(self.latest.remove(place)),
            None => self.latest.truncate(LATEST_MAX - 1),
        }
        self.latest.push_front(process);
        // A process that never ran, or ran long ago, finds none of its data in the caches.
        let others = others.map_or(OTHERS_MAX as f64, |others| others as f64 / f64::from(self.cores));
        others.min(OTHERS_MAX as f64)
    }

    /// Ends a turn. Returns the process that runs next on the core: the same one if it has more to
    /// do, or one that waited.
    pub(crate) fn end(&mut self, process: ProcessId, now: Moment, wants_more: bool) -> Option<ProcessId> {
        let Some(&State::Running { since, again }) = self.states.get(&process) else { return None };
        let goes_on = wants_more || again;
        if goes_on && (self.waiting.is_empty() || now.since(since) < SLICE) {
            return Some(process);
        }
        *self.states.entry(process).or_default() = if goes_on { State::Waiting } else { State::Asleep };
        if goes_on {
            self.waiting.push_back(process);
        }
        let next = self.waiting.pop_front();
        match next {
            Some(next) => *self.states.entry(next).or_default() = State::Coming,
            None => self.idle += 1,
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: ProcessId = ProcessId(0);
    const B: ProcessId = ProcessId(1);

    #[test]
    fn one_core_is_given_on() {
        let mut one = Scheduler::new(1);
        let now = Moment::ZERO;
        assert!(one.wake(A));
        assert!(!one.wake(B), "there is no other core");
        one.begin(A, now);
        assert_eq!(one.end(A, now, false), Some(B));
        one.begin(B, now);
        assert!(!one.wake(B), "it runs");
        assert_eq!(one.end(B, now, false), Some(B), "and goes on with what came meanwhile");
        one.begin(B, now);
        assert_eq!(one.end(B, now, false), None);
        assert!(one.wake(A), "the core is idle again");
    }

    #[test]
    fn others_that_ran_meanwhile_are_counted_once_each() {
        let mut one = Scheduler::new(1);
        let mut run = |process: u32| {
            assert!(one.wake(ProcessId(process)));
            let others = one.begin(ProcessId(process), Moment::ZERO);
            one.end(ProcessId(process), Moment::ZERO, false);
            others
        };
        let found: Vec<f64> = [0, 0, 1, 2, 1, 2, 0, 0].into_iter().map(&mut run).collect();
        assert_eq!(found, [8.0, 0.0, 8.0, 8.0, 1.0, 1.0, 2.0, 0.0]);
        (10..200).for_each(|process| assert_eq!(run(process), 8.0));
        assert_eq!(run(0), 8.0, "it was forgotten");
        let mut four = Scheduler::new(4);
        (0..3).for_each(|process| assert!(four.wake(ProcessId(process))));
        (0..3).for_each(|process| assert_eq!(four.begin(ProcessId(process), Moment::ZERO), 8.0));
        assert_eq!(four.begin(ProcessId(0), Moment::ZERO), 0.5);
    }

    #[test]
    fn nobody_keeps_a_core_longer_than_a_slice_that_others_wait_for() {
        let mut one = Scheduler::new(1);
        assert!(one.wake(A) && !one.wake(B));
        one.begin(A, Moment::ZERO);
        assert_eq!(one.end(A, Moment::from_millis(1), true), Some(A));
        one.begin(A, Moment::from_millis(1));
        assert_eq!(one.end(A, Moment::from_millis(3), true), Some(B));
        one.begin(B, Moment::from_millis(3));
        assert_eq!(one.end(B, Moment::from_millis(3), false), Some(A));
    }

    proptest! {
        /// No more processes run than there are cores, no core is idle while a process waits, and
        /// every process that is woken runs.
        #[test]
        fn cores_are_neither_shared_nor_left_idle(
            cores in 1u32..4,
            steps in prop::collection::vec((0u32..5, 0u64..2_000, any::<bool>()), 1..200),
        ) {
            let mut scheduler = Scheduler::new(cores);
            let mut running: Vec<ProcessId> = Vec::new();
            let mut now = Moment::ZERO;
            for (process, pause, more) in steps {
                now += Duration::from_micros(pause);
                if scheduler.wake(ProcessId(process)) {
                    scheduler.begin(ProcessId(process), now);
                    running.push(ProcessId(process));
                }
                if more || running.len() as u32 > cores / 2 {
                    let ended = running.remove(0);
                    if let Some(next) = scheduler.end(ended, now, more) {
                        scheduler.begin(next, now);
                        running.push(next);
                    }
                }
                prop_assert!(running.len() as u32 <= cores);
                prop_assert_eq!(scheduler.idle, cores - running.len() as u32);
                prop_assert!(scheduler.idle == 0 || scheduler.waiting.is_empty());
            }
            while !running.is_empty() {
                let ended = running.remove(0);
                if let Some(next) = scheduler.end(ended, now, false) {
                    scheduler.begin(next, now);
                    running.push(next);
                }
            }
            prop_assert!(scheduler.states.values().all(|state| *state == State::Asleep));
        }
    }
}
