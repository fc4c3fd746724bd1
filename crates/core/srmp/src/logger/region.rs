//! The loggers of other sites: those that serve other sites, and the parent that this one asks.
//!
//! With more sites than one member can serve, some site loggers serve others too. These are the
//! `fan_in` best of those loggers that have no better one near them. Any other logger asks the
//! nearest of these that has room, or else the nearest logger that asks one of these. With a
//! `fan_in` of eight, sources and loggers answer at most eight loggers each, for up to 584 sites
//! (8, 64 and 512 on three levels). If there are more, the rest ask the source.

use super::config::LoggerConfig;
use super::rank::Rank;
use crate::model::MemberId;
use crate::wire::{Advertisement, LoggerFlags, LoggerState};
use base::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// The interval between requests for the round-trip time, each to another peer.
const PROBE_SPACING: Duration = Duration::from_millis(500);
/// The interval between requests to the same peer.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// The parent may be changed after this time, if another one is nearer by a quarter or needs fewer
/// loggers in between.
const DECIDE_EVERY: Duration = Duration::from_secs(30);
/// The distance of a peer whose round-trip time is unknown.
const FAR: Duration = Duration::from_secs(5);

/// The tier of a logger that serves other sites. [`SITE`] is that of one that does not.
pub(crate) const REGION: u8 = 1;
pub(crate) const SITE: u8 = 2;

/// The logger of another site.
#[derive(Clone, Debug)]
struct Peer {
    rank: Rank,
    tier: u8,
    is_partial: bool,
    parent: MemberId,
    heard: Moment,
    shunned: Option<Moment>,
    rtt: Option<Duration>,
    probed: Option<Moment>,
    nonce: u32,
    /// The number of requests since the peer last sent anything. `asked` is the time of the first
    /// one.
    unanswered: u32,
    asked: Moment,
}

/// A site logger's place in the tree.
#[derive(Debug)]
pub(crate) struct Region {
    config: LoggerConfig,
    me: MemberId,
    peers: BTreeMap<MemberId, Peer>,
    tier: u8,
    /// The parent and the time of its choice; [`MemberId::NOBODY`] is the source.
    parent: (MemberId, Moment),
    next_probe: Moment,
    nonce: u32,
}

impl Region {
    pub(crate) fn new(config: LoggerConfig, me: MemberId) -> Self {
        Self {
            config,
            me,
            peers: BTreeMap::new(),
            tier: SITE,
            parent: (MemberId::NOBODY, Moment::ZERO),
            next_probe: Moment::ZERO,
            nonce: 0,
        }
    }

    /// Handles the advertisement of another site's logger.
    pub(crate) fn hear(&mut self, now: Moment, from: MemberId, advertisement: &Advertisement) {
        if advertisement.state != LoggerState::Active {
            self.peers.remove(&from);
            return;
        }
        let room = self.peers.len() < self.config.peers_max;
        if !room && !self.peers.contains_key(&from) {
            return;
        }
        let peer = self.peers.entry(from).or_insert(Peer {
            rank: Rank(0),
            tier: SITE,
            is_partial: false,
            parent: MemberId::NOBODY,
            heard: now,
            shunned: None,
            rtt: None,
            probed: None,
            nonce: 0,
            unanswered: 0,
            asked: now,
        });
        peer.rank = Rank(advertisement.rank);
        peer.tier = advertisement.tier;
        peer.is_partial = advertisement.flags.contains(LoggerFlags::PARTIAL);
        peer.parent = advertisement.parent;
        peer.heard = now;
    }

    /// This member is no longer the logger of its site, or has just become it.
    pub(crate) fn restart(&mut self) {
        self.tier = SITE;
        self.parent = (MemberId::NOBODY, Moment::ZERO);
    }

    pub(crate) fn tier(&self) -> u8 {
        self.tier
    }

    /// The logger to ask; [`MemberId::NOBODY`] for the source.
    pub(crate) fn parent(&self) -> MemberId {
        self.parent.0
    }

