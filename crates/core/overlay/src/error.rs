//! Errors of the configuration, of calls and of neighbours, and the reasons for refusing a link.

use crate::config::{INFO_BYTES_MAX, NAME_BYTES_MAX, TERMS_BYTES_MAX, TopologyKind, URL_BYTES_MAX, URLS_MAX};
use crate::wire;
use base::{NodeKey, ReadError};
use std::time::Duration;

/// A setting that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The name is empty, too long or not printable.
    #[error("the node name {name:?} must have 1 to {NAME_BYTES_MAX} bytes and no control characters")]
    Name {
        /// The name.
        name: String,
    },
    /// Too many URLs.
    #[error("a node can advertise {URLS_MAX} URLs, not {count}")]
    Urls {
        /// Number of URLs.
        count: usize,
    },
    /// A URL is too long.
    #[error("a URL of {len} bytes is too long to be advertised, the limit is {URL_BYTES_MAX}")]
    Url {
        /// Length in bytes.
        len: usize,
    },
    /// The terms of a target are too long.
    #[error("the terms of the link to {url} have {len} bytes, the limit is {TERMS_BYTES_MAX}")]
    Terms {
        /// URL of the target.
        url: String,
        /// Length in bytes.
        len: usize,
    },
    /// The settings of links on demand contradict each other or the topology.
    #[error(
        "links on demand need a mesh (this network is a {topology}), a rate to give them up ({below} bytes/s) of \
         at most the rate to make them ({above} bytes/s), and a window of at least 10 ms ({window:?})"
    )]
    OnDemand {
        /// The topology.
        topology: TopologyKind,
        /// [`OnDemand::above`](crate::OnDemand::above).
        above: u64,
        /// [`OnDemand::below`](crate::OnDemand::below).
        below: u64,
        /// [`OnDemand::window`](crate::OnDemand::window).
        window: Duration,
    },
    /// The information blob is too long.
    #[error("the information about a node has {len} bytes, the limit is {INFO_BYTES_MAX}")]
    Info {
        /// Length in bytes.
        len: usize,
    },
}

/// A message that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// No path leads there.
    #[error("no path leads to node {0}")]
    Unreachable(NodeKey),
    /// The body or frame is longer than allowed.
    #[error("{len} bytes, the limit is {limit}")]
    TooLong {
        /// Length in bytes.
        len: usize,
        /// Limit in bytes.
        limit: usize,
    },
    /// There is no tunnel to that node: it has a link of its own, or no tunnel can be made.
    #[error("there is no tunnel to node {0}")]
    NoTunnel(NodeKey),
    /// The bytes in flight in the tunnel have reached its limit;
    /// [`Event::TunnelReady`](crate::Event::TunnelReady) follows.
    #[error("the tunnel to node {0} takes no more for now")]
    Full(NodeKey),
}

/// A breach of the protocol by a neighbour. Positions are byte offsets in the frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// An empty frame.
    #[error("an empty frame")]
    Empty,
    /// An unknown frame type.
    #[error("a frame of unknown type {got}")]
    Type {
        /// The type.
        got: u8,
    },
    /// The greeting does not start with [`MAGIC`](crate::MAGIC).
    #[error("the greeting starts with {got:#010x}, not {:#010x}", wire::MAGIC)]
    Magic {
        /// The number found there.
        got: u32,
    },
    /// Another version of the protocol.
    #[error("version {got} of the node protocol, this node speaks {}", wire::VERSION)]
    Version {
        /// The peer's version.
        got: u8,
    },
    /// A field cannot be read.
    #[error(transparent)]
    Field(#[from] ReadError),
    /// A frame that is not allowed at this point.
    #[error("{item} where {wanted} is due")]
    Unexpected {
        /// The frame that came.
        item: &'static str,
        /// The frame that was expected.
        wanted: &'static str,
    },
}

