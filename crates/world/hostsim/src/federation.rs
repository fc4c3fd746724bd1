//! What is simulated: nodes, computers, and what federates do.

use std::time::Duration;

use base::Seed;
use kernel::TopologyKind;
use netsim::cluster::Ethernet;

use crate::model::{HostModel, ModelError};

/// How nodes are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joined {
    /// Each to the one before it.
    Chain,
    /// Each to the first.
    Star,
    /// Each to every other one, by way of triads (Primary, PopUp, PullDown).
    Mesh,
}

impl Joined {
    /// What nodes are configured with.
    pub(crate) fn topology(self) -> TopologyKind {
        match self {
            Joined::Chain | Joined::Star => TopologyKind::Tree,
            Joined::Mesh => TopologyKind::Mesh,
        }
    }

    /// Which node a node connects to by its configuration; in a mesh it learns of the others.
    pub(crate) fn target(self, node: usize) -> Option<usize> {
        match self {
            Joined::Chain => node.checked_sub(1),
            Joined::Star | Joined::Mesh => (node > 0).then_some(0),
        }
    }

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Joined::Chain => "chain",
            Joined::Star => "star",
            Joined::Mesh => "mesh",
        }
    }
}

/// What a pair or a group of federates does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// One updates, the other answers each reflect by an update with as many bytes, one exchange after the other.
    RoundTrips {
        /// How many are measured.
        count: u32,
        /// Before these, as many that are not.
        warm_up: u32,
    },
    /// One updates as fast as it is let; so many subscribers, in one process.
    Flood {
        /// Updates.
        count: u32,
        /// Subscribing federates.
        subscribers: u32,
    },
    /// One updates at random moments, whatever has become of earlier ones; so many subscribers, in one process.
    Paced {
        /// Updates.
        count: u32,
        /// Time between two, on average (exponential).
        mean_gap: Duration,
        /// Subscribing federates.
        subscribers: u32,
    },
}

/// A task, and where it happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// What is done.
    pub task: Task,
    /// Bytes of the one attribute of each update; at least [`SIZE_BYTES_MIN`].
    pub size_bytes: u32,
    /// The node of the federate that begins.
    pub from: u16,
    /// The node of the others.
    pub to: u16,
}

/// Updates hold their number and their moment of birth.
pub const SIZE_BYTES_MIN: u32 = 16;
/// Most bytes of an update.
pub const SIZE_BYTES_MAX: u32 = 1 << 20;
/// Most nodes.
pub const NODES_MAX: u16 = 1_000;
/// Most updates or round trips of a task, and most subscribers of one.
pub const COUNT_MAX: u32 = 10_000_000;
/// Most subscribers of a task.
pub const SUBSCRIBERS_MAX: u32 = 1_000;

/// Where processes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// All on one computer.
    Together,
    /// Each node on a computer of its own, with its federates.
    ByNode,
    /// Each process on a computer of its own.
    Apart,
}

/// A federation to be simulated.
#[derive(Clone, PartialEq, Debug)]
pub struct Federation {
    /// Nodes.
    pub nodes: u16,
    /// How they are joined.
    pub joined: Joined,
    /// What federates do, all at the same time.
    pub work: Vec<Work>,
    /// Computers.
    pub hosts: HostModel,
    /// Where processes run.
    pub placement: Placement,
    /// Each process stays on one core of its computer, as [`Federation::core`] has it; else whichever is idle runs it.
    pub pinned: bool,
    /// The network between computers.
    pub ethernet: Ethernet,
    /// Where chance comes from.
    pub seed: Seed,
}

/// A federation that makes no sense.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FederationError {
    /// Computers.
    #[error("host model: {0}")]
    Hosts(#[from] ModelError),
    /// Too few or too many of something.
    #[error("{what} must be from {min} to {max}, not {got}")]
    Range {
        /// What is counted.
        what: &'static str,
        /// Least.
        min: u64,
        /// Most.
        max: u64,
        /// What was asked for.
        got: u64,
    },
    /// A task at a node that there is not.
    #[error("task {task} is at node {node}, but nodes are numbered from 0 to {last}")]
    Node {
        /// Which task, from 1.
        task: usize,
        /// Which node.
        node: u16,
        /// The last one.
        last: u16,
    },
}

/// A process of a federation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Process {
    /// A node, by its number.
    Node(u16),
    /// The process of the federate that begins a task, by the number of the task.
    First(usize),
    /// That of the others.
    Others(usize),
}

impl Federation {
    /// The number of the core on which a process stays, if processes do; to be counted around on a computer with fewer cores.
    ///
    /// Neighbours along a chain are on different cores.
    ///
    /// # Panics
    /// There is no such task.
    pub fn core(&self, process: Process) -> Option<u32> {
        let number = match process {
            Process::Node(node) => u32::from(node) + 1,
            Process::First(task) => self.work[task].from.into(),
            Process::Others(task) => u32::from(self.work[task].to) + 2,
        };
        self.pinned.then_some(number)
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// [`FederationError`].
    pub fn check(&self) -> Result<(), FederationError> {
        self.hosts.check()?;
        let range = |what, min, max, got| {
            let fits = (min..=max).contains(&got);
            if fits { Ok(()) } else { Err(FederationError::Range { what, min, max, got }) }
        };
        range("the number of nodes", 1, NODES_MAX.into(), self.nodes.into())?;
        range("the number of tasks", 1, 1_000, self.work.len() as u64)?;
        for (index, work) in self.work.iter().enumerate() {
            let last = self.nodes - 1;
            if let Some(node) = [work.from, work.to].into_iter().find(|node| *node > last) {
                return Err(FederationError::Node { task: index + 1, node, last });
            }
            let (min, max) = (SIZE_BYTES_MIN.into(), SIZE_BYTES_MAX.into());
            range("the size of an update in bytes", min, max, work.size_bytes.into())?;
            let (count, subscribers) = work.task.counts();
            range("the count of a task", 1, COUNT_MAX.into(), count.into())?;
            range("the number of subscribers", 1, SUBSCRIBERS_MAX.into(), subscribers.into())?;
        }
        Ok(())
    }
}

impl Work {
    /// Updates or round trips that are measured.
    pub fn count(&self) -> u32 {
        self.task.counts().0
    }

    /// Times that are taken: one a round trip, or one a reflect.
    pub(crate) fn expected_times(&self) -> u64 {
        let (count, subscribers) = self.task.counts();
        u64::from(count) * u64::from(subscribers)
    }
}

impl Task {
    /// Updates or round trips, and subscribers.
    pub(crate) fn counts(self) -> (u32, u32) {
        match self {
            Task::RoundTrips { count, .. } => (count, 1),
            Task::Flood { count, subscribers } | Task::Paced { count, subscribers, .. } => {
                (count, subscribers)
            }
        }
    }

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Task::RoundTrips { .. } => "round-trips",
            Task::Flood { .. } => "flood",
            Task::Paced { .. } => "paced",
        }
    }
}
