//! One member's mode 1 data in one group.

use super::announce::Announcer;
use super::copies::Copies;
use super::counters::SendCounters;
use super::repair::Repairs;
use super::table::{Refused, Table, Why};
use super::trailing::Trailing;
use crate::model::{DataId, Dsn, SnSpace};
use crate::timing::Timing;
use crate::wire::Digest;
use base::Moment;
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// The settings of a [`Sender`].
#[derive(Clone, Debug)]
pub(crate) struct SendConfig {
    pub(crate) timing: Timing,
    pub(crate) space: SnSpace,
    /// RFC 4410 only, without this library's extensions.
    pub(crate) strict: bool,
    /// Bytes of a segment.
    pub(crate) segment_bytes: usize,
    /// The most bytes of all newest messages together.
    pub(crate) buffer_bytes_max: usize,
    /// The most data elements of this sender.
    pub(crate) elements_max: usize,
    /// The share of the rate that repairs may take.
    pub(crate) repair_share: f64,
    /// Send copies of messages that some receiver is likely to miss.
    pub(crate) copies: bool,
    /// The share of the bytes sent that may go to copies that save no repair.
    pub(crate) copy_share: f64,
}

/// A message or segment to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) dsn: Dsn,
    pub(crate) index: u16,
    pub(crate) body: Bytes,
}

/// The reaction to a repair request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Something will be sent.
    Repair,
    /// Nothing will be sent.
    Ignored,
}

/// The sending side of mode 1: numbers and keeps messages, announces, repairs and copies them.
///
/// The caller queues the pieces of a [new version](Sender::update), takes each with
/// [`Sender::take`] when it may leave, and confirms with [`Sender::sent`] that it left. It takes
/// repairs and copies with [`Sender::next_again`].
#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) config: SendConfig,
    pub(super) table: Table,
    pub(super) announcer: Announcer,
    pub(super) trailing: Trailing,
    pub(super) repairs: Repairs,
    pub(super) copies: Copies,
    pub(super) digest: Digest,
    /// Data elements in the order in which they were sent, to find those that are no longer
    /// announced.
    pub(super) by_age: VecDeque<(Moment, DataId)>,
    pub(super) counters: SendCounters,
}

impl Sender {
    pub(crate) fn new(now: Moment, config: SendConfig) -> Self {
        let table =
            Table::new(config.space, config.segment_bytes, config.buffer_bytes_max, config.elements_max);
        Self {
            table,
            announcer: Announcer::default(),
            trailing: Trailing::default(),
            repairs: Repairs::new(now),
            copies: Copies::default(),
            digest: Digest::default(),
            by_age: VecDeque::new(),
            counters: SendCounters::default(),
            config,
        }
    }

    /// Stores a new version of a data element. The caller queues its pieces, counted from 0.
    pub(crate) fn update(&mut self, now: Moment, data: DataId, body: Bytes) -> Result<Dsn, Refused> {
        let (dsn, superseded) = self.table.update(now, data, body)?;
        self.counters.messages += 1;
        self.counters.superseded += u64::from(superseded);
        // Nothing retires without a timeout, and the list would grow for ever.
        if self.config.timing.data_timeout.is_some() {
            self.by_age.push_back((now, data));
        }
        Ok(dsn)
    }

    /// Reserves a data element for mode 2.
    pub(crate) fn claim_directed(&mut self, data: DataId) -> Result<(), Refused> {
        self.table.claim_directed(data)
    }

    /// A piece that was queued when its version was new; `None` when there is a newer version.
    pub(crate) fn take(&self, dsn: Dsn, index: u16) -> Option<Piece> {
        let element = self.table.elements.get(&dsn.data).filter(|element| element.dsn.sn == dsn.sn)?;
        Some(Piece { dsn, index, body: self.table.slice(element, index) })
    }

    /// A piece of the newest version, if all of that version has been sent.
    pub(crate) fn piece(&self, data: DataId, index: u16) -> Option<Piece> {
        let element = self.table.elements.get(&data)?;
        let announced = element.announced.filter(|announced| announced.sn == element.dsn.sn)?;
        (index < announced.segments.max(1)).then(|| Piece {
            dsn: announced,
            index,
            body: self.table.slice(element, index),
        })
    }

    /// The announced version of the next data element after `data`, or of the first one.
    pub(crate) fn announced_after(&self, data: Option<DataId>) -> Option<Dsn> {
        let begin = data.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        let mut after = self.table.elements.range((begin, std::ops::Bound::Unbounded));
        after.find_map(|(_, element)| element.announced)
    }

    /// The length in bytes of a piece, if its version is still the newest.
    pub(crate) fn piece_len(&self, dsn: Dsn, index: u16) -> Option<usize> {
        self.take(dsn, index).map(|piece| piece.body.len())
    }

    /// A piece left, for the reason `why`.
    pub(crate) fn sent(&mut self, now: Moment, dsn: Dsn, index: u16, why: Why, r_max: Duration) {
        match why {
            Why::New => self.counters.pieces_new += 1,
            Why::Repair => self.counters.pieces_repaired += 1,
            Why::Copy => self.counters.pieces_copied += 1,
        }
        // A newer version may have replaced it while the datagram was written.
        let Some(element) = self.table.elements.get_mut(&dsn.data) else { return };
        if element.dsn.sn != dsn.sn {
            return;
        }
        element.announced_at = now;
        if why == Why::Repair && !std::mem::replace(&mut element.repaired, true) {
            self.counters.messages_repaired += 1;
        }
        let Some(piece) = element.pieces.get_mut(usize::from(index)) else { return };
        piece.queued = None;
        if why != Why::New {
            piece.again = Some(now);
        }
        // Only the first sending makes a version complete, and so announced.
        if piece.sent.replace(now).is_some() {
            return;
        }
        element.unsent -= 1;
        if element.unsent == 0 {
            // Announced only when it is whole: a receiver must not ask for pieces that were never
            // sent.
            let old = element.announced.replace(dsn).map(|announced| announced.sn);
            self.digest.replace(dsn.data, old, dsn.sn);
            self.announcer.now_announced(element, dsn.data, old.is_none());
            if !self.config.strict {
                self.trailing.begin(now, dsn, &self.config.timing);
                self.copies.first_sent(now, element, self.config.copies, r_max, &self.config.timing);
            }
        }
    }

    /// Handles whatever is due: trailing announcements and copies.
    pub(crate) fn expire(&mut self, now: Moment) {
        self.expire_trailing(now);
        self.expire_copies(now);
    }

    /// The time at which to call [`Sender::expire`].
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.trailing.deadline().into_iter().chain(self.copies.deadline()).min()
    }

    /// Whether a bundle must leave at once, with or without messages, for its announcements.
    pub(crate) fn must_announce(&self) -> bool {
        self.announcer.must()
    }

    /// The number of data elements that are announced.
    pub(crate) fn active(&self) -> usize {
        self.announcer.active
    }

    /// The digest of all announced versions.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn counters(&self) -> &SendCounters {
        &self.counters
    }

    /// Every announced data element with its newest message.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (Dsn, &Bytes)> + '_ {
        self.table.elements.values().filter(|element| element.announced.is_some()).map(|e| (e.dsn, &e.body))
    }
}
