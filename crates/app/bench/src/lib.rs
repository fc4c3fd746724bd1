//! Measures any Federate Protocol server against the floor of the bare network.
//!
//! A benchmark here is a conversation of separate processes over loopback or a network: the
//! measuring one, and its [roles](play()), which it starts from its own program and which end with it.
//! Every result is put beside a *floor* measured in the same run with the same bytes: two sockets
//! and the smallest honest relay between them. A number of microseconds characterizes a machine;
//! its ratio to the floor characterizes the RTI.
//!
//! - [`latency`]: round trips of updates and interactions between two federates;
//! - [`mass`]: round trips of updates of very many objects;
//! - [`throughput`]: one federate floods, another one counts;
//! - [`federation`]: a network of nodes and federates, as in the simulator;
//! - [`floods`]: updates of many publishers, or to many subscribers, against as many single ones;
//! - [`memory`]: the cost of idle federates and registered objects for the server;
//! - [`phases`]: very many federates that join at once, very many objects, ownership that passes, a
//!   federation that is saved and restored, steps of logical time, regions that move, and floods;
//! - [`record`]: the updates of a federation that runs, to be replayed;
//! - [`region`]: updates with and without regions;
//! - [`kills`]: the promises of a federation over many nodes while nodes are killed;
//! - [`site`]: nodes of one site, over links and through lossy multicast groups;
//! - [`srmp`]: multicast on real sockets, against bare UDP multicast;
//! - [`floor`]: the relay and its ends, by themselves.
//!
//! Nothing here prints or decides: [`Rounds`](console::rounds::Rounds) and plain structs come out, and the command makes
//! tables of them.

mod access;
mod alarm;
pub mod cores;
mod edition;
pub mod entities;
mod error;
pub mod exchange;
pub mod federation;
pub mod floods;
pub mod floor;
pub mod groups;
mod joined;
pub mod kills;
pub mod latency;
mod line;
pub mod mass;
mod member;
pub mod memory;
pub mod namespaces;
pub mod phases;
mod play;
mod process;
pub mod record;
pub mod region;
mod role;
mod server;
pub mod site;
pub mod srmp;
mod status;
pub mod throughput;
mod usage;
mod wire;

pub use error::BenchError;
pub use joined::Joined;
pub use play::play;
pub use process::Launcher;
pub use server::Server;
pub use wire::message_bytes;
