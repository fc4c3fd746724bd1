//! The newest message of every data element.

use crate::model::{DataId, Dsn, Sn, SnSpace};
use base::Moment;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The reason why a piece waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has never been sent.
    New,
    /// A receiver asked for it.
    Repair,
    /// A receiver is likely to ask for it.
    Copy,
}

/// A message, or a segment of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceState {
    /// The time of the last sending.
    pub(super) sent: Option<Moment>,
    /// The time of the last sending that was not the first.
    pub(super) again: Option<Moment>,
    /// The reason why it waits to be sent.
    pub(super) queued: Option<Why>,
}

/// A message whose NACKs show whether its copies were enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// The number of copies that follow it.
    pub(super) copies: usize,
    /// A NACK after this time shows that some receiver has none of the copies.
    pub(super) from: Moment,
}

/// One data element.
#[derive(Debug)]
pub(super) struct Element {
    /// The newest version.
    pub(super) dsn: Dsn,
    pub(super) body: Bytes,
    pub(super) pieces: Vec<PieceState>,
    /// The number of pieces that were never sent.
    pub(super) unsent: u16,
    /// The announced version: the newest one of which every piece has been sent.
    pub(super) announced: Option<Dsn>,
    pub(super) updated: Moment,
    /// The time at which it was last announced or sent.
    pub(super) announced_at: Moment,
    /// Announcements since the version was sent.
    pub(super) announcements: u8,
    /// It is in the list of fresh elements.
    pub(super) listed: bool,
    /// The last bundle that announced or carried it.
    pub(super) bundle: u64,
    /// The repair requests for the version, and the time of the last one.
    pub(super) nacks: u32,
    pub(super) last_nack: Option<Moment>,
    /// The generation of the sweep count that last counted it.
    pub(super) counted: u64,
    /// Present until a receiver asks for the message, which shows that the copies were too few, or
    /// until nobody has asked for long enough.
    pub(super) trial: Option<Trial>,
    /// It was repaired at least once.
    pub(super) repaired: bool,
}

/// The reason why a message cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The data element belongs to the other reliable mode.
    OtherMode,
    /// The buffer has no room. It holds this many bytes.
    Full(usize),
}

/// All data elements of a sender, by the mode in which they are sent.
#[derive(Debug)]
pub(super) struct Table {
    space: SnSpace,
    segment_bytes: usize,
    bytes_max: usize,
    elements_max: usize,
    pub(super) bytes: usize,
    pub(super) elements: BTreeMap<DataId, Element>,
    /// Data elements of mode 2.
    directed: BTreeMap<DataId, ()>,
}

impl Table {
    pub(super) fn new(space: SnSpace, segment_bytes: usize, bytes_max: usize, elements_max: usize) -> Self {
        Self {
            space,
            segment_bytes,
            bytes_max,
            elements_max,
            bytes: 0,
            elements: BTreeMap::new(),
            directed: BTreeMap::new(),
        }
    }

    /// Reserves a data element for mode 2.
    pub(super) fn claim_directed(&mut self, data: DataId) -> Result<(), Refused> {
        if self.elements.contains_key(&data) {
            return Err(Refused::OtherMode);
        }
        if !self.directed.contains_key(&data) {
            if self.directed.len() >= self.elements_max {
                return Err(Refused::Full(self.bytes));
            }
            self.directed.insert(data, ());
        }
        Ok(())
    }

    /// Stores a new version. Also returns whether a piece of the previous one was never sent.
    pub(super) fn update(&mut self, now: Moment, data: DataId, body: Bytes) -> Result<(Dsn, bool), Refused> {
        if self.directed.contains_key(&data) {
            return Err(Refused::OtherMode);
        }
        let held = self.elements.get(&data).map_or(0, |element| element.body.len());
        let room = self.bytes_max - (self.bytes - held).min(self.bytes_max);
        let full = self.elements.len() >= self.elements_max && !self.elements.contains_key(&data);
        if body.len() > room || full {
            return Err(Refused::Full(self.bytes));
        }
        self.bytes = self.bytes - held + body.len();
        let segments = match body.len().div_ceil(self.segment_bytes) {
            0 | 1 => 0,
            segments => segments as u16,
        };
        let space = self.space;
        match self.elements.entry(data) {
            Entry::Occupied(mut entry) => {
                let element = entry.get_mut();
                let dsn = Dsn { data, sn: space.next(element.dsn.sn), segments };
                let unsent = element.unsent > 0;
                element.renew(now, dsn, body);
                Ok((dsn, unsent))
            }
            Entry::Vacant(entry) => {
                let dsn = Dsn { data, sn: Sn(0), segments };
                entry.insert(Element::new()).renew(now, dsn, body);
                Ok((dsn, false))
            }
        }
    }

    /// The bytes of a piece.
    pub(super) fn slice(&self, element: &Element, index: u16) -> Bytes {
        let begin = usize::from(index) * self.segment_bytes;
        let end = if element.dsn.segments == 0 { element.body.len() } else { begin + self.segment_bytes };
        element.body.slice(begin.min(element.body.len())..end.min(element.body.len()))
    }
}

impl Element {
    fn new() -> Self {
        Self {
            dsn: Dsn::default(),
            body: Bytes::new(),
            pieces: Vec::new(),
            unsent: 0,
            announced: None,
            updated: Moment::ZERO,
            announced_at: Moment::ZERO,
            announcements: 0,
            listed: false,
            bundle: 0,
            nacks: 0,
            last_nack: None,
            counted: 0,
            trial: None,
            repaired: false,
        }
    }

    fn renew(&mut self, now: Moment, dsn: Dsn, body: Bytes) {
        self.dsn = dsn;
        self.body = body;
        self.unsent = dsn.segments.max(1);
        self.pieces.clear();
        self.pieces
            .resize(usize::from(self.unsent), PieceState { sent: None, again: None, queued: Some(Why::New) });
        self.updated = now;
        self.nacks = 0;
        self.last_nack = None;
        self.trial = None;
        self.repaired = false;
    }

    /// Whether it has not been sent for `data_timeout`, is no longer announced, and has no message.
    pub(super) fn is_retired(&self) -> bool {
        self.announced.is_none() && self.unsent == 0
    }

    /// The pieces that answer a repair request; empty when there is no such segment.
    pub(super) fn wished(&self, segment: crate::model::Segment, whole: bool) -> std::ops::Range<usize> {
        match segment {
            crate::model::Segment::Index(index) if !whole && self.dsn.segments > 0 => {
                let index = usize::from(index);
                if index < self.pieces.len() { index..index + 1 } else { 0..0 }
            }
            _ => 0..self.pieces.len(),
        }
    }
}