    /// Whether a member is the logger of another site.
    pub(crate) fn knows(&self, member: MemberId) -> bool {
        self.peers.contains_key(&member)
    }

    /// The round-trip time to a peer, if it has been measured.
    pub(crate) fn rtt(&self, member: MemberId) -> Option<Duration> {
        self.peers.get(&member)?.rtt
    }

    /// The number of loggers that ask this one.
    pub(crate) fn children(&self) -> usize {
        self.peers.values().filter(|peer| peer.parent == self.me).count()
    }

    /// The logger that a peer asks; [`MemberId::NOBODY`] for the source.
    pub(crate) fn parent_of(&self, member: MemberId) -> MemberId {
        self.peers.get(&member).map_or(MemberId::NOBODY, |peer| peer.parent)
    }

    /// Counts a request to a peer. Returns true when the peer is given up.
    pub(crate) fn note_ask(&mut self, now: Moment, member: MemberId) -> bool {
        let blacklist = self.config.blacklist;
        let Some(peer) = self.peers.get_mut(&member) else { return false };
        if peer.unanswered == 0 {
            peer.asked = now;
        }
        peer.unanswered += 1;
        let patience = peer.rtt.unwrap_or(FAR) * 9 / 2;
        let is_dead = peer.unanswered > 3 && now >= peer.asked + patience;
        if is_dead {
            peer.unanswered = 0;
            peer.shunned = Some(now + blacklist);
        }
        is_dead
    }

    pub(crate) fn answered(&mut self, member: MemberId) {
        if let Some(peer) = self.peers.get_mut(&member) {
            peer.unanswered = 0;
        }
    }

    /// The next peer to ask for its round-trip time, and the nonce of the request.
    pub(crate) fn poll_probe(&mut self, now: Moment) -> Option<(MemberId, u32)> {
        if now < self.next_probe {
            return None;
        }
        self.next_probe = now + PROBE_SPACING;
        let due = |peer: &Peer| peer.probed.is_none_or(|at| now >= at + PROBE_EVERY);
        let all = self.peers.iter_mut().map(|(member, peer)| (*member, peer));
        let (member, peer) = all.filter(|(_, peer)| due(peer)).min_by_key(|(_, peer)| peer.probed)?;
        self.nonce = self.nonce.wrapping_add(1);
        peer.probed = Some(now);
        peer.nonce = self.nonce;
        Some((member, self.nonce))
    }

    /// Handles a probe's answer, which took `rtt`. Returns true when the nonce is right.
    pub(crate) fn measured(&mut self, member: MemberId, nonce: u32, rtt: Duration) -> bool {
        let Some(peer) = self.peers.get_mut(&member).filter(|peer| peer.nonce == nonce && nonce != 0) else {
            return false;
        };
        peer.nonce = 0;
        peer.rtt = Some(peer.rtt.map_or(rtt, |old| (old * 3 + rtt) / 4));
        true
    }

    /// Decides this logger's tier and parent. Returns true when one of them has changed.
    pub(crate) fn decide(&mut self, now: Moment, rank: Rank) -> bool {
        let dies = self.config.global_interval * 7 / 2;
        self.peers.retain(|_, peer| now < peer.heard + dies);
        for peer in self.peers.values_mut() {
            peer.shunned.take_if(|until| now >= *until);
        }
        let before = (self.tier, self.parent.0);
        let is_many = self.peers.len() + 1 > self.config.fan_in && self.config.region;
        let is_measured = self.peers.values().all(|peer| peer.probed.is_some());
        self.tier = if !is_many {
            SITE
        } else if self.tier == REGION {
            if self.is_among_the_best(rank) { REGION } else { SITE }
        } else if is_measured && self.is_best_nearby(rank) && self.is_among_the_best(rank) {
            REGION
        } else {
            SITE
        };
        self.choose_parent(now, rank);
        before != (self.tier, self.parent.0)
    }

