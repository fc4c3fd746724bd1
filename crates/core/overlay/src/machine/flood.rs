//! The map: announcing this node, passing on the announcements of others, and ageing.
//!
//! An entry goes over each link once, unless the other end is known to have it, or is a neighbour
//! of the node that the entry describes and gets it from there. So in a full mesh nothing is passed
//! on. When a link comes up, each end sends a digest of its map, and those entries of nodes within
//! its reach that the other end lacks. So a forgotten entry does not come back from nodes that have
//! not yet forgotten it. Keep-alives carry a summary of the map. The next two keep-alives repair
//! losses that still happen, for example when a link falls silent.

use super::{Overlay, Timer};
use crate::LinkId;
use crate::error::Refusal;
use crate::event::Event;
use crate::identity::NetworkIdentity;
use crate::link::Stage;
use crate::map::{Entry, Inserted, SEQUENCE_MAX};
use base::{Moment, NodeKey, Seed};
use std::collections::BTreeSet;

impl Overlay {
    /// Announces this node at once, or as soon as the throttle permits it.
    pub(super) fn announce_soon(&mut self, now: Moment) {
        self.announce_at(self.announcing.next().max(now));
    }

    /// Announces this node after a short while, since new links and the like seldom come alone.
    pub(super) fn announce_later(&mut self, now: Moment) {
        self.announce_at(self.announcing.next().max(now + self.config.timing.settle));
    }

    fn announce_at(&mut self, at: Moment) {
        // An earlier announcement includes all later news, and must not be postponed by them.
        if self.timers.get(Timer::Announce).is_none_or(|set| set > at) {
            self.timers.set(Timer::Announce, at);
        }
    }

    pub(super) fn announce_info(&mut self, now: Moment) {
        self.announce_at((self.informed + self.config.timing.info_interval).max(now));
    }

    /// The entry of this node as it is now.
    fn own_entry(&self, sequence: u64) -> Entry {
        let rtt = |id: &LinkId| self.links.get(id).map_or(0, |link| link.rtt_to_advertise());
        Entry {
            key: self.config.key,
            sequence,
            network: self.network,
            member: self.quorum_size.is_some(),
            leaving: self.leaving,
            name: self.config.name.clone(),
            urls: self.config.urls.clone(),
            neighbours: match self.leaving {
                true => Vec::new(),
                false => self.neighbours.iter().map(|(key, id)| (*key, rtt(id))).collect(),
            },
            info: self.info.clone(),
        }
    }

    /// Announces this node if its entry has changed.
    pub(super) fn announce(&mut self, now: Moment) {
        self.timers.clear(Timer::Announce);
        let sequence = self.map.sequence(self.config.key) + 1;
        let entry = self.own_entry(sequence.min(SEQUENCE_MAX));
        let known = self.map.get(self.config.key);
        let renewed = std::mem::take(&mut self.renewed);
        // A sequence number that changes nothing would cost every node of the network a message.
        // After a new link it does change something: the neighbour waits for an entry that is
        // younger than the link.
        if !renewed && known.is_some_and(|known| known.has_same_content(&entry)) {
            return;
        }
        if known.is_none_or(|known| known.info != entry.info) {
            self.informed = now;
        }
        self.replace_own(now, entry);
        // The cost of this node's links is the one that it advertises.
        self.recompute_soon(now);
    }

    fn replace_own(&mut self, now: Moment, entry: Entry) {
        let timing = &self.config.timing;
        self.announcing.done(now, timing.settle, timing.settle_max);
        self.summary = None;
        for (key, rtt) in &entry.neighbours {
            if let Some(link) = self.neighbours.get(key).and_then(|id| self.links.get_mut(id)) {
                link.rtt_advertised = Some(*rtt);
            }
        }
        // This node's own entry is more important than the limits of the map.
        self.map.insert_always(entry);
        self.stats.announcements += 1;
        self.pass_on(self.config.key);
    }

    /// Sends the entry of `key` to every neighbour that is not known to have it and does not get it
    /// from `key` itself.
    pub(super) fn pass_on(&mut self, key: NodeKey) {
        let Some(entry) = self.map.get(key) else { return };
        let is_missing = |near: &NodeKey| !self.has_back(*near, entry);
        let ids: Vec<LinkId> =
            self.neighbours.iter().filter(|(near, _)| is_missing(near)).map(|(_, id)| *id).collect();
        for id in ids {
            self.mark_dirty(id, key, false);
        }
    }

