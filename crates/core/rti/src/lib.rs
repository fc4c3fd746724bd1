//! The services of an RTI (IEEE 1516.1-2025) as deterministic machines.
//!
//! [`Rti`] takes service calls and returns responses and callbacks. It knows no wire, socket, clock
//! or thread. Inside, each machine changes nothing but itself, and requests everything else by
//! effects:
//!
//! - the *control plane* ([`ControlPlane`], `apply(command) -> events`): federations, object
//!   models, members, synchronization points, names; the same on every node;
//! - the *objects* of each federation execution (module `object`): declarations, instances, updates
//!   and interactions; a call becomes a list of effects;
//! - the *replication* of each federation execution (module `replica`): streams between nodes, in
//!   order and repaired;
//! - the *logical time* of each federation execution (module `time`): clocks, GALT, queues, grants;
//! - the *delivery* to federates (module `delivery`): an inbox and a bounded pipe for each.
//!
//! [`Rti`] alone knows all of them, and applies their effects.

mod caller;
mod config;
pub mod control;
mod delivery;
mod effect;
mod image;
mod invocation;
pub mod limits;
mod modules;
mod mom;
mod object;
mod proposal;
mod replica;
mod rti;
mod services;
mod stamp;
mod status;
mod store;
mod time;
mod wire;

pub use config::Config;
pub use control::{Command, ControlPlane, ExecutionId, NodeId, WireError};
pub use hla::api::ResignAction;
pub use hla::fom::Limits as FomLimits;
pub use modules::{FomSource, Job, JobDone, JobId, ModuleText, NoFoms};
pub use proposal::{CallId, CallerId, Completion, Proposal};
pub use replica::{NetworkCounters, NetworkLimits, Outgoing};
pub use rti::access::asked_execution;
pub use rti::{MemoryBounds, MemorySums, Rti};
pub use services::authorization::Authorization;
pub use status::{
    AcquirerStatus, ApartStatus, AttributeOwnershipStatus, AttributeWhy, FederateRegions, FederateStatus,
    FederationRegions, FederationStatus, InstanceOwnership, InstanceStatus, OwnershipStatus, RangeStatus,
    RegionStatus, RegionsStatus, SeparatedRegions, SubscriptionStatus, TimeStatus, WhyStatus,
};
pub use store::{NoSaves, SaveStore};
pub use wire::{NetTopic, Packet};
