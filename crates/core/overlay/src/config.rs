//! Settings of a node in the network, each with its unit and default.

use crate::error::ConfigError;
use base::{NodeKey, Seed};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// Longest frame that the overlay sends or accepts: 1 MiB.
pub const FRAME_BYTES_MAX: usize = 1 << 20;
/// Longest name of a node, in bytes of UTF-8.
pub const NAME_BYTES_MAX: usize = 255;
/// Longest URL that a node may advertise.
pub const URL_BYTES_MAX: usize = 512;
/// Largest number of URLs that a node may advertise.
pub const URLS_MAX: usize = 16;
/// Longest information blob of a node: 16 KiB.
pub const INFO_BYTES_MAX: usize = 16 << 10;
/// Largest number of neighbours of a node.
pub const NEIGHBOURS_MAX: usize = 1_024;
/// Longest terms of a link, in bytes: see [`Target::terms`].
pub const TERMS_BYTES_MAX: usize = 256;
/// Longest sentence of a refusal on the wire, in bytes; longer ones are cut.
pub const REFUSAL_BYTES_MAX: usize = 1_024;
/// Largest number of relays of a unicast. A unicast that was relayed this often is dropped: no
/// sound network is that wide.
pub const HOPS_MAX: u8 = 64;
/// Largest number of nodes that one frame of digests can name, and therefore of nodes in the map.
pub const NODES_MAX: usize = 16_384;

/// How the nodes of a network are linked. All nodes of a network must have the same setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopologyKind {
    /// A tree of routers.
    Tree,
    /// Each node is a triad, linked to all others. A node connects to the nodes that it learns of,
    /// even if nobody configured them.
    Mesh,
    /// A hypercube of routers.
    Hypercube,
    /// Any list of edges.
    Graph,
}

impl TopologyKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [TopologyKind; 4] = [Self::Tree, Self::Mesh, Self::Hypercube, Self::Graph];

    /// Whether every link between two nodes is a path for messages. Otherwise only the links of one
    /// spanning tree are.
    pub const fn uses_all_links(self) -> bool {
        matches!(self, Self::Mesh | Self::Hypercube)
    }

    pub(crate) const fn code(self) -> u8 {
        self as u8 + 1
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

impl fmt::Display for TopologyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tree => "tree",
            Self::Mesh => "mesh",
            Self::Hypercube => "hypercube",
            Self::Graph => "graph",
        })
    }
}

/// A node to connect to, and to reconnect to when the link breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// URL to connect to. The overlay hands it to the world and does not read it.
    pub url: String,
    /// Name of the node that is expected there; a node with another name is refused. `None`: any
    /// name.
    pub name: Option<String>,
    /// Terms of this link for the other end, for example how to set up its router client. At most
    /// [`TERMS_BYTES_MAX`] bytes; the overlay does not read them.
    pub terms: Bytes,
}

/// Waits between the attempts to reach a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Wait after the first failure; each further wait is twice as long. Default 50 ms.
    pub first: Duration,
    /// Longest wait, before jitter. Default 5 s.
    pub max: Duration,
    /// Largest random addition to a wait, in percent of it. Default 20.
    pub jitter_percent: u8,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(50), max: Duration::from_secs(5), jitter_percent: 20 }
    }
}

/// Intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A link on which nothing but answers has been sent for this long carries a keep-alive.
    /// Default 500 ms.
    pub keep_alive: Duration,
    /// A link on which nothing has been heard for this long is dead. If earlier links to the node
    /// died before `steady_after`, the next one may be silent up to four times as long.
    /// Default 2.5 s.
    pub silence_max: Duration,
    /// A link on which no greetings have been exchanged within this time is closed. Default 3 s.
    pub greeting_max: Duration,
    /// Time that a link has to take its last frames before it is closed. Default 1 s.
    pub close_max: Duration,
    /// Shortest time between two announcements of this node, between two computations of routes,
    /// and between two frames with news of other nodes over a link. Default 10 ms.
    pub settle: Duration,
    /// While changes go on, the time between announcements and between computations doubles up to
    /// this. Default 160 ms.
    pub settle_max: Duration,
    /// Shortest time between two announcements that change nothing but the information blob.
    /// Default 1 s.
    pub info_interval: Duration,
    /// A node that has been unreachable for this long is forgotten. Default 5 min.
    pub forget_after: Duration,
    /// Without redundancy, a link that has closed a cycle in the map for this long is refused.
    /// Default 200 ms.
    pub cycle_after: Duration,
    /// Two nodes of a mesh that have never had a link get a tunnel after this time. Default 1 s.
    pub tunnel_after: Duration,
    /// A tunnel sends its frames again when none has been acknowledged for this long. Default 500
    /// ms.
    pub tunnel_retry: Duration,
    /// When two nodes of a mesh learn of each other, the one with the larger key connects at once,
    /// and the other one after this time. Default 2 s.
    pub learn_after: Duration,
    /// A link that has been up for this long counts as a success: the waits of its target start
    /// again from the first. Default 1 s.
    pub steady_after: Duration,
    /// Waits between the attempts to reach a target.
    pub backoff: Backoff,
    /// A larger difference between the clocks of two nodes causes a warning. Default 1 s.
    pub clock_tolerance: Duration,
    /// A node in a network refuses one without a network if their clocks differ by more than this.
    /// Default 60 s.
    pub clock_max: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            // A dead neighbour is noticed after five keep-alives. Fewer would take a pause of the
            // scheduler or a congested link for a death; more would delay the removal of dead members.
            keep_alive: Duration::from_millis(500),
            silence_max: Duration::from_millis(2_500),
            greeting_max: Duration::from_secs(3),
            close_max: Duration::from_secs(1),
            // Changes come in groups: a node that dies takes all its links with it. One computation
            // serves them all. Under constant change the wait doubles up to the maximum.
            settle: Duration::from_millis(10),
            settle_max: Duration::from_millis(160),
            info_interval: Duration::from_secs(1),
            // Longer than a host takes to restart, so that a returning node is still known by its
            // name.
            forget_after: Duration::from_secs(300),
            // The map may name a link that is just being replaced. A cycle that lasts for several
            // round trips of a wide-area network is real.
            cycle_after: Duration::from_millis(200),
            // Two nodes that have both just joined link to each other within this time.
            tunnel_after: Duration::from_secs(1),
            tunnel_retry: Duration::from_millis(500),
            learn_after: Duration::from_secs(2),
            steady_after: Duration::from_secs(1),
            // A node that has just been started again is reached after tens of milliseconds; one
            // that is down costs a connection every five seconds.
            backoff: Backoff::default(),
            // Up to this difference, logs of two hosts can be compared by eye.
            clock_tolerance: Duration::from_secs(1),
            clock_max: Duration::from_secs(60),
        }
    }
}

/// When two nodes of a mesh link for their traffic, and when they give that link up. The links that
/// are configured stay; over these, traffic between all other nodes goes through tunnels. So a mesh
/// configures itself, as demand circuits do (RFC 1793).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDemand {
    /// Two nodes link when their channels carry at least this many bytes per second, both
    /// directions together. Default 32,000 (256 kbit/s).
    pub above: u64,
    /// They need no link while their channels carry less than this many bytes per second; at most
    /// `above`. Default 8,000 (64 kbit/s).
    pub below: u64,
    /// The interval over which a rate is measured; at least 10 ms. Default 1 s.
    pub window: Duration,
    /// The number of windows in succession that must reach `above`; at least 1. Default 3.
    pub windows: u32,
    /// A link that has not been needed for this long is given up. Default 30 s.
    pub idle_after: Duration,
}

impl Default for OnDemand {
    fn default() -> Self {
        Self {
            // A tunnel of this rate costs the relay some hundred frames a second.
            above: 32_000,
            // A quarter: traffic that swings by a factor of two about either rate moves no path.
            below: 8_000,
            window: Duration::from_secs(1),
            // When links change, nodes look for losses, with a burst of messages to each other. It may
            // lie in two windows, and must not make links.
            windows: 3,
            // A new link costs two round trips and a move of the path: pauses must not cause it.
            idle_after: Duration::from_secs(30),
        }
    }
}

/// Bounds of the memory that the overlay uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes in the map, this one included; at most [`NODES_MAX`]. Default 4,096.
    pub nodes_max: usize,
    /// Bytes of all entries of the map. Default 64 MiB.
    pub map_bytes_max: usize,
    /// Links at one time, including those without a greeting; at most [`NEIGHBOURS_MAX`]. Default
    /// 1,024.
    pub links_max: usize,
    /// Longest body of a unicast, in bytes. Default 64 MiB.
    pub body_bytes_max: usize,
    /// Longest part of a unicast in one frame. Default 16 KiB; kept between 64 bytes and 512 KiB.
    pub piece_bytes_max: usize,
    /// Bytes of unicasts that wait for one link, for each class (urgent, bulk). Default 64 MiB.
    pub queue_bytes_max: usize,
    /// Bytes of unicasts that are being reassembled, of all senders. Default 128 MiB.
    pub reassembly_bytes_max: usize,
    /// Bytes in flight in a tunnel. A longer frame is taken when nothing is in flight. Default 1
    /// MiB.
    pub tunnel_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Four times as many nodes as were simulated. A digest of this many fits into a frame.
            nodes_max: 4_096,
            map_bytes_max: 64 << 20,
            links_max: NEIGHBOURS_MAX,
            body_bytes_max: 64 << 20,
            // A piece takes 13 ms on a link of 10 Mbit/s, and may delay an urgent message by that.
            piece_bytes_max: 16 << 10,
            // It has to hold the longest body, see `checked`.
            queue_bytes_max: 64 << 20,
            reassembly_bytes_max: 128 << 20,
            tunnel_bytes_max: 1 << 20,
        }
    }
}

