//! `meshrti` from the outside: real processes, real sockets, loopback only, ports that the system chooses.
//!
//! Nothing here says how fast something has to be: a deadline is a guard against hanging, and generous. Each topic
//! has its file; [`common`] starts servers and federates.

#![allow(clippy::print_stderr)] // a failed test shows the server's log

mod access;
mod addresses;
mod admission;
mod authorizer;
mod carriers;
mod commands;
mod common;
mod connections;
mod examples;
mod faults;
mod gateway;
mod group_keys;
mod handles;
mod hostile;
mod kerberos;
mod kills;
mod life;
mod limits;
mod logging;
#[path = "../common/loopback.rs"]
mod loopback;
mod memory;
mod modules;
#[cfg(feature = "mpi")]
mod mpi;
mod multicast;
mod network;
mod on_demand;
mod overload;
mod ownership;
mod processes;
mod recovery;
mod regions;
mod resume;
mod saves;
mod shutdown;
mod slow;
mod status;
mod strangers;
mod time;
mod trust;
mod tunnel;