/// The reason for refusing a link. The sentence names the problem and the remedy; both ends learn
/// it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Another version of the protocol.
    #[error(
        "one node speaks version {theirs} of the node protocol, the other {ours}: run the same release on both"
    )]
    Version {
        /// The peer's.
        theirs: u8,
        /// This node's.
        ours: u8,
    },
    /// The two nodes are in different networks.
    #[error(
        "network {theirs:016x} and network {ours:016x} are two: a node that is to join another network must be \
         started without one of its own (with --join, not as the first node)"
    )]
    Network {
        /// The peer's.
        theirs: u64,
        /// This node's.
        ours: u64,
    },
    /// The two networks have one creator, and this node's network yields.
    #[error(
        "networks {network:016x} and {to:016x} have one creator, which was started again while the first of them lived \
         on: node {name} gives up {network:016x} and joins {to:016x}, that of node {other}"
    )]
    Yields {
        /// Name of the node that yields.
        name: String,
        /// Its network.
        network: u64,
        /// Name of the node that it yields to.
        other: String,
        /// The network of that node.
        to: u64,
    },
    /// This node has given up the peer's network and looks for the one that network yields to.
    #[error("network {network:016x} yields to another one, which node {name} looks for")]
    GivenUp {
        /// Name of this node.
        name: String,
        /// The peer's network.
        network: u64,
    },
    /// Another live node has the same name.
    #[error(
        "there are two nodes with the name {name}, the other one has the key {holder}: give each node a name of its \
         own, or stop the other one first"
    )]
    Name {
        /// The name.
        name: String,
        /// The node that has it.
        holder: NodeKey,
    },
    /// A link from a node to itself.
    #[error("the link leads from node {name} back to itself: take its own address out of its links")]
    OwnKey {
        /// The node.
        name: String,
    },
    /// The two nodes are set up for different topologies.
    #[error(
        "one node is set up for the topology {theirs}, the other for {ours}: give all nodes the same topology"
    )]
    Topology {
        /// The peer's.
        theirs: TopologyKind,
        /// This node's.
        ours: TopologyKind,
    },
    /// The clock of a joining node differs too much from that of the node in the network that it
    /// greets.
    #[error(
        "the clock of node {name} is {} ms {} that of node {by}, more than the {limit_millis} ms that may be: set it \
         by a time service and start the node again",
        ahead_millis.unsigned_abs(), if *ahead_millis < 0 { "behind" } else { "ahead of" }
    )]
    Clock {
        /// The node that joins.
        name: String,
        /// The node of the network whose clock it was compared with.
        by: String,
        /// How far the clock of the joining node is ahead, in milliseconds.
        ahead_millis: i64,
        /// Largest difference allowed, in milliseconds.
        limit_millis: u64,
    },
    /// One node allows redundant links, the other does not.
    #[error("one node has redundancy {}, the other {}: give all nodes the same", on(*theirs), on(!*theirs))]
    Redundancy {
        /// The peer's setting.
        theirs: bool,
    },
    /// The node that answered is not the configured one.
    #[error("at {url} is node {got}, not {expected}: correct the address or the name")]
    OtherNode {
        /// URL of the target.
        url: String,
        /// The configured name.
        expected: String,
        /// The name of the node that answered.
        got: String,
    },
    /// The link would close a loop.
    #[error(
        "nodes {a} and {b} are connected by another path already: take this link out, or enable redundancy on all nodes"
    )]
    Cycle {
        /// One end.
        a: String,
        /// The other.
        b: String,
    },
    /// The two nodes already have a link.
    #[error("there is a link between {a} and {b} already; it is kept")]
    AlreadyLinked {
        /// One end.
        a: String,
        /// The other.
        b: String,
    },
    /// The peer broke the protocol.
    #[error("{0}: check that what connects here is a node of the same release")]
    Hostile(#[from] FrameError),
    /// The peer sent no greeting in time.
    #[error(
        "no greeting within {0:?}: check that what is at the other end is a node, and that the network between works"
    )]
    GreetingTimeout(Duration),
    /// The node has as many links as it may have.
    #[error("the node has its {limit} links already: connect to another one")]
    TooManyLinks {
        /// The limit.
        limit: usize,
    },
    /// The certificate of the peer is not for the node that it says it is.
    #[error(
        "the certificate of the node that calls itself {name} is for {}, and not for {name}: give each node its own \
         certificate",
        if names.is_empty() { "no node".to_owned() } else { names.join(", ") }
    )]
    Certificate {
        /// The name that the peer says.
        name: String,
        /// The first names in its certificate.
        names: Vec<String>,
    },
    /// The node is leaving the network.
    #[error("the node is leaving the network: connect to another one")]
    Leaving,
}

fn on(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl Refusal {
    /// Number of the kind of refusal on the wire.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Version { .. } => 1,
            Self::Network { .. } => 2,
            Self::Name { .. } => 3,
            Self::OwnKey { .. } => 4,
            Self::Topology { .. } => 5,
            Self::Redundancy { .. } => 6,
            Self::OtherNode { .. } => 7,
            Self::Cycle { .. } => 8,
            Self::AlreadyLinked { .. } => Self::ALREADY_LINKED,
            Self::Hostile(_) => 10,
            Self::GreetingTimeout(_) => 11,
            Self::TooManyLinks { .. } => 12,
            Self::Leaving => 13,
            Self::Clock { .. } => 14,
            Self::Yields { .. } => Self::YIELDS,
            Self::GivenUp { .. } => Self::GIVEN_UP,
            Self::Certificate { .. } => 17,
        }
    }

    pub(crate) const ALREADY_LINKED: u8 = 9;
    /// The [code](Self::code) of [`Refusal::Yields`].
    pub const YIELDS: u8 = 15;
    /// The [code](Self::code) of [`Refusal::GivenUp`].
    pub const GIVEN_UP: u8 = 16;

    pub(crate) fn of(error: FrameError) -> Self {
        match error {
            FrameError::Version { got } => Self::Version { theirs: got, ours: wire::VERSION },
            error => Self::Hostile(error),
        }
    }
}
