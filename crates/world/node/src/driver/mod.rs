//! Drives one [`Machine`] with real sockets and a real clock, on one thread.
//!
//! Each connection has one task, which waits until its socket can be read or, after it was full,
//! written. All data that a read makes the machine send, to any connection, is written at once and
//! from the same place. There is no queue and no task between a federate's update and the sockets
//! of its subscribers. A full socket keeps the bytes that it did not accept. The rest stays in the
//! machine, which knows what may be dropped, until the socket is writable.
//!
//! All connections share one read buffer and one write buffer, so that an idle one costs only a
//! task and a socket.

mod accept;
mod background;
mod connection;
mod keep_files;
mod persist;
mod run;

pub use accept::BindError;
pub use background::{Background, StartError, start};
pub use run::{Node, runtime};

pub use crate::hub::NodeStats;
pub use crate::machine::{Input, Machine, Output};
pub use fedpro::server::{ConnId, Transmit};

#[cfg(test)]
mod tests;
