//! The store of a logger: the newest complete message of every data element, segmented and signed
//! as by its source.

use crate::model::{DataId, Dsn, MemberId, Segment, Sn, SnSpace};
use crate::receive::Shape;
use crate::wire::{Digest, Mode1, Mode1Flags, Origin, Signature};
use base::Moment;
use bytes::Bytes;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Bytes of memory that an entry is charged with in addition to its message.
const ENTRY_BYTES: usize = 256;

/// One message.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) dsn: Dsn,
    /// A copy, in memory that is reused.
    body: Vec<u8>,
    segment_bytes: usize,
    signatures: SmallVec<[Signature; 1]>,
    /// The number of its last use, storing or request. Entries are evicted in this order.
    turn: u64,
    /// The time at which it was sent to the whole site.
    pub(crate) announced_to_all: Option<Moment>,
    /// The members that asked for it, and the start of that count. Many of them lead to a
    /// multicast.
    pub(crate) askers: (Moment, SmallVec<[MemberId; 4]>),
}

impl Entry {
    /// The number of pieces of the message.
    pub(crate) fn pieces(&self) -> u16 {
        self.dsn.segments.max(1)
    }

    /// The pieces that answer a repair request for a segment of this version, or for all of it.
    pub(crate) fn wished(&self, segment: Segment, is_older: bool) -> std::ops::Range<u16> {
        match segment {
            Segment::Index(index) if !is_older && self.dsn.segments > 0 => {
                if index < self.pieces() {
                    index..index + 1
                } else {
                    0..0
                }
            }
            _ => 0..self.pieces(),
        }
    }

    /// A piece in its wire form.
    pub(crate) fn piece(&self, origin: Origin, index: u16) -> Option<Mode1> {
        if index >= self.pieces() {
            return None;
        }
        let begin = usize::from(index) * self.segment_bytes;
        let end = if self.dsn.segments == 0 { self.body.len() } else { begin + self.segment_bytes };
        let body = self.body.get(begin..end.min(self.body.len()))?;
        Some(Mode1 {
            origin: Some(origin),
            dsn: self.dsn,
            index,
            flags: Mode1Flags::REPAIR,
            body: Bytes::copy_from_slice(body),
            signature: self.signatures.get(usize::from(index)).copied(),
        })
    }

    fn cost(&self) -> usize {
        self.body.len() + self.signatures.len() * size_of::<Signature>() + ENTRY_BYTES
    }
}

/// One epoch of a source.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) origin: Origin,
    entries: BTreeMap<DataId, Entry>,
    digest: Digest,
    /// Whether a message of it was evicted or could not be kept.
    pub(crate) is_partial: bool,
}

impl Source {
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The entry after a data element, or the first one.
    pub(crate) fn after(&self, data: Option<DataId>) -> Option<&Entry> {
        let begin = data.map_or(Bound::Unbounded, Bound::Excluded);
        self.entries.range((begin, Bound::Unbounded)).next().map(|(_, entry)| entry)
    }
}

/// The messages of all sources.
#[derive(Debug)]
pub(crate) struct Store {
    space: SnSpace,
    sources: BTreeMap<MemberId, Source>,
    /// Entries in the order in which they are evicted.
    turns: BTreeMap<u64, (MemberId, DataId)>,
    turn: u64,
    bytes: usize,
    bytes_max: usize,
    pub(crate) evicted: u64,
}

impl Store {
    pub(crate) fn new(space: SnSpace, bytes_max: usize) -> Self {
        Self {
            space,
            sources: BTreeMap::new(),
            turns: BTreeMap::new(),
            turn: 0,
            bytes: 0,
            bytes_max,
            evicted: 0,
        }
    }

