//! Whole nodes and federates as processes of simulated computers.
//!
//! The kernels are those of the server, and the sessions those of the federate library; what is simulated is what is around them:
//! cores that processes share, sockets, wake-ups, and the time that each step of a process takes. With costs that were measured on a
//! computer the run says how long a message would take there, and how many of them there could be.
//!
//! - [`HostModel`]: what steps cost.
//! - [`Federation`]: nodes, computers, and what federates do.
//! - [`Multicast`]: groups that nodes share beside their links, as a live site does; [`Carried`]: what they carried.
//! - [`run`]: a run, and its [`Report`].
//! - [`fit`]: costs from measurements.
//!
//! A run is a function of its federation and of nothing else.

mod chunk;
mod crew;
mod federation;
pub mod fit;
mod groups;
mod member;
mod model;
mod node;
mod part;
mod report;
mod run;
mod scheduler;
mod setup;
mod wires;
mod work;
mod world;

pub use federation::{
    COUNT_MAX, Federation, FederationError, GROUPS_MAX, Joined, Multicast, NODES_MAX, OBJECTS_MAX, Placement,
    Process, SUBSCRIBERS_MAX,
};
pub use groups::Carried;
pub use model::{COPY_PART, COST_NS_MAX, Costs, HostModel, ModelError, OTHERS_MAX, READ_PART, WARM_BYTES};
pub use report::{Done, Report, quantile_us};
pub use run::{RunError, run};
pub use work::{SIZE_BYTES_MAX, SIZE_BYTES_MIN, Task, Update, Work};
