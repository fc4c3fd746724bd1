//! The sites of hosts, and the lines between them.

use std::time::Duration;

use base::{Moment, Seed};
use wan::{Channel, LineSpec, Loss, LossProcess, Schedule, SpecError, Verdict};

/// The place where datagrams are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LossAt {
    /// At the receiving end of each line: losses of sites are independent.
    #[default]
    Receiver,
    /// At the sending site: all others miss the same datagrams.
    Sender,
    /// At each object of the receiving host: a host has a message once each of its objects has
    /// received it.
    Object,
}

/// Hosts at sites, and a line for each ordered pair of sites.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Number of hosts at each site. Hosts are numbered consecutively, site by site.
    pub sites: Vec<u32>,
    /// The line between two sites; its losses occur at the place of `loss_at`.
    pub trunk: LineSpec,
    /// Delay between hosts of one site.
    pub local_delay: Duration,
    /// Loss of each host, independent of others, of the datagrams that reach its site.
    pub last_hop: Loss,
    /// The place where `trunk.loss` occurs.
    pub loss_at: LossAt,
    /// Times for which sites are cut off: site, begin, end.
    pub cuts: Vec<(usize, Duration, Duration)>,
}

impl Layout {
    /// Sites of one host each, with lines of this kind between them.
    pub fn single_hosts(hosts: u32, trunk: LineSpec) -> Self {
        Self {
            sites: vec![1; hosts as usize],
            trunk,
            local_delay: Duration::from_micros(100),
            last_hop: Loss::None,
            loss_at: LossAt::Receiver,
            cuts: Vec::new(),
        }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.sites.iter().map(|hosts| *hosts as usize).sum()
    }

    /// The delay from one site to another, without jitter.
    pub fn delay(&self, from: usize, to: usize) -> Duration {
        if from == to { self.local_delay } else { self.trunk.delay }
    }

    fn schedule(&self, from: usize, to: usize) -> Result<Schedule, SpecError> {
        let mut usual = if from == to {
            LineSpec { delay: self.local_delay, ..LineSpec::default() }
        } else {
            self.trunk.clone()
        };
        if self.loss_at != LossAt::Receiver {
            usual.loss = Loss::None;
        }
        let mut schedule = Schedule::constant(usual.clone());
        for (_, begin, end) in self.cuts.iter().filter(|(site, ..)| from != to && [from, to].contains(site)) {
            schedule = schedule.then(*begin, LineSpec { cut: true, ..usual.clone() })?;
            schedule = schedule.then(*end, usual.clone())?;
        }
        Ok(schedule)
    }
}

/// The state of all lines of a layout.
pub(super) struct Lines {
    count: usize,
    /// From the site of the first index to that of the second, row by row.
    channels: Vec<Channel>,
    /// The loss of each site's uplink, for [`LossAt::Sender`].
    uplinks: Vec<LossProcess>,
    last_hops: Vec<LossProcess>,
    loss_at: LossAt,
}

impl Lines {
    pub(super) fn new(layout: &Layout, seed: Seed) -> Result<Self, SpecError> {
        let count = layout.sites.len();
        let mut channels = Vec::with_capacity(count * count);
        for from in 0..count {
            for to in 0..count {
                let seed = seed.split("line").split_index(from as u64).split_index(to as u64);
                channels.push(Channel::new(layout.schedule(from, to)?, seed));
            }
        }
        let process = |label, loss: &Loss, index: usize| {
            LossProcess::new(loss.clone(), seed.split(label).split_index(index as u64))
        };
        Ok(Self {
            count,
            channels,
            uplinks: (0..count).map(|site| process("uplink", &layout.trunk.loss, site)).collect(),
            last_hops: (0..layout.hosts()).map(|host| process("last hop", &layout.last_hop, host)).collect(),
            loss_at: layout.loss_at,
        })
    }

    /// Draws whether a datagram is lost before it reaches any line.
    pub(super) fn is_lost_at_sender(&mut self, now: Moment, site: usize) -> bool {
        self.loss_at == LossAt::Sender && self.uplinks[site].is_lost(now)
    }

    /// Sends a datagram of `bytes` octets, headers included, to a site. Returns the moments of its
    /// arrival and of that of its copy, if any; `None` if it is lost.
    pub(super) fn travel(
        &mut self,
        now: Moment,
        from: usize,
        to: usize,
        bytes: usize,
    ) -> Option<(Moment, Option<Moment>)> {
        match self.channels[from * self.count + to].offer(now, bytes) {
            Verdict::Taken(passage) => Some((passage.arrives, passage.copy)),
            Verdict::Lost | Verdict::Full | Verdict::Cut => None,
        }
    }

    /// Draws whether a host misses a datagram that has reached its site.
    pub(super) fn is_lost_at_host(&mut self, now: Moment, host: usize) -> bool {
        self.last_hops[host].is_lost(now)
    }
}
