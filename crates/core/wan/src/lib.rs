//! Wide-area lines, emulated: one machine for live runs and for simulated ones.
//!
//! A line is one direction from one host to another. A datagram offered to it is lost, or waits
//! until the line has sent the earlier ones, then travels, and arrives. Loss comes first, so that
//! lost datagrams occupy no room on the line.
//!
//! ```text
//!  offer ──► loss ──► queue ──► transmitter ──► delay + jitter (+ reorder, duplicate) ──► poll
//!             │         │           (rate)
//!           Lost      Full
//! ```
//!
//! - [`Line`] holds the datagrams under way, of any type. [`Channel`] only computes arrival times,
//!   for hosts that have an event queue of their own, or other rules for lost datagrams.
//! - [`LineSpec`] describes a line, as a value and as a text
//!   (`delay=35ms,jitter=gamma:3ms,loss=ge:5%:3`). A [`Schedule`] lets it change in time. A
//!   [`Scenario`] is a set of lines with a name, such as `continental`.
//! - [`Loss`] and [`Jitter`] are the models. [`LossAt`] and [`Losses`] are for hosts that draw
//!   losses elsewhere than at each receiver.
//!
//! Each source of randomness (loss, jitter, reordering, copies) has its own generator, derived from
//! the seed of the line, so that switching one on changes nothing in the others. The crate
//! `rand_distr` draws the normal and gamma numbers.

mod channel;
mod jitter;
mod line;
mod loss;
mod scenario;
mod schedule;
mod share;
mod spec;
mod stats;
mod transmitter;
pub mod units;

pub use channel::{Channel, Passage, Verdict};
pub use jitter::{GAMMA_SHAPE_DEFAULT, Jitter, JitterProcess, SHAPE_RANGE, Shape};
pub use line::Line;
pub use loss::{GilbertElliott, Loss, LossProcess, LossTrace, Step, TRACE_LENGTH_MAX};
pub use scenario::{LossAt, Losses, Scenario, UnknownName};
pub use schedule::{PHASES_MAX, Phase, Phases, Schedule};
pub use share::Share;
pub use spec::{DELAY_MAX, LineSpec, PacketOrder, Reorder, SpecError};
pub use stats::{LineCounters, QueueStats};
pub use transmitter::{OnLine, Transmitter};
