//! The outcome of a run.

use std::time::Duration;

use base::Moment;

use super::star::Carried;
use super::trace::Trace;
use crate::group::ledger::Ledger;
use crate::queueing::Sample;
use crate::tcp;

/// Delay beyond that of the line above which a message counts as held back; covers the delay of
/// bundling.
const HELD_BEYOND: Duration = Duration::from_millis(30);

/// A sample of the first site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse {
    /// The moment of the sample.
    pub at: Duration,
    /// Rate that SRMP's congestion control allows, in bit/s.
    pub allowed: f64,
    /// Traffic of the transport on its uplink since the last sample, in bit/s.
    pub carried: f64,
    /// Traffic of competing connections on its uplink since the last sample, in bit/s.
    pub competing: f64,
    /// Octets in the queue of its uplink.
    pub backlog: usize,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Octets on each site's lines.
    pub carried: Vec<Carried>,
    /// Delays from sending to delivery, of mode 0 and mode 1 messages, in seconds.
    pub delays: [Sample; 2],
    /// Number of mode 0 deliveries without any loss.
    pub mode0_expected: u64,
    /// Recovery times, in seconds beyond the delay of the line, of delivered mode 1 messages whose
    /// first transmission to the receiving site was lost.
    pub recovery: Sample,
    /// Share of deliveries that were late although no part of them was lost.
    pub held: f64,
    /// Time for which copies of states were stale, beyond the delay of the line, in seconds per
    /// hour and copy.
    pub stale_seconds_per_hour: f64,
    /// Number of copies of final states that should exist, and number of those that do.
    pub finals: (u64, u64),
    /// The longest interval between two mode 0 updates of one entity at a site.
    pub longest_silence: Duration,
    /// Mode 0 updates of each entity that arrived, averaged over receivers, in the order of sites
    /// and entities.
    pub updates: Vec<f64>,
    /// Counters of all ends of TCP connections.
    pub tcp: tcp::Stats,
    /// Samples of the first site.
    pub glimpses: Vec<Glimpse>,
    /// Events of the simulation.
    pub events: u64,
}

/// Collects the measurements of a run.
#[derive(Debug)]
pub(super) struct Scores {
    sites: usize,
    per_source: usize,
    way: Duration,
    ledger: Ledger,
    /// Versions of reliable messages, by message.
    versions: Vec<u64>,
    delays: [Sample; 2],
    recovery: Sample,
    /// By message, a bit for each of the first 64 sites that lost its first transmission.
    lost: Vec<u64>,
    late: u64,
    deliveries: u64,
    mode0_expected: u64,
    /// By receiver and entity: the moment of the last update, and the number of updates.
    updates: Vec<(Moment, u64)>,
    /// By receiver and entity: the newest version received.
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

    /// Notes that the first transmission of a message does not reach a site.
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
            // A receiver ignores an older version after a newer one.
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