    /// Whether the neighbour gets the entry from the node that the entry describes. False for this
    /// node's own entry.
    pub(super) fn has_back(&self, neighbour: NodeKey, entry: &Entry) -> bool {
        entry.key != self.config.key && entry.rtt_to(neighbour).is_some()
    }

    /// Marks the entry of `key` to be sent to the other end, unless that end is known to have it.
    /// `always`: even if the other end should get it from `key` itself.
    fn mark_dirty(&mut self, id: LinkId, key: NodeKey, always: bool) {
        let sequence = self.map.sequence(key);
        if let Some(link) = self.links.get_mut(&id)
            && link.stage == Stage::Up
            && link.advertised.get(&key).copied().unwrap_or(0) < sequence
        {
            *link.dirty.entry(key).or_default() |= always;
            self.wake(id);
        }
    }

    /// One number for the map's entries of this node and of all nodes that it can reach. Neighbours
    /// that know the same have the same number.
    pub(super) fn summary(&mut self) -> u64 {
        if let Some(summary) = self.summary {
            return summary;
        }
        let here = self.routes.to.keys().chain([&self.config.key]);
        // An exclusive or, so that the order of the nodes does not matter. Each term is mixed, because
        // two changes of plain numbers could cancel each other.
        let mix = |key: &NodeKey| Seed(key.0).split_index(self.map.sequence(*key)).0;
        let summary = here.fold(0, |sum, key| sum ^ mix(key));
        *self.summary.insert(summary)
    }

    /// Handles the digest of the other end: marks for sending the entries that it lacks.
    pub(super) fn on_digest(&mut self, id: LinkId, known: &[(NodeKey, u64)]) {
        let Some(link) = self.links.get_mut(&id) else { return };
        // While the first digest travels, news may be under way to the peer from elsewhere; later
        // digests report losses.
        let always = std::mem::replace(&mut link.digest_seen, true);
        let peer = link.peer_key();
        for (key, sequence) in known {
            // Nodes that are unknown here need no record.
            if let Some(entry) = self.map.get(*key) {
                link.advertised.insert(*key, (*sequence).min(entry.sequence));
            }
        }
        let near = self.neighbours.keys().copied();
        let here = self.routes.to.keys().copied().chain([self.config.key]).chain(near);
        for key in here.collect::<BTreeSet<_>>() {
            let hears =
                || peer.zip(self.map.get(key)).is_some_and(|(peer, entry)| self.has_back(peer, entry));
            if always || !hears() {
                self.mark_dirty(id, key, always);
            }
        }
    }

    /// Handles entries that the other end announces or passes on.
    pub(super) fn on_entries(&mut self, now: Moment, id: LinkId, entries: Vec<Entry>) {
        let mut news = false;
        for entry in entries {
            news |= self.on_entry(now, id, entry);
        }
        if news {
            self.recompute_soon(now);
        }
        self.check_direct(now, id);
    }

    fn on_entry(&mut self, now: Moment, id: LinkId, entry: Entry) -> bool {
        let (key, sequence, leaving) = (entry.key, entry.sequence, entry.leaving);
        if key == self.config.key {
            self.defend(now, &entry);
            return false;
        }
        if sequence > self.map.sequence(key) {
            // Only for news: an old entry must not push out another node.
            self.make_room(&entry);
        }
        let is_informed = self.map.get(key).is_some_and(|known| known.info == entry.info);
        match self.map.insert(entry) {
            Inserted::Newer => {
                if !is_informed {
                    self.info_received.insert(key, now);
                }
                self.stats.new_entries += 1;
                self.summary = None;
            }
            Inserted::Known => {
                if let Some(link) = self.links.get_mut(&id) {
                    let advertised = link.advertised.entry(key).or_insert(0);
                    *advertised = (*advertised).max(sequence);
                }
                // The other end has an old entry: send it the newer one.
                self.mark_dirty(id, key, true);
                return false;
            }
            Inserted::Full => {
                self.stats.entries_without_room += 1;
                return false;
            }
        }
        if let Some(link) = self.links.get_mut(&id) {
            link.advertised.insert(key, sequence);
        }
        self.pass_on(key);
        if leaving {
            self.relations.remove(&key);
            self.unlearn(key);
        }
        true
    }

    /// Makes room for news: forgets nodes out of reach, starting with those due to be forgotten
    /// first.
    fn make_room(&mut self, entry: &Entry) {
        while !self.map.has_room(entry) {
            let ageing = self.map.iter().filter(|known| known.key != entry.key);
            let ages =
                ageing.filter_map(|known| Some((self.timers.get(Timer::Forget(known.key))?, known.key)));
            // Only nodes that cannot be reached are ageing. A full map of live nodes stays as it
            // is.
            let Some((_, oldest)) = ages.min() else { return };
            self.forget(oldest);
        }
    }

