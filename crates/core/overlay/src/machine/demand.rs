//! Links that two nodes of a mesh make for their traffic and give up without it. Such a link never
//! closes a loop of messages: in a mesh messages cross one path, of whatever kind.
//!
//! The path of a neighbour moves between its tunnel and its link without loss and in order, because
//! each end sends nothing the new way before the other end has everything that went the old way:
//!
//! - To the link: once both ends have agreed on the link as a path, an end puts no further frames into
//!   the tunnel. It uses the link when all frames in the tunnel are acknowledged.
//! - To the tunnel: the end withdraws its consent to the link as a path ([`crate::link::Path`]). When
//!   the other end has seen that, it also has all frames sent before, since links keep order.

use super::{Overlay, Timer};
use crate::demand::Demand;
use crate::event::{Event, Via};
use crate::link::{Link, Stage};
use crate::target::Stage as TargetStage;
use crate::tunnel::Stage as TunnelStage;
use crate::wire::Frame;
use crate::{LinkId, OnDemand};
use base::{Moment, NodeKey};
use std::collections::BTreeSet;

impl Overlay {
    /// Frames of channels, of `bytes` together, were sent or received over the link. Only a node
    /// with links [on demand](crate::Config::on_demand) needs to know.
    pub fn count_traffic(&mut self, now: Moment, id: LinkId, bytes: usize) {
        if self.config.on_demand.is_some()
            && let Some(key) = self.links.get(&id).and_then(Link::peer_key)
        {
            self.count_demand(now, key, bytes);
        }
    }

    pub(super) fn count_demand(&mut self, now: Moment, key: NodeKey, bytes: usize) {
        let Some(settings) = self.config.on_demand else { return };
        self.demand.entry(key).or_insert_with(|| Demand::new(now)).count(bytes);
        if self.timers.get(Timer::Demand).is_none() {
            self.window_from = now;
            self.timers.set(Timer::Demand, now + settings.window);
        }
    }

    /// Whether this node waits for traffic before it links to a node that nobody configured.
    pub(super) fn waits_for_demand(&self, key: NodeKey) -> bool {
        self.config.on_demand.is_some_and(|settings| {
            self.routes.reaches(key) && !self.demand.get(&key).is_some_and(|demand| demand.is_high(&settings))
        })
    }

    /// The end of a window.
    pub(super) fn demand_due(&mut self, now: Moment) {
        let Some(settings) = self.config.on_demand else { return };
        let from = std::mem::replace(&mut self.window_from, now);
        self.demand.values_mut().for_each(|demand| demand.measure(from, now, &settings));
        self.learn_all(now);
        self.give_up_links(now, &settings);
        // A node that was learned has an entry until it is given up.
        let learned: BTreeSet<NodeKey> = self.targets.iter().filter_map(|(_, state)| state.learned).collect();
        self.demand.retain(|key, demand| !demand.is_over(now, &settings) || learned.contains(key));
        if !self.demand.is_empty() {
            self.timers.set(Timer::Demand, now + settings.window);
        }
    }

    /// Gives up the links that this node made for traffic which is over, and the attempts at them.
    fn give_up_links(&mut self, now: Moment, settings: &OnDemand) {
        let over = |key: &NodeKey| self.demand.get(key).is_none_or(|demand| demand.is_over(now, settings));
        let learned = self.targets.iter().filter_map(|(_, state)| Some((state.learned?, &state.stage)));
        // A connection that is being made is given up when it is there, and a link when the paths of
        // both ends have moved to it.
        let is_settled = |key: &NodeKey, stage: &TargetStage| match self.neighbours.get(key) {
            Some(id) => self.links.get(id).is_none_or(|link| link.path_reported && link.is_theirs),
            None => !matches!(stage, TargetStage::Connecting | TargetStage::Linked(_)),
        };
        let idle = learned.filter(|(key, stage)| over(key) && is_settled(key, stage)).map(|(key, _)| key);
        // A node that only this link leads to keeps it, whatever the traffic.
        let idle = idle.filter(|key| self.routes.has_detour(self.config.key, *key));
        for key in idle.collect::<Vec<_>>() {
            self.unlearn(key);
            let Some(id) = self.neighbours.get(&key).copied() else { continue };
            if let Some(link) = self.links.get_mut(&id).filter(|link| link.is_initiator()) {
                link.retiring = true;
                self.update_path(now, key, id);
            }
        }
    }

