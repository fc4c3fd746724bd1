//! The federate's end of the protocol: one session.

mod calls;
mod config;
mod event;
mod receive;
mod session;
mod transmit;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use event::{Action, CallError, Event, Interruption, LostReason};
pub use session::{Session, Stats};