    /// Somebody spreads an entry of this node that it did not announce. This node announces the
    /// right one again, with a greater sequence number.
    fn defend(&mut self, now: Moment, entry: &Entry) {
        let known = self.map.get(self.config.key);
        let foreign = known.is_none_or(|known| {
            entry.sequence > known.sequence
                || (entry.sequence == known.sequence && !entry.has_same_content(known))
        });
        // An entry of this node from elsewhere: of an earlier life under the same key, or forged.
        // The greater number wins everywhere, so this node has to exceed it.
        if foreign && entry.sequence < SEQUENCE_MAX {
            self.replace_own(now, self.own_entry(entry.sequence + 1));
        }
    }

    /// Checks whether the other end's entry about itself affects the link.
    fn check_direct(&mut self, now: Moment, id: LinkId) {
        let Some(key) = self.links.get(&id).and_then(|link| link.peer_key()) else { return };
        if self.neighbours.get(&key) != Some(&id) {
            return;
        }
        let Some((network, member)) = self.map.get(key).map(|entry| (entry.network, entry.member)) else {
            return;
        };
        self.adopt_network(now, network, member);
        // The next exchange of greetings shows which of the two networks yields.
        if self.identity().conflicts(NetworkIdentity { network, quorum_size: 0 }) {
            self.refuse(now, id, Refusal::Network { theirs: network, ours: self.network });
        }
    }

    /// Drops the links to neighbours whose entries once named this node and no longer do: they have
    /// given up the link.
    pub(super) fn check_confirmed(&mut self, now: Moment) {
        let mut given_up = Vec::new();
        for (key, id) in &self.neighbours {
            let Some(entry) = self.map.get(*key) else { continue };
            let Some(link) = self.links.get_mut(id) else { continue };
            let named = entry.sequence > link.sequence_before && entry.rtt_to(self.config.key).is_some();
            // Named before but no longer: the other end has dropped the link, and its message about
            // that is lost. An end that never named this node may not know of the link yet.
            if link.confirmed && !named && !entry.leaving {
                given_up.push(*id);
            }
            link.confirmed = named;
        }
        for id in given_up {
            self.drop_link(now, id, "the other node has given up the link");
        }
    }

    /// The node has been out of reach for so long that others may have forgotten it. Its entry is
    /// sent again when it comes back.
    pub(super) fn suspect(&mut self, key: NodeKey) {
        for link in self.links.values_mut() {
            link.advertised.remove(&key);
        }
    }

    /// Removes all state of the node.
    pub(super) fn forget(&mut self, key: NodeKey) {
        self.suspect(key);
        self.timers.clear(Timer::Suspect(key));
        self.timers.clear(Timer::Forget(key));
        self.timers.clear(Timer::Learn(key));
        self.map.remove(key);
        self.summary = None;
        self.relations.remove(&key);
        self.info_received.remove(&key);
        self.unlearn(key);
    }

    pub(super) fn send_goodbye(&mut self, now: Moment) {
        let sequence = self.map.sequence(self.config.key) + 1;
        let entry = self.own_entry(sequence.min(SEQUENCE_MAX));
        let last = crate::wire::Frame::Entries(vec![entry.clone()]).encode();
        self.replace_own(now, entry);
        // A node that leaves must not connect again while it says goodbye.
        let targets: Vec<_> = self.targets.iter().map(|(id, _)| id).collect();
        for target in targets {
            self.timers.clear(Timer::Connect(target));
        }
        let ids: Vec<LinkId> = self.links.keys().copied().collect();
        for id in ids {
            if self.links.get(&id).is_some_and(|link| link.stage == Stage::Up) {
                // The last urgent messages of a node that leaves say that others may leave, too.
                let mut frames = self.take_urgent(id);
                frames.push(last.clone());
                self.detach(now, id, "this node leaves");
                self.close_after(now, id, "this node leaves", frames);
            } else {
                self.refuse(now, id, Refusal::Leaving);
            }
        }
        self.timers.clear(Timer::Announce);
        debug_assert!(self.neighbours.is_empty(), "all links are detached");
    }

    /// Another node has this node's name and the better claim to it: gives up all links.
    pub(super) fn give_up_name(&mut self, now: Moment, holder: NodeKey) {
        self.events.push_back(Event::NameTaken { holder });
        let ids: Vec<LinkId> = self.links.keys().copied().collect();
        for id in ids {
            let name = self.config.name.clone();
            self.refuse(now, id, Refusal::Name { name, holder });
        }
    }
}
