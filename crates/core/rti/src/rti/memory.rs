//! The memory of the services, and its bounds.

use super::Rti;
use crate::limits::Growth;
use crate::proposal::CallerId;
use base::MemoryUse;

/// Bounds on memory, in bytes. Calls that need more object models or federations are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryBounds {
    /// Object models of federation executions.
    pub models: usize,
    /// Object instances, names, synchronization points, declarations and members.
    pub federations: usize,
    /// All that is kept for other nodes or waits for their messages. No call is refused for it.
    /// Messages of streams that wait for earlier ones may take a quarter of it.
    pub links: usize,
}

impl Default for MemoryBounds {
    /// Unlimited.
    fn default() -> Self {
        Self { models: usize::MAX, federations: usize::MAX, links: usize::MAX }
    }
}

/// Estimates of the services' memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemorySums {
    /// Callbacks that wait for federates. A callback that waits for several counts for each.
    pub queues: usize,
    /// Object models of federation executions. A module that several of them share counts for each.
    pub models: usize,
    /// Object instances, names, synchronization points, declarations and members.
    pub federations: usize,
    /// Messages that are kept for repairs of other nodes.
    pub repairs: usize,
    /// Peer messages that other nodes have not acknowledged.
    pub peer_messages: usize,
    /// Messages of other nodes' streams that wait for earlier ones, or for a part of a snapshot.
    pub reordering: usize,
}

/// The bounds, and the number of calls refused because of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    pub(super) bounds: MemoryBounds,
    pub(super) refused_models: u64,
    pub(super) refused_federations: u64,
}

impl Rti {
    /// The memory of the services. Cost: O(1).
    pub fn memory(&self) -> MemorySums {
        MemorySums {
            queues: self.shared.delivery.queued_bytes(),
            models: self.control.model_bytes(),
            federations: self.control.bytes() + self.shared.object_bytes,
            repairs: self.shared.peers.history_bytes(),
            peer_messages: self.shared.peers.queued_bytes(),
            reordering: self.shared.peers.buffers.bytes(),
        }
    }

    /// Sets the bounds. Memory already in use stays in use.
    pub fn set_memory_bounds(&mut self, bounds: MemoryBounds) {
        self.memory.bounds = bounds;
        self.shared.peers.set_links_bound(bounds.links);
    }

    /// Numbers of calls refused because memory was short: for an object model, and for the contents
    /// of a federation execution.
    pub fn refused_for_memory(&self) -> (u64, u64) {
        (self.memory.refused_models, self.memory.refused_federations)
    }

    /// Bytes of callbacks that wait for a caller.
    pub fn queued_bytes(&self, caller: CallerId) -> usize {
        self.callers.get(&caller).map_or(0, |caller| self.shared.delivery.queued(caller.client).1)
    }

    /// Drops the best-effort callbacks that wait for a caller. Returns how many were dropped.
    pub fn drop_best_effort(&mut self, caller: CallerId) -> u64 {
        let client = self.callers.get(&caller).map(|caller| caller.client);
        client.map_or(0, |client| self.shared.delivery.drop_best_effort(client))
    }

    /// Drops the oldest messages kept for repairs until they take at most `bytes`. A node that
    /// requests them later gets the state instead.
    pub fn trim_repairs(&mut self, bytes: usize) -> u64 {
        self.shared.peers.trim_history(bytes)
    }
}

impl Memory {
    /// Room for object models, of which `used` bytes exist.
    pub(super) fn models(&mut self, used: usize) -> Growth<'_> {
        self.both(used, 0).0
    }

    /// Room for the contents of federation executions, of which `used` bytes exist.
    pub(super) fn federations(&mut self, used: usize) -> Growth<'_> {
        self.both(0, used).1
    }

    /// Room for both.
    pub(super) fn both(&mut self, models: usize, federations: usize) -> (Growth<'_>, Growth<'_>) {
        let Self { bounds, refused_models, refused_federations } = self;
        let growth = |of, bound, used, refused| Growth { of, bound, used, refused };
        (
            growth(MemoryUse::Models, bounds.models, models, refused_models),
            growth(MemoryUse::Federations, bounds.federations, federations, refused_federations),
        )
    }
}
