//! A MeshRTI node: the world of real clocks and sockets around one kernel.
//!
//! - [`config`]: the settings, and how they are read from `meshrti.toml`;
//! - [`link`]: links between nodes;
//! - [`driver`]: listeners, connections and timers, all on one thread, around any [`Machine`];
//! - [`kernel()`]: the machine of the product, set up from a configuration;
//! - [`FomFiles`]: modules that a federate names but does not send.
//!
//! A node inside another program, listening on a port that the system chooses:
//!
//! ```
//! let mut config = node::Config::default();
//! config.listen = vec!["tcp://127.0.0.1:0".parse().expect("this is an address")];
//! let node = node::start(config).expect("loopback can be listened on");
//! println!("federates may connect to {}", node.addresses()[0]);
//! let stats = node.stop();
//! assert_eq!(stats.accepted_connections, 0);
//! ```

mod audit;
mod authorizer;
pub mod config;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod driver;
mod emulation;
mod file_stamp;
mod fom_files;
mod hub;
mod kernel_machine;
pub mod link;
mod link_tasks;
mod machine;
mod machine_memory;
mod saves;
mod state;
#[cfg(test)]
mod tests;
mod url;

pub use config::{Config, ConfigError};
pub use driver::{Background, Machine, Node, NodeStats, runtime, start};
pub use fom_files::{FOM_FILE_BYTES_MAX, FomFileError, FomFiles};
pub use kernel_machine::{KernelError, kernel, kernel_with};
pub use saves::{DEFAULT_SAVES_DIRECTORY, SaveFolder};
pub use state::{DEFAULT_STATE_DIRECTORY, StateError, StateFile};
