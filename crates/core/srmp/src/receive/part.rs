//! The reassembly of a segmented message.

use crate::model::{Dsn, MESSAGE_BYTES_MAX};
use crate::wire::Signature;
use base::Moment;
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

/// A segment counts as lost after this many later segments, or after this many bundles in a row
/// without any segment.
const LATER: u8 = 3;

#[derive(Clone, Debug)]
enum Slot {
    /// Missing. Another member asked for it, and it is not requested again before `quiet`.
    Missing { quiet: Moment },
    /// Received.
    Have(Bytes),
}

/// The segmentation of a message, by which another member can send it as its source did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of each segment, except for the last.
    pub(crate) segment_bytes: usize,
    /// The source's signatures, in the order of segments; empty when it does not sign.
    pub(crate) signatures: SmallVec<[Signature; 1]>,
}

impl Shape {
    /// The shape of a message in one piece.
    pub(crate) fn of_whole(bytes: usize, signature: Option<Signature>) -> Self {
        Self { segment_bytes: bytes, signatures: signature.into_iter().collect() }
    }
}

/// The result of inserting a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// The segment is new, and others are still missing.
    New,
    /// The segment was the last one missing.
    Complete,
    /// The segment was there already.
    Duplicate,
    /// The segment does not fit those received before.
    Bad,
}

/// The segments of one version of one data element.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) dsn: Dsn,
    slots: Vec<Slot>,
    /// The signatures by segment; empty as long as no segment is signed.
    signatures: Vec<Option<Signature>>,
    missing: u16,
    bytes: usize,
    /// The highest segments received, in descending order.
    highest: [Option<u16>; LATER as usize],
    /// All missing segments count as lost.
    all_lost: bool,
    /// Bundles of the sender since the last one with a segment.
    idle_bundles: u8,
    touched: bool,
    /// The time at which all missing segments count as lost.
    pub(crate) timer: Moment,
    /// The time at which the last segment arrived.
    pub(crate) progress: Moment,
}

impl Part {
    pub(crate) fn new(now: Moment, dsn: Dsn) -> Self {
        Self {
            dsn,
            slots: vec![Slot::Missing { quiet: Moment::ZERO }; usize::from(dsn.segments)],
            signatures: Vec::new(),
            missing: dsn.segments,
            bytes: 0,
            highest: [None; LATER as usize],
            all_lost: false,
            idle_bundles: 0,
            touched: false,
            timer: Moment::MAX,
            progress: now,
        }
    }

    /// Bytes of memory that the part is charged with.
    pub(crate) fn cost(&self) -> usize {
        let signatures = self.signatures.len() * size_of::<Option<Signature>>();
        self.bytes + self.slots.len() * size_of::<Slot>() + signatures + size_of::<Self>()
    }

    pub(crate) fn insert(
        &mut self,
        now: Moment,
        index: u16,
        body: &Bytes,
        signature: Option<Signature>,
    ) -> Inserted {
        self.touched = true;
        let Some(slot) = self.slots.get_mut(usize::from(index)) else { return Inserted::Bad };
        if matches!(slot, Slot::Have(_)) {
            return Inserted::Duplicate;
        }
        // The number of segments is a claim, and so are their sizes.
        if self.bytes + body.len() > MESSAGE_BYTES_MAX {
            return Inserted::Bad;
        }
        *slot = Slot::Have(body.clone());
        if signature.is_some() {
            // Most groups sign nothing, and need no room for signatures.
            self.signatures.resize(self.slots.len(), None);
            self.signatures[usize::from(index)] = signature;
        }
        self.bytes += body.len();
        self.missing -= 1;
        self.progress = now;
        self.rank(index);
        if self.missing == 0 { Inserted::Complete } else { Inserted::New }
    }

    fn rank(&mut self, index: u16) {
        let Some(position) = self.highest.iter().position(|seen| seen.is_none_or(|seen| seen < index)) else {
            return;
        };
        // The three highest are kept, because that many later segments make an earlier one lost.
        self.highest[position..].rotate_right(1);
        self.highest[position] = Some(index);
    }

    /// The message. Valid only when complete.
    pub(crate) fn join(&self) -> Bytes {
        let mut whole = BytesMut::with_capacity(self.bytes);
        for slot in &self.slots {
            if let Slot::Have(body) = slot {
                whole.extend_from_slice(body);
            }
        }
        whole.freeze()
    }

    /// The segmentation of the message. Valid only when complete.
    pub(crate) fn shape(&self) -> Shape {
        let segment_bytes = match self.slots.first() {
            Some(Slot::Have(first)) => first.len(),
            _ => 0,
        };
        Shape { segment_bytes, signatures: self.signatures.iter().copied().flatten().collect() }
    }

