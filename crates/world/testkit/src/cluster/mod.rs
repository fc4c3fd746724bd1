//! Whole federations over many nodes in virtual time.
//!
//! A [`Cluster`] is nodes, each a whole kernel with links to others, and scripted federates, each with a session at one node,
//! in a topology and with a plan of [troubles](Trouble) that are drawn from a seed. It runs like a [`World`](crate::World): troubles
//! under way, then everything healed and given time, then a last round of which nothing may be missing, then silence, then
//! an orderly end. It is not held against a model of the services, as nodes see things in different order, but
//! against [properties](invariants) of what federates see.
//!
//! With `MESHRTI_LOG=info` (or `warn`, `debug`) a run prints what its nodes log.

mod casts;
mod faults;
pub mod invariants;
mod kernel_links;
pub mod ledger;
mod links;
mod log;
mod node;
mod options;
mod rounds;
mod runner;
mod shape;
mod trouble;
mod world;

pub use casts::Multicast;
pub use kernel_links::View;
pub use links::LINK_PORT;
pub use node::Node;
pub use options::{Options, Timing};
pub use runner::{check, check_seeds};
pub use shape::{Edge, Kind, Shape};
pub use trouble::{Trouble, TroubleKind};
pub use world::{Cluster, Outcome};
