//! Packets: messages cut into packets that queue at links, first come, first served.
//!
//! A link serves in the order of arrival at a constant rate, so that a packet's departure is known when it arrives: it begins when
//! all before it have gone (Lindley's recursion). What leaves a link arrives at the next one in the same order, so that
//! each link needs one pending event, that of its oldest packet under way, and each crossing of a link by a packet is one event.
//!
//! [`Packets`] does that, and drops what finds no room. Whatever else may happen to packets costs a second event for each crossing: taking
//! turns, waiting for room or for tokens, marks and losses are those of [`ports`].

mod counts;
mod engine;
pub mod ports;
pub mod run;
mod store;
#[cfg(test)]
mod tests;

pub use counts::{LinkCounts, PacketCounts};
pub use engine::{Packets, Queue, Switching};
pub use store::{Gone, MessageId};
