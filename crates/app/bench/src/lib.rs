//! Measuring any Federate Protocol server against the floor of the bare network.
//!
//! A benchmark here is a conversation of separate processes over loopback or a network: the one that measures, and its
//! [`role`]s, which it starts from its own program and which end with it. What is measured is always put beside a
//! *floor* measured in the same run, with the same bytes: two sockets and the smallest honest relay between them. A
//! number of microseconds says something about a machine; its ratio to the floor says something about the RTI.
//!
//! - [`latency`]: update → reflect → update → reflect round trips;
//! - [`throughput`]: one federate floods, one counts;
//! - [`federation`]: a network of nodes, and what federates do there, as the simulator has it;
//! - [`fanout`]: one update to many subscribers, against as many single updates;
//! - [`memory`]: what idle federates and registered objects cost the server;
//! - [`objects`]: very many objects of one federate, and what the others notice;
//! - [`kills`]: what a federation over many nodes promises while nodes are killed;
//! - [`site`]: nodes of one site, over links and through multicast groups that lose;
//! - [`srmp`]: multicast on real sockets, against bare UDP multicast;
//! - [`floor`]: the relay and what talks through it, by itself.
//!
//! Nothing here prints or decides: [`Rounds`] and plain structs come out, and the command makes tables of them.

mod alarm;
pub mod cores;
pub mod entities;
mod error;
pub mod fanout;
pub mod federation;
pub mod floor;
pub mod groups;
pub mod kills;
pub mod latency;
mod member;
pub mod memory;
pub mod objects;
mod process;
pub mod role;
mod rounds;
mod server;
pub mod site;
pub mod srmp;
mod status;
pub mod throughput;
mod usage;
mod wire;

pub use error::BenchError;
pub use process::Launcher;
pub use rounds::Rounds;
pub use server::{Joined, Server};
pub use wire::message_bytes;
