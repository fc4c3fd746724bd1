//! One member of an SRMP group on a real network: UDP multicast sockets and the host's clock,
//! without HLA.
//!
//! [`SrmpHost::open`] joins a group. The host sends, and [`SrmpEvents`] delivers the events. The
//! crate `srmp` is the protocol; this crate provides its sockets.
//!
//! - Each member has two sockets. One receives from the group, on the group's port, which any
//!   number of members on a machine share. The other, on a port of its own, sends everything and
//!   receives unicasts to this member. All datagrams of a member therefore come from one address,
//!   and several members on one machine can be distinguished.
//! - A member does not receive its own datagrams if the system can filter them (Linux). Elsewhere
//!   they are recognized and dropped.
//! - One system call sends or receives many datagrams, with segmentation offload if the system has
//!   it (`quinn-udp`). Received datagrams are slices of buffers that are reused.
//! - Pacing is the protocol's task: nothing is sent before its timers fire.
//! - An emulated line may be placed between protocol and wire, in both directions.
//!
//! ```no_run
//! use srmp_udp::{HostConfig, SrmpHost};
//! use srmp::Event;
//! use srmp::model::{DataId, Profile, StreamKey};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let config = HostConfig::new("239.255.44.10:4410".parse()?, Profile::V3)?;
//! let (host, mut events) = SrmpHost::open(config)?;
//! host.send0(Some(StreamKey(1)), 0, "where I am".into())?;
//! host.send1(DataId(1), "what I look like".into(), false)?;
//! while let Some(event) = events.recv().await {
//!     if let Event::Mode1 { from, data, body, .. } = event {
//!         println!("{from} says of {data}: {body:?}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod clock;
mod config;
mod driver;
mod events;
mod host;
mod interface;
mod outbox;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod own;
mod pool;
mod receive;
mod sockets;
mod stats;
#[cfg(test)]
mod tests;

pub use clock::Clock;
pub use config::{HostConfig, OpenError};
pub use events::SrmpEvents;
pub use host::SrmpHost;
pub use interface::Interface;
pub use stats::IoCounters;
