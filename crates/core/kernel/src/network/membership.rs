//! Becoming a member of the network, and declaring members dead.

use base::{Moment, NodeKey};
use std::collections::BTreeMap;
use std::time::Duration;

/// Interval at which a node repeats its request for membership.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// A node that requests membership looks for another network when it has seen no member of this one
/// for this long. The delay allows for a new member that has not announced itself yet. It counts for
/// the time in which a network that has lost its majority recovers: nodes ask members that are about
/// to give up, one after the other.
const FORLORN: Duration = Duration::from_secs(1);
/// The same where nobody else is in this network, nor on the way into it: there is no new member. It
/// allows for a member that takes another key: a link, a round trip.
const FORLORN_ALONE: Duration = Duration::from_millis(300);
/// The same for a node that is already in the log, while a majority of the log's voters can be reached:
/// they may still have to elect a leader. It allows for several elections, and links with a delay of a
/// second.
const FORLORN_IN_LOG: Duration = Duration::from_secs(5);

/// The hopes of a node that requests membership and sees no member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hope {
    /// Nobody else is in this network, nor on the way into it.
    Alone,
    /// Others are on their way into this network.
    Company,
    /// This node and others are in the log, and enough of them are there to elect a leader.
    Election,
}

impl Hope {
    const fn lasts(self) -> Duration {
        match self {
            Self::Alone => FORLORN_ALONE,
            Self::Company => FORLORN,
            Self::Election => FORLORN_IN_LOG,
        }
    }
}

/// The stage of this node on its way to membership.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// It has been looking for a network since then.
    Searching(Moment),
    /// It has found one and requests membership; the next request goes out at that moment.
    Asking(Moment),
    /// It is a member.
    Member,
}

/// The standing of this node, and how long others have been missing.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) standing: Standing,
    bootstrap: Option<Duration>,
    node_timeout: Duration,
    minority_timeout: Duration,
    /// Members that cannot be reached, and when each is declared dead (again).
    missing: BTreeMap<NodeKey, Moment>,
    /// When contact with a majority was lost.
    alone_since: Option<Moment>,
    /// Number of requests for membership so far. It selects the node to ask, in turn.
    asked: usize,
    /// When the network was found.
    found_at: Moment,
    /// Since when no member of that network has been there, with this hope.
    forlorn: Option<(Moment, Hope)>,
    began: Moment,
}

impl Membership {
    pub(crate) fn new(
        now: Moment,
        bootstrap: Option<Duration>,
        node_timeout: Duration,
        minority_timeout: Duration,
    ) -> Self {
        Self {
            standing: Standing::Searching(now),
            bootstrap,
            node_timeout,
            minority_timeout,
            missing: BTreeMap::new(),
            alone_since: None,
            asked: 0,
            found_at: now,
            forlorn: None,
            began: now,
        }
    }

    /// When this node creates a network of its own, unless it finds one before.
    fn bootstrap_at(&self) -> Option<Moment> {
        match (self.standing, self.bootstrap) {
            (Standing::Searching(since), Some(wait)) => Some(since + wait),
            _ => None,
        }
    }

    /// Whether it is time to create a network of its own.
    pub(crate) fn must_bootstrap(&self, now: Moment) -> bool {
        self.bootstrap_at().is_some_and(|at| at <= now)
    }

    /// Notes that a network was found.
    pub(crate) fn found(&mut self, now: Moment) {
        if let Standing::Searching(_) = self.standing {
            self.standing = Standing::Asking(now);
            self.found_at = now;
        }
    }

    /// The time since when this node has not been a member; `None` for a member.
    pub(crate) fn outside_since(&self) -> Option<Moment> {
        (self.standing != Standing::Member).then_some(self.began)
    }

