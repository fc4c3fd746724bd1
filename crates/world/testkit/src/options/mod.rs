//! The parameters of a run: drawn from its seed, printed when it fails.

mod faults;
mod shape;
mod swarm;

pub use faults::{FaultKind, FederateFault, PlannedFault};
pub use shape::{Edge, Kind, Shape};

use crate::fom::Switches;
use crate::script::{Group, Op};
use base::Seed;
use kernel::{PipeConfig, link_pipe};
use std::time::Duration;

/// Timeouts of both ends of every session. Short ones let faults reach every timeout within a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// A client's heartbeat interval.
    pub heartbeat: Duration,
    /// Silence after which either end gives up a connection.
    pub heart: Duration,
    /// A client's wait between two attempts to resume.
    pub retry: Duration,
    /// How long a federate is kept after its connection was closed.
    pub closed_window: Duration,
    /// How long a session is kept after its connection fell silent.
    pub resume_window: Duration,
    /// How long a session without a joined federate is kept.
    pub unjoined_window: Duration,
}

/// Limits, low enough that a federate that does not read soon has an effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes in flight in one direction of a connection.
    pub stream_window: usize,
    /// The kernel holds callbacks back from a session with this many unsent bytes.
    pub unsent_bytes_high: usize,
    /// Largest number of bytes of callbacks that wait for one federate.
    pub queue_bytes_max: usize,
    /// Messages of a stream after which its sender decides again which followers get a part of it.
    pub filter_window: u32,
}

/// Times after which a node gives up a link, another node, or itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Interval between two keep-alives on a link.
    pub keep_alive: Duration,
    /// Silence after which a link is dead.
    pub silence: Duration,
    /// A node that has been unreachable for this long is dead.
    pub node: Duration,
    /// A node without contact to a majority for this long gives up.
    pub minority: Duration,
    /// The longest wait between two attempts to make a link again.
    pub backoff: Duration,
}

impl Timing {
    /// Short times, so that a few seconds are enough to reach them all.
    pub const SHORT: Self = Self {
        keep_alive: Duration::from_millis(100),
        silence: Duration::from_millis(500),
        node: Duration::from_millis(600),
        minority: Duration::from_secs(6),
        backoff: Duration::from_millis(400),
    };
    /// The default settings of a node.
    pub const USUAL: Self = Self {
        keep_alive: Duration::from_millis(500),
        silence: Duration::from_millis(2_500),
        node: Duration::from_secs(1),
        minority: Duration::from_secs(10),
        backoff: Duration::from_secs(5),
    };
}

/// How nodes read FOM modules that take long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Modules of up to this many octets are read at once.
    pub at_once_bytes: usize,
    /// How long longer modules take.
    pub takes: Duration,
    /// The node where reading takes this long; `None`: all nodes. At the others it takes no time.
    pub at: Option<usize>,
}

impl Reading {
    /// Every module is read without delay.
    pub const AT_ONCE: Self = Self { at_once_bytes: 16 << 10, takes: Duration::ZERO, at: None };
}

/// The multicast groups of a site.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Multicast {
    /// Number of groups.
    pub groups: usize,
    /// Percentage of the incoming datagrams that each node loses.
    pub loss: u64,
}

/// The kind of run that is drawn from a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setup {
    /// One node by itself, whose federates mainly use one group of services.
    One(Group),
    /// A network of nodes.
    Many(Kind),
}

impl Setup {
    /// All setups with their names.
    pub const ALL: [(&str, Self); 10] = [
        ("federation", Self::One(Group::Federation)),
        ("declaration", Self::One(Group::Declaration)),
        ("object", Self::One(Group::Object)),
        ("distribution", Self::One(Group::Distribution)),
        ("support", Self::One(Group::Support)),
        ("session", Self::One(Group::Session)),
        ("tree", Self::Many(Kind::Tree)),
        ("mesh", Self::Many(Kind::Mesh)),
        ("hypercube", Self::Many(Kind::Hypercube)),
        ("graph", Self::Many(Kind::Graph)),
    ];

    /// The label from which the seeds of its tests are derived.
    pub(crate) fn label(self) -> String {
        let prefix = if matches!(self, Self::One(_)) { "" } else { "cluster " };
        format!("{prefix}{}", self.name())
    }

    /// The test target that runs it.
    pub(crate) fn test(self) -> &'static str {
        if matches!(self, Self::One(_)) { "services" } else { "cluster" }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, setup)| *setup == self).map_or("alone", |(name, _)| name)
    }
}

