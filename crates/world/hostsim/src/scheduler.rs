//! Who runs on the cores of a computer.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use base::Moment;

/// A process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ProcessId(pub(crate) u32);

/// How long a process keeps its core while others wait for one: the base slice of Linux's scheduler, about.
const SLICE: Duration = Duration::from_millis(3);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Asleep,
    /// It has a core, and is about to run.
    Coming,
    /// It waits for a core.
    Waiting,
    Running {
        /// Since when it has its core.
        since: Moment,
        /// Something came for it meanwhile.
        again: bool,
    },
}

/// Cores, and who waits for one: first come, first served, each until it has nothing to do, or its slice is over.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    idle: u32,
    waiting: VecDeque<ProcessId>,
    /// Of the processes of this computer that something ever came for.
    states: BTreeMap<ProcessId, State>,
}

impl Scheduler {
    /// Idle cores.
    pub(crate) fn new(cores: u32) -> Self {
        Self { idle: cores, waiting: VecDeque::new(), states: BTreeMap::new() }
    }

    /// Something came for a process; true when it shall begin on a core that is kept for it.
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

    /// A process begins a turn.
    pub(crate) fn begin(&mut self, process: ProcessId, now: Moment) {
        let state = self.states.entry(process).or_default();
        let since = if let State::Running { since, .. } = *state { since } else { now };
        *state = State::Running { since, again: false };
    }

    /// Its turn is over. Says who runs now on its core: itself when there is more for it, or one who waited.
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
        /// No more processes run than there are cores, no core is idle while one waits, and whoever is woken runs.
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
