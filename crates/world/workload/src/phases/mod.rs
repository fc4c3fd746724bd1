//! Workloads of federates that go through phases: joins at once, very many objects, ownership that
//! passes, a federation that is saved, steps of logical time, regions that move, and floods.
//!
//! A [`Plan`] has [groups](Group) of [federates](Federate) and [phases](Phase), in which groups get
//! [orders](Order). A federate is a machine without sockets or a clock. Real processes and simulated
//! ones drive the same machines through the same phases, so that there is one definition of what a
//! workload does.

mod clock;
mod federate;
mod floods;
mod order;
mod plan;
mod regions;
mod square;
mod step;
#[cfg(test)]
mod tests;

pub use federate::{Action, Counts, Federate, Input};
pub use floods::{Fan, Floods};
pub use order::{Advance, AdvanceService, Awaited, Class, Order, order_word};
pub use plan::{Grants, Group, Node, Phase, Plan};
pub use square::{Rectangle, SIDE, Scene};
