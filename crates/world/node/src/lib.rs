//! A MeshRTI node: the world of real clocks and sockets around one kernel.
//!
//! - [`config`]: what can be set, and how it is read from `meshrti.toml`;
//! - [`driver`]: listeners, connections and timers, all on one thread, around any [`Machine`].
//! - [`FomFiles`]: modules that a federate only names.

pub mod config;
pub mod driver;
mod fom_files;

pub use config::{Config, ConfigError};
pub use driver::{Background, Machine, Node, NodeStats};
pub use fom_files::{FOM_FILE_BYTES_MAX, FomFileError, FomFiles};
