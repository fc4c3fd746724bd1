//! Packets: messages cut into packets that queue at links, first come, first served.
//!
//! A link serves in the order of arrival at a constant rate, so a packet's departure is known when
//! it arrives: it begins when all earlier packets have gone (Lindley's recursion). Packets arrive
//! at the next link in the order of their departures. So each link needs one pending event, that of
//! its oldest packet under way, and each crossing of a link by a packet is one event.
//!
//! [`Packets`] does that, and drops packets that find no room. All other rules cost a second event
//! for each crossing: [`ports`] has turns, waiting for room or for tokens, marks and losses.

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
