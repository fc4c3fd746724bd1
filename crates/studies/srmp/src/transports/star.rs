//! Sites around a core that copies multicast datagrams.

use base::{Moment, Seed};
use wan::{Channel, LineSpec, Schedule, Verdict};

/// The lines between sites. A datagram goes up its sender's line once, regardless of the number of
/// receivers. The core copies it; each copy takes the way to its receiver independently and comes
/// down the receiver's line.
#[derive(Clone, Debug)]
pub struct StarSpec {
    /// Number of sites.
    pub sites: usize,
    /// From each site into the core: rate and queue.
    pub up: Vec<Schedule>,
    /// From the end of the uplink to the beginning of the downlink, independently for each ordered
    /// pair of sites: delay, jitter, loss.
    pub way: Schedule,
    /// From the core to each site: rate and queue.
    pub down: Vec<Schedule>,
}

impl StarSpec {
    /// Sites with infinitely fast lines, and this way between them.
    pub fn of_way(sites: usize, way: LineSpec) -> Self {
        let free = vec![Schedule::constant(LineSpec::default()); sites];
        Self { sites, up: free.clone(), way: way.into(), down: free }
    }

    /// The same with lines of this rate, in bit/s, and queue, in octets.
    #[must_use]
    pub fn with_access(self, rate: u64, queue: usize) -> Self {
        let line = LineSpec { rate: Some(rate), queue: Some(queue), ..LineSpec::default() };
        let lines = vec![Schedule::constant(line); self.sites];
        Self { up: lines.clone(), down: lines, ..self }
    }
}

/// Octets carried by the lines of a site, IP headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Into the core.
    pub up: u64,
    /// Out of the core.
    pub down: u64,
}

/// The fate of a datagram on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It arrives at the end of the line at this moment.
    At(Moment),
    /// It is lost.
    Lost,
}

/// The state of all lines of a star.
#[derive(Debug)]
pub(super) struct Star {
    sites: usize,
    up: Vec<Channel>,
    way: Vec<Channel>,
    down: Vec<Channel>,
}

impl Star {
    pub(super) fn new(spec: &StarSpec, seed: Seed) -> Self {
        let lines = |label, schedules: &[Schedule]| -> Vec<Channel> {
            let seed = seed.split(label);
            let seeds = (0..).map(|index| seed.split_index(index));
            schedules.iter().zip(seeds).map(|(schedule, seed)| Channel::new(schedule.clone(), seed)).collect()
        };
        Self {
            sites: spec.sites,
            up: lines("up", &spec.up),
            way: lines("way", &vec![spec.way.clone(); spec.sites * spec.sites]),
            down: lines("down", &spec.down),
        }
    }

    pub(super) fn up(&mut self, now: Moment, from: usize, bytes: usize) -> Fate {
        fate(self.up[from].offer(now, bytes))
    }

    pub(super) fn way(&mut self, now: Moment, from: usize, to: usize, bytes: usize) -> Fate {
        fate(self.way[from * self.sites + to].offer(now, bytes))
    }

    pub(super) fn down(&mut self, now: Moment, to: usize, bytes: usize) -> Fate {
        fate(self.down[to].offer(now, bytes))
    }

    /// Octets that each site's lines have carried.
    pub(super) fn carried(&self) -> Vec<Carried> {
        let bytes = |line: &Channel| line.counters().taken_bytes;
        self.up
            .iter()
            .zip(&self.down)
            .map(|(up, down)| Carried { up: bytes(up), down: bytes(down) })
            .collect()
    }

    /// Octets that wait or are being sent on a site's uplink.
    pub(super) fn backlog(&mut self, now: Moment, site: usize) -> usize {
        self.up[site].backlog(now)
    }
}

fn fate(verdict: Verdict) -> Fate {
    match verdict {
        Verdict::Taken(passage) => Fate::At(passage.arrives),
        Verdict::Lost | Verdict::Full | Verdict::Cut => Fate::Lost,
    }
}