/// All parameters of a run, drawn before it starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed from which they were drawn.
    pub seed: Seed,
    /// Number of federates.
    pub federates: usize,
    /// Number of federation executions in which they take part.
    pub federations: usize,
    /// One-way delays between each federate and its server.
    pub delays: Vec<Duration>,
    /// Bits per second of the links; `None`: unlimited.
    pub rate: Option<u64>,
    /// Mean time between two calls of one federate.
    pub call_interval: Duration,
    /// Number of calls that a federate makes at once.
    pub burst: u64,
    /// Duration of the safety phase.
    pub lasts: Duration,
    /// Largest number of octets that values have beyond their stamps.
    pub padding: u64,
    /// Percentage of calls that a federate makes wrongly on purpose.
    pub mistakes: u64,
    /// Whether federates that lost their session begin a new one.
    pub restart: bool,
    /// The operations of the federates, with weights.
    pub mix: Vec<(Op, u64)>,
    /// Whether federates do nothing by themselves, and begin no session.
    pub is_by_hand: bool,
    /// The FOM module of the federations; `None`: that of the test kit, with `switches`.
    pub module: Option<String>,
    /// The switches of the object model.
    pub switches: Switches,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Limits.
    pub limits: Limits,
    /// Whether the traffic between nodes and federates is tapped, so that it can be compared with
    /// the reference model.
    pub is_tapped: bool,
    /// Nodes and links.
    pub shape: Shape,
    /// The delay of each node from the middle of the network, spare nodes included: a packet
    /// between two nodes takes the sum of both.
    pub sites: Vec<Duration>,
    /// Number of nodes that are absent at the beginning.
    pub spares: usize,
    /// A node that is never lost; joining nodes begin at it.
    pub protected: usize,
    /// The node of each federate at the beginning; `None`: in turn.
    pub homes: Option<Vec<usize>>,
    /// Timeouts of nodes.
    pub timing: Timing,
    /// Settings of the pipes towards neighbours.
    pub pipe: PipeConfig,
    /// How long FOM modules take to read.
    pub reading: Reading,
    /// Multicast groups that all nodes share in addition to their links.
    pub multicast: Option<Multicast>,
    /// Links of a mesh follow the traffic; `None`: there are links between all nodes.
    pub on_demand: Option<kernel::OnDemand>,
    /// The longest time that the nodes' disks, where they keep the voters, need to sync; `None`:
    /// there are no disks.
    pub disk: Option<Duration>,
    /// Number of clients that send garbage to federate and link ports.
    pub hostile: usize,
    /// The planned faults.
    pub faults: Vec<PlannedFault>,
}

impl Options {
    /// The swarm: each parameter is drawn independently, so that runs differ in kind.
    pub fn swarm(seed: Seed, setup: Setup) -> Self {
        match setup {
            Setup::One(group) => swarm::one(seed, group),
            Setup::Many(kind) => swarm::many(seed, kind),
        }
    }

    /// Federates driven by hand, and no faults: for scripted scenarios.
    pub fn quiet(seed: Seed, shape: Shape, federates: usize) -> Self {
        let mut options = Self::swarm(seed, Setup::Many(Kind::Graph));
        options.federates = federates;
        options.federations = 1;
        options.delays = vec![Duration::from_micros(100); federates];
        options.rate = None;
        options.mistakes = 0;
        options.padding = 0;
        options.hostile = 0;
        options.is_by_hand = true;
        options.restart = false;
        options.switches.auto_provide = false;
        options.is_tapped = shape.kind == Kind::Alone;
        options.spares = usize::from(shape.kind != Kind::Alone);
        options.sites = vec![Duration::from_micros(250); shape.nodes + options.spares];
        options.protected = 0;
        options.shape = shape;
        options.timing = Timing::USUAL;
        options.pipe = link_pipe();
        options.multicast = None;
        options.on_demand = None;
        options.disk = None;
        options.reading = Reading::AT_ONCE;
        options.faults.clear();
        options
    }

    /// [Quiet](Self::quiet) options for counting messages: the nodes of `shape` and no spare one, all
    /// links alike, and federates that send nothing unasked.
    pub(crate) fn for_counting(seed: Seed, shape: Shape, federates: usize, module: String) -> Self {
        /// Half of the time that a frame takes over a link.
        const HALF_WAY: Duration = Duration::from_micros(150);
        /// Longer than any run, so that federates add nothing to the messages of the nodes.
        const NEVER: Duration = Duration::from_secs(1 << 24);
        let mut options = Self::quiet(seed, shape, federates);
        options.spares = 0;
        options.limits.filter_window = kernel::Config::default().rti.network.filter_window;
        options.sites = vec![HALF_WAY; options.shape.nodes];
        options.timeouts.heartbeat = NEVER;
        options.timeouts.heart = NEVER;
        options.module = Some(module);
        options
    }

    /// Number of nodes, spare ones included.
    pub fn nodes(&self) -> usize {
        self.shape.nodes + self.spares
    }

    /// Whether the nodes form a network.
    pub fn is_networked(&self) -> bool {
        self.shape.kind != Kind::Alone
    }

    /// Longest time that an answer may take: as long as faults last, and then until nodes have
    /// reorganized.
    pub(crate) fn patience(&self) -> Duration {
        let faults = self.faults.iter().map(|fault| fault.lasts).sum::<Duration>();
        let Timing { minority, node, silence, .. } = self.timing;
        faults + minority + node + 2 * silence + 2 * self.timeouts.heart + Duration::from_secs(10)
    }
}
