//! Consequences of a new map: reachable nodes, paths, cycles and duplicate names.

use super::{Overlay, Timer};
use crate::LinkId;
use crate::error::Refusal;
use crate::event::{Event, Via};
use crate::graph;
use base::{Moment, NodeKey};
use std::collections::BTreeMap;

impl Overlay {
    /// The map changed: computes routes now, or as soon as the throttle permits it.
    pub(super) fn recompute_soon(&mut self, now: Moment) {
        let at = self.routing.next();
        if at <= now {
            self.recompute(now);
        } else if self.timers.get(Timer::Routes).is_none() {
            self.timers.set(Timer::Routes, at);
        }
    }

    pub(super) fn recompute(&mut self, now: Moment) {
        self.stale = true;
        if !std::mem::replace(&mut self.computing, true) {
            while std::mem::take(&mut self.stale) {
                self.recompute_once(now);
            }
            self.computing = false;
        }
    }

    fn recompute_once(&mut self, now: Moment) {
        self.timers.clear(Timer::Routes);
        self.summary = None;
        let timing = &self.config.timing;
        self.routing.done(now, timing.settle, timing.settle_max);
        self.stats.computations += 1;
        let rtt = |(key, id): (&NodeKey, &LinkId)| {
            let link = self.links.get(id)?;
            (self.map.sequence(*key) > link.sequence_before).then(|| (*key, link.rtt_micros()))
        };
        let near: BTreeMap<NodeKey, u32> = self.neighbours.iter().filter_map(rtt).collect();
        let routes = graph::compute(self.config.key, &near, &self.map);
        let old = std::mem::replace(&mut self.routes, routes);
        let gone: Vec<NodeKey> = old.to.keys().filter(|key| !self.routes.reaches(**key)).copied().collect();
        let come: Vec<NodeKey> = self.routes.to.keys().filter(|key| !old.reaches(**key)).copied().collect();
        for key in gone {
            self.lost_sight(key);
        }
        for key in come {
            self.caught_sight(key);
        }
        if self.routes.lack_edge_of(&old) {
            self.events.push_back(Event::RoutesChanged);
        }
        self.age_unreachable(now);
        self.update_paths(now);
        self.update_tunnels(now, &old);
        self.learn_all(now);
        self.check_confirmed(now);
        self.check_own_name(now);
    }

    fn lost_sight(&mut self, key: NodeKey) {
        self.events.push_back(Event::Unreachable { key });
        self.stats.lost_messages += self.reassembly.forget(key);
        self.learn_lost(key);
    }

    fn caught_sight(&mut self, key: NodeKey) {
        let name = self.map.name(key);
        let old: Vec<NodeKey> = self.map.named(&name).filter(|namesake| *namesake != key).collect();
        for namesake in old {
            // The namesake is an earlier incarnation of the same node.
            if namesake != self.config.key && !self.routes.reaches(namesake) {
                self.forget(namesake);
            }
        }
        self.timers.clear(Timer::Suspect(key));
        self.timers.clear(Timer::Forget(key));
        self.events.push_back(Event::Reachable { key, name });
        self.pass_on(key);
    }

    fn age_unreachable(&mut self, now: Moment) {
        let forget_after = self.config.timing.forget_after;
        let ageing = self.map.iter().filter(|entry| {
            entry.key != self.config.key
                && !self.routes.reaches(entry.key)
                && self.timers.get(Timer::Forget(entry.key)).is_none()
        });
        for key in ageing.map(|entry| entry.key).collect::<Vec<_>>() {
            self.timers.set(Timer::Suspect(key), now + forget_after / 2);
            self.timers.set(Timer::Forget(key), now + forget_after);
        }
    }

    /// Decides for each link whether it is to be a path, and whether it is a cycle.
    fn update_paths(&mut self, now: Moment) {
        let near: Vec<(NodeKey, LinkId)> = self.neighbours.iter().map(|(key, id)| (*key, *id)).collect();
        for (key, id) in near {
            self.update_path(now, key, id);
        }
    }

