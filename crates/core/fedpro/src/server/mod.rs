//! The server's end of the protocol: all sessions of one process.

mod admission;
mod config;
mod connection;
mod endpoint;
mod event;
mod memory;
mod receive;
mod session;
mod slots;
mod transmit;

#[cfg(test)]
mod tests;

pub use admission::PENDING_AGE_MIN;
pub use config::Config;
pub use connection::{ConnId, Proof};
pub use endpoint::{Endpoint, Stats};
pub use event::{EndReason, Event, Overload, Refusal};
pub use memory::Usage;
pub use slots::SessionKey;
pub use transmit::Transmit;
