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
pub(crate) struct Missing {
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
pub(crate) struct MissingSet {
    space: SnSpace,
    messages: BTreeMap<(MemberId, DataId), Missing>,
    max: usize,
}

impl MissingSet {
    pub(crate) fn new(space: SnSpace, max: usize) -> Self {
        Self { space, messages: BTreeMap::new(), max }
    }

    /// Notes a message that this member or another one needs. Returns its entry; `None` when there
    /// are too many.
    pub(crate) fn note(&mut self, now: Moment, of: (MemberId, DataId), sn: Sn) -> Option<&mut Missing> {
        if self.messages.len() >= self.max {
            self.messages.retain(|_, missing| now.since(missing.since) < PATIENCE);
        }
        let room = self.messages.len() < self.max;
        if !room && !self.messages.contains_key(&of) {
            return None;
        }
        let missing = self.messages.entry(of).or_insert(Missing {
            sn,
            since: now,
            askers: SmallVec::new(),
            is_promised: false,
        });
        if self.space.is_newer(sn, missing.sn) {
            *missing = Missing { sn, since: now, ..missing.clone() };
        }
        Some(missing)
    }

    /// Takes the entry that this version satisfies: it waits for this version or an older one.
    pub(crate) fn take(&mut self, of: (MemberId, DataId), sn: Sn) -> Option<Missing> {
        let missing = self.messages.get(&of)?;
        if self.space.is_newer(missing.sn, sn) {
            return None;
        }
        self.messages.remove(&of)
    }

    pub(crate) fn clear(&mut self) {
        self.messages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_members_get_recent_state_and_room_is_limited() {
        let mut messages = MissingSet::new(SnSpace::V3, 2);
        let of = |data| (MemberId(1), DataId(data));
        let at = Moment::from_secs;
        messages.note(at(0), of(1), Sn(5)).expect("room").askers.push(MemberId(9));
        messages.note(at(1), of(1), Sn(6)).expect("room").is_promised = true;
        assert!(messages.take(of(1), Sn(5)).is_none());
        messages.note(at(2), of(2), Sn(0)).expect("room");
        assert!(messages.note(at(3), of(3), Sn(0)).is_none());
        let missing = messages.take(of(1), Sn(7)).expect("it waits");
        assert_eq!((missing.askers.as_slice(), missing.is_promised), (&[MemberId(9)][..], true));
        assert!(messages.take(of(1), Sn(7)).is_none());
        messages.note(at(3), of(4), Sn(0)).expect("room");
        assert!(messages.note(at(30), of(5), Sn(0)).is_some(), "the others waited long");
    }
}
