//! Workloads in phases, simulated: joins, very many objects, ownership and saves.

use base::Seed;
use console::exit::Failure;
use hla::fom::Edition;
use hostsim::{Federation, PlanReport};
use workload::phases::Plan;

use super::SimFlags;

impl SimFlags {
    /// Simulates a plan at a chain of so many nodes on one computer; `None` unless it is asked for.
    ///
    /// # Errors
    /// A number out of range, no host model, or a federate that is refused.
    pub(crate) fn simulate(&self, plan: Plan, nodes: u16) -> Result<Option<PlanReport>, Failure> {
        if !self.sim {
            return Ok(None);
        }
        let federation = Federation::chain(nodes, self.host_model()?, Vec::new(), Seed(self.seed.seed));
        let report = hostsim::run_plan(&federation, plan, &bench::phases::fom(Edition::Hla2025), |_| ());
        let failed = |why| match why {
            hostsim::RunError::Federation(why) => Failure::wrong_use(why),
            why => Failure::bad_news(format_args!("the simulation came to nothing: {why}")),
        };
        report.map(Some).map_err(failed)
    }
}
