//! Studies of networks of routers.
//!
//! - [`routers`]: the router machine on a cluster, as tree and as mesh, and pairs of federates that
//!   load it.
//! - [`exercise`]: simulated entities over such networks, and the load of clients, routers and
//!   lines.
//! - [`Command`]: the subcommands of `meshrti sim`.

mod commands;
pub mod exercise;
pub mod routers;

pub use commands::{Command, EXERCISE, ROUTERS};
