//! Greetings: the initiator calls, the acceptor answers, the initiator accepts. Each end checks the
//! other. Of two links between the same nodes, one stays.
//!
//! Both ends choose the same one. A link that is up stays, unless the end that initiated it makes a
//! new one: that end has then lost the old one. Of two attempts that cross, that of the node with
//! the larger key stays.

use super::{Overlay, Relation, SILENT_LINKS_MAX, Timer};
use crate::error::Refusal;
use crate::event::{Event, Warning};
use crate::link::Stage;
use crate::target::Stage as TargetStage;
use crate::wire::{Frame, Greeting};
use crate::{LinkId, TargetId};
use base::{Moment, NodeKey};
use bytes::Bytes;
use std::time::Duration;

/// How many names of a certificate a refusal lists.
const NAMES_SHOWN: usize = 4;

/// Checks that a peer which has proven its names says one of them. Names in certificates do not
/// differ in case.
fn check_proof(proven: Option<&[String]>, name: &str) -> Result<(), Refusal> {
    match proven {
        Some(names) if !names.iter().any(|proven| proven.eq_ignore_ascii_case(name)) => {
            let names = names.iter().take(NAMES_SHOWN).cloned().collect();
            Err(Refusal::Certificate { name: name.to_owned(), names })
        }
        _ => Ok(()),
    }
}

impl Overlay {
    pub(super) fn greeting(&self, now: Moment, terms: Bytes) -> Bytes {
        let since_start = now.as_nanos() / 1_000_000;
        let greeting = Greeting {
            key: self.config.key,
            name: self.config.name.clone(),
            identity: self.identity(),
            member: self.quorum_size.is_some(),
            topology: self.config.topology,
            redundancy: self.config.redundancy,
            digest: self.config.topology_digest,
            clock_millis: self.config.clock_millis.map_or(0, |clock| clock.saturating_add(since_start)),
            terms,
        };
        Frame::Greeting(greeting).encode()
    }

    /// The acceptor learns who calls, or the initiator who answers.
    pub(super) fn on_greeting(&mut self, now: Moment, id: LinkId, peer: Greeting) {
        let Some(link) = self.links.get(&id) else { return };
        let (initiator, target) = (link.is_initiator(), link.target);
        let check = check_proof(link.proven.as_deref(), &peer.name)
            .and_then(|()| self.check_peer(now, target, &peer, false))
            .and_then(|()| self.check_clock(now, id, &peer));
        let check = check.and_then(|()| match initiator {
            true => self.check_own_attempt(now, id, peer.key),
            false => self.check_their_attempt(peer.key, &peer.name),
        });
        // The refusal says the same as the warning.
        if !matches!(check, Err(Refusal::Clock { .. })) {
            self.warn_of(now, id, &peer);
        }
        let Some(link) = self.links.get_mut(&id) else { return };
        let key = peer.key;
        if !initiator {
            link.terms = peer.terms.clone();
        }
        link.peer = Some(peer);
        if let Err(refusal) = check {
            let covered = matches!(refusal, Refusal::AlreadyLinked { .. });
            self.refuse(now, id, refusal);
            if let (true, Some(target)) = (covered, target) {
                self.cover(now, target, key);
            }
            return;
        }
        if initiator {
            if let Some(asked) = link.asked.take() {
                link.measured(now.since(asked.1));
            }
            link.out.push_back(Frame::Accept.encode());
            self.wake(id);
            self.establish(now, id);
        } else {
            let greeting = self.greeting(now, Bytes::new());
            if let Some(link) = self.links.get_mut(&id) {
                link.stage = Stage::Answered;
                link.out.push_back(greeting);
            }
            self.wake(id);
        }
    }

    /// The acceptor learns that the initiator accepts.
    pub(super) fn on_accept(&mut self, now: Moment, id: LinkId) {
        let Some((peer, target)) =
            self.links.get_mut(&id).and_then(|link| Some((link.peer.clone()?, link.target)))
        else {
            return;
        };
        // State may have changed since the initiator called, so the acceptor checks again.
        let check = self
            .check_peer(now, target, &peer, true)
            .and_then(|()| self.check_their_attempt(peer.key, &peer.name));
        if let Err(refusal) = check {
            return self.refuse(now, id, refusal);
        }
        if let Some(asked) = self.links.get_mut(&id).and_then(|link| link.asked.take())
            && let Some(link) = self.links.get_mut(&id)
        {
            link.measured(now.since(asked.1));
        }
        // Dropped before the new one counts, so that a neighbour never has two links.
        for other in self.earlier_links(id, peer.key) {
            self.drop_link(now, other, "a newer link from the same node takes its place");
        }
        self.establish(now, id);
    }

