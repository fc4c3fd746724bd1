//! Two federates that exchange messages: one asks, one in another process answers each message with
//! its values, as in the programs of "RTI Latency Testing over the Defense Research and Engineering
//! Network" (Lorenzo, Muuss, Caruso, Riggs 2001). So each time is that of a round trip, by the clock
//! of one process.
//!
//! - [`way`]: how the messages travel: as updates or interactions, with or without regions;
//! - `side`: one of the two federates;
//! - `load`: the asking one: how many messages are under way, and which times are kept;
//! - `answer`: the answering one, which registers a mirror of each object it discovers.

pub mod way;

mod answer;
mod data;
mod load;
mod side;
mod stamp;

pub(crate) use answer::play_answerer;
pub use load::InFlight;
pub(crate) use load::{Asker, Load};
pub(crate) use stamp::STAMP_BYTES;
pub use stamp::harness_us;
