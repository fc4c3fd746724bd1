//! Hosts as chains of stages that all messages of a host share.
//!
//! A message passes the stages of sending one after the other (post a descriptor, ring the
//! doorbell, fetch the descriptor, ...), then its bytes cross the bus of its host, the links of the
//! network, and the bus of the other host, and at last it passes the stages of receiving there
//! (write the completion, reap it, ...). Each stage is a queue, first come, first served: it serves
//! a message for its `service` time, and lets it go after a further `latency`, during which it
//! already serves the next one. So a stage carries at most one message per `service`, and a message
//! alone takes the sum of both.
//!
//! A bus carries bytes, which is what links do: it is a link of the [`Topology`] from a host to
//! itself, and the model of the network (fluid or packets) decides how messages share it.
//!
//! A constant in place of the stages gives the same times for a message alone, and hides what
//! messages do to each other in hosts.
//!
//! [`Topology`]: crate::topology::Topology

mod profiles;
#[cfg(test)]
mod tests;

pub use profiles::{PROFILES, Profile, via_table_1};

use crate::stage::TokenRate;
use crate::topology::{LinkClass, Sustained, Wire};
use crate::units::Picos;

/// A stage of sending or receiving.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// A name for display.
    pub name: String,
    /// Time for which it is busy with a message.
    pub service: Picos,
    /// Time that a message takes beyond that, while the stage serves others.
    pub latency: Picos,
    /// Messages of at most this many bytes do not pass here: they travel inside the descriptor.
    pub skipped_up_to: u64,
}

impl Stage {
    /// A stage without latency that every message passes.
    pub fn new(name: &str, service: Picos) -> Self {
        Self { name: name.to_owned(), service, latency: Picos::ZERO, skipped_up_to: 0 }
    }
}

/// The way of bytes between the memory of a host and its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bus {
    /// The rate towards the link.
    pub out: TokenRate,
    /// The rate from the link.
    pub into: TokenRate,
    /// True if bytes out and bytes in share one bus, as on PCI; it then has the rate `out`. On PCI
    /// Express each direction has its own.
    pub shared: bool,
}

/// A host: its stages and its bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// The stages of sending, in order.
    pub send: Vec<Stage>,
    /// The bus.
    pub bus: Bus,
    /// The stages of receiving, in order.
    pub receive: Vec<Stage>,
}

impl Host {
    /// The time that both hosts together take for a message of `bytes` alone, without that of its
    /// bytes on links and buses: the constant that stands for the stages.
    pub fn constant(&self, bytes: u64) -> Picos {
        let stages = self.send.iter().chain(&self.receive).filter(|stage| bytes > stage.skipped_up_to);
        stages.map(|stage| stage.service + stage.latency).sum()
    }

    /// The longest service times of a stage that sends and of one that receives. Neither direction
    /// of a host carries more than one message in each such time.
    pub fn slowest(&self) -> [Picos; 2] {
        [&self.send, &self.receive]
            .map(|stages| stages.iter().map(|stage| stage.service).max().unwrap_or(Picos::ZERO))
    }

    /// The bus out and the bus in as links; one if they are shared.
    pub(crate) fn buses(&self) -> Vec<LinkClass> {
        let class = |name: &str, rate: TokenRate| LinkClass {
            name: name.to_owned(),
            rate: rate.peak,
            delay: Picos::ZERO,
            wire: Wire {
                bucket: (rate.peak != rate.sustained)
                    .then_some(Sustained { rate: rate.sustained, depth: rate.depth }),
                ..Wire::default()
            },
        };
        let mut buses = vec![class("bus", self.bus.out)];
        if !self.bus.shared {
            buses.push(class("bus", self.bus.into));
        }
        buses
    }
}

/// The use of a stage, of all hosts together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageUse {
    /// Its name.
    pub name: String,
    /// True for a stage of sending.
    pub sends: bool,
    /// Its service time, and its latency beyond that.
    pub times: [Picos; 2],
    /// Number of messages that passed it.
    pub messages: u64,
    /// The sum of the times that they waited for it.
    pub waited: u128,
    /// Number of messages that passed it at the host where most did.
    pub messages_max: u64,
}

