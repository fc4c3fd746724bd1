//! A simulated world: hosts, the links and connections between them, and everything that can go wrong
//! there, in virtual time and from one seed.
//!
//! - [`EventQueue`]: what happens next. Time is a [`base::Moment`], equal moments go in order of
//!   insertion.
//! - [`Network`]: ideal links with a rate and a delay; byte-stream connections that open, end and
//!   break like TCP's; datagrams; wake-ups. It is a machine: [`Network::poll`] answers with one
//!   [`Delivery`] after the other.
//! - [`Rule`], [`Fault`]: what goes wrong, as closures or as data; added, removed, scheduled, healed.
//! - [`Simulation`]: hosts of a type of yours ([`Host`]) on a network, run until some moment.
//! - [`Slots`]: things under way, by number.
//! - [`casts`]: the multicast groups of one simulated node.
//! - [`cluster`]: hosts whose processor time and network interface cost something, for questions of "how fast".
//! - [`routers`]: the router machine on such a cluster, as tree and as mesh, and pairs of federates that load it.
//! - [`exercise`]: simulated entities over such networks: how much clients, routers and lines have to do.
//! - [`queueing`]: queues in closed form, and sites that multicast over lines of limited rate.
//! - [`srmp`]: groups of SRMP members on emulated lines, loaded by simulated entities.
//! - [`tcp`]: one end of a TCP connection, as a machine.
//! - [`transports`]: the same messages over SRMP, TCP and bare multicast, on the same lines.
//! - [`Digest`]: every delivery and every draw in 64 bits. Two runs of one seed have one digest.
//!
//! What is drawn for a packet depends on the seed, its link, its number there and the rule. So a new
//! host, link or rule leaves alone what happens elsewhere.

pub mod casts;
pub mod cluster;
pub mod exercise;
mod fault;
mod link;
mod network;
mod queue;
pub mod queueing;
pub mod routers;
mod simulation;
mod slots;
pub mod srmp;
mod stats;
pub mod tcp;
pub mod transports;

pub use base::Digest;
pub use fault::{
    DUPLICATES_MAX, Draws, Effect, Fault, MILLION, Packet, PacketKind, Rule, RuleId, Scope, Verdict,
};
pub use link::LinkSpec;
pub use network::{
    Action, BreakReason, ConnId, Delivery, HostEvent, HostId, Network, NetworkOptions, SendError, SocketId,
};
pub use queue::EventQueue;
pub use simulation::{EVENTS_PER_MOMENT_MAX, Host, Livelock, Port, Simulation};
pub use slots::Slots;
pub use stats::NetworkStats;
