//! The arrival time of a datagram, or the reason why it does not arrive.

use std::collections::VecDeque;
use std::time::Duration;

use base::{Moment, Rng, Seed};

use crate::jitter::JitterProcess;
use crate::loss::LossProcess;
use crate::schedule::{Phases, Schedule};
use crate::spec::{LineSpec, PacketOrder};
use crate::stats::{LineCounters, QueueStats};
use crate::transmitter::{OnLine, Transmitter};

/// The fate of an offered datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It travels.
    Taken(Passage),
    /// It is lost on the way.
    Lost,
    /// The queue has no room for it.
    Full,
    /// The line is cut.
    Cut,
}

/// The times of a datagram that travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Departure of its first bit.
    pub starts: Moment,
    /// Departure of its last bit.
    pub departs: Moment,
    /// Its arrival.
    pub arrives: Moment,
    /// The arrival of its copy, if there is one.
    pub copy: Option<Moment>,
}

/// The queue in front of a transmitter.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// The datagrams that have not left: their times on the line, and their octets.
    entries: VecDeque<(OnLine, usize)>,
    bytes: usize,
    stats: QueueStats,
}

/// One direction of a line, without the datagrams on it.
///
/// `now` never goes back between calls.
#[derive(Clone, Debug)]
pub struct Channel {
    phases: Phases,
    loss: LossProcess,
    jitter: JitterProcess,
    reorder: Rng,
    duplicate: Rng,
    transmitter: Transmitter,
    queue: Queue,
    /// The latest arrival of the datagrams that keep their order.
    last_arrival: Moment,
    counters: LineCounters,
}

impl Channel {
    /// A line that follows `schedule`. All its random numbers come from `seed`.
    pub fn new(schedule: impl Into<Schedule>, seed: Seed) -> Self {
        let phases = Phases::new(schedule.into());
        let spec = phases.spec();
        Self {
            loss: LossProcess::new(spec.loss.clone(), seed.split("loss")),
            jitter: JitterProcess::new(spec.jitter, seed.split("jitter")),
            reorder: seed.split("reorder").rng(),
            duplicate: seed.split("duplicate").rng(),
            phases,
            transmitter: Transmitter::default(),
            queue: Queue::default(),
            last_arrival: Moment::ZERO,
            counters: LineCounters::default(),
        }
    }

    /// The channel for a host whose timers are late: it makes up for a pause of up to `slack`
    /// between datagrams.
    #[must_use]
    pub fn with_slack(mut self, slack: Duration) -> Self {
        self.transmitter = Transmitter::with_slack(slack);
        self
    }

    /// The present behaviour of the line, as of the last call.
    pub fn spec(&self) -> &LineSpec {
        self.phases.spec()
    }

    /// The counters so far.
    pub fn counters(&self) -> &LineCounters {
        &self.counters
    }

    /// The queue statistics so far.
    pub fn queue(&self) -> &QueueStats {
        &self.queue.stats
    }

    /// Puts a datagram of `bytes` octets, headers included, on the line.
    pub fn offer(&mut self, now: Moment, bytes: usize) -> Verdict {
        self.advance(now);
        self.counters.offered += 1;
        self.counters.offered_bytes += bytes as u64;
        if self.phases.spec().cut {
            self.counters.cut += 1;
            return Verdict::Cut;
        }
        if self.loss.is_lost(now) {
            self.counters.lost += 1;
            return Verdict::Lost;
        }
        let Some(on_line) = self.enqueue(now, bytes) else {
            self.counters.overflowed += 1;
            return Verdict::Full;
        };
        self.counters.taken += 1;
        self.counters.taken_bytes += bytes as u64;
        let arrives = self.travel(on_line.end);
        let twice = self.phases.spec().duplicate.draw(&mut self.duplicate);
        self.counters.duplicated += u64::from(twice);
        let copy = twice.then(|| self.travel(on_line.end));
        Verdict::Taken(Passage { starts: on_line.start, departs: on_line.end, arrives, copy })
    }

    /// Draws whether a datagram sent at `now` is lost, for hosts that send it all the same, as a
    /// retransmission.
    pub fn draw_loss(&mut self, now: Moment) -> bool {
        self.advance(now);
        self.loss.is_lost(now)
    }

