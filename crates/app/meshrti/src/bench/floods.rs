//! Floods of many publishers and to many subscribers, simulated beside live ones.

use console::exit::Failure;

#[cfg(feature = "sim")]
pub(super) use crate::sim::FloodFlags;

/// This program has no simulator: everything is live.
#[cfg(not(feature = "sim"))]
#[derive(clap::Args)]
pub(super) struct FloodFlags {}

/// Floods of the same number of reflects: a fan, and one of single updates beside it.
#[cfg_attr(not(feature = "sim"), allow(dead_code))] // only a simulator reads them
#[derive(Clone, Copy)]
pub(crate) enum Fan {
    /// So many publishers to one subscriber, and one that sends as many updates.
    In { publishers: u16, updates: u64 },
    /// One publisher to so many subscribers, and as many updates to one of them as all get.
    Out { subscribers: u16, updates: u64 },
}

/// A simulated flood.
#[derive(Clone, Copy)]
pub(crate) struct SimulatedFlood {
    /// Updates per second.
    pub(crate) per_s: f64,
    /// Processor time of all nodes for an update, in microseconds.
    pub(crate) nodes_cpu_us: f64,
}

/// The simulator's error, as a percentage with one digit.
pub(super) fn error_percent(simulated: f64, live: f64) -> String {
    format!("{:.1}", 100.0 * (simulated / live - 1.0))
}

/// The simulator's figures for a fan and the flood beside it, from the first node to the one with this number; `None`
/// unless the flags ask for them.
#[cfg(feature = "sim")]
pub(super) fn simulate(
    flags: &FloodFlags,
    fan: Fan,
    size: usize,
    last_node: u16,
) -> Result<Option<[SimulatedFlood; 2]>, Failure> {
    flags.simulate(fan, size, last_node)
}

/// Nothing: this program has no simulator.
#[cfg(not(feature = "sim"))]
#[allow(clippy::unnecessary_wraps)] // with a simulator it may fail
pub(super) fn simulate(
    _flags: &FloodFlags,
    _fan: Fan,
    _size: usize,
    _last_node: u16,
) -> Result<Option<[SimulatedFlood; 2]>, Failure> {
    Ok(None)
}
