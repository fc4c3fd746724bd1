//! Links between nodes.
//!
//! A link is a reliable, ordered stream of frames (bytes, at most [`LINK_FRAME_BYTES_MAX`]). If
//! both sides want it, the link also carries unordered, lossy datagrams. The machine defines the
//! content of frames. This module is the same for all machines:
//!
//! - [`LinkUrl`], [`LinkListen`], [`LinkOptions`]: addresses and options;
//! - [`StreamLayer`]: an interface for wrapping TCP streams;
//! - [`LinkProvider`]: an interface for links that are not sockets;
//! - [`Emulation`]: delay, jitter, loss and rate of a WAN.
//!
//! Frames are pulled from the machine only when the socket can take them. Waiting frames therefore
//! stay where they can be overtaken or dropped. A write never blocks: a full socket wakes its
//! link's task when it has room.

pub(crate) mod alerts;
pub(crate) mod datagram;
pub(crate) mod datagram_keys;
pub(crate) mod establish;
pub(crate) mod frame;
pub(crate) mod greetings;
pub(crate) mod hello;
pub(crate) mod keys;
pub(crate) mod memory;
pub(crate) mod multicast;
pub(crate) mod outbound;
pub(crate) mod provider;
pub(crate) mod quic;
pub(crate) mod sequence;
pub(crate) mod sockets;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod tls;
pub(crate) mod trust;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

pub use frame::{FrameError, LINK_FRAME_BYTES_MAX};
pub(crate) use greetings::Greetings;
pub use hello::HelloError;
pub use kernel::{
    Delivery, GroupCounts, GroupFrame, GroupInput, GroupOutput, LinkCounts, LinkInput, LinkOutput,
};
pub use keys::check_certificates;
pub(crate) use multicast::Groups;
pub use overlay::{LinkId, TargetId};
pub use provider::{LinkProvider, ProvidedListener, ProviderAccepting, ProviderConnecting};
pub(crate) use quic::Quic;
pub use stream::{BoxRead, BoxWrite, Plain, StreamLayer, Wrapping};
pub(crate) use table::Links;
pub(crate) use trust::Trust;

pub use crate::emulation::{EMULATED_DELAY_MAX, Emulation};
pub use crate::url::{
    BestEffort, DEFAULT_LINK_PORT, DEFAULT_MTU, Fingerprint, LinkListen, LinkOptions, LinkUrl, LinkUrlError,
    MulticastUrl, MulticastUrlError, OptionError, Scheme,
};

/// The context that all links of a node share.
pub(crate) struct LinkContext {
    /// Wraps TCP streams.
    pub(crate) layer: Rc<dyn StreamLayer>,
    /// Links to the other ranks of a parallel program, if this is one.
    pub(crate) provider: Option<Rc<dyn LinkProvider>>,
    /// The certificates of links over TLS and QUIC.
    pub(crate) trust: Trust,
    /// The sockets of QUIC links.
    pub(crate) quic: Quic,
    /// How long making a link may take.
    pub(crate) connect_timeout: Duration,
    /// Maximum number of links that others may have open.
    pub(crate) accepted_max: usize,
    /// Connections of others that have not yet identified themselves.
    pub(crate) greetings: RefCell<Greetings>,
}
