//! The services of an RTI (IEEE 1516.1-2025) as deterministic machines.
//!
//! [`Rti`] takes service calls and gives responses and callbacks. It knows no wire, socket, clock or
//! thread. Inside are two planes:
//!
//! - the *control plane* ([`ControlPlane`], `apply(command) -> events`): federations, object models,
//!   members, synchronization points, names; the same on every node;
//! - the *object plane* (module `object`): declarations, instances, updates and interactions of the
//!   federates of this node, which goes through the router to whoever is interested.

mod caller;
mod config;
pub mod control;
mod delivery;
mod effect;
mod modules;
mod object;
mod proposal;
mod replica;
mod rti;
mod services;
mod status;
mod time;
mod wire;

pub use config::Config;
pub use control::{Command, ControlPlane, ExecutionId, NodeId, WireError};
pub use hla::fom::Limits as FomLimits;
pub use modules::{FomSource, ModuleText, NoFoms};
pub use proposal::{CallId, CallerId, Proposal};
pub use replica::{NetworkCounters, NetworkLimits, Outgoing};
pub use rti::{Completion, Rti};
pub use status::{FederateStatus, FederationStatus, InstanceStatus};
pub use wire::{NetTopic, Packet};

/// The object plane over many nodes.
pub mod remote {
    pub use crate::replica::{NetworkCounters, NetworkLimits, Outgoing};
    pub use crate::wire::{NetTopic, Packet};
}
