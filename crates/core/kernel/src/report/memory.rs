//! The uses of a node's memory.

use crate::Kernel;
use base::MemoryStatus;
use serde::{Deserialize, Serialize};

/// The memory that the clients of a node may use, and its uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// The memory that clients may use, in bytes.
    pub total: usize,
    /// Each use.
    pub uses: Vec<MemoryUseReport>,
}

/// One use of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUseReport {
    /// Its name: input, queues, history, models, federations or links.
    pub of: String,
    /// Bytes used now.
    pub used: usize,
    /// The most bytes used so far.
    pub peak: usize,
    /// Bytes that it may use now.
    pub bound: usize,
    /// Number of times that clients had to wait because little memory was left.
    #[serde(alias = "held_back")]
    pub paused: u64,
    /// Calls refused because nothing was left.
    pub refused: u64,
    /// Messages dropped because nothing was left.
    pub dropped: u64,
    /// Sessions and connections ended because nothing was left.
    pub ended: u64,
}

impl MemoryReport {
    pub(crate) fn of(kernel: &Kernel) -> Self {
        Self { total: kernel.memory_total(), uses: kernel.memory().iter().map(MemoryUseReport::of).collect() }
    }
}

impl MemoryUseReport {
    fn of(status: &MemoryStatus) -> Self {
        let MemoryStatus { of, used, peak, bound, actions } = *status;
        let (paused, refused) = (actions.paused, actions.refused);
        let (dropped, ended) = (actions.dropped, actions.ended);
        Self { of: of.to_string(), used, peak, bound, paused, refused, dropped, ended }
    }
}
