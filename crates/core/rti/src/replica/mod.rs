//! Replication: the object plane over many nodes.
//!
//! Each instance has a *home* node, which puts its changes in order. The other nodes keep *replicas* of what their own
//! federates subscribe, and discover, reflect and remove from them as from their own instances. The two stay equal by
//! *streams*: a node appends what happens to the stream of a class; messages of a stream are numbered, travel through
//! the routers by interest, and are repaired by peer messages.
//!
//! - [`replication`]: the state of one federation execution; [`context`]: what its methods work with;
//! - `append`: the sending side: followers, numbers, high-water marks; `batch`: messages that leave as one packet;
//! - `serve`: snapshots and repairs for followers; `publish`: which streams this node has;
//! - `follow`: which streams this node follows; `receive`, `deliver`: messages in order;
//! - `models`: which extension of the object model a message needs;
//! - [`peers`]: the way to other nodes, shared by all executions; `stream`: history, ordering, peer sessions.
//!
//! A node without a network has all of it, idle: no stream is open, and none is followed.

mod append;
mod batch;
pub(crate) mod context;
mod deliver;
mod follow;
mod limits;
mod models;
pub(crate) mod peers;
mod publish;
mod receive;
pub(crate) mod replication;
mod serve;
mod state;
mod stream;

pub use limits::NetworkLimits;
pub use peers::{NetworkCounters, Outgoing};

#[cfg(test)]
mod tests;
