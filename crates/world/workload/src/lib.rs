//! The traffic of simulated entities, as the evaluation of SRMP models it.
//!
//! Each object is, by itself, in one of four states ([`State`]). It stays there for a time from a distribution of yours
//! ([`Holding`]), given by its mean, then goes to another state with a given probability. In each state it emits messages
//! of mode 0 (best effort) and mode 1 (reliable), at a fixed rate, at random, or at each change of state. With
//! exponential times this is a continuous-time Markov chain, with others a semi-Markov process.
//!
//! - [`Workload`]: classes of objects, from a preset ([`Workload::table1`], [`Workload::full4`]) or a file.
//! - [`Generator`]: the machine. It is asked for one [`Emission`] after the other, up to a moment.
//! - [`analysis`]: what to expect of a class in the mean, with standard deviations, beside what was generated.
//!
//! Every object has a seed of its own, from its class's name and its number there: one object, or class, more changes
//! nothing in the others.

pub mod analysis;
mod chain;
mod class;
mod config;
mod counters;
mod generator;
mod holding;
mod matrix;
mod object;
mod size;

pub use chain::ChainError;
pub use class::{Chain, Class, Emit, Phase, Start, State, StateSpec, Workload};
pub use config::ConfigError;
pub use counters::Counters;
pub use generator::{Emission, Generator, Mode, ObjectId, Transition};
pub use holding::{Holding, HoldingError};
pub use size::{SIZE_MAX, Size};
