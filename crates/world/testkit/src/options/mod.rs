//! What a run consists of: drawn from its seed, printed when it fails.

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
    /// Silence after which either end gives a connection up.
    pub heart: Duration,
    /// How long a client waits between two tries to resume.
    pub retry: Duration,
    /// How long a federate is kept whose connection was closed.
    pub closed_window: Duration,
    /// How long a session is kept whose connection fell silent.
    pub resume_window: Duration,
    /// How long a session without a joined federate is kept.
    pub unjoined_window: Duration,
}

/// Limits under which a federate that does not read is felt soon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes in one direction of a connection.
    pub stream_window: usize,
    /// Bytes of a session from which the kernel holds callbacks back.
    pub unsent_bytes_high: usize,
    /// Bytes of callbacks that wait for one federate at most.
    pub queue_bytes_max: usize,
}

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

/// How FOM modules are read that take long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Modules of up to so many octets are read at once.
    pub at_once_bytes: usize,
    /// How long the others take.
    pub takes: Duration,
    /// The nodes where it takes so long; `None`: at all of them. Elsewhere it takes no time.
    pub at: Option<usize>,
}

impl Reading {
    /// Everything is read in no time.
    pub const AT_ONCE: Self = Self { at_once_bytes: 16 << 10, takes: Duration::ZERO, at: None };
}

/// The multicast groups of a site.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Multicast {
    /// How many.
    pub groups: usize,
    /// Datagrams of a hundred that each node loses of what comes to it.
    pub loss: u64,
}

/// What is drawn from a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setup {
    /// One node by itself, whose federates use a group of services most.
    One(Group),
    /// A network of nodes.
    Many(Kind),
}

impl Setup {
    /// All of them, by name.
    pub const ALL: [(&str, Self); 9] = [
        ("federation", Self::One(Group::Federation)),
        ("declaration", Self::One(Group::Declaration)),
        ("object", Self::One(Group::Object)),
        ("support", Self::One(Group::Support)),
        ("session", Self::One(Group::Session)),
        ("tree", Self::Many(Kind::Tree)),
        ("mesh", Self::Many(Kind::Mesh)),
        ("hypercube", Self::Many(Kind::Hypercube)),
        ("graph", Self::Many(Kind::Graph)),
    ];

    /// Where the seeds of its tests come from.
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

/// Everything that is drawn for a run before it starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed it was drawn from.
    pub seed: Seed,
    /// How many federates there are.
    pub federates: usize,
    /// In how many federation executions they are.
    pub federations: usize,
    /// One way, between each federate and the server.
    pub delays: Vec<Duration>,
    /// Bits per second of the links; `None` is infinitely fast.
    pub rate: Option<u64>,
    /// Mean time between two calls of one federate.
    pub pace: Duration,
    /// How many calls a federate makes at once.
    pub burst: u64,
    /// How long the safety phase lasts.
    pub lasts: Duration,
    /// Values have up to so many octets more than their stamp.
    pub padding: u64,
    /// Calls that a federate gets wrong on purpose, per cent.
    pub mistakes: u64,
    /// Federates that lost their session begin a new one.
    pub restart: bool,
    /// What the federates call, with weights.
    pub mix: Vec<(Op, u64)>,
    /// Federates do nothing of themselves, and begin no session.
    pub is_by_hand: bool,
    /// The FOM module of the federations; `None`: that of the test kit, with these switches.
    pub module: Option<String>,
    /// The switches of the object model.
    pub switches: Switches,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Limits.
    pub limits: Limits,
    /// What passes between nodes and federates is read along, so that it can be held against the reference model.
    pub is_tapped: bool,
    /// Nodes and links.
    pub shape: Shape,
    /// How far each node is from the middle of the network, spare ones included: a packet between two nodes takes the sum
    /// of both.
    pub sites: Vec<Duration>,
    /// Nodes that are not there at the beginning.
    pub spares: usize,
    /// A node that is never lost; joining nodes begin at it.
    pub protected: usize,
    /// At which node each federate begins; `None`: in turn.
    pub homes: Option<Vec<usize>>,
    /// Timeouts of nodes.
    pub timing: Timing,
    /// Pipes towards neighbours.
    pub pipe: PipeConfig,
    /// How long FOM modules take.
    pub reading: Reading,
    /// Multicast groups that all nodes share, beside their links.
    pub multicast: Option<Multicast>,
    /// Nodes keep who votes on a disk, which needs up to so long to sync; `None`: they have none.
    pub disk: Option<Duration>,
    /// Clients that send nonsense to federate and link ports.
    pub hostile: usize,
    /// What goes wrong when.
    pub faults: Vec<PlannedFault>,
}

impl Options {
    /// The swarm: each parameter drawn by itself, so that runs differ in kind.
    pub fn swarm(seed: Seed, setup: Setup) -> Self {
        match setup {
            Setup::One(group) => swarm::one(seed, group),
            Setup::Many(kind) => swarm::many(seed, kind),
        }
    }

    /// Federates by hand, and nothing that goes wrong: for scripted scenarios.
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
        options.disk = None;
        options.reading = Reading::AT_ONCE;
        options.faults.clear();
        options
    }

    /// Nodes, spare ones included.
    pub fn nodes(&self) -> usize {
        self.shape.nodes + self.spares
    }

    /// The nodes are a network.
    pub fn is_networked(&self) -> bool {
        self.shape.kind != Kind::Alone
    }

    /// How long an answer may take: as long as faults last, and then until nodes have sorted themselves out.
    pub(crate) fn patience(&self) -> Duration {
        let faults = self.faults.iter().map(|fault| fault.lasts).sum::<Duration>();
        let Timing { minority, node, silence, .. } = self.timing;
        faults + minority + node + 2 * silence + 2 * self.timeouts.heart + Duration::from_secs(10)
    }
}
