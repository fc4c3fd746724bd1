//! Models of networks, for planning: how long messages take, what links carry, where queues form.
//!
//! Nothing here knows what a message means, and nothing depends on anything but its arguments: a run is a function of its
//! settings and its seed. Time is a whole number of picoseconds ([`units::Picos`]).
//!
//! - [`units`]: times, rates, sizes, and how people write them.
//! - [`topology`]: hosts, switches and links in flat arrays, by generators; [`routing`]: paths as functions.
//! - [`stage`]: what a message passes on the way from one program to another, with profiles of real hardware.
//! - [`fluid`]: messages that share links as fluid, and runs of them.
//! - [`packet`]: messages cut into packets that queue at links, first come, first served.
//! - [`arrivals`]: when sources send; [`pattern`]: to whom; [`sizes`]: how much; [`traffic`]: what; [`exchange`]: requests that are answered;
//!   [`recording`]: all of it as it was elsewhere; [`script`]: as somebody else says.
//! - [`stats`]: means, quantiles, confidence intervals.
//! - [`simulation`]: traffic over a topology, and what is measured; [`timeline`]: the same over time; [`study`]: whole studies from papers, and networks of
//!   one's own.
//! - [`ladder`] and [`heap`]: queues of what is due next, for many entries and for such as change.

pub mod arrivals;
mod births;
mod chunks;
pub mod exchange;
pub mod fluid;
pub mod heap;
pub mod ladder;
pub mod packet;
pub mod pattern;
pub mod recording;
pub mod routing;
pub mod script;
pub mod simulation;
pub mod sizes;
pub mod stage;
pub mod stats;
pub mod study;
pub mod timeline;
pub mod topology;
pub mod traffic;
pub mod units;
