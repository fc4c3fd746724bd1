//! Replication: the object plane over many nodes.
//!
//! Each instance has a *home* node, which orders its changes. Other nodes keep *replicas* of the
//! instances that their own federates subscribe. They discover, reflect and remove from replicas as
//! from their own instances. *Streams* keep both equal: a node appends each event to the stream of
//! its class. The messages of a stream are numbered, travel through the routers by interest, and
//! are repaired by peer messages.
//!
//! - [`replication`]: the state of one federation execution; [`context`]: the surroundings of its
//!   methods;
//! - `append`: the sending side: followers, numbers, high-water marks; `batch`: messages that leave
//!   as one packet;
//! - `serve`: snapshots and repairs for followers; `publish`: the streams of this node;
//! - `follow`: the streams that this node follows; `receive`, `deliver`: messages in order;
//! - `narrow`: what no other node wants, and stays here; `filter`: followers that want a part of a
//!   stream; `away`: regions of which these have lost sight;
//! - `image`: the streams in a saved federation execution;
//! - `models`: the extension of the object model that a message needs;
//! - [`peers`]: the connection to other nodes, shared by all executions; `stream`: history,
//!   ordering, peer sessions.
//!
//! A node without a network has all of it, idle: no stream is open, and none is followed.

mod append;
mod away;
mod batch;
pub(crate) mod context;
mod deliver;
mod filter;
mod follow;
pub(crate) mod image;
mod limits;
mod models;
mod narrow;
pub(crate) mod peers;
mod publish;
mod receive;
pub(crate) mod replication;
mod serve;
mod state;
mod stream;
pub(crate) mod time;

pub use limits::NetworkLimits;
pub use peers::{NetworkCounters, Outgoing};

#[cfg(test)]
mod tests;
