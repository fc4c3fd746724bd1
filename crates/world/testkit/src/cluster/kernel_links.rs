//! Kernels of simulated nodes: how they are set up, and what they know of their network.

use super::options::Options;
use super::shape::Kind;
use crate::world;
use base::{Moment, NodeKey, Seed};
use kernel::{Kernel, LinkTarget, LinkTerms, NetworkConfig, NoFoms, TopologyKind};
use std::time::Duration;

/// What a node knows of its network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Which start of the node this is, to the network.
    pub key: NodeKey,
    /// It is a member.
    pub member: bool,
    /// All members, by key.
    pub members: Vec<NodeKey>,
    /// How many of them take part in elections.
    pub voters: usize,
    /// Who leads.
    pub leader: Option<NodeKey>,
}

/// What a node knows of its network.
pub(crate) fn view(kernel: &Kernel) -> Option<View> {
    let status = kernel.network()?;
    let mut members: Vec<_> = status.members.iter().map(|node| node.key).collect();
    members.sort_unstable();
    let leader = status.members.iter().find(|node| node.leader).map(|node| node.key);
    let voters = status.members.iter().filter(|node| node.voter).count();
    Some(View { key: status.key, member: status.member && status.quorum, members, voters, leader })
}

/// The URL that leads to a node.
pub(crate) fn url(node: usize) -> String {
    format!("sim://{node}")
}

/// The name of a node.
pub(crate) fn name(node: usize) -> String {
    format!("node {node}")
}

/// The seed of a start of a node.
pub(crate) fn seed(options: &Options, node: usize, start: u32) -> Seed {
    options.members.seed.split("node").split_index(node as u64).split_index(start.into())
}

/// The key of a start of a node.
pub(crate) fn key(options: &Options, node: usize, start: u32) -> NodeKey {
    NodeKey(seed(options, node, start).split("key").0.max(1))
}

/// How long a node that begins networks, and has links of its own, looks for one when it starts again: as `node` does.
const BOOTSTRAP_WAIT: Duration = Duration::from_secs(2);

/// The kernel of a node. Node 0 begins a network at each of its starts.
///
/// # Panics
/// The settings do not fit: a mistake of this test kit.
pub(crate) fn kernel(now: Moment, options: &Options, node: usize, start: u32) -> Kernel {
    let topology = match options.shape.kind {
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
    network.node_timeout = options.timing.node;
    network.minority_timeout = options.timing.minority;
    let edges = options.shape.edges.iter().filter(|edge| edge.from == node);
    let mut targets: Vec<_> = edges.map(|edge| (edge.to, edge.rank)).collect();
    if node == options.shape.nodes {
        targets.push((options.anchor, 0));
    }
    network.targets = targets
        .into_iter()
        .map(|(to, rank)| LinkTarget {
            url: url(to),
            name: Some(name(to)),
            terms: LinkTerms { rank, ..LinkTerms::default() },
        })
        .collect();
    let alone = start == 0 || network.targets.is_empty();
    let wait = if alone { Duration::ZERO } else { BOOTSTRAP_WAIT };
    network.bootstrap = (node == 0).then_some(wait);
    let config = world::config(&options.members);
    Kernel::in_network(now, config, network, Box::new(NoFoms)).expect("the settings fit")
}
