//! The management object model (1516.1-2025, clause 11): the RTI as federates see it, in classes
//! of the object model.
//!
//! - [`attribute`]: the attributes of its object classes, and when they are updated;
//! - [`value`]: their values;
//! - [`interaction`], [`parameters`]: what federates send to the RTI; [`report`], [`invocation`]: what it sends;
//! - [`service`]: services on behalf of federates.
//!
//! The instances are object instances like others (`object/managed.rs`), of which every node has its
//! own copy. The node of each subscriber tells what the control plane records. The node of a federate
//! tells the rest about it. `rti/mom.rs` brings both together.

mod attribute;
mod interaction;
mod invocation;
mod parameters;
pub(crate) mod report;
mod service;
mod state;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use attribute::{FederateValue, FederationValue, Item, Policy};
pub(crate) use interaction::MomInteraction;
pub(crate) use invocation::invocation;
pub(crate) use parameters::{Parameters, Unusable};
pub(crate) use report::{InstanceCounts, MessageCounts, Report};
pub(crate) use service::SERVICES;
pub(crate) use state::{Mom, Reportable};
pub(crate) use value::{Local, of_federation, recorded, resign_action};
