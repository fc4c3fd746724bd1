//! The traffic of simulated entities, as the evaluation of SRMP models it.
//!
//! Each object is independently in one of four states ([`State`]). It stays there for a time drawn
//! from a configurable distribution ([`Holding`]) with a given mean, and then moves to another
//! state with a given probability. In each state it emits messages of mode 0 (best effort) and mode
//! 1 (reliable), at a fixed rate, at random, or at each change of state. With exponential times
//! this is a continuous-time Markov chain, otherwise a semi-Markov process.
//!
//! - [`Workload`]: classes of objects, from a preset ([`Workload::table1`], [`Workload::full4`]) or a
//!   file.
//! - [`Generator`]: the machine that emits one [`Emission`] after another, up to a given moment.
//! - [`analysis`]: expected counts of a class and their standard deviations, to compare with a run.
//!
//! Every object has a seed of its own, derived from the name of its class and its number there:
//! adding an object or a class changes nothing in the others.
//!
//! Beside this traffic, [`phases`] has workloads of federates that call services in phases.

pub mod analysis;
mod chain;
mod class;
mod config;
mod counters;
mod generator;
mod holding;
mod matrix;
mod object;
pub mod phases;
mod share;
mod size;

pub use chain::ChainError;
pub use class::{Chain, Class, Emit, Phase, Start, State, StateSpec, Workload};
pub use config::ConfigError;
pub use counters::Counters;
pub use generator::{Emission, Generator, Mode, ObjectId, Transition};
pub use holding::{Holding, HoldingError};
pub use share::share;
pub use size::{SIZE_MAX, Size};
