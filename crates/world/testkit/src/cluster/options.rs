//! What a run of a cluster consists of: drawn from its seed, printed when it fails.

use super::casts::Multicast;
use super::shape::{Kind, Shape};
use super::trouble::{Trouble, plan};
use crate::draw::Draw;
use crate::options::{Limits, Timeouts};
use crate::script::{Group, Op};
use base::Seed;
use kernel::{PipeConfig, link_pipe};
use std::time::Duration;

/// When a node gives up a link, another node, itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// How often something is said on every link.
    pub keep_alive: Duration,
    /// Silence after which a link is dead.
    pub silence: Duration,
    /// A node that cannot be reached for so long is dead.
    pub node: Duration,
    /// A node without contact to a majority for so long gives up.
    pub minority: Duration,
    /// The longest wait between two tries to make a link again.
    pub backoff: Duration,
}

impl Timing {
    /// Short times, so that a few seconds reach them all.
    pub const SHORT: Self = Self {
        keep_alive: Duration::from_millis(100),
        silence: Duration::from_millis(500),
        node: Duration::from_millis(600),
        minority: Duration::from_secs(6),
        backoff: Duration::from_millis(400),
    };
    /// What a node does when nothing else is configured.
    pub const USUAL: Self = Self {
        keep_alive: Duration::from_millis(500),
        silence: Duration::from_millis(2_500),
        node: Duration::from_secs(1),
        minority: Duration::from_secs(10),
        backoff: Duration::from_secs(5),
    };
}

/// Everything that is drawn for a run before it starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the federates do, and the seed.
    pub members: crate::options::Options,
    /// Nodes and links.
    pub shape: Shape,
    /// How far each node is from the middle of the network, nodes that join later included: a packet between two nodes
    /// takes the sum of both.
    pub sites: Vec<Duration>,
    /// A node that is never lost; joining nodes begin at it.
    pub anchor: usize,
    /// At which node each federate begins; `None`: in turn.
    pub homes: Option<Vec<usize>>,
    /// Timeouts of nodes.
    pub timing: Timing,
    /// Pipes towards neighbours.
    pub pipe: PipeConfig,
    /// Multicast groups that all nodes share, beside their links.
    pub multicast: Option<Multicast>,
    /// What goes wrong when.
    pub troubles: Vec<Trouble>,
}

impl Options {
    /// The swarm: each parameter drawn by itself.
    pub fn swarm(seed: Seed, kind: Kind) -> Self {
        let mut draw = Draw::new(seed, "cluster");
        let mut members = members(seed, &mut draw);
        let anchor = draw.below(5) as usize;
        let (shape, anchor) = shape(kind, anchor, &mut draw);
        let far = draw.chance(35);
        let site = |draw: &mut Draw| if far { draw.micros(100, 12_000) } else { draw.micros(5, 300) };
        // One more, for a node that joins.
        let sites = (0..=shape.nodes).map(|_| site(&mut draw)).collect();
        let timing = if draw.chance(75) { Timing::SHORT } else { Timing::USUAL };
        let troubles = match draw.chance(15) {
            true => Vec::new(),
            false => plan(&shape, anchor, &timing, members.lasts, members.federates, &mut draw),
        };
        let (pipe, dense) = pipe(seed);
        if dense {
            make_dense(&mut members);
        }
        let multicast = multicast(seed);
        Self { members, shape, sites, anchor, homes: None, timing, pipe, multicast, troubles }
    }

    /// Federates that do nothing of themselves, and nothing that goes wrong: for scripted scenarios.
    pub fn quiet(seed: Seed, shape: Shape, federates: usize) -> Self {
        let mut options = Self::swarm(seed, Kind::Graph);
        let members = &mut options.members;
        members.federates = federates;
        members.federations = 1;
        members.delays = vec![Duration::from_micros(100); federates];
        members.rate = None;
        members.mistakes = 0;
        members.padding = 0;
        members.mix.clear();
        members.burst = 1;
        members.pace = Duration::from_millis(5);
        members.switches.auto_provide = false;
        options.sites = vec![Duration::from_micros(250); shape.nodes + 1];
        options.anchor = 0;
        options.shape = shape;
        options.timing = Timing::USUAL;
        options.pipe = link_pipe();
        options.multicast = None;
        options.troubles.clear();
        options
    }

    /// Nodes, those that join later included.
    pub fn nodes(&self) -> usize {
        self.shape.nodes + 1
    }
}

