//! The memory of messages that wait for earlier ones, summed over all streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes in the buffers of all streams of a node.
///
/// The memory budget asks for it after each turn, and streams come and go in many places. Each
/// buffer therefore keeps its own part up to date. Only one thread uses it, so no ordering is
/// needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferTotal(Arc<AtomicUsize>);

impl BufferTotal {
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The part of one buffer, which is empty.
    pub(crate) fn part(&self) -> BufferedBytes {
        BufferedBytes { own: 0, total: self.clone() }
    }
}

/// The bytes in one buffer. They leave the total when it is dropped.
#[derive(Debug)]
pub(crate) struct BufferedBytes {
    own: usize,
    total: BufferTotal,
}

impl BufferedBytes {
    pub(crate) fn get(&self) -> usize {
        self.own
    }

    pub(crate) fn total(&self) -> usize {
        self.total.bytes()
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.own += bytes;
        self.total.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn remove(&mut self, bytes: usize) {
        self.own -= bytes;
        self.total.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for BufferedBytes {
    fn drop(&mut self) {
        self.remove(self.own);
    }
}
