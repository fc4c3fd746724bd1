//! One member of an SRMP group on a real network: UDP multicast sockets, the host's clock, and nothing of HLA.
//!
//! [`SrmpHost::open`] joins a group; the host sends, and [`SrmpEvents`] tells what comes. The protocol is the crate `srmp`; here
//! are the sockets around it.
//!
//! - Each member has two sockets: one hears the group, on the group's port, which any number of members of a machine share; the
//!   other, on a port of its own, sends everything, and hears what is for this member alone. So all of a member comes from one
//!   address, and several members of one machine are told apart.
//! - What a member sends to the group does not come back to it, where the system can be told so (Linux); elsewhere it is
//!   known, and dropped.
//! - Datagrams are sent and received many in one system call, with segmentation offload where the system has it (`quinn-udp`).
//!   What comes is cut from buffers that are used again.
//! - Pacing is the protocol's: nothing is sent before its timers say so.
//! - An emulated line may stand between protocol and wire, in both directions.
//!
//! ```no_run
//! use node::srmp::{HostConfig, SrmpHost};
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

pub use config::{HostConfig, OpenError};
pub use events::SrmpEvents;
pub use host::SrmpHost;
pub use interface::Interface;
pub use stats::IoCounters;
