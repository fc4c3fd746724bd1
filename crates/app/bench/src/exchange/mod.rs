//! Two federates that exchange messages: one asks, one in another process answers each message with
//! its values, as in the programs of "RTI Latency Testing over the Defense Research and Engineering
//! Network" (Lorenzo, Muuss, Caruso, Riggs 2001). So each time is that of a round trip, by the clock
//! of one process.
//!
//! - [`way`]: how the messages travel: as updates or interactions, with or without regions;
//! - `side`: one of the two federates;
//! - `load`: how many messages are under way, and which times are kept;
//! - `asking`: an asking federate, and `asker`: all of them, with the processes of the others;
//! - `answer`: the answering one, which registers a mirror of each object it discovers.

pub mod way;

mod answer;
mod asker;
mod asking;
mod data;
mod load;
mod lockstep;
mod side;
mod stamp;

pub(crate) use answer::play_answerer;
pub(crate) use asker::Asker;
pub use asker::Federates;
pub use load::InFlight;
pub(crate) use load::Load;
pub(crate) use stamp::STAMP_BYTES;
pub use stamp::harness_us;
