//! The common parts of all experiments: the options of a command ([`settings`]), replications on
//! all cores ([`parallel`]) that end with Ctrl-C ([`interrupt`]), tables and charts as files
//! ([`sheet`]), statistics of latencies ([`stats`]), the memory and time that runs need
//! ([`usage`]), and runs of the network models with their recordings ([`ran`], [`course`]).

pub mod course;
pub mod interrupt;
pub mod parallel;
pub mod ran;
pub mod settings;
pub mod sheet;
pub mod stages;
pub mod stats;
pub mod usage;

pub use settings::{RunFlags, SeedFlag, Settings, seed_of};
