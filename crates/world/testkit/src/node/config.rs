//! Kernels of simulated nodes: their settings, and their views of the network.

use crate::options::{Kind, Options};
use base::{Moment, NodeKey, Seed};
use kernel::{Config, Kernel, LinkTarget, LinkTerms, NetworkConfig, NoFoms, TopologyKind};
use std::time::Duration;

/// A node's view of its network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// The key of this start of the node.
    pub key: NodeKey,
    /// Whether the node is a member.
    pub member: bool,
    /// All members, by key.
    pub members: Vec<NodeKey>,
    /// Number of members that are voters.
    pub voters: usize,
    /// The leader.
    pub leader: Option<NodeKey>,
    /// Number of proposals of this node that are not committed.
    pub proposals: usize,
}

pub(super) fn view(kernel: &Kernel) -> Option<View> {
    let status = kernel.network()?;
    let mut members: Vec<_> = status.members.iter().map(|node| node.key).collect();
    members.sort_unstable();
    let leader = status.members.iter().find(|node| node.leader).map(|node| node.key);
    let voters = status.members.iter().filter(|node| node.voter).count();
    let (member, proposals) = (status.member && status.quorum, status.log.waiting);
    Some(View { key: status.key, member, members, voters, leader, proposals })
}

/// The URL that leads to a node.
pub(super) fn url(node: usize) -> String {
    format!("sim://{node}")
}

/// The name of a node.
pub fn name(node: usize) -> String {
    format!("node {node}")
}

/// The seed of a start of a node.
pub(super) fn seed(options: &Options, node: usize, start: u32) -> Seed {
    match options.shape.kind {
        Kind::Alone => options.seed,
        _ => options.seed.split("node").split_index(node as u64).split_index(start.into()),
    }
}

/// The key of a start of a node.
pub fn key(options: &Options, node: usize, start: u32) -> NodeKey {
    NodeKey(seed(options, node, start).split("key").0.max(1))
}

/// How long a restarted node that begins networks and has links of its own looks for a network;
/// `node` uses the same time.
const BOOTSTRAP_WAIT: Duration = Duration::from_secs(2);

/// The kernel of a start of a node. Node 0 begins a network at each of its starts; `adjust` may
/// change that and any other setting.
///
/// # Panics
/// If the settings are invalid, which is a bug of this test kit.
pub(super) fn kernel(
    options: &Options,
    now: Moment,
    (node, start): (usize, u32),
    adjust: impl FnOnce(&mut NetworkConfig),
) -> Kernel {
    let topology = match options.shape.kind {
        Kind::Alone => return Kernel::new(of_sessions(options), Box::new(NoFoms)),
        Kind::Tree => TopologyKind::Tree,
        Kind::Mesh => TopologyKind::Mesh,
        Kind::Hypercube => TopologyKind::Hypercube,
        Kind::Graph => TopologyKind::Graph,
    };
    let seed = seed(options, node, start);
    let mut network = NetworkConfig::new(key(options, node, start), seed, &name(node), topology);
    network.overlay.redundancy = options.shape.kind == Kind::Graph;
    network.overlay.urls = vec![url(node)];
    let timing = &mut network.overlay.timing;
    timing.keep_alive = options.timing.keep_alive;
    timing.silence_max = options.timing.silence;
    timing.backoff.max = options.timing.backoff;
    network.pipe = options.pipe.clone();
    network.multicast = options.multicast.map(|multicast| kernel::Multicast {
        groups: multicast.groups,
        frame_bytes: srmp::frames::FRAME_BYTES,
    });
    network.overlay.on_demand = options.on_demand;
    network.node_timeout = options.timing.node;
    network.minority_timeout = options.timing.minority;
    let edges = options.shape.edges.iter().filter(|edge| edge.from == node);
    network.targets = edges.map(|edge| target(edge.to, edge.rank)).collect();
    if node == options.shape.nodes {
        network.targets.push(target(options.protected, 0));
    }
    let alone = start == 0 || network.targets.is_empty();
    let wait = if alone { Duration::ZERO } else { BOOTSTRAP_WAIT };
    network.bootstrap = (node == 0).then_some(wait);
    adjust(&mut network);
    Kernel::in_network(now, of_sessions(options), network, Box::new(NoFoms)).expect("the settings fit")
}

/// A link to a node.
pub fn target(node: usize, rank: u8) -> LinkTarget {
    LinkTarget { url: url(node), name: Some(name(node)), terms: LinkTerms { rank, ..LinkTerms::default() } }
}

/// The settings of a kernel for sessions.
fn of_sessions(options: &Options) -> Config {
    let (timeouts, limits) = (&options.timeouts, &options.limits);
    let mut config = Config {
        closed_window: timeouts.closed_window,
        unjoined_window: timeouts.unjoined_window,
        ..Config::default()
    };
    config.sessions.heart_timeout = Some(timeouts.heart);
    // Scripted federates may connect at any time, and the timeout of one that died before its first
    // message must not fall into the silence that ends a run.
    config.sessions.connect_timeout = None;
    config.sessions.resume_window = timeouts.resume_window;
    config.sessions.unsent_bytes_high = limits.unsent_bytes_high;
    config.sessions.unsent_bytes_low = limits.unsent_bytes_high / 4;
    config.rti.queue_bytes_max = limits.queue_bytes_max;
    config.rti.fom_at_once_bytes = options.reading.at_once_bytes;
    config.rti.network.filter_window = limits.filter_window;
    config
}
