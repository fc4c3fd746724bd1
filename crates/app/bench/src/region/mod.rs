//! Updates with regions (clause 9) in turns with those without: what does an update cost?

mod ground;
mod modes;

use console::rounds::Rounds;

use crate::error::BenchError;
use crate::process::Launcher;
use crate::server::Server;

pub(crate) use modes::play_party;

/// The settings of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Objects that are updated.
    pub objects: usize,
    /// Regions that a federate holds without using them for what it updates.
    pub regions: usize,
    /// Payload, in bytes; at least [`SIZE_BYTES_MIN`].
    pub size: usize,
    /// Updates in each mode.
    pub updates: u64,
    /// Round trips in each mode.
    pub samples: u64,
    /// Slices in which the modes take turns.
    pub slices: u64,
}

/// The smallest payload, in bytes: it holds the number of a round.
pub const SIZE_BYTES_MIN: usize = crate::federation::SIZE_BYTES_MIN;

/// The use of regions by the federate that updates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// No regions.
    Off,
    /// All objects have the same region.
    OneForAll,
    /// Each object has a region of its own.
    OneEach,
    /// It holds regions that are associated with nothing.
    Held,
    /// It holds regions that are associated with other objects than those that it updates.
    InUse,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Off, Self::OneForAll, Self::OneEach, Self::Held, Self::InUse];
}

/// The cost of an update in one mode.
#[derive(Clone, Debug)]
pub struct ModeCosts {
    /// The use of regions.
    pub mode: Mode,
    /// Seconds for an update to reach the subscriber, in a flood.
    pub update_s: f64,
    /// The same in processor time of the server, if this benchmark started it.
    pub cpu_s: Option<f64>,
    /// Round trips of two updates: there and back.
    pub rounds: Rounds,
}

/// Runs the plan. Returns the modes, the one without regions first, and round trips through the relay of messages
/// as long as an update. `progress` gets the number of slices that are finished, and of all.
///
/// # Errors
/// The server or the system fails or refuses a request; an update in a flood was lost.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    progress: impl FnMut(u64, u64),
) -> Result<(Vec<ModeCosts>, Rounds), BenchError> {
    Box::pin(modes::measure(launcher, server, plan, progress)).await
}