    /// Sends `bytes` octets and returns their times on the line and their arrival. It loses, drops
    /// and orders nothing, for hosts with rules of their own for these.
    pub fn carry(&mut self, now: Moment, bytes: usize) -> (OnLine, Moment) {
        self.advance(now);
        let on_line = self.transmit(now, bytes);
        (on_line, on_line.end + self.jitter.draw(self.phases.spec().delay))
    }

    /// The time at which the line has sent everything it was given.
    pub fn busy_until(&self) -> Moment {
        self.transmitter.busy_until()
    }

    /// Octets in the queue and on the transmitter at `now`.
    pub fn backlog(&mut self, now: Moment) -> usize {
        self.queue.advance(now);
        self.queue.bytes
    }

    fn advance(&mut self, now: Moment) {
        if self.phases.advance(now) {
            let spec = self.phases.spec();
            self.loss.set(&spec.loss);
            self.jitter.set(spec.jitter);
            self.transmitter.round_down();
        }
    }

    /// The times on the transmitter; `None` if the queue has no room.
    fn enqueue(&mut self, now: Moment, bytes: usize) -> Option<OnLine> {
        let (rate, limit) = (self.phases.spec().rate, self.phases.spec().queue);
        if rate.is_none() {
            return Some(self.transmit(now, bytes));
        }
        self.queue.advance(now);
        let waiting = self.queue.waiting(now);
        let waits = self.transmitter.busy_until() > now;
        if waits && limit.is_some_and(|limit| waiting.saturating_add(bytes) > limit) {
            return None;
        }
        let on_line = self.transmit(now, bytes);
        self.queue.add(now, on_line, bytes);
        Some(on_line)
    }

    fn transmit(&mut self, now: Moment, bytes: usize) -> OnLine {
        match self.phases.spec().rate {
            Some(rate) => self.transmitter.carry(now, rate, bytes),
            None => {
                // Wait for the datagrams that a slower phase still has to send.
                self.transmitter.hold(now);
                let at = self.transmitter.busy_until();
                OnLine { start: at, end: at }
            }
        }
    }

    /// The arrival time of a datagram that departed at `departed`.
    fn travel(&mut self, departed: Moment) -> Moment {
        let spec = self.phases.spec();
        let mut arrives = departed + self.jitter.draw(spec.delay);
        if spec.order == PacketOrder::Fifo {
            arrives = arrives.max(self.last_arrival);
        }
        if let Some(reorder) = spec.reorder.filter(|reorder| reorder.share.draw(&mut self.reorder)) {
            self.counters.reordered += 1;
            return arrives + reorder.extra;
        }
        self.last_arrival = self.last_arrival.max(arrives);
        arrives
    }
}

impl Queue {
    /// Removes the datagrams that have left by `now`.
    fn advance(&mut self, now: Moment) {
        while let Some((_, bytes)) = self.entries.pop_front_if(|(on_line, _)| on_line.end <= now) {
            self.bytes -= bytes;
        }
    }

    /// Octets of the datagrams whose transmission has not begun.
    fn waiting(&self, now: Moment) -> usize {
        let sending = self.entries.front().filter(|(on_line, _)| on_line.start <= now);
        self.bytes - sending.map_or(0, |&(_, bytes)| bytes)
    }

    fn add(&mut self, now: Moment, on_line: OnLine, bytes: usize) {
        let sojourn = on_line.end.since(now);
        let stats = &mut self.stats;
        stats.datagrams += 1;
        stats.sojourn_ns += sojourn.as_nanos();
        stats.sojourn_max = stats.sojourn_max.max(sojourn);
        stats.waiting_ns += on_line.start.since(now).as_nanos();
        stats.busy_ns += on_line.end.since(on_line.start).as_nanos();
        stats.byte_ns += bytes as u128 * sojourn.as_nanos();
        stats.found += self.entries.len() as u64;
        self.entries.push_back((on_line, bytes));
        self.bytes += bytes;
        stats.datagrams_max = stats.datagrams_max.max(self.entries.len());
        stats.bytes_max = stats.bytes_max.max(self.bytes);
    }
}

impl Passage {
    /// The time from the offer at `offered` to the arrival.
    pub fn delay(&self, offered: Moment) -> Duration {
        self.arrives.since(offered)
    }
}