    /// Checks the peer's greeting. `last`: the peer has already checked this node's greeting and
    /// accepted.
    fn check_peer(
        &self,
        now: Moment,
        target: Option<TargetId>,
        peer: &Greeting,
        last: bool,
    ) -> Result<(), Refusal> {
        let config = &self.config;
        if self.leaving {
            return Err(Refusal::Leaving);
        }
        if peer.key == config.key {
            return Err(Refusal::OwnKey { name: config.name.clone() });
        }
        self.check_network(now, peer, last)?;
        if peer.topology != config.topology {
            return Err(Refusal::Topology { theirs: peer.topology, ours: config.topology });
        }
        if peer.redundancy != config.redundancy {
            return Err(Refusal::Redundancy { theirs: peer.redundancy });
        }
        if let Some(state) = target.and_then(|target| self.targets.get(target))
            && let Some(expected) = state.target.name.as_ref().filter(|name| **name != peer.name)
        {
            let (url, expected) = (state.target.url.clone(), expected.clone());
            return Err(Refusal::OtherNode { url, expected, got: peer.name.clone() });
        }
        self.check_name(peer)?;
        if self.closes_cycle(peer.key) {
            return Err(Refusal::Cycle { a: config.name.clone(), b: peer.name.clone() });
        }
        Ok(())
    }

    fn check_network(&self, now: Moment, peer: &Greeting, last: bool) -> Result<(), Refusal> {
        let (theirs, ours) = (peer.identity, self.identity());
        // Otherwise a node between two networks might find the weaker one again each time that it
        // has given it up, and the two would never meet.
        let is_given_up = |&(network, until): &(u64, Moment)| network == theirs.network && now < until;
        if ours.network == 0 && self.given_up.as_ref().is_some_and(is_given_up) {
            return Err(Refusal::GivenUp { name: self.config.name.clone(), network: theirs.network });
        }
        if ours.yields_to(theirs) {
            let (name, other) = (self.config.name.clone(), peer.name.clone());
            return Err(Refusal::Yields { name, network: ours.network, other, to: theirs.network });
        }
        // A node whose network must yield says so itself, once it has this node's greeting.
        match ours.conflicts(theirs) && (last || !theirs.yields_to(ours)) {
            true => Err(Refusal::Network { theirs: theirs.network, ours: ours.network }),
            false => Ok(()),
        }
    }

    fn check_name(&self, peer: &Greeting) -> Result<(), Refusal> {
        let taken = |holder| Err(Refusal::Name { name: peer.name.clone(), holder });
        if peer.name == self.config.name {
            return taken(self.config.key);
        }
        // The name of a node that is gone is free: it comes back under another key.
        let live = |key: &NodeKey| self.routes.reaches(*key) || self.neighbours.contains_key(key);
        match self.map.named(&peer.name).find(|key| *key != peer.key && live(key)) {
            Some(holder) => taken(holder),
            None => Ok(()),
        }
    }

    fn closes_cycle(&self, key: NodeKey) -> bool {
        let tree = !self.config.topology.uses_all_links() && !self.config.redundancy;
        tree && self.routes.reaches(key) && !self.neighbours.contains_key(&key)
    }

    fn already(&self, name: &str) -> Refusal {
        Refusal::AlreadyLinked { a: self.config.name.clone(), b: name.to_owned() }
    }

    /// Checks the link after this node called and has learnt which node answered.
    fn check_own_attempt(&mut self, now: Moment, id: LinkId, key: NodeKey) -> Result<(), Refusal> {
        let name = self.map.name(key);
        if self.neighbours.contains_key(&key) {
            return Err(self.already(&name));
        }
        let crossing: Vec<LinkId> = self.links_with(key, Stage::Answered).filter(|o| *o != id).collect();
        if crossing.is_empty() {
            return Ok(());
        }
        // Both ends see the same two attempts, and have to drop the same one.
        if key > self.config.key {
            return Err(self.already(&name));
        }
        for other in crossing {
            let refusal = self.already(&name);
            self.refuse(now, other, refusal);
        }
        Ok(())
    }

    /// Checks a link on which the other node called.
    fn check_their_attempt(&self, key: NodeKey, name: &str) -> Result<(), Refusal> {
        match self.neighbours.get(&key).and_then(|link| self.links.get(link)) {
            Some(link) if link.is_initiator() => Err(self.already(name)),
            _ => Ok(()),
        }
    }

    /// Links that the node `key` initiated, other than `id`.
    fn earlier_links(&self, id: LinkId, key: NodeKey) -> Vec<LinkId> {
        let earlier = |(other, link): (&LinkId, &crate::link::Link)| {
            let same = *other != id && link.peer_key() == Some(key) && !link.is_initiator();
            (same && link.stage != Stage::Closing).then_some(*other)
        };
        self.links.iter().filter_map(earlier).collect()
    }