/// Settings of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The identity of this incarnation of the node.
    pub key: NodeKey,
    /// The name of the node: unique among the live nodes, and kept over restarts.
    pub name: String,
    /// Seed of the jitter.
    pub seed: Seed,
    /// How the nodes are linked.
    pub topology: TopologyKind,
    /// For trees and graphs: whether loops are wanted. Links that close a loop then stand by.
    pub redundancy: bool,
    /// The network of this node; 0: none yet, and the node adopts that of its first neighbour.
    pub network: u64,
    /// URLs at which others may connect to this node.
    pub urls: Vec<String>,
    /// Links that this node initiates; the first one gets the id 0, and so on.
    pub targets: Vec<Target>,
    /// Names of nodes that are configured to connect to this one. In a mesh, connecting is left to
    /// them.
    pub awaited: BTreeSet<String>,
    /// For meshes: nodes link for their traffic alone. `None`: each node links to all that it learns
    /// of.
    pub on_demand: Option<OnDemand>,
    /// A digest of the topology file; 0: there is none. A node with another digest causes a
    /// warning.
    pub topology_digest: u64,
    /// Milliseconds since 1970 at [`Moment::ZERO`](base::Moment::ZERO), for the comparison of
    /// clocks; `None`: clocks are not compared.
    pub clock_millis: Option<u64>,
    /// Intervals.
    pub timing: Timing,
    /// Bounds of memory.
    pub limits: Limits,
}

impl Config {
    /// The defaults for a node without targets that is in no network yet.
    pub fn new(key: NodeKey, name: impl Into<String>, topology: TopologyKind, seed: Seed) -> Self {
        Self {
            key,
            name: name.into(),
            seed,
            topology,
            redundancy: false,
            network: 0,
            urls: Vec::new(),
            targets: Vec::new(),
            awaited: BTreeSet::new(),
            on_demand: None,
            topology_digest: 0,
            clock_millis: None,
            timing: Timing::default(),
            limits: Limits::default(),
        }
    }

    /// Checks the settings, and brings limits into their ranges.
    pub(crate) fn checked(mut self) -> Result<Self, ConfigError> {
        check_name(&self.name)?;
        check_urls(&self.urls)?;
        self.targets.iter().try_for_each(check_target)?;
        if let Some(OnDemand { above, below, window, .. }) = self.on_demand
            && (self.topology != TopologyKind::Mesh || below > above || window < Duration::from_millis(10))
        {
            return Err(ConfigError::OnDemand { topology: self.topology, above, below, window });
        }
        let limits = &mut self.limits;
        limits.nodes_max = limits.nodes_max.clamp(1, NODES_MAX);
        limits.links_max = limits.links_max.min(NEIGHBOURS_MAX);
        limits.piece_bytes_max = limits.piece_bytes_max.clamp(64, FRAME_BYTES_MAX / 2);
        // A frame of a tunnel travels as a body with a header, and a queue must hold the longest
        // body.
        limits.body_bytes_max = limits.body_bytes_max.clamp(2 * FRAME_BYTES_MAX, u32::MAX as usize);
        limits.queue_bytes_max = limits.queue_bytes_max.max(limits.body_bytes_max + FRAME_BYTES_MAX);
        Ok(self)
    }
}

fn check_name(name: &str) -> Result<(), ConfigError> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(ConfigError::Name { name: name.to_owned() });
    }
    Ok(())
}

pub(crate) fn check_urls(urls: &[String]) -> Result<(), ConfigError> {
    if urls.len() > URLS_MAX {
        return Err(ConfigError::Urls { count: urls.len() });
    }
    match urls.iter().find(|url| url.len() > URL_BYTES_MAX) {
        Some(url) => Err(ConfigError::Url { len: url.len() }),
        None => Ok(()),
    }
}

pub(crate) fn check_target(target: &Target) -> Result<(), ConfigError> {
    if let Some(name) = &target.name {
        check_name(name)?;
    }
    match target.terms.len() {
        len if len > TERMS_BYTES_MAX => Err(ConfigError::Terms { url: target.url.clone(), len }),
        _ => Ok(()),
    }
}