    /// Stores a complete message.
    pub(crate) fn put(&mut self, origin: Origin, dsn: Dsn, body: &[u8], shape: &Shape) {
        self.begin_life(origin);
        // Uneven segmentation cannot be reproduced.
        let pieces = usize::from(dsn.segments.max(1));
        let is_even = dsn.segments == 0 || body.len().div_ceil(shape.segment_bytes.max(1)) == pieces;
        let is_signed = shape.signatures.is_empty() || shape.signatures.len() == pieces;
        let Some(source) = self.sources.get_mut(&origin.member) else { return };
        if !is_even || !is_signed || body.len() + ENTRY_BYTES > self.bytes_max {
            source.is_partial = true;
            return;
        }
        if let Some(entry) = source.entries.get_mut(&dsn.data) {
            if !self.space.is_newer(dsn.sn, entry.dsn.sn) {
                return;
            }
            self.bytes -= entry.cost();
            source.digest.replace(dsn.data, Some(entry.dsn.sn), dsn.sn);
            entry.renew(dsn, body, shape);
            self.bytes += entry.cost();
        } else {
            self.turn += 1;
            let mut entry = Entry {
                dsn,
                body: Vec::new(),
                segment_bytes: 0,
                signatures: SmallVec::new(),
                turn: self.turn,
                announced_to_all: None,
                askers: (Moment::ZERO, SmallVec::new()),
            };
            entry.renew(dsn, body, shape);
            self.bytes += entry.cost();
            self.turns.insert(self.turn, (origin.member, dsn.data));
            source.digest.replace(dsn.data, None, dsn.sn);
            source.entries.insert(dsn.data, entry);
        }
        self.evict();
    }

    fn begin_life(&mut self, origin: Origin) {
        if self.sources.get(&origin.member).is_some_and(|source| source.origin == origin) {
            return;
        }
        self.forget(origin.member);
        let digest = Digest::default();
        self.sources
            .insert(origin.member, Source { origin, entries: BTreeMap::new(), digest, is_partial: false });
    }

    /// Forgets a source that has restarted or is no longer a member.
    pub(crate) fn forget(&mut self, member: MemberId) {
        let Some(source) = self.sources.remove(&member) else { return };
        for entry in source.entries.into_values() {
            self.bytes -= entry.cost();
            self.turns.remove(&entry.turn);
        }
    }

    /// Evicts the messages that were unused for the longest time, until there is room.
    fn evict(&mut self) {
        while self.bytes > self.bytes_max {
            let Some((_, (member, data))) = self.turns.pop_first() else { return };
            let Some(source) = self.sources.get_mut(&member) else { continue };
            let Some(entry) = source.entries.remove(&data) else { continue };
            self.bytes -= entry.cost();
            source.digest.remove(data, entry.dsn.sn);
            source.is_partial = true;
            self.evicted += 1;
        }
    }

    /// The answer to a request for a version of a data element: the message of that version or a
    /// newer one, and whether it is newer.
    pub(crate) fn answer(&mut self, origin: Origin, data: DataId, sn: Sn) -> Option<(&mut Entry, bool)> {
        let source = self.sources.get_mut(&origin.member).filter(|source| source.origin == origin)?;
        let entry = source.entries.get_mut(&data)?;
        if self.space.is_newer(sn, entry.dsn.sn) {
            return None;
        }
        self.turns.remove(&entry.turn);
        self.turn += 1;
        entry.turn = self.turn;
        self.turns.insert(self.turn, (origin.member, data));
        let is_newer = entry.dsn.sn != sn;
        Some((entry, is_newer))
    }

    pub(crate) fn source(&self, member: MemberId) -> Option<&Source> {
        self.sources.get(&member)
    }

    /// The source after a member, or the first one.
    pub(crate) fn source_after(&self, member: Option<MemberId>) -> Option<&Source> {
        let begin = member.map_or(Bound::Unbounded, Bound::Excluded);
        self.sources.range((begin, Bound::Unbounded)).next().map(|(_, source)| source)
    }

    /// A piece of the message kept for a data element.
    pub(crate) fn piece(&self, origin: Origin, data: DataId, index: u16) -> Option<Mode1> {
        let source = self.sources.get(&origin.member).filter(|source| source.origin == origin)?;
        source.entries.get(&data)?.piece(origin, index)
    }

