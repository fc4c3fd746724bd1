//! The Federate Protocol of IEEE 1516.1-2025 (clause 12.13), without sockets, clocks or threads.
//!
//! - [`frame`]: the 24-byte header, every message, and the stream decoder;
//! - [`server`]: [`server::Endpoint`], all sessions of one process;
//! - [`client`]: [`client::Session`], one federate's session;
//! - [`service`]: names and numbers of the 178 services;
//! - [`response`]: bodies of responses, and exceptions as federates of either edition know them.
//!
//! Both ends are state machines. They take `(now, input)`, and their owner polls them for events,
//! for bytes to write (*pulled* by the owner of the connection), and for the next moment to wake
//! them.

pub mod client;
pub mod frame;
mod inbox;
mod outbox;
pub mod response;
pub mod server;
pub mod service;