    pub(super) fn update_path(&mut self, now: Moment, key: NodeKey, id: LinkId) {
        let all = self.config.topology.uses_all_links();
        let own = self.config.key;
        let in_tree = self.routes.in_tree(own, key);
        let from_tunnel = self.carrying_tunnel(key);
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.path.want((all || in_tree) && !link.retiring) {
            link.from_tunnel = if link.path.mine == 0 { 0 } else { from_tunnel };
            link.path_due = true;
            self.wake(id);
            self.advertise_path(now, id);
        }
        let cycle = !all && !self.config.redundancy && !in_tree && self.routes.reaches(key) && {
            let ends = (own.min(key), own.max(key));
            self.routes.edges.iter().any(|edge| (edge.low, edge.high) == ends)
        };
        if !cycle {
            self.timers.clear(Timer::Cycle(id));
        } else if self.timers.get(Timer::Cycle(id)).is_none() {
            self.timers.set(Timer::Cycle(id), now + self.config.timing.cycle_after);
        }
    }

    /// There is a link to `key` now. Where all links are paths, it is used at once; the computation
    /// of routes follows when the throttle permits it.
    pub(super) fn use_link(&mut self, now: Moment, key: NodeKey, id: LinkId) {
        self.update_path(now, key, id);
        self.recompute_soon(now);
    }

    pub(super) fn on_path(&mut self, now: Moment, id: LinkId, (mine, seen): (u32, u32), tunnel: u32) {
        let retires = self.config.topology.uses_all_links() && mine == 0;
        let Some(link) = self.links.get_mut(&id) else { return };
        let Some(key) = link.peer_key() else { return };
        // Where all links are paths, the other end withdraws its consent for good.
        link.retiring |= retires && link.path.theirs != 0;
        if link.retiring {
            link.path.want(false);
        } else if link.path.theirs != mine && std::mem::take(&mut link.path_reported) {
            self.events.push_back(Event::PathDown { neighbour: key });
        }
        if link.path.theirs == mine && tunnel == 0 && link.their_tunnel != 0 {
            // The same consent without a tunnel: its path has moved here.
            link.is_theirs = true;
        } else {
            (link.their_tunnel, link.is_theirs) = (tunnel, link.is_theirs && link.path.theirs == mine);
        }
        if link.path.handle(mine, seen) {
            link.path_due = true;
            self.wake(id);
        }
        self.advertise_path(now, id);
        self.report_room(key);
        self.close_retired(now, id);
    }

    /// Emits an event if a path came up, moved or went down.
    pub(super) fn advertise_path(&mut self, now: Moment, id: LinkId) {
        let Some(link) = self.links.get(&id) else { return };
        let Some(neighbour) = link.peer_key() else { return };
        let (up, retiring) = (link.path.is_up(), link.retiring);
        if up == link.path_reported {
            return;
        }
        let epoch = self.carrying_tunnel(neighbour);
        let moves = up && epoch != 0 && epoch == link.from_tunnel && epoch == link.their_tunnel;
        let via = Via::Link(id);
        let (initiator, terms) = (link.is_initiator(), link.terms.clone());
        if let Some(tunnel) = self.tunnels.get_mut(&neighbour).filter(|_| moves) {
            if !tunnel.is_idle() {
                // An acknowledgement calls again.
                return;
            }
            tunnel.carries = false;
            self.report_move(neighbour, via);
            if let Some(link) = self.links.get_mut(&id) {
                link.from_tunnel = 0;
                link.path_due = true;
            }
            self.wake(id);
        } else if up {
            if let Some(link) = self.links.get_mut(&id) {
                link.from_tunnel = 0;
                link.is_theirs = true;
            }
            self.end_tunnel(neighbour);
            self.events.push_back(Event::PathUp { neighbour, via, initiator, terms });
        } else if !retiring {
            self.events.push_back(Event::PathDown { neighbour });
        }
        if let Some(link) = self.links.get_mut(&id) {
            link.path_reported = up;
        }
        if !up && retiring {
            self.move_to_tunnel(now, neighbour);
        }
    }

    pub(super) fn refuse_cycle(&mut self, now: Moment, id: LinkId) {
        let Some(peer) = self.links.get(&id).and_then(|link| link.peer.clone()) else { return };
        let (a, b) = (self.config.name.clone(), peer.name);
        self.refuse(now, id, Refusal::Cycle { a, b });
    }

    /// Two nodes that joined at the same time may have the same name: the one with the larger key
    /// yields.
    fn check_own_name(&mut self, now: Moment) {
        let holder = self.map.named(&self.config.name).find(|key| self.routes.reaches(*key));
        if let Some(holder) = holder.filter(|holder| *holder < self.config.key) {
            self.give_up_name(now, holder);
        }
    }
}
