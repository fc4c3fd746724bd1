//! The receiver's side of mode 1: detects missing data, times the requests for it, and decides
//! which messages are delivered.
//!
//! | module | concern |
//! | --- | --- |
//! | [`origin`] | the data elements of one sender: received and delivered versions |
//! | [`loss`] | missing data, detected by announcements and gaps |
//! | [`nack`] | the timing of repair requests, and their suppression by those of others |
//! | [`path`] | loggers that are asked before the group |
//! | [`part`] | segmented messages |
//! | [`restart`] | senders that restart, and senders that fall silent |
//! | [`window`], [`heard`], [`backoff`], [`answers`] | bundles received, NACKs of others, backoff times, a sender's response times |
//!
//! All of it is driven by values, not datagrams, and holds no timers: [`Origin::deadline`] is the
//! time at which to call [`Origin::expire`].

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
