//! A simulated world in virtual time: hosts, the links and connections between them, and their
//! faults, all from one seed.
//!
//! - [`EventQueue`]: the queue of future events. Time is a [`base::Moment`]; simultaneous events
//!   keep the order of insertion.
//! - [`Network`]: ideal links with a rate and a delay; byte-stream connections that open, end and
//!   break like those of TCP; datagrams; wake-ups. It is a machine: [`Network::poll`] returns one
//!   [`Delivery`] after another.
//! - [`Rule`], [`Fault`]: faults as closures or as data, which can be added, removed, scheduled and
//!   healed.
//! - [`Simulation`]: hosts of a user-defined type ([`Host`]) on a network.
//! - [`Slots`]: storage for things in flight, by number.
//! - [`multicast`]: the multicast groups of one simulated node.
//! - [`cluster`]: hosts whose processors and network interfaces take time, for questions of
//!   performance.
//! - [`Digest`]: a fingerprint of every delivery and every draw in 64 bits. Two runs with one seed
//!   have one digest.
//!
//! The draws for a packet depend on the seed, its link, its number there and the rule. A new host,
//! link or rule therefore changes nothing elsewhere.

pub mod cluster;
mod fault;
mod link;
pub mod multicast;
mod network;
mod queue;
mod simulation;
mod slots;
mod stats;

pub use base::Digest;
pub use fault::{
    DUPLICATES_MAX, Draws, Effect, Fault, MILLION, Packet, PacketKind, Rule, RuleId, Scope, Verdict,
};
pub use link::LinkSpec;
pub use network::{
    Action, BreakReason, ConnId, Delivery, HostEvent, HostId, Network, NetworkOptions, SendError, SocketId,
};
pub use queue::EventQueue;
pub use simulation::{EVENTS_OF_A_STEP, EVENTS_PER_MOMENT_MAX, Host, Livelock, Port, Simulation};
pub use slots::Slots;
pub use stats::NetworkStats;
