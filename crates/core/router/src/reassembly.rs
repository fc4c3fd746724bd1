//! Reassembly of fragments, within limits.

use crate::error::FrameError;
use crate::frame::{Fragment, LANES, MESSAGE_HEAD_BYTES, RECORD_HEAD_BYTES};
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug)]
struct Transfer {
    number: u32,
    total: usize,
    got: BytesMut,
}

/// The transfers under way from one peer: at most one per lane. Memory grows with the received
/// bytes, never with the announced length, and is bounded by the number of lanes times the message
/// limit.
#[derive(Debug)]
pub(crate) struct Reassembly {
    lanes: [Option<Transfer>; LANES],
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
        Self { lanes: Default::default(), limit: record_limit(message_bytes_max) }
    }

    /// Takes the fragment found at byte `at` of a frame.
    pub(crate) fn take(&mut self, at: usize, fragment: &Fragment) -> Result<Joined, FrameError> {
        let &Fragment { lane, transfer: number, total, offset, ref part } = fragment;
        if total > self.limit {
            return Err(FrameError::TooLong { at, len: total, limit: self.limit });
        }
        let lane = &mut self.lanes[lane];
        let mut lost = false;
        if offset == 0 {
            lost = lane.is_some();
            *lane = Some(Transfer { number, total, got: BytesMut::new() });
        }
        let Some(transfer) = lane.as_mut().filter(|t| t.number == number && t.got.len() == offset) else {
            *lane = None;
            return Ok(Joined::Lost);
        };
        if transfer.total != total {
            return Err(FrameError::Fragment { at, why: "it states another total than the first part" });
        }
        transfer.got.extend_from_slice(part);
        if transfer.got.len() < total {
            return Ok(if lost { Joined::Lost } else { Joined::Partial });
        }
        let whole = lane.take().map(|transfer| transfer.got.freeze());
        Ok(whole.map_or(Joined::Partial, Joined::Whole))
    }

    /// Forgets everything, after the link went down.
    pub(crate) fn clear(&mut self) {
        self.lanes = Default::default();
    }
}

/// Datagram transfers that may be under way at a time.
const LOOSE_TRANSFERS: usize = 16;
/// Bytes that a part costs beyond the datagram it pins: its entry in the map.
const PART_OVERHEAD: usize = 64;

#[derive(Debug)]
struct LooseTransfer {
    lane: usize,
    number: u32,
    total: usize,
    got: usize,
    parts: BTreeMap<usize, Bytes>,
    /// Bytes that the parts keep in memory.
    cost: usize,
}

/// The transfers under way in datagrams, whose fragments arrive in any order, twice or never. All
/// transfers together are limited to [`LOOSE_TRANSFERS`] and to about twice the message limit (64
/// KiB at least); the oldest are given up first.
#[derive(Debug)]
pub(crate) struct LooseReassembly {
    transfers: VecDeque<LooseTransfer>,
    /// Transfers that were completed or given up lately, so that their late fragments are
    /// recognized.
    done: VecDeque<(usize, u32)>,
    cost: usize,
    limit: usize,
}

/// The result of a fragment in a datagram: perhaps a whole record, and the number of fragments that
/// are lost now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LooseJoined {
    pub(crate) whole: Option<Bytes>,
    pub(crate) lost: u64,
}

impl LooseReassembly {
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
    ) -> Result<LooseJoined, FrameError> {
        let &Fragment { lane, transfer: number, total, offset, ref part } = fragment;
        if total > self.limit {
            return Err(FrameError::TooLong { at, len: total, limit: self.limit });
        }
        if self.done.contains(&(lane, number)) {
            return Ok(LooseJoined::default());
        }
        let known = self.transfers.iter().position(|t| (t.lane, t.number) == (lane, number));
        let place = known.unwrap_or_else(|| {
            let parts = BTreeMap::new();
            self.transfers.push_back(LooseTransfer { lane, number, total, got: 0, parts, cost: 0 });
            self.transfers.len() - 1
        });
        let transfer = &mut self.transfers[place];
        if transfer.total != total {
            let lost = self.give_up(place) + 1;
            return Ok(LooseJoined { whole: None, lost });
        }
        if transfer.parts.contains_key(&offset) {
            return Ok(LooseJoined::default());
        }
        let cost = pinned + PART_OVERHEAD;
        transfer.parts.insert(offset, part.clone());
        transfer.got += part.len();
        transfer.cost += cost;
        self.cost += cost;
        if transfer.got >= total {
            return Ok(self.finish(place));
        }
        let mut lost = 0;
        let limit = self.limit.saturating_mul(2).max(1 << 16);
        while self.transfers.len() > LOOSE_TRANSFERS || self.cost > limit {
            lost += self.give_up(0);
        }
        Ok(LooseJoined { whole: None, lost })
    }

    /// Ends a transfer and returns the number of its fragments that were received.
    fn give_up(&mut self, place: usize) -> u64 {
        let Some(transfer) = self.transfers.remove(place) else { return 0 };
        self.cost -= transfer.cost;
        if self.done.len() >= LOOSE_TRANSFERS {
            self.done.pop_front();
        }
        self.done.push_back((transfer.lane, transfer.number));
        transfer.parts.len() as u64
    }

    fn finish(&mut self, place: usize) -> LooseJoined {
        let transfer = &self.transfers[place];
        let mut whole = BytesMut::with_capacity(transfer.total);
        // Overlapping parts add up to the total only if there is a gap elsewhere.
        let fits = transfer.parts.iter().all(|(offset, part)| {
            whole.extend_from_slice(part);
            offset + part.len() == whole.len()
        });
        let came = self.give_up(place);
        if fits {
            LooseJoined { whole: Some(whole.freeze()), lost: 0 }
        } else {
            LooseJoined { whole: None, lost: came }
        }
    }

    /// Forgets everything, after the link went down.
    pub(crate) fn clear(&mut self) {
        (self.cost, self.transfers, self.done) = (0, VecDeque::new(), VecDeque::new());
    }
}
