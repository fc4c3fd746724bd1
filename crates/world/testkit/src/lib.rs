//! Scripted federates on whole kernels in virtual time, checked by invariants and compared with a
//! reference model. A run is determined by its seed.
//!
//! - [`Options`]: everything that is drawn before a run (the *swarm*); printed when the run fails.
//! - [`Cluster`]: nodes and federates on a [`netsim`] network. A single node by itself is a cluster
//!   of one. A safety phase with faults comes first, in which every invariant is checked after
//!   every event. Then comes a liveness phase without faults, in which everything must be answered
//!   and delivered in bounded time; after that only keep-alives may be sent.
//! - [`model`]: the services in their simplest form, compared in the order in which a kernel
//!   executed the calls. A tap at the server's side of the wire observes that order.
//! - [`invariants`]: properties that must always hold, one in each file, with the clause of the
//!   standard; and [`ledger`], the facts that follow from the observations of the federates.
//! - [`check_seeds`]: many runs; a failing one prints the command that repeats it.
//!
//! With `MESHRTI_LOG=info` (or `warn`, `debug`) a run prints the logs of its nodes.

pub mod areas;
pub mod cluster;
mod draw;
mod federate;
pub mod fom;
pub mod grants;
mod hostile;
pub mod invariants;
pub mod ledger;
mod log;
pub mod model;
pub mod node;
pub mod observation;
pub mod options;
mod request;
mod runner;
pub mod scale;
pub mod script;

pub use cluster::{Cluster, Failure, Outcome};
pub use draw::Draw;
pub use log::with_log;
pub use observation::SessionId;
pub use options::{
    FaultKind, FederateFault, Kind, Limits, Multicast, Options, PlannedFault, Reading, Setup, Shape,
    Timeouts, Timing,
};
pub use request::{Message, Stamp, stamp};
pub use runner::{FailedRun, Tally, check, check_seeds, fresh_base, parse_number, run, soak};
pub use script::{Group, Standing};
