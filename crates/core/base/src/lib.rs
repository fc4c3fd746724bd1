//! The types that every MeshRTI machine needs, and no others: time as a number, deadlines, typed
//! ids, seeds, fingerprints of runs, wrapping sequence numbers, admission of pending peers, a
//! memory budget, the fields of messages, and statistics.
//!
//! Nothing here reads a clock, draws from ambient randomness or depends on hash order.

mod address;
mod deadlines;
mod digest;
mod handle_map;
mod id;
mod memory;
mod moment;
mod network;
mod node;
mod octets;
mod pending;
mod seed;
mod serial;
pub mod stats;

pub use address::Address;
pub use deadlines::Deadlines;
pub use digest::Digest;
pub use handle_map::{HandleHasher, HandleMap, HandleState};
pub use memory::{MemoryActions, MemoryBudget, MemoryStatus, MemoryUse, Room};
pub use moment::Moment;
pub use network::{is_same_creator, network_number, network_since, successor_number};
pub use node::NodeKey;
pub use octets::{BigEndian, LittleEndian, Numbers, ReadError, Reader, Varint, Writer};
pub use pending::Pending;
pub use seed::{Rng, Seed};
pub use serial::Serial31;
