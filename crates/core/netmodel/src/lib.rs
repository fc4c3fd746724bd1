//! Models of networks, for planning: latencies of messages, loads of links, and queues.
//!
//! The models do not depend on the meaning of messages, and depend on nothing but their arguments:
//! a run is a function of its settings and its seed. Time is a whole number of picoseconds
//! ([`units::Picos`]).
//!
//! - [`units`]: times, rates and sizes, and their text forms.
//! - [`topology`]: hosts, switches and links in flat arrays, by generators; [`routing`]: paths as
//!   functions.
//! - [`stage`]: the stages of a message on its way from one program to another, with profiles of
//!   real hardware.
//! - [`host`]: hosts as chains of such stages, which all messages of a host share, with profiles.
//! - [`fluid`]: messages that share links as fluid, and runs of them.
//! - [`packet`]: messages cut into packets that queue at links, first come, first served.
//! - [`arrivals`]: sending times; [`pattern`]: destinations; [`sizes`]: sizes of messages;
//!   [`traffic`]: all of these together; [`exchange`]: requests and responses; [`application`]:
//!   programs that wait for messages; [`recording`]: recorded traffic; [`script`]: traffic generated
//!   by the caller.
//! - [`stats`]: means, quantiles, confidence intervals.
//! - [`simulation`]: traffic over a topology, and its measured results; [`timeline`]: the results
//!   over time; [`study`]: whole studies from papers, and user-defined networks.
//! - [`ladder`] and [`heap`]: queues of pending events, for many entries and for entries that
//!   change.

pub mod application;
pub mod arrivals;
mod births;
mod chunks;
pub mod exchange;
pub mod fluid;
pub mod heap;
pub mod host;
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
