//! Putting fragments together again, within limits.

use crate::error::FrameError;
use crate::frame::{Fragment, LANES, MESSAGE_HEAD_BYTES, RECORD_HEAD_BYTES};
use bytes::{Bytes, BytesMut};

#[derive(Debug)]
struct Transfer {
    number: u32,
    total: usize,
    got: BytesMut,
}

/// The transfers under way from one peer: at most one per lane. Memory grows with what came, never with what was
/// announced, and is bounded by the number of lanes times the message limit.
#[derive(Debug)]
pub(crate) struct Reassembly {
    lanes: [Option<Transfer>; LANES],
    limit: usize,
}

/// What a fragment led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// More is to come.
    Partial,
    /// A whole record.
    Whole(Bytes),
    /// An earlier part is missing: the transfer is given up.
    Lost,
}

impl Reassembly {
    pub(crate) fn new(message_bytes_max: usize) -> Self {
        let limit = message_bytes_max.saturating_add(MESSAGE_HEAD_BYTES + RECORD_HEAD_BYTES);
        Self { lanes: Default::default(), limit }
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

    /// Forgets everything: the link went down.
    pub(crate) fn clear(&mut self) {
        self.lanes = Default::default();
    }
}
