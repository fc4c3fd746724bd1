//! Sites around a core that copies multicast datagrams.

use base::{Moment, Seed};
use wan::{Channel, LineSpec, Schedule, Verdict};

/// What sites are joined by. A datagram goes up its sender's line once, whatever the number of receivers; in the core it is copied, goes
/// the way to each receiver by itself, and comes down that one's line.
#[derive(Clone, Debug)]
pub struct StarSpec {
    /// Sites.
    pub sites: usize,
    /// From each site into the core: its rate and queue.
    pub up: Vec<Schedule>,
    /// From the end of the one to the beginning of the other line, for each ordered pair by itself: delay, jitter, loss.
    pub way: Schedule,
    /// From the core to each site.
    pub down: Vec<Schedule>,
}

impl StarSpec {
    /// Sites with lines as fast as one wants, and this way between them.
    pub fn of_way(sites: usize, way: LineSpec) -> Self {
        let free = vec![Schedule::constant(LineSpec::default()); sites];
        Self { sites, up: free.clone(), way: way.into(), down: free }
    }

    /// With lines of this rate, in bit/s, and queue, in octets.
    #[must_use]
    pub fn with_access(self, rate: u64, queue: usize) -> Self {
        let line = LineSpec { rate: Some(rate), queue: Some(queue), ..LineSpec::default() };
        let lines = vec![Schedule::constant(line); self.sites];
        Self { up: lines.clone(), down: lines, ..self }
    }
}

/// Octets that went over lines, headers of IP included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Into the core.
    pub up: u64,
    /// Out of it.
    pub down: u64,
}

/// What became of a datagram at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is at the next place then.
    At(Moment),
    /// It is lost.
    Lost,
}

/// The lines of a star, at work.
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

    /// Octets that wait, or are being sent, on the line up from a site.
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
