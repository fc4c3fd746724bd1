//! The sender's side of mode 1, and what every bundle announces of it.
//!
//! | module | concern |
//! | --- | --- |
//! | [`table`] | the newest message of every data element, in segments |
//! | [`announce`] | which versions a bundle announces |
//! | [`trailing`] | announcements after the last message of a silent sender |
//! | [`repair`] | answers to NACKs, and their share of the rate |
//! | [`copies`] | copies before any receiver asks |
//! | [`worth`] | the worth of a further copy |
//! | [`bundle`] | the bundle that is being filled |
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