    /// Whether a message could not be kept.
    pub(crate) fn is_partial(&self) -> bool {
        self.sources.values().any(|source| source.is_partial)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Entry {
    fn renew(&mut self, dsn: Dsn, body: &[u8], shape: &Shape) {
        self.dsn = dsn;
        self.body.clear();
        self.body.extend_from_slice(body);
        self.segment_bytes = shape.segment_bytes;
        self.signatures.clone_from(&shape.signatures);
        self.announced_to_all = None;
        self.askers.1.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Epoch;
    use proptest::prelude::*;

    /// An epoch of a source, and the version and length of each newest message.
    type Kept = (Origin, BTreeMap<DataId, (Sn, usize)>);

    fn origin(member: u64, epoch: u32) -> Origin {
        Origin { member: MemberId(member), epoch: Epoch(epoch) }
    }

    fn shape(segment_bytes: usize) -> Shape {
        Shape { segment_bytes, signatures: SmallVec::new() }
    }

    #[test]
    fn messages_are_cut_as_they_were() {
        let mut store = Store::new(SnSpace::V3, 10_000);
        let body: Vec<u8> = (0..25).collect();
        let dsn = Dsn { data: DataId(1), sn: Sn(4), segments: 3 };
        store.put(origin(1, 1), dsn, &body, &shape(10));
        let pieces: Vec<_> =
            (0..3).map(|index| store.piece(origin(1, 1), DataId(1), index).expect("it is there")).collect();
        assert_eq!(pieces.iter().map(|piece| piece.body.len()).collect::<Vec<_>>(), [10, 10, 5]);
        assert_eq!(pieces.iter().flat_map(|piece| piece.body.to_vec()).collect::<Vec<_>>(), body);
        let (entry, is_newer) = store.answer(origin(1, 1), DataId(1), Sn(3)).expect("a newer one");
        assert!(is_newer);
        assert_eq!(
            (entry.wished(Segment::Index(2), true), entry.wished(Segment::Index(2), false)),
            (0..3, 2..3)
        );
        assert!(store.answer(origin(1, 1), DataId(1), Sn(5)).is_none());
        assert!(store.answer(origin(1, 2), DataId(1), Sn(4)).is_none(), "another life");
        store.put(origin(1, 1), Dsn { data: DataId(2), ..dsn }, &body, &shape(7));
        assert!(
            store.is_partial() && store.piece(origin(1, 1), DataId(2), 0).is_none(),
            "four pieces, not three"
        );
        store.put(origin(2, 1), Dsn { segments: 0, ..dsn }, &body, &shape(25));
        let whole = [0, 1].map(|index| store.piece(origin(2, 1), DataId(1), index).is_some());
        assert_eq!(whole, [true, false], "a message in one piece has no second");
    }

    #[test]
    fn unrequested_data_is_dropped_first() {
        let mut store = Store::new(SnSpace::V3, 3 * (ENTRY_BYTES + 100));
        for data in 0..3 {
            store.put(origin(1, 1), Dsn::whole(DataId(data), Sn(0)), &[7; 100], &shape(100));
        }
        assert!(!store.is_partial());
        assert!(store.answer(origin(1, 1), DataId(0), Sn(0)).is_some());
        store.put(origin(2, 1), Dsn::whole(DataId(0), Sn(0)), &[7; 100], &shape(100));
        assert!(store.is_partial() && store.evicted == 1);
        assert!(store.piece(origin(1, 1), DataId(0), 0).is_some());
        assert!(store.piece(origin(1, 1), DataId(1), 0).is_none());
    }

    proptest! {
        /// Agrees with a map of the newest messages as long as there is room, and never exceeds the
        /// limit.
        #[test]
        fn agrees_with_a_map(puts in proptest::collection::vec((1u64..4, 1u32..3, 0u32..5, 0u32..9, 1usize..60), 0..200)) {
            let mut store = Store::new(SnSpace::V3, 3 * (ENTRY_BYTES + 60) + 30);
            let mut model: BTreeMap<MemberId, Kept> = BTreeMap::new();
            for (member, epoch, data, sn, len) in puts {
                let origin = origin(member, epoch);
                let kept = model.entry(origin.member).or_insert((origin, BTreeMap::new()));
                if kept.0 != origin {
                    *kept = (origin, BTreeMap::new());
                }
                let newest = kept.1.entry(DataId(data)).or_insert((Sn(sn), len));
                if SnSpace::V3.is_newer(Sn(sn), newest.0) {
                    *newest = (Sn(sn), len);
                }
                let before = store.evicted;
                store.put(origin, Dsn::whole(DataId(data), Sn(sn)), &vec![1; len], &shape(len));
                prop_assert!(store.bytes() <= store.bytes_max);
                for (member, (origin, elements)) in &mut model {
                    elements.retain(|data, (sn, len)| match store.piece(*origin, *data, 0) {
                        Some(piece) => {
                            assert_eq!((piece.dsn.sn, piece.body.len()), (*sn, *len), "{data:?} of {member:?}");
                            true
                        }
                        None => {
                            assert!(store.evicted > before, "{data:?} of {member:?} went without need");
                            false
                        }
                    });
                    let mut digest = Digest::default();
                    elements.iter().for_each(|(data, (sn, _))| digest.replace(*data, None, *sn));
                    prop_assert_eq!(store.source(*member).map(Source::digest).unwrap_or_default(), digest);
                }
            }
        }
    }
}
