//! What federates do, and where.

use std::time::Duration;

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
    /// One updates as fast as it is let; so many subscribers, in one process at each node of the others.
    Flood {
        /// Updates.
        count: u32,
        /// Subscribing federates at each node of the others.
        subscribers: u32,
    },
    /// One updates at random moments, whatever has become of earlier ones; so many subscribers, in one process at each node of
    /// the others.
    Paced {
        /// Updates.
        count: u32,
        /// Time between two, on average (exponential).
        mean_gap: Duration,
        /// Subscribing federates at each node of the others.
        subscribers: u32,
    },
    /// One has the objects of a workload and updates each as its Markov chain has it: what is of mode 0 by best effort, what is of mode 1
    /// reliably; so many subscribers, in one process at each node of the others.
    Entities {
        /// Which of [`Federation::workloads`](crate::Federation::workloads).
        workload: usize,
        /// For how long.
        run: Duration,
        /// Subscribing federates at each node of the others.
        subscribers: u32,
    },
}

/// A task, and where it happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// What is done.
    pub task: Task,
    /// Bytes of the one attribute of each update; at least [`SIZE_BYTES_MIN`]. Of entities their workload says it, and this is the least.
    pub size_bytes: u32,
    /// The node of the federate that begins.
    pub from: u16,
    /// The nodes of the others, at least one, each once; a single one for round trips.
    pub to: Vec<u16>,
}

/// Updates hold their number and their moment of birth.
pub const SIZE_BYTES_MIN: u32 = 16;
/// Most bytes of an update.
pub const SIZE_BYTES_MAX: u32 = 1 << 20;
/// An update of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    /// From the beginning of its task.
    pub at: Duration,
    /// Of those of the task, from 0.
    pub object: u32,
    /// Payload.
    pub size_bytes: u32,
    /// It is promised to arrive.
    pub reliable: bool,
}

impl Work {
    /// Updates or round trips that are measured; none of entities, whose workload says it.
    pub fn count(&self) -> u32 {
        self.task.count()
    }

    /// Federates of the other side, at all nodes.
    pub(crate) fn subscribers(&self) -> u64 {
        u64::from(self.task.subscribers()) * self.to.len() as u64
    }

    /// Processes of federates.
    pub(crate) fn processes(&self) -> usize {
        1 + self.to.len()
    }
}

impl Task {
    /// Updates or round trips; none of entities, whose workload says it.
    pub(crate) fn count(self) -> u32 {
        match self {
            Task::RoundTrips { count, .. } | Task::Flood { count, .. } | Task::Paced { count, .. } => count,
            Task::Entities { .. } => 0,
        }
    }

    /// Federates of the other side, at each node.
    pub(crate) fn subscribers(self) -> u32 {
        match self {
            Task::RoundTrips { .. } => 1,
            Task::Flood { subscribers, .. }
            | Task::Paced { subscribers, .. }
            | Task::Entities { subscribers, .. } => subscribers,
        }
    }

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Task::RoundTrips { .. } => "round-trips",
            Task::Flood { .. } => "flood",
            Task::Paced { .. } => "paced",
            Task::Entities { .. } => "entities",
        }
    }
}
