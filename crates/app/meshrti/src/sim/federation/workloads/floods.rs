//! `meshrti bench fanin --sim` and `fanout --sim`: what the simulator says of floods.

use std::path::PathBuf;

use base::Seed;
use console::exit::Failure;
use hostsim::{Federation, Task, Work};

use super::super::hosts;
use crate::bench::{Fan, SimulatedFlood};

/// Whether floods are simulated.
#[derive(clap::Args)]
pub(crate) struct FloodFlags {
    /// Show the simulator's figures as well
    #[arg(long, conflicts_with = "server")]
    sim: bool,
    /// The host model of the simulator, such as `sim calibrate` writes
    #[arg(long, value_name = "FILE", requires = "sim")]
    hosts: Option<PathBuf>,
}

impl FloodFlags {
    /// Simulates the flood of a fan and the one beside it, with values of `size` octets over a chain whose last node
    /// has this number; `None` unless it is asked for.
    ///
    /// # Errors
    /// A number out of range, or no host model.
    pub(crate) fn simulate(
        &self,
        fan: Fan,
        size: usize,
        last_node: u16,
    ) -> Result<Option<[SimulatedFlood; 2]>, Failure> {
        if !self.sim {
            return Ok(None);
        }
        let hosts = hosts::read_or_example(self.hosts.as_deref()).map_err(Failure::wrong_use)?;
        let size_bytes = u32::try_from(size).unwrap_or(u32::MAX);
        let [many, one] = tasks(fan).map(|(task, updates)| {
            let work = Work { task, size_bytes, from: 0, to: vec![last_node] };
            let federation = Federation::chain(last_node + 1, hosts, vec![work], Seed(1));
            federation.check().map_err(Failure::wrong_use)?;
            let report = super::super::simulate(&federation, |_| ())?;
            let nanos: f64 = report.nodes_ns.iter().sum();
            let nodes_cpu_us = nanos / 1e3 / updates.max(1) as f64;
            Ok::<_, Failure>(SimulatedFlood { per_s: report.done[0].per_s(), nodes_cpu_us })
        });
        Ok(Some([many?, one?]))
    }
}

/// The flood of a fan and the one beside it, with their numbers of updates.
fn tasks(fan: Fan) -> [(Task, u64); 2] {
    let count = |updates| u32::try_from(updates).unwrap_or(u32::MAX);
    match fan {
        Fan::In { publishers, updates } => [publishers, 1].map(|publishers| {
            (Task::FanIn { count: count(updates), publishers: publishers.into() }, updates)
        }),
        Fan::Out { subscribers, updates } => {
            let singles = updates * u64::from(subscribers);
            [(subscribers.into(), updates), (1, singles)]
                .map(|(subscribers, updates)| (Task::Flood { count: count(updates), subscribers }, updates))
        }
    }
}
