//! Presence and chat in rooms, over any number of servers: an application of the routers without HLA.
//!
//! Members connect to any server and enter rooms. A message in a room goes to every member in it, at
//! whatever server, and crosses only links that lead to one. The parts, from the bottom up:
//!
//! - [`Room`] and [`Post`]: what the routers match and move. A program of your own begins here.
//! - [`Mesh`]: one server's part of the network, which joins the [overlay](overlay::Overlay) to the
//!   [routers](router::NodeRouters). It knows nothing of rooms, and can be copied as it is.
//! - [`Command`]: the lines that members type.
//! - [`Server`]: members, rooms and presence. A [`Machine`](node::Machine), which a
//!   [`Node`](node::Node) drives with real sockets.
//!
//! No part touches a socket, a clock or a random generator, so that the tests run whole networks in
//! virtual time.

mod command;
mod member;
mod mesh;
mod post;
mod presence;
mod server;

pub use command::{Command, CommandError, LINE_BYTES_MAX};
pub use member::{QUEUE_BYTES_MAX, ROOMS_MAX};
pub use mesh::{Mesh, MeshEvent, MeshSettings, Shape};
pub use post::{Act, NAME_BYTES_MAX, NameError, Post, Room, TEXT_BYTES_MAX, check_name};
pub use presence::{PRESENT_MAX, REFRESH, STALE_AFTER};
pub use server::{Server, Settings};
