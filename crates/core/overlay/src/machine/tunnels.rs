//! Tunnels: where two nodes of a mesh or hypercube should have a link but have none, channel frames
//! go over other nodes.

use super::{Overlay, Timer};
use crate::error::SendError;
use crate::event::{Event, Via};
use crate::graph::Routes;
use crate::tunnel::{Stage, Tunnel};
use crate::wire::Kind;
use crate::wire::tunnel::TunnelMessage;
use crate::{FRAME_BYTES_MAX, TopologyKind};
use base::{Moment, NodeKey};
use bytes::Bytes;

impl Overlay {
    /// Sends a frame of a channel through the tunnel to `to`. Frames arrive in order, and without
    /// loss as long as the tunnel is up.
    ///
    /// # Errors
    /// There is no tunnel, it is full, or the frame is longer than [`FRAME_BYTES_MAX`].
    pub fn send_channel(
        &mut self,
        now: Moment,
        to: NodeKey,
        channel: u8,
        frame: Bytes,
    ) -> Result<(), SendError> {
        if frame.len() > FRAME_BYTES_MAX {
            return Err(SendError::TooLong { len: frame.len(), limit: FRAME_BYTES_MAX });
        }
        let (bytes_max, open) = (self.config.limits.tunnel_bytes_max, self.may_fill_tunnel(to));
        let tunnel = self.tunnels.get_mut(&to).filter(|tunnel| tunnel.stage == Stage::Up);
        let tunnel = tunnel.ok_or(SendError::NoTunnel(to))?;
        if !open || !tunnel.has_room(bytes_max) {
            // The caller is told when there is room. Otherwise it would have to ask again and
            // again.
            tunnel.owed = true;
            return Err(SendError::Full(to));
        }
        let bytes = frame.len();
        let message = tunnel.push(now, channel, frame);
        self.count_demand(now, to, bytes);
        if self.timers.get(Timer::Tunnel(to)).is_none() {
            self.timers.set(Timer::Tunnel(to), now + self.config.timing.tunnel_retry);
        }
        self.send_message(to, &message);
        Ok(())
    }

    /// Whether the tunnel to `to` takes a frame. If not, [`Event::TunnelReady`] follows when there
    /// is room.
    pub fn can_send_channel(&mut self, to: NodeKey) -> bool {
        let (bytes_max, open) = (self.config.limits.tunnel_bytes_max, self.may_fill_tunnel(to));
        let Some(tunnel) = self.tunnels.get_mut(&to) else { return false };
        let room = open && tunnel.has_room(bytes_max);
        tunnel.owed |= !room && tunnel.carries;
        room
    }

    fn send_message(&mut self, to: NodeKey, message: &TunnelMessage) {
        // Openings and acknowledgements are short, and data waits for them.
        let urgent = !matches!(message, TunnelMessage::Data { .. });
        self.send_kind(to, message.encode(), urgent, Kind::Tunnel);
    }

    /// Adapts tunnels to the map: ends those that are no longer wanted, begins those that are, and
    /// repeats the frames that may be lost where the path has changed.
    pub(super) fn update_tunnels(&mut self, now: Moment, old: &Routes) {
        if !self.config.topology.uses_all_links() {
            return;
        }
        let keys: Vec<NodeKey> = self.tunnels.keys().copied().collect();
        for key in keys {
            if !self.routes.reaches(key) {
                self.end_tunnel(key);
            } else if old.next(key) != self.routes.next(key) {
                if let Some(tunnel) = self.tunnels.get_mut(&key) {
                    tunnel.repeats = 0;
                }
                self.repeat(now, key);
            }
        }
        let lonely = self.routes.to.keys().filter(|key| {
            !self.neighbours.contains_key(key)
                && !self.tunnels.contains_key(key)
                && self.timers.get(Timer::Tunnel(**key)).is_none()
        });
        for key in lonely.copied().collect::<Vec<_>>() {
            if self.relations.contains_key(&key) {
                self.begin_tunnel(now, key, false);
            } else if self.config.topology == TopologyKind::Mesh {
                self.timers.set(Timer::Tunnel(key), now + self.config.timing.tunnel_after);
            }
        }
    }

