//! The network of nodes: who is there, how they are linked, and how a message gets from any node to any other.
//!
//! [`Overlay`] is one node's part of it, a machine without sockets, clocks or threads. The world reports links that come and
//! go, and frames; it polls for [events](Event), for links that are [ready](Overlay::poll_ready) and for
//! their frames. Contents of the channels of a link (the router's frames) do not come here, except through tunnels.
//!
//! - **Links.** The initiator greets, the acceptor answers, the initiator accepts; each may [refuse](Refusal), and the
//!   other learns why. Of two links between the same nodes one stays. Links that fall silent are given up; the
//!   initiator connects again, with waits that double.
//! - **Map.** Every node announces itself and its neighbours to all, when something changed; a connection counts when both
//!   ends announce it. From the map follow routes and, the same at all nodes, one spanning tree.
//! - **Paths.** In a tree or graph channel frames use the links of the spanning tree, others stand by (with redundancy) or are
//!   refused as cycles. In a mesh or hypercube all links are used; while one is down, a tunnel over other nodes
//!   takes its place.
//! - **Unicast.** From any node to any other, over relays, in parts; best effort, each loss counted. Urgent messages go first,
//!   destinations take turns.
//!
//! When nothing changes and nobody sends, only keep-alives go over the links.
//!
//! Start at [`Overlay`] and [`Event`]; formats are in `wire/mod.rs`.

mod claim;
mod config;
mod error;
mod event;
mod graph;
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
    NODES_MAX, REFUSAL_BYTES_MAX, TERMS_BYTES_MAX, Target, Timing, TopologyKind, URL_BYTES_MAX, URLS_MAX,
};
pub use error::{ConfigError, FrameError, Refusal, SendError};
pub use event::{Event, Via, Warning};
pub use machine::Overlay;
pub use status::{LinkState, LinkView, NetworkMap, NodeView, OverlayStats, OwnLink, TargetPhase, TargetView};
pub use wire::{Carried, MAGIC, VERSION, carried};

base::id! {
    /// A link, as the world numbers them: never the same number twice.
    pub struct LinkId(u64) as "l";
    /// A target of this node: those of the configuration in order from 0, those that the overlay made from 2^31 on.
    pub struct TargetId(u32) as "t";
}
