//! Mode 1 at a sender, and what every bundle tells of it.
//!
//! | module | concern |
//! | --- | --- |
//! | [`table`] | the newest message of every data element, in segments |
//! | [`announce`] | which versions a bundle announces |
//! | [`trailing`] | announcements after the last message of a silent sender |
//! | [`repair`] | answers to NACKs, and their share of the rate |
//! | [`copies`] | copies before anybody asks |
//! | [`worth`] | when a copy is worth it |
//! | [`bundle`] | the bundle that waits for more |
//!
//! All of it is driven by values, not datagrams.

mod announce;
mod bundle;
mod copies;
mod counters;
mod repair;
mod sender;
mod share;
mod table;
#[cfg(test)]
mod tests;
mod trailing;
mod worth;

pub(crate) use bundle::{Bundle, Message};
pub use counters::SendCounters;
pub(crate) use sender::{Answer, Piece, SendConfig, Sender};
pub(crate) use table::{Refused, Why};
pub(crate) use worth::Audience;
