//! The object plane over many nodes.
//!
//! Each instance has a *home* node, which puts its changes in order; the other nodes keep *replicas* of what their own federates
//! subscribe, and discover, reflect, remove from them just as from their own. Here is how the two stay equal:
//!
//! - `streams`: what a node says about a topic (a class of objects, a class of interactions, directed
//!   interactions) is numbered, goes through the routers by interest, and is repaired by letter;
//! - `follow`, `deliver`: the receiving side: which streams this node follows, snapshots of instances, delivery in order;
//! - `speak`: the sending side: followers, numbers, tails; `run`: messages that leave as one packet;
//! - `apply`: what is said becomes callbacks here; `request`: what is asked of the home of an instance;
//! - `publications`: what this node publishes, so that others know whom to follow;
//! - `declared`: what federates elsewhere subscribe, for the advisories;
//! - `rehome`: nodes that die, and `buried`: what they had just deleted;
//! - `net`: the way out of this node, and its timers; `driver`: what comes in.
//!
//! A node without a network has none of it.

mod apply;
mod buried;
mod config;
mod declared;
mod deliver;
mod driver;
mod follow;
pub(crate) mod net;
mod publications;
mod rehome;
mod request;
mod run;
mod serve;
mod speak;
pub(crate) mod state;
mod stream;
mod wire;

pub use config::NetworkLimits;
pub(crate) use driver::peek;
pub use net::{NetworkCounters, Outgoing};
pub(crate) use wire::Subject;
pub use wire::{NetTopic, Packet};