impl StageUse {
    /// Mean waiting time of a message, in microseconds.
    pub fn mean_wait_us(&self) -> f64 {
        self.waited as f64 * 1e-6 / (self.messages as f64).max(1.0)
    }

    /// The share of a time in which the stage of the busiest host served.
    pub fn busiest(&self, of: Picos) -> f64 {
        self.messages_max as f64 * self.times[0].0 as f64 / (of.0 as f64).max(1.0)
    }
}

/// The stages of one direction, at all hosts.
#[derive(Clone, Debug)]
struct Stages {
    stages: Vec<Stage>,
    /// By host, then by stage: the time at which it is free.
    free: Vec<Picos>,
    /// In the same order: the number of messages.
    messages: Vec<u32>,
    /// By stage: the sum of waiting times.
    waited: Vec<u128>,
}

impl Stages {
    fn new(stages: &[Stage], hosts: u32) -> Self {
        let places = stages.len() * hosts as usize;
        Self {
            stages: stages.to_vec(),
            free: vec![Picos::ZERO; places],
            messages: vec![0; places],
            waited: vec![0; stages.len()],
        }
    }

    /// The time at which a message that comes now has passed all stages of a host. Messages come in
    /// the order of time.
    #[inline]
    fn pass(&mut self, host: u32, now: Picos, bytes: u64) -> Picos {
        let count = self.stages.len();
        let first = host as usize * count;
        let free = self.free[first..first + count].iter_mut();
        let messages = self.messages[first..first + count].iter_mut();
        let mut at = now;
        for (((stage, free), messages), waited) in
            self.stages.iter().zip(free).zip(messages).zip(&mut self.waited)
        {
            if bytes <= stage.skipped_up_to {
                continue;
            }
            let begin = at.max(*free);
            *waited += u128::from(begin.since(at).0);
            *messages += 1;
            *free = begin + stage.service;
            at = *free + stage.latency;
        }
        at
    }

    fn uses(&self, sends: bool) -> impl Iterator<Item = StageUse> + '_ {
        let count = self.stages.len();
        self.stages.iter().enumerate().map(move |(at, stage)| {
            let messages = || self.messages.iter().skip(at).step_by(count).map(|count| u64::from(*count));
            StageUse {
                name: stage.name.clone(),
                sends,
                times: [stage.service, stage.latency],
                messages: messages().sum(),
                waited: self.waited[at],
                messages_max: messages().max().unwrap_or(0),
            }
        })
    }
}

/// All hosts of a network, in operation.
#[derive(Clone, Debug)]
pub struct Hosts {
    send: Stages,
    receive: Stages,
    /// By direction: the bus of host 0. Those of the others follow.
    buses: [u32; 2],
}

impl Hosts {
    /// So many idle hosts, whose buses begin at these links.
    pub fn new(host: &Host, hosts: u32, buses: [u32; 2]) -> Self {
        Self { send: Stages::new(&host.send, hosts), receive: Stages::new(&host.receive, hosts), buses }
    }

    /// The time at which a message that `host` sends now has passed its stages of sending.
    #[inline]
    pub fn send(&mut self, host: u32, now: Picos, bytes: u64) -> Picos {
        self.send.pass(host, now, bytes)
    }

    /// The time at which a message whose last byte has reached `host` now is received.
    #[inline]
    pub fn receive(&mut self, host: u32, now: Picos, bytes: u64) -> Picos {
        self.receive.pass(host, now, bytes)
    }

    /// Adds the buses of both hosts to a path between their links.
    #[inline]
    pub(crate) fn extend(&self, source: u32, destination: u32, path: &mut Vec<u32>) {
        path.insert(0, self.buses[0] + source);
        path.push(self.buses[1] + destination);
    }

    /// The use of each stage so far, in the order in which a message passes them.
    pub fn uses(&self) -> Vec<StageUse> {
        self.send.uses(true).chain(self.receive.uses(false)).collect()
    }
}
