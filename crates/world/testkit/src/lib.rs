//! Scripted federates on whole kernels in virtual time, watched by invariants and held against a
//! reference model: a run is a seed.
//!
//! - [`Options`]: everything that is drawn before a run (the *swarm*), printed when it fails.
//! - [`Cluster`]: nodes and federates on a [`netsim`] network. A single node by itself is a cluster of one. First a
//!   safety phase with faults, in which every invariant is asked after every event; then a liveness phase without, in
//!   which everything must be answered and delivered in bounded time, and then nothing be said but signs of life.
//! - [`model`]: the services in their dumbest form, compared in the order in which a kernel executed the
//!   calls, which a tap at the server's side of the wire reads along.
//! - [`invariants`]: what must always hold, one property to a file, with its clause; and [`ledger`], what is known for
//!   sure from what the federates saw.
//! - [`check_seeds`]: many runs; a failing one says how to run it again.
//!
//! With `MESHRTI_LOG=info` (or `warn`, `debug`) a run prints what its nodes log.

pub mod cluster;
mod draw;
mod federate;
pub mod fom;
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
pub use observation::SessionId;
pub use options::{
    FaultKind, FederateFault, Kind, Limits, Multicast, Options, PlannedFault, Reading, Setup, Shape,
    Timeouts, Timing,
};
pub use request::{Message, Stamp, stamp};
pub use runner::{FailedRun, Tally, check, check_seeds, fresh_base, parse_number, run, soak};
pub use script::Group;