    fn links_with(&self, key: NodeKey, stage: Stage) -> impl Iterator<Item = LinkId> + '_ {
        let with = move |link: &crate::link::Link| link.stage == stage && link.peer_key() == Some(key);
        self.links.iter().filter(move |(_, link)| with(link)).map(|(id, _)| *id)
    }

    /// Marks the target as covered by another link to the same node, if there is one or may soon be
    /// one.
    pub(super) fn cover(&mut self, now: Moment, target: TargetId, key: NodeKey) {
        let other =
            self.neighbours.contains_key(&key) || self.links_with(key, Stage::Answered).next().is_some();
        let Some(state) = self.targets.get_mut(target) else { return };
        state.peer = Some(key);
        if other {
            state.stage = TargetStage::Covered(key);
            state.attempts = 0;
            self.timers.clear(Timer::Connect(target));
        } else if !matches!(state.stage, TargetStage::Waiting) {
            self.retry(now, target, "the other link is gone as well");
        }
    }

    fn warn_of(&mut self, now: Moment, id: LinkId, peer: &Greeting) {
        let mut warn = |warning| self.events.push_back(Event::Warned { key: peer.key, warning });
        let digest = self.config.topology_digest;
        if digest != 0 && peer.digest != 0 && digest != peer.digest {
            warn(Warning::TopologyFile { name: peer.name.clone() });
        }
        if let Some(ahead_millis) = self.clock_ahead(now, id, peer, self.config.timing.clock_tolerance) {
            let warning = Warning::Clock { name: peer.name.clone(), ahead_millis };
            self.events.push_back(Event::Warned { key: peer.key, warning });
        }
    }

    /// The milliseconds by which the peer's clock is ahead of this node's, if they exceed `limit`
    /// and the time that its greeting may have taken.
    fn clock_ahead(&self, now: Moment, id: LinkId, peer: &Greeting, limit: Duration) -> Option<i64> {
        let clock = self.config.clock_millis.filter(|_| peer.clock_millis != 0)?;
        let here = clock.saturating_add(now.as_nanos() / 1_000_000);
        let ahead = i128::from(peer.clock_millis) - i128::from(here);
        let asked = self.links.get(&id).and_then(|link| link.asked);
        // The greeting was on its way for at most the time since this node called.
        let transit = asked.map_or(0, |(_, at)| now.since(at).as_millis());
        let off = ahead.unsigned_abs() > limit.as_millis() + transit;
        off.then(|| i64::try_from(ahead).unwrap_or(if ahead < 0 { i64::MIN } else { i64::MAX }))
    }

    /// Refuses a joining node whose clock differs too much. The nodes of a network vouch for each
    /// other's clocks, so a newcomer with another time is the one that is wrong. Nodes that are in
    /// the network stay, even if their clocks drift apart later.
    fn check_clock(&self, now: Moment, id: LinkId, peer: &Greeting) -> Result<(), Refusal> {
        // Only a newcomer is refused. A member whose clock goes wrong would otherwise be cut off in
        // the middle of an exercise.
        let new = self.network != 0 && peer.identity.network == 0;
        let limit = self.config.timing.clock_max;
        match self.clock_ahead(now, id, peer, limit).filter(|_| new) {
            Some(ahead_millis) => Err(Refusal::Clock {
                name: peer.name.clone(),
                by: self.config.name.clone(),
                ahead_millis,
                limit_millis: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            }),
            None => Ok(()),
        }
    }

    /// Makes the peer a neighbour, after both ends have accepted.
    fn establish(&mut self, now: Moment, id: LinkId) {
        let timing = &self.config.timing;
        let Some(link) = self.links.get_mut(&id) else { return };
        let Some(peer) = link.peer.clone() else { return };
        let silent_links = self.relations.get(&peer.key).map_or(0, |relation| relation.silent_links);
        link.silence_max = timing.silence_max * (1 << silent_links.min(SILENT_LINKS_MAX));
        let (keep_alive, silence) = (now + timing.keep_alive, now + link.silence_max);
        link.stage = Stage::Up;
        link.up_since = now;
        link.last_sent = now;
        link.digest_due = true;
        // The entry that confirms the link is younger than what is known now.
        link.sequence_before = self.map.sequence(peer.key);
        self.renewed = true;
        let (initiator, target, terms) = (link.is_initiator(), link.target, link.terms.clone());
        self.timers.clear(Timer::Greeting(id));
        self.timers.set(Timer::KeepAlive(id), keep_alive);
        self.timers.set(Timer::Silence(id), silence);
        self.neighbours.insert(peer.key, id);
        self.relations.insert(peer.key, Relation { initiator, terms: terms.clone(), silent_links });
        if let Some(state) = target.and_then(|target| self.targets.get_mut(target)) {
            state.peer = Some(peer.key);
            state.last_error = None;
        }
        let (key, name, network, member) = (peer.key, peer.name, peer.identity.network, peer.member);
        self.events.push_back(Event::NeighbourUp { key, name, link: id, initiator, target, terms });
        self.adopt_network(now, network, member);
        self.wake(id);
        self.announce_later(now);
        self.use_link(now, key, id);
    }

    /// A node without a network adopts the network of its neighbour, if the neighbour is a member
    /// of it.
    pub(super) fn adopt_network(&mut self, now: Moment, network: u64, member: bool) {
        if self.network == 0 && network != 0 && member {
            self.network = network;
            self.events.push_back(Event::NetworkAdopted { network });
            self.announce_later(now);
        }
    }
}