    /// Handles the end of a bundle of the sender. The missing segments are lost after the third
    /// bundle in a row without a segment; returns true when that happens for the first time.
    pub(crate) fn end_of_bundle(&mut self) -> bool {
        self.idle_bundles = if std::mem::take(&mut self.touched) { 0 } else { self.idle_bundles + 1 };
        if self.idle_bundles < LATER {
            return false;
        }
        self.idle_bundles = 0;
        !std::mem::replace(&mut self.all_lost, true)
    }

    /// Declares all missing segments lost.
    pub(crate) fn give_up_waiting(&mut self) {
        self.all_lost = true;
    }

    /// Whether a segment is lost. With `early`, later segments show that as well.
    pub(crate) fn has_lost(&self, early: bool) -> bool {
        self.lost(early).next().is_some()
    }

    /// The lost segments, each with the time until which the requests of others stand for ours.
    pub(crate) fn lost(&self, early: bool) -> impl Iterator<Item = (u16, Moment)> + '_ {
        // As many later segments as TCP waits for before it takes a segment for lost (RFC 5681).
        let below = match self.highest[LATER as usize - 1] {
            _ if self.all_lost => self.dsn.segments,
            Some(third) if early => third,
            _ => 0,
        };
        (0..below).zip(&self.slots).filter_map(|(index, slot)| match slot {
            Slot::Missing { quiet } => Some((index, *quiet)),
            Slot::Have(_) => None,
        })
    }

    /// Another member requested a segment.
    pub(crate) fn hush(&mut self, index: u16, until: Moment) {
        if let Some(Slot::Missing { quiet }) = self.slots.get_mut(usize::from(index)) {
            *quiet = until;
        }
    }

    /// A logger fetches the whole message.
    pub(crate) fn hush_all(&mut self, until: Moment) {
        (0..self.dsn.segments).for_each(|index| self.hush(index, until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DataId, Sn};
    use proptest::prelude::*;

    fn part(segments: u16) -> Part {
        Part::new(Moment::ZERO, Dsn { data: DataId(1), sn: Sn(0), segments })
    }

    fn lost(part: &Part) -> Vec<u16> {
        part.lost(true).map(|(index, _)| index).collect()
    }

    #[test]
    fn three_later_segments_show_a_gap() {
        let mut part = part(9);
        let body = Bytes::from_static(b"x");
        for index in [0, 2, 3] {
            part.insert(Moment::ZERO, index, &body, None);
        }
        assert_eq!(lost(&part), []);
        part.insert(Moment::ZERO, 5, &body, None);
        assert_eq!(lost(&part), [1]);
        assert!(!part.has_lost(false));
        part.insert(Moment::ZERO, 6, &body, None);
        part.insert(Moment::ZERO, 7, &body, None);
        assert_eq!(lost(&part), [1, 4]);
    }

    #[test]
    fn three_bundles_without_a_segment_show_that_the_rest_is_lost() {
        let mut part = part(4);
        part.insert(Moment::ZERO, 1, &Bytes::from_static(b"x"), None);
        let ends: Vec<_> = (0..4).map(|_| part.end_of_bundle()).collect();
        assert_eq!(ends, [false, false, false, true]);
        assert_eq!(lost(&part), [0, 2, 3]);
        part.hush(2, Moment::from_secs(1));
        assert_eq!(part.lost(true).nth(1), Some((2, Moment::from_secs(1))));
    }

    #[test]
    fn excessive_values_are_refused() {
        let mut part = part(2);
        assert_eq!(part.insert(Moment::ZERO, 2, &Bytes::new(), None), Inserted::Bad);
        let long = Bytes::from(vec![0; MESSAGE_BYTES_MAX]);
        assert_eq!(part.insert(Moment::ZERO, 0, &long, None), Inserted::New);
        assert_eq!(part.insert(Moment::ZERO, 0, &long, None), Inserted::Duplicate);
        assert_eq!(part.insert(Moment::ZERO, 1, &long, None), Inserted::Bad);
    }

    proptest! {
        #[test]
        fn any_order_makes_the_same_message(order in Just((0u16..20).collect::<Vec<_>>()).prop_shuffle()) {
            let mut part = part(20);
            for (count, index) in order.iter().enumerate() {
                let inserted = part.insert(Moment::ZERO, *index, &Bytes::from(vec![*index as u8; 3]), None);
                prop_assert_eq!(inserted, if count == 19 { Inserted::Complete } else { Inserted::New });
                let gaps = (0..20).filter(|gap| order[..=count].iter().filter(|have| *have > gap).count() >= 3);
                let gaps: Vec<_> = gaps.filter(|gap| !order[..=count].contains(gap)).collect();
                prop_assert_eq!(lost(&part), gaps);
            }
            let expected: Vec<u8> = (0..20).flat_map(|index| [index; 3]).collect();
            prop_assert_eq!(&part.join()[..], &expected[..]);
        }
    }
}