    /// The one of `nodes` that should be asked for membership now.
    pub(crate) fn ask(&mut self, now: Moment, nodes: impl FnOnce() -> Vec<NodeKey>) -> Option<NodeKey> {
        let Standing::Asking(at) = self.standing else { return None };
        if at > now {
            return None;
        }
        self.standing = Standing::Asking(now + ASK_AGAIN);
        self.asked += 1;
        let nodes = nodes();
        nodes.get((self.asked - 1) % nodes.len().max(1)).copied()
    }

    /// When this node gives up asking. Any node that could admit it has looked for another network
    /// by then.
    fn ask_until(&self) -> Option<Moment> {
        matches!(self.standing, Standing::Asking(_)).then(|| self.found_at + 2 * self.minority_timeout)
    }

    /// Whether it has asked for too long.
    pub(crate) fn is_ignored(&self, now: Moment) -> bool {
        self.ask_until().is_some_and(|until| until <= now)
    }

    /// Notes whether any member can be reached, and what this node may hope for if not. Returns true
    /// when none has been reachable for too long: the rest of the network admits nobody.
    pub(crate) fn is_forlorn(&mut self, now: Moment, has_members: bool, hope: Hope) -> bool {
        if has_members || !matches!(self.standing, Standing::Asking(_)) {
            self.forlorn = None;
            return false;
        }
        // A hope that has just gone may come back: a path may be about to change.
        let same = self.forlorn.filter(|(_, before)| *before == hope);
        let (since, _) = *self.forlorn.insert(same.unwrap_or((now, hope)));
        now.since(since) >= hope.lasts()
    }

    /// Another node can be asked: asks at once.
    pub(crate) fn retry_now(&mut self, now: Moment) {
        if let Standing::Asking(at) = &mut self.standing {
            *at = now.min(*at);
        }
    }

    /// Notes that this node is a member.
    pub(crate) fn admitted(&mut self) {
        self.standing = Standing::Member;
    }

    /// Notes which `members` are missing, and returns those that have been missing for too long.
    pub(crate) fn dead(
        &mut self,
        now: Moment,
        members: impl Iterator<Item = NodeKey>,
        is_reachable: impl Fn(NodeKey) -> bool,
    ) -> Vec<NodeKey> {
        let missing: Vec<_> = members.filter(|&key| !is_reachable(key)).collect();
        self.missing.retain(|key, _| missing.contains(key));
        let mut dead = Vec::new();
        for key in missing {
            let due = self.missing.entry(key).or_insert(now + self.node_timeout);
            if *due <= now {
                *due = now + self.node_timeout;
                dead.push(key);
            }
        }
        dead
    }

    /// Stops the supervision of missing members, which is another node's task now.
    pub(crate) fn look_away(&mut self) {
        self.missing.clear();
    }

    /// Notes whether there is contact with a majority. Returns true when there has been none for
    /// too long.
    pub(crate) fn is_lost(&mut self, now: Moment, has_quorum: bool) -> bool {
        if has_quorum || self.standing != Standing::Member {
            self.alone_since = None;
            return false;
        }
        let since = *self.alone_since.get_or_insert(now);
        now.since(since) >= self.minority_timeout
    }

