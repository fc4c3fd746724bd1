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
}

/// A task with its size and its nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// The task.
    pub task: Task,
    /// Bytes of the one attribute of each update; at least [`SIZE_BYTES_MIN`], of round trips at least
    /// [`NUMBERED_BYTES_MIN`]. For entities, whose workload has sizes of its own, the least size.
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
    /// Measured updates or round trips; 0 for entities, whose workload determines the number.
    pub fn count(&self) -> u32 {
        self.task.count()
    }

    /// Number of receiving federates at all nodes.
    pub(crate) fn subscribers(&self) -> u64 {
        u64::from(self.task.subscribers()) * self.to.len() as u64
    }

    /// Number of federate processes.
    pub(crate) fn processes(&self) -> usize {
        1 + self.to.len()
    }
}

impl Task {
    /// Measured updates or round trips; 0 for entities, whose workload determines the number.
    pub(crate) fn count(self) -> u32 {
        match self {
            Task::RoundTrips { count, .. } | Task::Flood { count, .. } | Task::Paced { count, .. } => count,
            Task::Entities { .. } => 0,
        }
    }

    /// Minimum size of an update, in bytes.
    pub(crate) fn size_bytes_min(self) -> u32 {
        match self {
            Task::RoundTrips { .. } => NUMBERED_BYTES_MIN,
            _ => SIZE_BYTES_MIN,
        }
    }

    /// Number of receiving federates at each node.
    pub(crate) fn subscribers(self) -> u32 {
        match self {
            Task::RoundTrips { .. } => 1,
            Task::Flood { subscribers, .. }
            | Task::Paced { subscribers, .. }
            | Task::Entities { subscribers, .. } => subscribers,
        }
    }

    /// The name of the task.
    pub const fn name(self) -> &'static str {
        match self {
            Task::RoundTrips { .. } => "round-trips",
            Task::Flood { .. } => "flood",
            Task::Paced { .. } => "paced",
            Task::Entities { .. } => "entities",
        }
    }
}
