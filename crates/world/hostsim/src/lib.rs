//! Whole nodes and federates as processes of simulated computers.
//!
//! Kernels are those of the server, and sessions those of the federate library. The simulation
//! covers their surroundings: cores that processes share, sockets, wake-ups, and the time that each
//! step of a process takes. With costs measured on a computer, a run predicts the latency and the
//! throughput of messages there.
//!
//! - [`HostModel`]: the costs of steps.
//! - [`Federation`]: nodes, computers, and the tasks of federates.
//! - [`Multicast`]: groups that nodes share beside their links, as at a live site; [`Carried`]:
//!   their traffic.
//! - [`run()`]: executes a run and returns its [`Report`].
//! - [`run_plan()`]: lets federates go through the phases of a [`Plan`](workload::phases::Plan).
//! - [`fit`]: derives costs from measurements.
//!
//! A run depends on its federation only.

mod chunk;
mod federate_process;
mod federation;
pub mod fit;
mod groups;
mod member;
mod model;
mod node;
mod part;
mod plan;
mod report;
mod run;
mod saves;
mod scheduler;
mod setup;
mod wires;
mod work;
mod world;

pub use federation::{
    COUNT_MAX, FEDERATES_MAX, Federation, FederationError, GROUPS_MAX, Joined, Multicast, NODES_MAX,
    OBJECTS_MAX, PLAN_OBJECTS_MAX, PUBLISHERS_MAX, Placement, Process, Recording, SUBSCRIBERS_MAX,
};
pub use groups::Carried;
pub use model::{COPY_PART, COST_NS_MAX, Costs, HostModel, ModelError, OTHERS_MAX, READ_PART, WARM_BYTES};
pub use plan::{PhaseReport, PlanReport, run_plan};
pub use report::{Done, Report, quantile_us};
pub use run::{RunError, run};
pub use work::{NUMBERED_BYTES_MIN, SIZE_BYTES_MAX, SIZE_BYTES_MIN, Task, Update, Work};
