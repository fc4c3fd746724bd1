//! Reassembly of fragments, within limits.

use crate::error::FrameError;
use crate::frame::{FIFOS, Fragment, MESSAGE_HEAD_BYTES, RECORD_HEAD_BYTES};
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug)]
struct Transfer {
    number: u32,
    total: usize,
    got: BytesMut,
}

/// The transfers under way from one peer: at most one per FIFO. Memory grows with the received
/// bytes, never with the announced length, and is bounded by the number of FIFOs times the message
/// limit.
#[derive(Debug)]
pub(crate) struct Reassembly {
    fifos: [Option<Transfer>; FIFOS],
    limit: usize,
}

/// Longest record of a link with this message limit.
fn record_limit(message_bytes_max: usize) -> usize {
    message_bytes_max.saturating_add(MESSAGE_HEAD_BYTES + RECORD_HEAD_BYTES)
}

/// The result of a fragment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// More fragments are to come.
    Partial,
    /// The record is whole.
    Whole(Bytes),
    /// An earlier fragment is missing: the transfer is given up.
    Lost,
}

impl Reassembly {
    pub(crate) fn new(message_bytes_max: usize) -> Self {
        Self { fifos: Default::default(), limit: record_limit(message_bytes_max) }
    }

    /// Takes the fragment found at byte `at` of a frame.
    pub(crate) fn take(&mut self, at: usize, fragment: &Fragment) -> Result<Joined, FrameError> {
        let &Fragment { fifo, transfer: number, total, offset, ref part } = fragment;
        if total > self.limit {
            return Err(FrameError::TooLong { at, len: total, limit: self.limit });
        }
        let fifo = &mut self.fifos[fifo];
        let mut lost = false;
        if offset == 0 {
            lost = fifo.is_some();
            *fifo = Some(Transfer { number, total, got: BytesMut::new() });
        }
        let Some(transfer) = fifo.as_mut().filter(|t| t.number == number && t.got.len() == offset) else {
            *fifo = None;
            return Ok(Joined::Lost);
        };
        if transfer.total != total {
            return Err(FrameError::Fragment { at, why: "it states another total than the first part" });
        }
        transfer.got.extend_from_slice(part);
        if transfer.got.len() < total {
            return Ok(if lost { Joined::Lost } else { Joined::Partial });
        }
        let whole = fifo.take().map(|transfer| transfer.got.freeze());
        Ok(whole.map_or(Joined::Partial, Joined::Whole))
    }

    /// Forgets everything, after the link went down.
    pub(crate) fn clear(&mut self) {
        self.fifos = Default::default();
    }
}

/// Datagram transfers that may be under way at a time.
const BEST_EFFORT_TRANSFERS: usize = 16;
/// Bytes that a part costs beyond the datagram it pins: its entry in the map.
const PART_OVERHEAD: usize = 64;

#[derive(Debug)]
struct BestEffortTransfer {
    fifo: usize,
    number: u32,
    total: usize,
    got: usize,
    parts: BTreeMap<usize, Bytes>,
    /// Bytes that the parts keep in memory.
    cost: usize,
}

/// The transfers under way in datagrams, whose fragments arrive in any order, twice or never. All
/// transfers together are limited to [`BEST_EFFORT_TRANSFERS`] and to about twice the message limit
/// (64 KiB at least); the oldest are given up first.
#[derive(Debug)]
pub(crate) struct BestEffortReassembly {
    transfers: VecDeque<BestEffortTransfer>,
    /// Transfers that were completed or given up recently, so that their late fragments are
    /// recognized.
    done: VecDeque<(usize, u32)>,
    cost: usize,
    limit: usize,
}

/// The result of a fragment in a datagram: perhaps a whole record, and the number of fragments that
/// are lost now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BestEffortJoined {
    pub(crate) whole: Option<Bytes>,
    pub(crate) lost: u64,
}

impl BestEffortReassembly {
    pub(crate) fn new(message_bytes_max: usize) -> Self {
        let limit = record_limit(message_bytes_max);
        Self { transfers: VecDeque::new(), done: VecDeque::new(), cost: 0, limit }
    }

    /// Takes the fragment found at byte `at` of a datagram of `pinned` bytes.
    pub(crate) fn take(
        &mut self,
        at: usize,
        fragment: &Fragment,
        pinned: usize,
    ) -> Result<BestEffortJoined, FrameError> {
        let &Fragment { fifo, transfer: number, total, offset, ref part } = fragment;
        if total > self.limit {
            return Err(FrameError::TooLong { at, len: total, limit: self.limit });
        }
        if self.done.contains(&(fifo, number)) {
            return Ok(BestEffortJoined::default());
        }
        let known = self.transfers.iter().position(|t| (t.fifo, t.number) == (fifo, number));
        let index = known.unwrap_or_else(|| {
            let parts = BTreeMap::new();
            self.transfers.push_back(BestEffortTransfer { fifo, number, total, got: 0, parts, cost: 0 });
            self.transfers.len() - 1
        });
        let transfer = &mut self.transfers[index];
        if transfer.total != total {
            let lost = self.give_up(index) + 1;
            return Ok(BestEffortJoined { whole: None, lost });
        }
        if transfer.parts.contains_key(&offset) {
            return Ok(BestEffortJoined::default());
        }
        let cost = pinned + PART_OVERHEAD;
        transfer.parts.insert(offset, part.clone());
        transfer.got += part.len();
        transfer.cost += cost;
        self.cost += cost;
        if transfer.got >= total {
            return Ok(self.finish(index));
        }
        let mut lost = 0;
        let limit = self.limit.saturating_mul(2).max(1 << 16);
        while self.transfers.len() > BEST_EFFORT_TRANSFERS || self.cost > limit {
            lost += self.give_up(0);
        }
        Ok(BestEffortJoined { whole: None, lost })
    }

    /// Ends a transfer and returns the number of its fragments that were received.
    fn give_up(&mut self, index: usize) -> u64 {
        let Some(transfer) = self.transfers.remove(index) else { return 0 };
        self.cost -= transfer.cost;
        if self.done.len() >= BEST_EFFORT_TRANSFERS {
            self.done.pop_front();
        }
        self.done.push_back((transfer.fifo, transfer.number));
        transfer.parts.len() as u64
    }

    fn finish(&mut self, index: usize) -> BestEffortJoined {
        let transfer = &self.transfers[index];
        let mut whole = BytesMut::with_capacity(transfer.total);
        // Overlapping parts add up to the total only if there is a gap elsewhere.
        let fits = transfer.parts.iter().all(|(offset, part)| {
            whole.extend_from_slice(part);
            offset + part.len() == whole.len()
        });
        let came = self.give_up(index);
        if fits {
            BestEffortJoined { whole: Some(whole.freeze()), lost: 0 }
        } else {
            BestEffortJoined { whole: None, lost: came }
        }
    }

    /// Forgets everything, after the link went down.
    pub(crate) fn clear(&mut self) {
        (self.cost, self.transfers, self.done) = (0, VecDeque::new(), VecDeque::new());
    }
}