/// Every third run has small pipes; every third of those so little room and so much to say that federates are held back again
/// and again, which the second value tells.
fn pipe(seed: Seed) -> (PipeConfig, bool) {
    let mut draw = Draw::new(seed, "pipes");
    let usual = link_pipe();
    if !draw.chance(33) {
        return (usual, false);
    }
    if draw.chance(40) {
        let (bytes, credit) = (draw.between(1_500, 4_000), draw.between(500, 1_500));
        let pipe = PipeConfig {
            frame_bytes_max: 500,
            credit_bytes: Some(credit as usize),
            ..usual.with_bytes_max(bytes as usize)
        };
        return (pipe, true);
    }
    let bytes = draw.between(3_000, 40_000) as usize;
    let pipe = PipeConfig {
        messages_max: *draw.pick(&[32, 256, usual.messages_max]).unwrap_or(&usual.messages_max),
        frame_bytes_max: *draw.pick(&[128, 1_000, usual.frame_bytes_max]).unwrap_or(&usual.frame_bytes_max),
        credit_bytes: Some(draw.between(1_000, 10_000) as usize),
        credit_hold_max: draw.millis(50, 1_000),
        ..usual.with_bytes_max(bytes)
    };
    (pipe, false)
}

/// Every fourth run has groups; some lose nothing, others up to a fifth.
fn multicast(seed: Seed) -> Option<Multicast> {
    let mut draw = Draw::new(seed, "multicast");
    draw.chance(25).then(|| Multicast {
        groups: draw.between(1, 3) as usize,
        loss: *draw.pick(&[0, 1, 5, 20]).unwrap_or(&0),
    })
}

/// What federates say at once is more than a pipe takes.
fn make_dense(members: &mut crate::options::Options) {
    members.padding = 300;
    members.burst = 16;
    members.rate = Some(2_000_000);
}

fn shape(kind: Kind, anchor: usize, draw: &mut Draw) -> (Shape, usize) {
    let nodes = *draw.pick(&[1, 2, 3, 3, 3, 4, 4, 5, 5, 6]).unwrap_or(&3);
    let shape = match kind {
        Kind::Tree => Shape::tree(nodes, draw),
        Kind::Mesh => Shape::mesh(nodes, anchor % nodes),
        Kind::Hypercube => Shape::hypercube(if nodes > 2 { 2 } else { 1 }),
        Kind::Graph => Shape::graph(nodes, draw),
    };
    let anchor = anchor % shape.nodes;
    (shape, anchor)
}

fn members(seed: Seed, draw: &mut Draw) -> crate::options::Options {
    let mut members = crate::options::Options::swarm(seed, Group::Session).without_troubles();
    members.federates = draw.between(3, 8) as usize;
    members.delays = (0..members.federates).map(|_| draw.micros(1, 2_000)).collect();
    members.lasts = draw.millis(2_000, 6_000);
    members.pace = members.lasts / draw.between(15, 60) as u32;
    members.burst = *draw.pick(&[1, 1, 3]).unwrap_or(&1);
    members.rate = draw.pick(&[None, None, Some(1_000_000_000), Some(20_000_000)]).copied().flatten();
    members.padding = *draw.pick(&[0, 0, 20, 300]).unwrap_or(&0);
    members.mistakes = *draw.pick(&[0, 0, 5]).unwrap_or(&0);
    members.restart = true;
    members.timeouts = Timeouts {
        heartbeat: Duration::from_secs(1),
        heart: Duration::from_secs(3),
        retry: draw.millis(50, 500),
        closed_window: draw.millis(1_000, 4_000),
        resume_window: draw.millis(4_000, 8_000),
        unjoined_window: draw.millis(500, 2_000),
    };
    members.limits =
        Limits { stream_window: 256 << 10, unsent_bytes_high: 1 << 20, queue_bytes_max: 256 << 20 };
    if draw.chance(85) {
        members.mix.retain(|&(op, _)| op != Op::Destroy);
    }
    // Traffic that somebody is promised: else most of a short run would be preparation.
    let more = [(Op::Subscribe, 30), (Op::Publish, 15), (Op::Register, 15), (Op::Update, 60)];
    members.mix.extend(more);
    members.mix.extend([
        (Op::PublishInteraction, 10),
        (Op::SubscribeInteraction, 15),
        (Op::SendInteraction, 30),
    ]);
    members
}
