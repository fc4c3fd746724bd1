//! `meshrti bench fanin --sim`: what the simulator says of many publishers and one subscriber.

use std::path::PathBuf;

use base::Seed;
use console::exit::Failure;
use hostsim::{Federation, Task, Work};

use super::super::hosts;

/// Whether fan-in is simulated.
#[derive(clap::Args)]
pub(crate) struct FanInFlags {
    /// Show the simulator's figures as well
    #[arg(long, conflicts_with = "server")]
    pub(crate) sim: bool,
    /// The host model of the simulator, such as `sim calibrate` writes
    #[arg(long, value_name = "FILE", requires = "sim")]
    hosts: Option<PathBuf>,
}

/// Simulated updates of many publishers, beside those of one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Simulated {
    /// Updates per second of all publishers together, and of one that sends as many.
    pub(crate) per_s: [f64; 2],
    /// The same two in processor time of all nodes for an update, in microseconds.
    pub(crate) nodes_cpu_us: [f64; 2],
}

impl FanInFlags {
    /// Simulates so many updates of `size` bytes over a chain whose last node has this number; `None`
    /// unless it is asked for.
    ///
    /// # Errors
    /// A number out of range, or no host model.
    pub(crate) fn simulate(
        &self,
        (publishers, updates): (u16, u64),
        size: usize,
        last_node: u16,
    ) -> Result<Option<Simulated>, Failure> {
        if !self.sim {
            return Ok(None);
        }
        let hosts = hosts::read_or_example(self.hosts.as_deref()).map_err(Failure::wrong_use)?;
        let mut simulated = Simulated { per_s: [0.0; 2], nodes_cpu_us: [0.0; 2] };
        for (at, publishers) in [publishers, 1].into_iter().enumerate() {
            let count = u32::try_from(updates).unwrap_or(u32::MAX);
            let task = Task::FanIn { count, publishers: publishers.into() };
            let size_bytes = u32::try_from(size).unwrap_or(u32::MAX);
            let work = Work { task, size_bytes, from: 0, to: vec![last_node] };
            let federation = Federation::chain(last_node + 1, hosts, vec![work], Seed(1));
            federation.check().map_err(Failure::wrong_use)?;
            let report = super::super::simulate(&federation, |_| ())?;
            simulated.per_s[at] = report.done[0].per_s();
            let nanos: f64 = report.nodes_ns.iter().sum();
            simulated.nodes_cpu_us[at] = nanos / 1e3 / updates.max(1) as f64;
        }
        Ok(Some(simulated))
    }
}
