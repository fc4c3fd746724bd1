//! Mode 1 at a receiver: what of each sender's data is missing, when to ask for it, and what is handed up.
//!
//! | module | concern |
//! | --- | --- |
//! | [`origin`] | one sender's data elements: what came, what is delivered |
//! | [`loss`] | what announcements and gaps tell to be missing |
//! | [`nack`] | when wishes are sent, and when others' wishes do |
//! | [`path`] | loggers that are asked before the group |
//! | [`part`] | segmented messages |
//! | [`restart`] | senders that begin again, and those that fall silent |
//! | [`window`], [`heard`], [`backoff`], [`answers`] | bundles that came, NACKs of others, waiting times, how long a sender takes to answer |
//!
//! All of it is driven by values, not datagrams, and holds no timers: [`Origin::deadline`] says when to call
//! [`Origin::expire`].

mod answers;
mod backoff;
mod heard;
mod loss;
mod nack;
mod origin;
mod part;
mod path;
mod restart;
mod shared;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use backoff::{spread, truncated_exponential, uniform};
pub(crate) use origin::{Origin, Received};
pub(crate) use part::Shape;
pub(crate) use path::{Path, Step};
pub use shared::{Interest, ReceiveCounters};
pub(crate) use shared::{ReceiveConfig, Shared};
pub(crate) use window::{Verdict, Window};