    /// When the standing must be reviewed again.
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let asking = match self.standing {
            Standing::Asking(at) => Some(at),
            _ => None,
        };
        let dead = self.missing.values().copied().min();
        let lost = self.alone_since.map(|since| since + self.minority_timeout);
        let asking = Moment::sooner(asking, self.ask_until());
        let asking = Moment::sooner(asking, self.forlorn.map(|(since, hope)| since + hope.lasts()));
        Moment::sooner(Moment::sooner(self.bootstrap_at(), asking), Moment::sooner(dead, lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeKey = NodeKey(1);
    const B: NodeKey = NodeKey(2);

    fn at(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    fn fresh(bootstrap: Option<Duration>) -> Membership {
        Membership::new(at(0), bootstrap, Duration::from_secs(1), Duration::from_secs(10))
    }

    #[test]
    fn a_network_is_begun_only_when_none_was_found_in_time() {
        let mut membership = fresh(Some(Duration::from_secs(2)));
        assert!(!membership.must_bootstrap(at(1_999)));
        assert!(membership.must_bootstrap(at(2_000)));
        membership.found(at(2_000));
        assert!(!membership.must_bootstrap(at(9_000)));
        assert!(!fresh(None).must_bootstrap(Moment::MAX));
    }

    #[test]
    fn nodes_are_asked_in_turn_until_one_lets_it_in() {
        let mut membership = fresh(None);
        assert_eq!(membership.ask(at(0), || vec![A, B]), None, "nothing found yet");
        membership.found(at(1));
        assert_eq!(membership.ask(at(1), Vec::new), None, "nobody there");
        assert_eq!(membership.ask(at(2), || vec![A, B]), None);
        assert_eq!(membership.ask(at(501), || vec![A, B]), Some(B));
        assert_eq!(membership.ask(at(1_001), || vec![A, B]), Some(A));
        membership.admitted();
        assert_eq!(membership.ask(at(2_000), || vec![A, B]), None);
    }

    #[test]
    fn a_network_of_which_nobody_is_left_is_given_up() {
        let mut membership = fresh(None);
        assert!(!membership.is_forlorn(at(0), false, Hope::Company), "none was found");
        membership.found(at(0));
        assert!(!membership.is_forlorn(at(0), false, Hope::Company));
        assert!(!membership.is_forlorn(at(1_900), true, Hope::Company), "somebody is there");
        assert!(!membership.is_forlorn(at(2_000), false, Hope::Company));
        assert!(!membership.is_forlorn(at(2_500), false, Hope::Company));
        assert!(membership.is_forlorn(at(3_000), false, Hope::Company));
        assert!(!membership.is_forlorn(at(3_000), false, Hope::Election), "it may still be elected");
        assert!(!membership.is_forlorn(at(7_900), false, Hope::Election));
        assert!(membership.is_forlorn(at(8_000), false, Hope::Election));
        assert!(!membership.is_forlorn(at(8_000), false, Hope::Alone), "a path may be about to change");
        assert!(membership.is_forlorn(at(8_300), false, Hope::Alone), "nobody comes");
    }

    #[test]
    fn a_node_that_is_not_admitted_for_long_stops_asking() {
        let mut membership = fresh(None);
        assert!(!membership.is_ignored(at(50_000)), "nothing found yet");
        membership.found(at(50_000));
        assert!(!membership.is_ignored(at(69_999)));
        assert!(membership.is_ignored(at(70_000)));
        membership.ask(at(69_900), || vec![A]);
        assert_eq!(membership.poll_timeout(), Some(at(70_000)));
        membership.admitted();
        assert!(!membership.is_ignored(at(90_000)));
    }

    #[test]
    fn a_member_is_dead_after_it_was_missing_for_long_without_a_break() {
        let mut membership = fresh(None);
        let mut dead =
            |millis, there: bool| membership.dead(at(millis), [A, B].into_iter(), |key| key == A || there);
        assert!(dead(0, false).is_empty());
        assert!(dead(900, false).is_empty());
        assert!(dead(950, true).is_empty());
        assert!(dead(1_500, false).is_empty());
        assert_eq!(dead(2_500, false), [B]);
        assert!(dead(2_600, false).is_empty(), "said once for a while");
        assert_eq!(dead(3_500, false), [B]);
    }

    #[test]
    fn without_a_majority_a_member_gives_up() {
        let mut membership = fresh(None);
        assert!(!membership.is_lost(at(99_000), false), "it is no member yet");
        membership.admitted();
        assert!(!membership.is_lost(at(100_000), false));
        assert!(!membership.is_lost(at(105_000), true));
        assert!(!membership.is_lost(at(106_000), false));
        assert_eq!(membership.poll_timeout(), Some(at(116_000)));
        assert!(membership.is_lost(at(116_000), false));
    }
}