    /// The neighbour whose frames of channels may arrive over a link. While its path moves, they may
    /// come by the link although this end's own go through the tunnel.
    pub fn channel_peer(&self, id: LinkId) -> Option<NodeKey> {
        let link = self.links.get(&id).filter(|link| link.stage == Stage::Up && link.path.theirs != 0)?;
        link.peer_key()
    }

    /// Whether the node has a link that is to be its path.
    pub(super) fn has_link(&self, key: NodeKey) -> bool {
        let link = self.neighbours.get(&key).and_then(|id| self.links.get(id));
        link.is_some_and(|link| !link.retiring)
    }

    /// Whether the path of the node is its link.
    pub(super) fn uses_link(&self, key: NodeKey) -> bool {
        let link = self.neighbours.get(&key).and_then(|id| self.links.get(id));
        link.is_some_and(|link| link.path_reported)
    }

    /// Whether frames may go into the tunnel: not while they have to wait for the other way.
    pub(super) fn may_fill_tunnel(&self, key: NodeKey) -> bool {
        match self.neighbours.get(&key).and_then(|id| self.links.get(id)) {
            Some(link) if link.retiring => link.path.is_withdrawn(),
            Some(link) => !link.path.is_up(),
            None => true,
        }
    }

    /// Reports that there is room in a tunnel, if somebody waits for that.
    pub(super) fn report_room(&mut self, key: NodeKey) {
        let (open, bytes_max) = (self.may_fill_tunnel(key), self.config.limits.tunnel_bytes_max);
        if let Some(tunnel) = self.tunnels.get_mut(&key)
            && open
            && tunnel.has_room(bytes_max)
            && std::mem::take(&mut tunnel.owed)
        {
            self.events.push_back(Event::TunnelReady { neighbour: key });
        }
    }

    /// Epoch of the tunnel that carries the path of the node; 0: none does.
    pub(super) fn carrying_tunnel(&self, key: NodeKey) -> u32 {
        let tunnel =
            self.tunnels.get(&key).filter(|tunnel| tunnel.carries && tunnel.stage == TunnelStage::Up);
        tunnel.map_or(0, |tunnel| tunnel.epoch)
    }

    /// The tunnel from which the path was to move to a link is gone: the path begins anew at both
    /// ends.
    pub(super) fn renew_path(&mut self, key: NodeKey, epoch: u32) {
        let Some(id) = self.neighbours.get(&key).copied() else { return };
        let waits = |link: &&mut Link| link.from_tunnel == epoch && !link.path_reported;
        if let Some(link) = self.links.get_mut(&id).filter(waits)
            && epoch != 0
        {
            link.from_tunnel = 0;
            link.path.renew();
            link.path_due = true;
            self.wake(id);
        }
    }

    /// The path of the node moves to a new tunnel. It takes frames when it is up and the other end has
    /// seen that this end no longer uses the link.
    pub(super) fn move_to_tunnel(&mut self, now: Moment, key: NodeKey) {
        // An earlier tunnel is empty, since the link has taken over from it.
        self.end_tunnel(key);
        self.begin_tunnel(now, key, true);
        self.report_move(key, Via::Tunnel);
    }

    pub(super) fn report_move(&mut self, neighbour: NodeKey, via: Via) {
        self.stats.moved_paths += 1;
        self.events.push_back(Event::PathMoved { neighbour, via });
    }

    /// Both ends have stopped to use the link: the one that made it closes it.
    pub(super) fn close_retired(&mut self, now: Moment, id: LinkId) {
        const REASON: &str = "no traffic needs this link";
        let Some(link) = self.links.get(&id) else { return };
        if link.retiring && link.is_initiator() && link.path.theirs == 0 && link.path.is_withdrawn() {
            // It tells the other end that this one has all its frames.
            let last = Frame::Path { mine: 0, seen: 0, tunnel: 0 }.encode();
            self.detach(now, id, REASON);
            self.close_after(now, id, REASON, vec![last]);
        }
    }
}
