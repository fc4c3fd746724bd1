//! What every MeshRTI machine needs and nothing more: time as a number, deadlines,
//! typed ids, seeds, and sequence numbers that wrap.
//!
//! Nothing here reads a clock, draws from ambient randomness or depends on hash order.

mod deadlines;
mod id;
mod moment;
mod node;
mod seed;
mod serial;

pub use deadlines::Deadlines;
pub use moment::Moment;
pub use node::NodeKey;
pub use seed::{Rng, Seed};
pub use serial::Serial31;
