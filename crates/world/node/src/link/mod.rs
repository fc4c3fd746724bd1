//! Links between nodes.
//!
//! A link is a reliable, ordered stream of frames (bytes, at most [`LINK_FRAME_BYTES_MAX`]). If
//! both sides want it, the link also carries unordered, lossy datagrams. The machine defines the
//! content of frames. This module is the same for all machines:
//!
//! - [`LinkUrl`], [`LinkListen`], [`LinkOptions`]: addresses and options;
//! - [`StreamLayer`]: an interface for wrapping TCP streams;
//! - [`Fabric`]: an interface for links that are not sockets;
//! - [`Emulation`]: delay, jitter, loss and rate of a WAN.
//!
//! Frames are pulled from the machine only when the socket can take them. Waiting frames therefore
//! stay where they can be overtaken or dropped. A write never blocks: a full socket wakes its
//! link's task when it has room.

mod accept;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod connect;
mod datagram;
mod emulation;
mod establish;
mod fabric;
mod frame;
mod greetings;
mod hello;
mod memory;
mod multicast;
mod options;
mod outbound;
mod quic;
mod receive;
mod sequence;
mod sockets;
mod stream;
mod table;
mod task;
mod url;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

pub(crate) use accept::{Listener, bind, listen};
pub(crate) use connect::keep_connecting;
pub use emulation::{EMULATED_DELAY_MAX, Emulation};
pub use fabric::{Fabric, FabricAccepting, FabricConnecting, FabricListener};
pub use frame::{FrameError, LINK_FRAME_BYTES_MAX};
pub(crate) use greetings::Greetings;
pub use hello::HelloError;
pub use kernel::{
    Delivery, GroupCounts, GroupFrame, GroupInput, GroupOutput, LinkCounts, LinkInput, LinkOutput,
};
pub(crate) use multicast::{Groups, check as check_multicast, keep_joining};
pub use multicast::{MulticastUrl, MulticastUrlError};
pub use options::{BestEffort, DEFAULT_MTU, Fingerprint, LinkOptions, OptionError};
pub use overlay::{LinkId, TargetId};
pub(crate) use quic::Quic;
pub(crate) use sockets::{has_no_ipv6, resolve};
pub use stream::{BoxRead, BoxWrite, Plain, StreamLayer, Wrapping};
pub(crate) use table::Links;
pub(crate) use task::close_all;
pub use url::{DEFAULT_LINK_PORT, LinkListen, LinkUrl, LinkUrlError, Scheme};

/// Parsers of option values, for configurations.
pub(crate) mod option_values {
    pub(crate) use super::options::{best_effort, delay, fingerprint, jitter, loss, mtu};
}

/// The context that all links of a node share.
pub(crate) struct LinkContext {
    /// Wraps TCP streams.
    pub(crate) layer: Rc<dyn StreamLayer>,
    /// Links to the other ranks of a parallel program, if this is one.
    pub(crate) fabric: Option<Rc<dyn Fabric>>,
    /// The keys of QUIC links.
    pub(crate) quic: Quic,
    /// How long making a link may take.
    pub(crate) connect_timeout: Duration,
    /// Maximum number of links that others may have open.
    pub(crate) accepted_max: usize,
    /// Connections of others that have not yet identified themselves.
    pub(crate) greetings: RefCell<Greetings>,
}

#[cfg(test)]
mod tests;
