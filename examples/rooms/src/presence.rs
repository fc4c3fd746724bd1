//! The members of other servers in one room.
//!
//! Presence is soft state: each server says from time to time which of its members are there, and
//! others forget a member of whom they have not heard. So presence is right in the end, whatever was
//! lost while a path changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::{Moment, NodeKey};

/// The interval at which a server says which of its members are in a room.
pub const REFRESH: Duration = Duration::from_secs(5);
/// A member of another server who has not been heard of for this long is gone.
pub const STALE_AFTER: Duration = Duration::from_secs(16);
/// Members of other servers that a server remembers in one room. Further ones are not listed.
pub const PRESENT_MAX: usize = 4_096;

#[derive(Clone, Copy, Debug)]
struct Present {
    server: NodeKey,
    until: Moment,
}

/// Members of other servers in one room.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presence {
    members: BTreeMap<Arc<str>, Present>,
}

impl Presence {
    /// A member is there. Returns whether this is news.
    pub(crate) fn heard(&mut self, now: Moment, member: &Arc<str>, server: NodeKey) -> bool {
        let present = Present { server, until: now + STALE_AFTER };
        if let Some(known) = self.members.get_mut(member) {
            *known = present;
            return false;
        }
        if self.members.len() >= PRESENT_MAX {
            return false;
        }
        self.members.insert(Arc::clone(member), present);
        true
    }

    /// A member has left. Returns whether it was there.
    pub(crate) fn left(&mut self, member: &str) -> bool {
        self.members.remove(member).is_some()
    }

    /// Forgets the members of a server that cannot be reached, and returns them.
    pub(crate) fn lose(&mut self, server: NodeKey) -> Vec<Arc<str>> {
        self.take(|present| present.server == server)
    }

    /// Forgets members who have not been heard of, and returns them.
    pub(crate) fn expire(&mut self, now: Moment) -> Vec<Arc<str>> {
        self.take(|present| present.until <= now)
    }

    /// All of them, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(AsRef::as_ref)
    }

    fn take(&mut self, goes: impl Fn(&Present) -> bool) -> Vec<Arc<str>> {
        let going = self.members.iter().filter(|(_, present)| goes(present));
        let going: Vec<_> = going.map(|(member, _)| Arc::clone(member)).collect();
        for member in &going {
            self.members.remove(member);
        }
        going
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_there_until_they_leave_are_lost_or_fall_silent() {
        let at = Moment::from_secs;
        let [a, b, c]: [Arc<str>; 3] = ["a@A", "b@B", "c@B"].map(Into::into);
        let mut presence = Presence::default();
        assert!(presence.heard(at(1), &a, NodeKey(1)) && !presence.heard(at(2), &a, NodeKey(1)));
        assert!(presence.heard(at(2), &b, NodeKey(2)) && presence.heard(at(3), &c, NodeKey(2)));
        assert_eq!(presence.names().collect::<Vec<_>>(), ["a@A", "b@B", "c@B"]);
        assert!(presence.left("b@B") && !presence.left("b@B"));
        assert_eq!(presence.expire(at(17)), []);
        assert_eq!(presence.expire(at(18)), [Arc::clone(&a)]);
        assert_eq!(presence.lose(NodeKey(2)), [c]);
        assert_eq!(presence.names().count(), 0);
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let mut presence = Presence::default();
        for number in 0..2 * PRESENT_MAX {
            presence.heard(Moment::ZERO, &format!("m{number}@A").into(), NodeKey(1));
        }
        assert_eq!(presence.names().count(), PRESENT_MAX);
    }
}