    pub(super) fn tunnel_due(&mut self, now: Moment, key: NodeKey) {
        let wanted = self.routes.reaches(key) && !self.neighbours.contains_key(&key);
        match self.tunnels.get(&key) {
            None if wanted => self.begin_tunnel(now, key, false),
            None => {}
            Some(tunnel) if tunnel.stage == Stage::Up => self.repeat_late(now, key),
            // The link came first.
            Some(_) if self.has_link(key) => self.end_tunnel(key),
            Some(_) => self.knock(now, key),
        }
    }

    /// Begins a tunnel. With `moves` it takes over the path of a link.
    pub(super) fn begin_tunnel(&mut self, now: Moment, key: NodeKey, moves: bool) {
        let opens = self.config.key > key;
        let (initiator, terms) = match self.relations.get(&key) {
            Some(relation) => (relation.initiator, relation.terms.clone()),
            None => (opens, Bytes::new()),
        };
        let stage = if opens { Stage::Opening } else { Stage::Wanted };
        if opens {
            self.epoch = self.epoch.wrapping_add(1).max(1);
        }
        let epoch = if opens { self.epoch } else { 0 };
        let mut tunnel = Tunnel::new(now, stage, epoch, initiator, terms);
        (tunnel.carries, tunnel.moves, tunnel.owed) = (moves, moves, moves);
        self.tunnels.insert(key, tunnel);
        self.knock(now, key);
    }

    /// Asks the other end to begin the tunnel.
    fn knock(&mut self, now: Moment, key: NodeKey) {
        let Some(tunnel) = self.tunnels.get(&key) else { return };
        let message = match tunnel.stage {
            Stage::Opening => TunnelMessage::Open {
                epoch: tunnel.epoch,
                moves: tunnel.moves,
                initiator: tunnel.initiator,
                terms: tunnel.terms.clone(),
            },
            _ => TunnelMessage::None { epoch: 0 },
        };
        self.send_message(key, &message);
        self.timers.set(Timer::Tunnel(key), now + self.config.timing.tunnel_retry);
    }

    pub(super) fn end_tunnel(&mut self, key: NodeKey) {
        self.timers.clear(Timer::Tunnel(key));
        if let Some(tunnel) = self.tunnels.remove(&key).filter(|tunnel| tunnel.carries) {
            self.events.push_back(Event::PathDown { neighbour: key });
            self.renew_path(key, tunnel.epoch);
        }
    }

    fn restart_tunnel(&mut self, now: Moment, key: NodeKey) {
        self.end_tunnel(key);
        self.begin_tunnel(now, key, false);
    }

    /// Sends the unacknowledged frames again after a while without progress.
    fn repeat_late(&mut self, now: Moment, key: NodeKey) {
        let retry = self.config.timing.tunnel_retry;
        let Some(tunnel) = self.tunnels.get(&key).filter(|tunnel| !tunnel.is_idle()) else { return };
        let due = tunnel.repeat_at(retry);
        if due > now {
            self.timers.set(Timer::Tunnel(key), due);
        } else {
            self.repeat(now, key);
        }
    }

    fn repeat(&mut self, now: Moment, key: NodeKey) {
        let Some(tunnel) = self.tunnels.get_mut(&key).filter(|tunnel| tunnel.stage == Stage::Up) else {
            return;
        };
        tunnel.last_progress = now;
        tunnel.repeats = tunnel.repeats.saturating_add(1);
        let due = tunnel.repeat_at(self.config.timing.tunnel_retry);
        let messages = tunnel.resend();
        for message in &messages {
            self.send_message(key, message);
        }
        if !messages.is_empty() {
            self.timers.set(Timer::Tunnel(key), due);
        }
    }

