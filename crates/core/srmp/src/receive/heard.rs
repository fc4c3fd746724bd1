//! NACKs of other members, remembered for a while.

use crate::model::{NackItem, Relation, Segment, SnSpace};
use base::Moment;

/// The number of NACKs remembered for each sender; the oldest ones are overwritten.
const HEARD_MAX: usize = 64;

/// The last NACKs that other members sent to one sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    ring: Vec<(Moment, NackItem)>,
    next: usize,
}

impl Heard {
    pub(crate) fn push(&mut self, now: Moment, item: NackItem) {
        if self.ring.len() < HEARD_MAX {
            self.ring.push((now, item));
        } else {
            self.ring[self.next] = (now, item);
            self.next = (self.next + 1) % HEARD_MAX;
        }
    }

    /// The time at which an answer to `wanted` was last requested by another member.
    pub(crate) fn last(&self, space: SnSpace, wanted: NackItem) -> Option<Moment> {
        let covering = self.ring.iter().filter(|(_, heard)| covers(space, *heard, wanted));
        covering.map(|(at, _)| *at).max()
    }

    pub(crate) fn clear(&mut self) {
        self.ring.clear();
        self.next = 0;
    }
}

/// Whether the answer to `heard` also answers `wanted`.
pub(crate) fn covers(space: SnSpace, heard: NackItem, wanted: NackItem) -> bool {
    let relation = space.compare(heard.sn, wanted.sn);
    heard.data == wanted.data
        && match heard.segment {
            Segment::Whole => relation != Relation::Older,
            // A request for a segment of a newer version shows that this version exists. It does
            // not bring us that version.
            Segment::Index(_) => relation == Relation::Equal && heard.segment == wanted.segment,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DataId, Sn};

    fn item(data: u32, sn: u32, segment: Segment) -> NackItem {
        NackItem { data: DataId(data), sn: Sn(sn), segment }
    }

    #[test]
    fn the_whole_covers_its_parts_and_what_is_older() {
        let space = SnSpace::V2;
        let whole = item(1, 5, Segment::Whole);
        assert!(covers(space, whole, whole));
        assert!(covers(space, whole, item(1, 4, Segment::Index(3))));
        assert!(!covers(space, whole, item(1, 6, Segment::Whole)));
        assert!(!covers(space, whole, item(2, 5, Segment::Whole)));
        let part = item(1, 5, Segment::Index(3));
        assert!(covers(space, part, part));
        assert!(!covers(space, part, whole));
        assert!(!covers(space, part, item(1, 5, Segment::Index(4))));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut heard = Heard::default();
        for n in 0..HEARD_MAX as u32 + 1 {
            heard.push(Moment::from_millis(u64::from(n)), item(n, 0, Segment::Whole));
        }
        assert_eq!(heard.last(SnSpace::V3, item(0, 0, Segment::Whole)), None);
        assert_eq!(heard.last(SnSpace::V3, item(1, 0, Segment::Whole)), Some(Moment::from_millis(1)));
        assert_eq!(heard.ring.len(), HEARD_MAX);
    }
}
