//! The network of nodes: its members, their links, and the transport of messages from any node to
//! any other.
//!
//! [`Overlay`] is one node's part: a machine without sockets, clocks or threads. The world reports
//! frames, and links that come and go. It polls for [events](Event), for links that are
//! [ready](Overlay::poll_ready) and for their frames. The contents of a link's channels (the
//! router's frames) do not pass through the overlay, except in tunnels.
//!
//! - **Links.** The initiator greets, the acceptor answers, the initiator accepts. Each end may
//!   [refuse](Refusal), and the other one learns why. Of two links between the same nodes, one
//!   stays. Links that fall silent are given up. The initiator then connects again, with waits that
//!   double.
//! - **Map.** Every node announces itself and its neighbours to all others whenever something
//!   changes. A connection counts when both ends announce it. Routes and one spanning tree are
//!   computed from the map; all nodes with the same map compute the same tree.
//! - **Paths.** In a tree or graph, channel frames use the links of the spanning tree. The other
//!   links stand by (with redundancy) or are refused as cycles. In a mesh or hypercube, all links
//!   are used; while a link is down, a tunnel over other nodes takes its place.
//! - **Unicast.** Messages from any node to any other travel over relays, in parts. They are best
//!   effort, and each loss is counted. Urgent messages go first, and destinations take turns.
//!
//! When nothing changes and nobody sends, only keep-alives use the links.
//!
//! Start at [`Overlay`] and [`Event`]; formats are in `wire/mod.rs`.

mod config;
mod demand;
mod error;
mod event;
mod graph;
mod identity;
mod link;
mod machine;
mod map;
mod queue;
mod reassembly;
mod status;
mod target;
mod throttle;
mod tunnel;
mod wire;

pub use config::{
    Backoff, Config, FRAME_BYTES_MAX, HOPS_MAX, INFO_BYTES_MAX, Limits, NAME_BYTES_MAX, NEIGHBOURS_MAX,
    NODES_MAX, OnDemand, REFUSAL_BYTES_MAX, TERMS_BYTES_MAX, Target, Timing, TopologyKind, URL_BYTES_MAX,
    URLS_MAX,
};
pub use error::{ConfigError, FrameError, Refusal, SendError};
pub use event::{Event, Via, Warning};
pub use machine::Overlay;
pub use status::{LinkState, LinkView, NetworkMap, NodeView, OverlayStats, OwnLink, TargetPhase, TargetView};
pub use wire::{Carried, MAGIC, VERSION, carried};

base::id! {
    /// A link, as the world numbers it. No number is used twice.
    pub struct LinkId(u64) as "l";
    /// A target of this node. Configured targets are numbered from 0, in order; targets that the
    /// overlay makes itself are numbered from 2^31.
    pub struct TargetId(u32) as "t";
}
