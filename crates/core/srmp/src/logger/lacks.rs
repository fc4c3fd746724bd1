//! The messages that a logger was asked for and does not have.

use crate::model::{DataId, MemberId, Sn, SnSpace};
use base::Moment;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::time::Duration;

/// A member that has waited for longer has asked another one.
const PATIENCE: Duration = Duration::from_secs(10);

/// A missing message for which other members wait.
#[derive(Clone, Debug)]
pub(crate) struct Lack {
    sn: Sn,
    since: Moment,
    /// Members to which the message will be sent by unicast.
    pub(crate) askers: SmallVec<[MemberId; 8]>,
    /// Whether the site knows that the message is being fetched. The message then goes to the whole
    /// site.
    pub(crate) is_promised: bool,
}

/// The missing set: all missing messages for which other members wait.
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

    /// Notes a message that this member or another one needs. Returns its entry; `None` when there
    /// are too many.
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

    /// Takes the entry that this version satisfies: it waits for this version or an older one.
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