    /// Handles a message from the other end of a tunnel.
    pub(super) fn on_tunnel(&mut self, now: Moment, from: NodeKey, body: Bytes) {
        let Ok(message) = TunnelMessage::decode(body) else {
            self.stats.bad_tunnel_messages += 1;
            return;
        };
        if !self.config.topology.uses_all_links() {
            return;
        }
        match message {
            TunnelMessage::Open { epoch, moves, initiator, terms } => {
                let mut tunnel = Tunnel::new(now, Stage::Up, epoch, !initiator, terms);
                tunnel.moves = moves;
                self.on_open(from, tunnel);
            }
            TunnelMessage::Opened { epoch } => self.on_opened(from, epoch),
            TunnelMessage::Data { epoch, number, channel, frame } => {
                self.on_opened(from, epoch);
                match self.tunnels.get_mut(&from).filter(|t| t.epoch == epoch && t.stage == Stage::Up) {
                    Some(tunnel) => {
                        let next = tunnel.take(number);
                        let ack = tunnel.ack();
                        if next {
                            self.count_demand(now, from, frame.len());
                            self.events.push_back(Event::Channel { from, channel, frame });
                        }
                        self.send_message(from, &ack);
                    }
                    None => self.send_message(from, &TunnelMessage::None { epoch }),
                }
            }
            TunnelMessage::Ack { epoch, next } => self.on_ack(now, from, epoch, next),
            TunnelMessage::None { epoch } => {
                let opened = |tunnel: &Tunnel| epoch == 0 && tunnel.stage == Stage::Up;
                let named = |tunnel: &Tunnel| epoch != 0 && epoch == tunnel.epoch;
                if !self.tunnels.get(&from).is_some_and(|tunnel| opened(tunnel) || named(tunnel)) {
                    return;
                }
                // The other end has lost what was in the tunnel.
                match self.has_link(from) {
                    true => self.end_tunnel(from),
                    false => self.restart_tunnel(now, from),
                }
            }
        }
    }

    fn on_open(&mut self, from: NodeKey, mut tunnel: Tunnel) {
        let (epoch, moves) = (tunnel.epoch, tunnel.moves);
        if from < self.config.key || epoch == 0 || !self.routes.reaches(from) || self.has_link(from) {
            return;
        }
        let old = self.tunnels.get(&from);
        if old.is_none_or(|old| old.epoch != epoch) {
            // A path keeps its state at both ends or at none.
            let both = moves && old.is_some_and(|old| old.moves);
            if moves && !both {
                return self.send_message(from, &TunnelMessage::None { epoch });
            }
            if !both {
                self.end_tunnel(from);
            }
            (tunnel.carries, tunnel.owed) = (both, both);
            self.tunnels.insert(from, tunnel);
            self.tunnel_is_up(from);
        }
        self.send_message(from, &TunnelMessage::Opened { epoch });
    }

    fn on_opened(&mut self, from: NodeKey, epoch: u32) {
        let opening = |tunnel: &&mut Tunnel| tunnel.stage == Stage::Opening && tunnel.epoch == epoch;
        let Some(tunnel) = self.tunnels.get_mut(&from).filter(opening) else { return };
        tunnel.stage = Stage::Up;
        self.tunnel_is_up(from);
    }

    /// The tunnel is the path from now on, unless the node has a link.
    fn tunnel_is_up(&mut self, key: NodeKey) {
        self.timers.clear(Timer::Tunnel(key));
        let linked = self.uses_link(key);
        let Some(tunnel) = self.tunnels.get_mut(&key) else { return };
        tunnel.moves = false;
        if tunnel.carries || linked {
            return self.report_room(key);
        }
        tunnel.carries = true;
        let (via, initiator, terms) = (Via::Tunnel, tunnel.initiator, tunnel.terms.clone());
        self.events.push_back(Event::PathUp { neighbour: key, via, initiator, terms });
    }

    fn on_ack(&mut self, now: Moment, from: NodeKey, epoch: u32, next: u64) {
        let Some(tunnel) = self.tunnels.get_mut(&from).filter(|tunnel| tunnel.epoch == epoch) else {
            return;
        };
        if !tunnel.acknowledge(now, next) {
            return;
        }
        if tunnel.is_idle() {
            self.timers.clear(Timer::Tunnel(from));
            if let Some(link) = self.neighbours.get(&from).copied() {
                self.advertise_path(now, link);
            }
        }
        self.report_room(from);
    }
}
