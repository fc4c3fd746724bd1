//! A single processor with a queue of jobs.

use base::Moment;
use std::collections::VecDeque;
use std::time::Duration;

/// A processor that does one job after another, each to its end. Jobs of the inbox are served in
/// FIFO order. Jobs that follow from the last one ([`push_next`](Cpu::push_next)) precede the
/// inbox, because a process sends its answers before it takes the next message.
#[derive(Clone, Debug)]
pub struct Cpu<J> {
    current: Option<Running<J>>,
    next: VecDeque<Waiting<J>>,
    inbox: VecDeque<Waiting<J>>,
    stats: CpuStats,
}

#[derive(Clone, Debug)]
struct Running<J> {
    job: J,
    done: Moment,
}

#[derive(Clone, Debug)]
struct Waiting<J> {
    job: J,
    work: Duration,
    since: Moment,
}

/// Counters of a processor; they never decrease.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuStats {
    /// Jobs begun.
    pub jobs: u64,
    /// Time spent on jobs; the current job is counted to its end.
    pub busy: Duration,
    /// Time that jobs waited before they began.
    pub waited: Duration,
    /// Maximum number of jobs in the inbox.
    pub inbox_max: usize,
}

impl<J> Cpu<J> {
    /// An idle processor.
    pub fn new() -> Self {
        Self { current: None, next: VecDeque::new(), inbox: VecDeque::new(), stats: CpuStats::default() }
    }

    /// Appends a job of length `work` to the inbox.
    pub fn push(&mut self, now: Moment, job: J, work: Duration) {
        self.inbox.push_back(Waiting { job, work, since: now });
        self.stats.inbox_max = self.stats.inbox_max.max(self.inbox.len());
    }

    /// Appends a job of length `work` to the jobs that precede the inbox.
    pub fn push_next(&mut self, now: Moment, job: J, work: Duration) {
        self.next.push_back(Waiting { job, work, since: now });
    }

    /// Begins the next job unless one is in progress. Returns the moment at which it ends.
    pub fn begin(&mut self, now: Moment) -> Option<Moment> {
        if self.current.is_some() {
            return None;
        }
        let Waiting { job, work, since } = self.next.pop_front().or_else(|| self.inbox.pop_front())?;
        self.stats.jobs += 1;
        self.stats.busy += work;
        self.stats.waited += now.since(since);
        let done = now + work;
        self.current = Some(Running { job, done });
        Some(done)
    }

    /// Takes the current job if it ends at or before `now`.
    pub fn finish(&mut self, now: Moment) -> Option<J> {
        self.current.take_if(|running| running.done <= now).map(|running| running.job)
    }

    /// The work of all waiting jobs, without the current one.
    pub fn backlog(&self) -> Duration {
        self.next.iter().chain(&self.inbox).map(|waiting| waiting.work).sum()
    }

    /// Counters.
    pub fn stats(&self) -> &CpuStats {
        &self.stats
    }
}

impl<J> Default for Cpu<J> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers_go_before_the_inbox() {
        let mut cpu = Cpu::new();
        let us = Duration::from_micros;
        cpu.push(Moment::ZERO, 'a', us(2));
        cpu.push(Moment::ZERO, 'b', us(1));
        assert_eq!(cpu.backlog(), us(3));
        assert_eq!(cpu.begin(Moment::ZERO), Some(Moment::from_micros(2)));
        assert_eq!(cpu.begin(Moment::ZERO), None, "one at a time");
        assert_eq!(cpu.finish(Moment::from_micros(1)), None);
        assert_eq!(cpu.finish(Moment::from_micros(2)), Some('a'));
        cpu.push_next(Moment::from_micros(2), 'c', us(5));
        assert_eq!(cpu.backlog(), us(6));
        assert_eq!(cpu.begin(Moment::from_micros(2)), Some(Moment::from_micros(7)));
        assert_eq!(cpu.finish(Moment::from_micros(7)), Some('c'));
        assert_eq!(cpu.begin(Moment::from_micros(7)), Some(Moment::from_micros(8)));
        assert_eq!(cpu.finish(Moment::from_micros(9)), Some('b'));
        assert_eq!(cpu.begin(Moment::from_micros(9)), None);
        let stats = CpuStats { jobs: 3, busy: us(8), waited: us(7), inbox_max: 2 };
        assert_eq!(*cpu.stats(), stats);
    }

    proptest! {
        /// Lindley's recursion: a job begins once it has arrived and its predecessor is done.
        #[test]
        fn jobs_are_done_in_turn_without_idling(jobs in prop::collection::vec((0u64..50, 0u64..50), 1..60)) {
            let mut cpu = Cpu::new();
            let (mut arrivals, mut expected) = (Vec::new(), Vec::new());
            let (mut arrival, mut free) = (Moment::ZERO, Moment::ZERO);
            for &(gap, work) in &jobs {
                let work = Duration::from_micros(work);
                arrival += Duration::from_micros(gap);
                free = free.max(arrival) + work;
                arrivals.push((arrival, work));
                expected.push(free);
            }
            let mut done = Vec::new();
            let mut under_way: Option<Moment> = None;
            let mut arrivals = arrivals.into_iter().enumerate().peekable();
            loop {
                let finishes = under_way.filter(|done| arrivals.peek().is_none_or(|(_, (at, _))| done <= at));
                let now = if let Some(now) = finishes {
                    prop_assert_eq!(cpu.finish(now), Some(done.len()));
                    under_way = None;
                    done.push(now);
                    now
                } else if let Some((job, (at, work))) = arrivals.next() {
                    cpu.push(at, job, work);
                    at
                } else {
                    break;
                };
                under_way = cpu.begin(now).or(under_way);
            }
            prop_assert_eq!(done, expected);
            prop_assert_eq!(cpu.stats().busy, Duration::from_micros(jobs.iter().map(|job| job.1).sum()));
        }
    }
}
