//! Messages to any node: sending, relaying and reassembly.

use super::Overlay;
use crate::config::HOPS_MAX;
use crate::error::SendError;
use crate::event::Event;
use crate::wire::{Kind, Piece};
use base::{Moment, NodeKey};
use bytes::Bytes;

impl Overlay {
    /// Sends `body` to the node `to`: best effort, and in order as long as the path stays the same.
    /// Urgent messages go ahead of others. A message to this node itself comes back as an event.
    ///
    /// # Errors
    /// No path leads there, or the body is too long. Later losses are counted where they happen.
    pub fn send(&mut self, _now: Moment, to: NodeKey, body: Bytes, urgent: bool) -> Result<(), SendError> {
        let limit = self.config.limits.body_bytes_max;
        if body.len() > limit {
            return Err(SendError::TooLong { len: body.len(), limit });
        }
        if to == self.config.key {
            self.events.push_back(Event::Received { from: to, body });
            return Ok(());
        }
        if !self.routes.reaches(to) {
            self.stats.undeliverable_pieces += 1;
            return Err(SendError::Unreachable(to));
        }
        self.stats.sent_messages += 1;
        self.send_kind(to, body, urgent, Kind::Body);
        Ok(())
    }

    pub(super) fn send_kind(&mut self, to: NodeKey, body: Bytes, urgent: bool, kind: Kind) {
        self.next_id = self.next_id.wrapping_add(1);
        let piece = Piece {
            urgent,
            kind,
            hops_left: HOPS_MAX,
            origin: self.config.key,
            destination: to,
            id: self.next_id,
            total: u32::try_from(body.len()).expect("bodies are bounded below 4 GiB"),
            offset: 0,
            part: body,
        };
        self.forward(piece);
    }

    /// Puts a piece into the queue of the link to the next hop.
    pub(super) fn forward(&mut self, piece: Piece) {
        let next = self.routes.next(piece.destination).and_then(|next| self.neighbours.get(&next)).copied();
        let Some((id, link)) = next.and_then(|id| Some((id, self.links.get_mut(&id)?))) else {
            self.stats.undeliverable_pieces += 1;
            return;
        };
        let (queue, dropped) = match piece.urgent {
            true => (&mut link.urgent, &mut self.stats.dropped_urgent),
            false => (&mut link.bulk, &mut self.stats.dropped_bulk),
        };
        queue.push(piece);
        while queue.bytes() > self.config.limits.queue_bytes_max && queue.drop_oldest().is_some() {
            *dropped += 1;
        }
        self.wake(id);
    }

    /// Handles a piece that came over a link: delivers it here, or passes it on.
    pub(super) fn on_piece(&mut self, now: Moment, mut piece: Piece) {
        if piece.origin == self.config.key {
            // The piece went round in a loop that no longer exists.
            self.stats.hops_exceeded += 1;
        } else if piece.destination == self.config.key {
            self.deliver(now, &piece);
        } else if piece.hops_left <= 1 {
            self.stats.hops_exceeded += 1;
        } else {
            piece.hops_left -= 1;
            self.stats.relayed_pieces += 1;
            self.forward(piece);
        }
    }

    fn deliver(&mut self, now: Moment, piece: &Piece) {
        if piece.total as usize > self.config.limits.body_bytes_max {
            self.stats.lost_messages += u64::from(piece.offset == 0);
            return;
        }
        let put = self.reassembly.put(piece);
        self.stats.lost_messages += put.lost;
        let Some(body) = put.whole else { return };
        match piece.kind {
            Kind::Body => {
                self.stats.received_messages += 1;
                self.events.push_back(Event::Received { from: piece.origin, body });
            }
            Kind::Tunnel => self.on_tunnel(now, piece.origin, body),
        }
    }
}