    /// Whether there is no better logger within two fifths of the greatest distance.
    fn is_best_nearby(&self, rank: Rank) -> bool {
        let distance = |peer: &Peer| peer.rtt.unwrap_or(FAR);
        let known = self.peers.values().filter_map(|peer| peer.rtt);
        let radius = known.max().unwrap_or(FAR) * 2 / 5;
        !self.peers.values().any(|peer| distance(peer) <= radius && peer.rank > rank)
    }

    /// Whether this logger is among the `fan_in` that serve other sites. Loggers that serve go
    /// before this one if they are better, or if this one does not serve yet.
    fn is_among_the_best(&self, rank: Rank) -> bool {
        let serves = self.peers.values().filter(|peer| peer.tier == REGION && peer.shunned.is_none());
        let ahead = serves.filter(|peer| self.tier != REGION || peer.rank > rank).count();
        ahead < self.config.fan_in
    }

    fn choose_parent(&mut self, now: Moment, rank: Rank) {
        if self.tier == REGION {
            self.parent = (MemberId::NOBODY, now);
            return;
        }
        let current = self.parent.0;
        let serves = |(member, peer): &(&MemberId, &Peer)| {
            let can = self.level(peer).is_some() && peer.shunned.is_none() && !peer.is_partial;
            can && peer.parent != self.me && self.has_room(**member, rank)
        };
        let candidates = self.peers.iter().filter(serves);
        // Loggers at about the same distance share the load. Among equal ones, each logger prefers
        // another.
        let about = |peer: &Peer| peer.rtt.unwrap_or(FAR).as_micros().max(1).ilog2();
        let nearest = candidates
            .min_by_key(|(member, peer)| {
                (self.level(peer), about(peer), self.load(**member), mix(self.me, **member))
            })
            .map(|(member, peer)| (*member, peer.rtt.unwrap_or(FAR), self.level(peer)));
        let Some((nearest, rtt, level)) = nearest else {
            self.parent = (MemberId::NOBODY, now);
            return;
        };
        let kept = self.peers.get(&current).filter(|peer| serves(&(&current, *peer)));
        let is_better = kept.is_none_or(|kept| {
            let is_nearer = self.level(kept) >= level && rtt * 4 <= kept.rtt.unwrap_or(FAR) * 3;
            now.since(self.parent.1) >= DECIDE_EVERY && (is_nearer || self.level(kept) > level)
        });
        if is_better {
            self.parent = (nearest, now);
        }
    }

    /// The number of loggers between a peer and the sources, if the peer may be asked: none or one.
    fn level(&self, peer: &Peer) -> Option<u8> {
        let asks_region = || self.peers.get(&peer.parent).is_some_and(|above| above.tier == REGION);
        if peer.tier == REGION { Some(0) } else { asks_region().then_some(1) }
    }

    /// The number of loggers that ask a member.
    fn load(&self, member: MemberId) -> usize {
        self.peers.values().filter(|peer| peer.parent == member).count()
    }

    /// Whether a member serves fewer loggers than it can. If this one asks it already, only better
    /// ones count.
    fn has_room(&self, member: MemberId, rank: Rank) -> bool {
        let asks = self.parent.0 == member;
        let others = self.peers.values().filter(|peer| peer.parent == member && (!asks || peer.rank > rank));
        others.count() < self.config.fan_in
    }
}

