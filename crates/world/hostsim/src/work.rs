//! Tasks of federates, and the nodes that they run at.

use std::time::Duration;

/// A task of a pair or a group of federates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// Round trips, one after the other: the first federate updates, and the other answers each
    /// reflect with an update of the same size.
    RoundTrips {
        /// Number of measured round trips.
        count: u32,
        /// Number of earlier round trips that are not measured.
        warm_up: u32,
    },
    /// A flood: one federate updates as fast as back-pressure allows. The subscribers of a node
    /// share one process.
    Flood {
        /// Number of updates.
        count: u32,
        /// Subscribing federates at each receiving node.
        subscribers: u32,
    },
    /// Several floods to the same subscribers: federates at one node, each in a process of its own,
    /// update as fast as back-pressure allows. At each other node one federate subscribes.
    FanIn {
        /// Number of updates of all of them together.
        count: u32,
        /// Updating federates.
        publishers: u32,
    },
    /// Updates of one federate at random moments, regardless of earlier ones. The subscribers of a
    /// node share one process.
    Paced {
        /// Number of updates.
        count: u32,
        /// Mean time between two updates (exponentially distributed).
        mean_gap: Duration,
        /// Subscribing federates at each receiving node.
        subscribers: u32,
    },
    /// Simulated entities: one federate owns the objects of a workload and updates each as its
    /// Markov chain has it, mode 0 by best effort and mode 1 reliably. The subscribers of a node
    /// share one process.
    Entities {
        /// Index into [`Federation::workloads`](crate::Federation::workloads).
        workload: usize,
        /// Length of the run.
        run: Duration,
        /// Subscribing federates at each receiving node.
        subscribers: u32,
    },
    /// Recorded updates: one federate owns all objects of a recording and updates each at its moments. The
    /// subscribers of a node share one process.
    Replay {
        /// Index into [`Federation::recordings`](crate::Federation::recordings).
        recording: usize,
        /// Subscribing federates at each receiving node.
        subscribers: u32,
    },
}

/// A task with its size and its nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// The task.
    pub task: Task,
    /// Bytes of the one attribute of each update; at least [`SIZE_BYTES_MIN`], of round trips at least
    /// [`NUMBERED_BYTES_MIN`]. For entities and recordings, which have sizes of their own, the least size.
    pub size_bytes: u32,
    /// The node of the first federate.
    pub from: u16,
    /// The nodes of the other federates: at least one, each once; exactly one for round trips.
    pub to: Vec<u16>,
}

/// Minimum size of an update, in bytes: its number and its time stamp, 8 bytes each.
pub const SIZE_BYTES_MIN: u32 = 16;
/// Minimum size of an update of a round trip, in bytes: its number. The federate that sends it keeps the time.
pub const NUMBERED_BYTES_MIN: u32 = 8;
/// Maximum size of an update, in bytes.
pub const SIZE_BYTES_MAX: u32 = 1 << 20;

/// An update of an entity, or of a federate that updates at random moments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    /// Its moment, from the beginning of the task.
    pub at: Duration,
    /// Number of the object within the task, from 0.
    pub object: u32,
    /// Size of the payload, in bytes.
    pub size_bytes: u32,
    /// Reliable transportation; otherwise best effort.
    pub reliable: bool,
}

impl Work {
    /// Measured updates or round trips; 0 for entities and recordings, which determine the number.
    pub fn count(&self) -> u32 {
        self.task.count()
    }

    /// Number of receiving federates at all nodes.
    pub(crate) fn subscribers(&self) -> u64 {
        u64::from(self.task.subscribers()) * self.to.len() as u64
    }

    /// Number of federate processes.
    pub(crate) fn processes(&self) -> usize {
        self.task.publishers() as usize + self.to.len()
    }
}

impl Task {
    /// Measured updates or round trips; 0 for entities and recordings, which determine the number.
    pub(crate) fn count(self) -> u32 {
        match self {
            Task::RoundTrips { count, .. }
            | Task::Flood { count, .. }
            | Task::FanIn { count, .. }
            | Task::Paced { count, .. } => count,
            Task::Entities { .. } | Task::Replay { .. } => 0,
        }
    }

    /// Minimum size of an update, in bytes.
    pub(crate) fn size_bytes_min(self) -> u32 {
        match self {
            Task::RoundTrips { .. } => NUMBERED_BYTES_MIN,
            _ => SIZE_BYTES_MIN,
        }
    }

    /// Number of federates that begin, each in a process of its own.
    pub fn publishers(self) -> u32 {
        match self {
            Task::FanIn { publishers, .. } => publishers,
            _ => 1,
        }
    }

    /// Whether it is measured in reflects per second.
    pub const fn is_flood(self) -> bool {
        matches!(self, Task::Flood { .. } | Task::FanIn { .. })
    }

    /// Whether the moments of its updates are known in advance.
    pub const fn is_scripted(self) -> bool {
        matches!(self, Task::Paced { .. } | Task::Entities { .. } | Task::Replay { .. })
    }

    /// Number of receiving federates at each node.
    pub fn subscribers(self) -> u32 {
        match self {
            Task::RoundTrips { .. } | Task::FanIn { .. } => 1,
            Task::Flood { subscribers, .. }
            | Task::Paced { subscribers, .. }
            | Task::Entities { subscribers, .. }
            | Task::Replay { subscribers, .. } => subscribers,
        }
    }

    /// The name of the task.
    pub const fn name(self) -> &'static str {
        match self {
            Task::RoundTrips { .. } => "round-trips",
            Task::Flood { .. } => "flood",
            Task::FanIn { .. } => "fan-in",
            Task::Paced { .. } => "paced",
            Task::Entities { .. } => "entities",
            Task::Replay { .. } => "replay",
        }
    }
}
