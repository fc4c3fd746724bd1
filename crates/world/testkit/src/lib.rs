//! Scripted federates on a whole kernel in virtual time, watched by invariants and held against a
//! reference model: a run is a seed.
//!
//! - [`Options`]: everything that is drawn before a run (the *swarm*), printed when it fails.
//! - [`World`]: a server and federates on a [`netsim`] network. A safety phase with faults, in which
//!   every invariant is asked after every event; then a liveness phase without, in which everything
//!   must be answered and delivered in bounded time, and then nothing be said but heartbeats.
//! - [`cluster`]: the same over many nodes.
//! - [`model`]: the services in their dumbest form, compared in the order in which the kernel executed
//!   the calls, which a tap at the server's side of the wire reads along.
//! - [`invariants`]: what must always hold, one property to a file, with its clause.
//! - [`check_seeds`]: many runs; a failing one says how to run it again.

pub mod cluster;
mod draw;
mod federate;
pub mod fom;
pub mod invariants;
pub mod model;
pub mod observation;
mod options;
mod runner;
pub mod scale;
pub mod script;
mod server;
mod tap;
mod world;

pub use draw::Draw;
pub use federate::Federate;
pub use observation::SessionId;
pub use options::{Limits, Options, Timeouts, Trouble, TroubleKind};
pub use runner::{check, check_seeds};
pub use script::Group;
pub use server::{PORT, Server};
pub use world::{Failure, Outcome, World};
