//! What a logger was asked for and has not.

use crate::model::{DataId, MemberId, Sn, SnSpace};
use base::Moment;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::time::Duration;

/// Who waits for longer has asked somebody else.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message that others wait for.
#[derive(Clone, Debug)]
pub(crate) struct Lack {
    sn: Sn,
    since: Moment,
    /// Members that are told alone.
    pub(crate) askers: SmallVec<[MemberId; 8]>,
    /// The site knows that it is being fetched, and is told.
    pub(crate) is_promised: bool,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Lacks {
    space: SnSpace,
    lacks: BTreeMap<(MemberId, DataId), Lack>,
    max: usize,
}

impl Lacks {
    pub(crate) fn new(space: SnSpace, max: usize) -> Self {
        Self { space, lacks: BTreeMap::new(), max }
    }

    /// Something is wanted, by this member or for another. The lack, unless there are too many.
    pub(crate) fn note(&mut self, now: Moment, of: (MemberId, DataId), sn: Sn) -> Option<&mut Lack> {
        if self.lacks.len() >= self.max {
            self.lacks.retain(|_, lack| now.since(lack.since) < PATIENCE);
        }
        let room = self.lacks.len() < self.max;
        if !room && !self.lacks.contains_key(&of) {
            return None;
        }
        let lack = self.lacks.entry(of).or_insert(Lack {
            sn,
            since: now,
            askers: SmallVec::new(),
            is_promised: false,
        });
        if self.space.is_newer(sn, lack.sn) {
            *lack = Lack { sn, since: now, ..lack.clone() };
        }
        Some(lack)
    }

    /// A version came: who waits for it or an older one.
    pub(crate) fn take(&mut self, of: (MemberId, DataId), sn: Sn) -> Option<Lack> {
        let lack = self.lacks.get(&of)?;
        if self.space.is_newer(lack.sn, sn) {
            return None;
        }
        self.lacks.remove(&of)
    }

    pub(crate) fn clear(&mut self) {
        self.lacks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_of_what_is_new_enough_and_room_is_limited() {
        let mut lacks = Lacks::new(SnSpace::V3, 2);
        let of = |data| (MemberId(1), DataId(data));
        let at = Moment::from_secs;
        lacks.note(at(0), of(1), Sn(5)).expect("room").askers.push(MemberId(9));
        lacks.note(at(1), of(1), Sn(6)).expect("room").is_promised = true;
        assert!(lacks.take(of(1), Sn(5)).is_none());
        lacks.note(at(2), of(2), Sn(0)).expect("room");
        assert!(lacks.note(at(3), of(3), Sn(0)).is_none());
        let lack = lacks.take(of(1), Sn(7)).expect("it waits");
        assert_eq!((lack.askers.as_slice(), lack.is_promised), (&[MemberId(9)][..], true));
        assert!(lacks.take(of(1), Sn(7)).is_none());
        lacks.note(at(3), of(4), Sn(0)).expect("room");
        assert!(lacks.note(at(30), of(5), Sn(0)).is_some(), "the others waited long");
    }
}
