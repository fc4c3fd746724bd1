//! Drives one [`Machine`] with real sockets and a real clock, on one thread.
//!
//! One task for each connection waits until its socket can be read or, when it was found full, written. Whatever a
//! read makes the machine want to send, to whomever, is written at once and from the same place: there is no queue
//! and no task between a federate's update and the socket of its subscribers. A socket that takes no more keeps what
//! it did not take; the rest stays in the machine, which knows what may be dropped, until the socket is writable.
//!
//! All connections share one read buffer and one write buffer, so that an idle one costs a task and a socket.

mod accept;
mod background;
mod clock;
mod connection;
mod hub;
mod jobs;
mod machine;
mod persist;
mod run;
mod stats;
mod table;

pub use accept::BindError;
pub(crate) use accept::tcp_listeners;
pub use background::{Background, StartError};
pub(crate) use clock::Clock;
pub(crate) use hub::Hub;
pub use machine::{Input, Machine, Output};
pub use run::{Node, runtime};
pub use stats::NodeStats;

#[cfg(test)]
mod tests;
