//! Workloads of federates that go through phases: joins at once, very many objects, ownership that
//! passes, and a federation that is saved.
//!
//! A [`Plan`] has [groups](Group) of [federates](Federate) and [phases](Phase), in which groups get
//! [orders](Order). A federate is a machine without sockets or a clock. Real processes and simulated
//! ones drive the same machines through the same phases, so that there is one definition of what a
//! workload does.

mod federate;
mod order;
mod plan;
mod step;
#[cfg(test)]
mod tests;

pub use federate::{Action, Federate, Input};
pub use order::{Awaited, Class, Order};
pub use plan::{Group, Phase, Plan};
