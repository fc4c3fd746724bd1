//! Workloads in phases, simulated: joins, very many objects, ownership and saves.

use std::path::PathBuf;

use base::Seed;
use console::exit::Failure;
use experiment::SeedFlag;
use hla::fom::Edition;
use hostsim::{Federation, HostModel, PlanReport};
use workload::phases::Plan;

use super::super::hosts;

/// Where federates go through phases.
#[derive(clap::Args)]
pub(crate) struct PhaseFlags {
    /// With real processes; the default unless there is --sim
    #[arg(long)]
    live: bool,
    /// As the simulator says; with --live beside it
    #[arg(long, conflicts_with = "server")]
    sim: bool,
    /// The host model of the simulator, such as `sim calibrate` writes
    #[arg(long, value_name = "FILE", requires = "sim")]
    hosts: Option<PathBuf>,
    #[command(flatten)]
    seed: SeedFlag,
}

impl PhaseFlags {
    pub(crate) fn is_live(&self) -> bool {
        self.live || !self.sim
    }

    /// The seed of what is simulated, if anything is.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.sim.then_some(self.seed.seed)
    }

    /// Simulates a plan at a chain of so many nodes on one computer; `None` unless it is asked for.
    ///
    /// # Errors
    /// A number out of range, no host model, or a federate that is refused.
    pub(crate) fn simulate(&self, plan: Plan, nodes: u16) -> Result<Option<PlanReport>, Failure> {
        if !self.sim {
            return Ok(None);
        }
        let hosts = self.hosts.as_deref().map_or(Ok(HostModel::EXAMPLE), hosts::read);
        let hosts = hosts.map_err(Failure::wrong_use)?;
        let federation = Federation::chain(nodes, hosts, Vec::new(), Seed(self.seed.seed));
        let report = hostsim::run_plan(&federation, plan, &bench::phases::fom(Edition::Hla2025), |_| ());
        let failed = |why| match why {
            hostsim::RunError::Federation(why) => Failure::wrong_use(why),
            why => Failure::bad_news(format_args!("the simulation came to nothing: {why}")),
        };
        report.map(Some).map_err(failed)
    }
}
