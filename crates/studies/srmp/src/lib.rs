//! Studies of SRMP: the tables of its paper and experiments for its questions, beside TCP and
//! queueing theory.
//!
//! - [`group`]: groups of SRMP members on emulated lines, loaded by simulated entities.
//! - [`queueing`]: queues in closed form, and sites that multicast over lines of limited rate.
//! - [`tcp`]: one end of a TCP connection, as a machine.
//! - [`transports`]: the same messages over SRMP, TCP and bare multicast, on the same lines.
//! - [`Command`]: the subcommands of `meshrti sim`.

mod commands;
pub mod group;
pub mod queueing;
pub mod tcp;
pub mod transports;

pub use commands::Command;
