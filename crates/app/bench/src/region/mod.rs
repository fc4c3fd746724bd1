//! Update regions and subscription regions of those who move over a square (clause 9).
//!
//! First updates with regions take turns with those without: what does an update cost? Then objects and
//! subscribers walk. All of them move their regions in each step, and all objects are updated. Everybody
//! knows where the others are, so that each update can be checked: it has to reach those subscribers in
//! whose box the object is, and nobody else.

mod ground;
mod modes;
mod walk;
mod world;

use console::rounds::Rounds;

use crate::error::BenchError;
use crate::process::Launcher;
use crate::server::Server;

pub(crate) use modes::play_party;
pub(crate) use walk::{play_walkers, play_watchers};

/// The settings of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Objects that are updated, and that walk.
    pub objects: usize,
    /// Federates that walk and subscribe to what is near.
    pub subscribers: usize,
    /// The side of the box around a subscriber, as a share of the square's.
    pub side: f64,
    /// Objects that move their region in each step. The others stay.
    pub moves: usize,
    /// Steps of the walk.
    pub steps: u64,
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

/// The smallest payload, in bytes: it holds the number of a round, or of an object and a step.
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

/// The cost of moving a region: two ranges and a commitment.
#[derive(Clone, Debug)]
pub struct Moves {
    /// From the first call to the result of Commit Region Modifications (9.3).
    pub rounds: Rounds,
    /// Processor time of the server for each of them, with the callbacks that follow, in seconds.
    pub cpu_s: Option<f64>,
}

/// The results of the walk.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Update regions that moved.
    pub objects: Moves,
    /// Subscription regions that moved.
    pub subscribers: Moves,
    /// Round trips through the relay, of messages without a payload.
    pub floor: Rounds,
    /// Number of updates.
    pub updates: u64,
    /// Reflects that a perfect filter lets through.
    pub expected: u64,
    /// Those of them that came.
    pub reached: u64,
    /// Reflects that a perfect filter holds back, or that came twice.
    pub surplus: u64,
}

impl Walk {
    /// The share of the reflects of a perfect filter that came.
    pub fn share(&self) -> f64 {
        if self.expected == 0 { 1.0 } else { self.reached as f64 / self.expected as f64 }
    }
}

/// The results.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The modes, the one without regions first.
    pub modes: Vec<ModeCosts>,
    /// Round trips through the relay, of messages as long as an update.
    pub floor: Rounds,
    /// The walk.
    pub walk: Walk,
}

/// Runs the plan. `progress` gets the number of parts that are finished, and of all.
///
/// # Errors
/// The server or the system fails or refuses a request; an update in a flood was lost.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Measured, BenchError> {
    let all = plan.slices + plan.steps;
    let turns = modes::measure(launcher, server, plan, |done, _| progress(done, all));
    let (modes, floor) = Box::pin(turns).await?;
    let walk = walk::measure(launcher, server, plan, |done, _| progress(plan.slices + done, all));
    let walk = Box::pin(walk).await?;
    Ok(Measured { modes, floor, walk })
}