/// A number that differs for each pair, and is the same everywhere (SplitMix64).
fn mix(a: MemberId, b: MemberId) -> u64 {
    let mut z = a.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.0;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Loggers that hear each other at once, with given distances between them.
    struct World {
        all: Vec<Region>,
        now: Moment,
    }

    impl World {
        fn new(count: usize, distance: impl Fn(usize, usize) -> Duration) -> Self {
            let config = LoggerConfig { site: true, ..LoggerConfig::default() };
            let id = |index: usize| MemberId(index as u64 + 1);
            let mut all: Vec<_> = (0..count).map(|index| Region::new(config.clone(), id(index))).collect();
            for from in 0..count {
                for to in (0..count).filter(|to| *to != from) {
                    all[to].hear(
                        Moment::ZERO,
                        id(from),
                        &Self::advertisement(&Region::new(config.clone(), id(from))),
                    );
                    let peer = all[to].peers.get_mut(&id(from)).expect("it was heard");
                    (peer.rtt, peer.probed) = (Some(distance(from, to)), Some(Moment::ZERO));
                }
            }
            Self { all, now: Moment::ZERO }
        }

        fn advertisement(region: &Region) -> Advertisement {
            Advertisement {
                state: LoggerState::Active,
                tier: region.tier,
                rank: u128::from(region.me.0),
                children: region.children() as u8,
                flags: LoggerFlags::empty(),
                parent: region.parent(),
                parent_rtt: Duration::ZERO,
            }
        }

        /// Lets all decide and advertise, one after the other.
        fn round(&mut self) -> bool {
            self.now += 5_000 * MS;
            let mut changed = false;
            for index in 0..self.all.len() {
                let rank = Rank(u128::from(self.all[index].me.0));
                changed |= self.all[index].decide(self.now, rank);
                let (me, advertisement) = (self.all[index].me, Self::advertisement(&self.all[index]));
                for other in (0..self.all.len()).filter(|other| *other != index) {
                    self.all[other].hear(self.now, me, &advertisement);
                }
            }
            changed
        }

        fn settle(&mut self) {
            let rounds = (0..40).take_while(|_| self.round()).count();
            assert!(rounds < 39, "it does not settle");
        }

        fn regions(&self) -> Vec<u64> {
            self.all.iter().filter(|one| one.tier == REGION).map(|one| one.me.0).collect()
        }

        fn fan_in(&self) -> (usize, usize) {
            let at_source = self.all.iter().filter(|one| one.parent() == MemberId::NOBODY).count();
            (at_source, self.all.iter().map(Region::children).max().unwrap_or(0))
        }
    }

    #[test]
    fn few_sites_need_no_regions() {
        let mut world = World::new(8, |_, _| 100 * MS);
        world.settle();
        assert_eq!((world.regions(), world.fan_in()), (vec![], (8, 0)));
    }

    #[test]
    fn clusters_have_their_best_and_ask_it() {
        let mut world = World::new(12, |from, to| if from % 3 == to % 3 { 10 * MS } else { 100 * MS });
        world.settle();
        assert_eq!(world.regions(), [10, 11, 12]);
        for one in world.all.iter().filter(|one| one.tier == SITE) {
            assert_eq!(one.parent().0 % 3, one.me.0 % 3);
        }
        assert_eq!(world.fan_in(), (3, 3));
    }

    #[test]
    fn equal_distances_do_not_put_all_on_the_source() {
        for count in [9, 20, 40, 72, 73, 150] {
            let mut world = World::new(count, |_, _| 100 * MS);
            world.settle();
            let (at_source, children) = world.fan_in();
            assert!(at_source <= 8 && children <= 8, "{count}: {:?}", world.fan_in());
        }
    }

    #[test]
    fn a_parent_that_falls_silent_is_replaced() {
        let mut world = World::new(20, |_, _| 100 * MS);
        world.settle();
        let lost = world.regions()[0];
        world.all.retain(|one| one.me.0 != lost);
        (0..6).for_each(|_| {
            world.round();
        });
        assert!(world.all.iter().all(|one| one.parent().0 != lost));
        assert!(world.fan_in().0 <= 8);
    }

    #[test]
    fn a_silent_peer_is_given_up() {
        let mut world = World::new(20, |_, _| 100 * MS);
        world.settle();
        let child = world.all.iter().position(|one| one.parent() != MemberId::NOBODY).expect("a child");
        let parent = world.all[child].parent();
        let now = world.now;
        for ask in 0..9 {
            assert!(!world.all[child].note_ask(now + ask * MS, parent), "its answers may be under way");
        }
        let now = now + 500 * MS;
        assert!(world.all[child].note_ask(now, parent));
        assert!(world.all[child].decide(now, Rank(1)));
        assert_ne!(world.all[child].parent(), parent);
    }
}
