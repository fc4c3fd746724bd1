//! What every MeshRTI machine needs and nothing more: time as a number, deadlines,
//! typed ids, seeds, fingerprints of runs, and sequence numbers that wrap.
//!
//! Nothing here reads a clock, draws from ambient randomness or depends on hash order.

mod deadlines;
mod digest;
mod handle_map;
mod id;
mod moment;
mod network;
mod node;
mod seed;
mod serial;

pub use deadlines::Deadlines;
pub use digest::Digest;
pub use handle_map::{HandleHasher, HandleMap, HandleState};
pub use moment::Moment;
pub use network::{is_same_founder, network_number, network_since, successor_number};
pub use node::NodeKey;
pub use seed::{Rng, Seed};
pub use serial::Serial31;
