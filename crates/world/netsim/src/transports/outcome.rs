//! What a run comes to.

use std::time::Duration;

use base::Moment;

use super::star::Carried;
use super::trace::Trace;
use crate::queueing::Sample;
use crate::srmp::ledger::Ledger;
use crate::tcp;

/// Beyond the way itself and what bundling costs, whoever comes later was kept waiting.
const HELD_BEYOND: Duration = Duration::from_millis(30);

/// A look at the first site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse {
    /// When.
    pub at: Duration,
    /// What SRMP's congestion control allows it, in bit/s.
    pub allowed: f64,
    /// What its line up carried of SRMP since the last look, in bit/s.
    pub carried: f64,
    /// What it carried of competing connections, in bit/s.
    pub competing: f64,
    /// Octets in its queue.
    pub backlog: usize,
}

/// What a run comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What each site's lines carried.
    pub carried: Vec<Carried>,
    /// From sending to delivery, of mode 0 and mode 1 messages, in seconds.
    pub delays: [Sample; 2],
    /// Deliveries of mode 0 that could have been.
    pub mode0_expected: u64,
    /// Mode 1 messages whose first sending was lost on the way to somebody, and that came in the end: beyond the way itself.
    pub recovery: Sample,
    /// Share of deliveries that were late though nothing of them was lost.
    pub held: f64,
    /// Time that copies of states were not the newest, beyond the way itself, in seconds per hour and copy.
    pub stale_seconds_per_hour: f64,
    /// Copies of final states that must be, and that are.
    pub finals: (u64, u64),
    /// The longest time in which a site heard nothing of one entity, while it sent, in mode 0.
    pub longest_silence: Duration,
    /// Mode 0 updates of each entity that arrived, in the mean over receivers, in the order of sites and entities.
    pub updates: Vec<f64>,
    /// What all ends of TCP connections counted.
    pub tcp: tcp::Stats,
    /// Looks at the first site.
    pub glimpses: Vec<Glimpse>,
    /// Events.
    pub events: u64,
}

/// What arrives, as it does.
#[derive(Debug)]
pub(super) struct Scores {
    sites: usize,
    per_source: usize,
    way: Duration,
    ledger: Ledger,
    /// Versions of reliable messages.
    versions: Vec<u64>,
    delays: [Sample; 2],
    recovery: Sample,
    /// By message, a bit for each of the first 64 sites that lost its first sending.
    lost: Vec<u64>,
    late: u64,
    deliveries: u64,
    mode0_expected: u64,
    /// By receiver and entity: the last update that came, and how many.
    updates: Vec<(Moment, u64)>,
    /// By receiver and entity: the newest version that came.
    newest: Vec<u64>,
    silence: Duration,
}

impl Scores {
    pub(super) fn new(trace: &Trace, sites: usize, way: Duration) -> Self {
        let sample = || Sample::new(Moment::ZERO, trace.run);
        Self {
            sites,
            per_source: trace.per_source,
            way,
            ledger: Ledger::new(sites, trace.sources, trace.per_source),
            versions: vec![0; trace.messages.len()],
            delays: [sample(), sample()],
            recovery: sample(),
            lost: vec![0; trace.messages.len()],
            late: 0,
            deliveries: 0,
            mode0_expected: 0,
            updates: vec![(Moment::ZERO, 0); sites * trace.sources * trace.per_source],
            newest: vec![0; sites * trace.sources * trace.per_source],
            silence: Duration::ZERO,
        }
    }

    pub(super) fn send(&mut self, now: Moment, trace: &Trace, index: usize) {
        let message = &trace.messages[index];
        if message.is_reliable {
            self.versions[index] = self.ledger.send(now, message.site, message.element);
        } else {
            self.mode0_expected += self.sites as u64 - 1;
        }
    }

    /// The first sending of a message does not reach a site.
    pub(super) fn lose(&mut self, index: usize, to: usize) {
        if let Some(lost) = self.lost.get_mut(index)
            && to < 64
        {
            *lost |= 1 << to;
        }
    }

    pub(super) fn deliver(&mut self, now: Moment, trace: &Trace, index: usize, to: usize) {
        let Some(message) = trace.messages.get(index) else { return };
        let took = now.since(message.at);
        let beyond = took.saturating_sub(self.way);
        let was_lost = to < 64 && self.lost[index] & (1 << to) != 0;
        self.deliveries += 1;
        self.late += u64::from(!was_lost && beyond > HELD_BEYOND);
        self.delays[usize::from(message.is_reliable)].add(message.at, took);
        if message.is_reliable {
            let place = (to, message.site, message.element);
            let entities = self.updates.len() / self.sites;
            let newest = &mut self.newest[to * entities + message.site * self.per_source + message.element];
            // Who gets an older version after a newer one leaves it at that.
            if self.versions[index] > *newest {
                *newest = self.versions[index];
                self.ledger.deliver(now, place, self.versions[index], self.way);
            }
            if was_lost {
                self.recovery.add(message.at, beyond);
            }
        } else {
            let entity = message.site * self.per_source + message.element;
            let entities = self.updates.len() / self.sites;
            let (last, count) = &mut self.updates[to * entities + entity];
            if *count > 0 {
                self.silence = self.silence.max(now.since(*last));
            }
            (*last, *count) = (now, *count + 1);
        }
    }

    pub(super) fn outcome(self, trace: &Trace, settle: Duration) -> Outcome {
        let entities = self.updates.len() / self.sites;
        let copies = ((self.sites - 1) * entities) as f64;
        let hours = (trace.run + settle).as_secs_f64() / 3_600.0;
        let others = (self.sites - 1).max(1) as f64;
        let updates = (0..entities).map(|entity| {
            let counts = (0..self.sites).map(|site| self.updates[site * entities + entity].1);
            counts.sum::<u64>() as f64 / others
        });
        Outcome {
            carried: Vec::new(),
            delays: self.delays,
            mode0_expected: self.mode0_expected,
            recovery: self.recovery,
            held: self.late as f64 / self.deliveries.max(1) as f64,
            stale_seconds_per_hour: self.ledger.stale_seconds() / (copies * hours).max(f64::MIN_POSITIVE),
            finals: self.ledger.finals(),
            longest_silence: self.silence,
            updates: updates.collect(),
            tcp: tcp::Stats::default(),
            glimpses: Vec::new(),
            events: 0,
        }
    }
}
